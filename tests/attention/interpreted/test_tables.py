"""What a prior is turned into for the kernels: its values, how often it is made, what a GPU would have to launch."""

import copy

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attention_priors.attention import attention, decode, launch, tables
from attention_priors.attention.kernels import BACK, FRONT
from attention_priors.positions.priors import GeneralizedGaussian, KerpleLog, Laplace, Prior, T5Buckets
from attention_priors.positions.variants import Bounded

HEADS, WIDTH = 3, 16
LOWEST, HIGHEST = -70, 1100


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def gaussian(alpha: float = 0.1, beta: float = 0.5, mu: float = 0.3) -> GeneralizedGaussian:
    spread = torch.tensor([0.0, 0.2, -0.3])
    return GeneralizedGaussian(alpha + spread, beta + spread, mu + spread, trainable=GeneralizedGaussian.NAMES)


POWERS = {
    "learned": gaussian,
    "steep": lambda: gaussian(33.0, 1.5, -2.0),
    "repels what is near": lambda: gaussian(3.0, -1.2, 0.0),
    "flat": lambda: gaussian(-2.0, 0.02, 5.0),
    "beyond the table": lambda: gaussian(0.0, 1.0, -5.0),
    "alibi": lambda: Laplace([0.5, 0.1, 3.0], trainable=True),
}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("name", POWERS)
def test_one_launch_makes_what_the_formulas_make(name, backwards):
    prior = POWERS[name]()
    names = [name for name, _ in prior.named_parameters()]
    pairs = [(prior, name) for name in names]
    found = tables._of_power(prior.power(), tables._places(prior.power(), pairs), LOWEST, HIGHEST, backwards)
    prior = prior.double()  # so that the formula's 2 sinh θ_μ is one of float64 too
    wanted = tables._written(prior, pairs, LOWEST, HIGHEST, torch.device("cpu"), backwards)
    assert (found[0][:, :FRONT] == 0).all() and (found[0][:, -BACK:] == 0).all()
    torch.testing.assert_close(found[0], wanted[0], rtol=3e-6, atol=3e-6)
    seen = (wanted[0] > -200)[:, None].expand_as(wanted[1])  # beyond, a weight is 0 in every dtype
    scale = wanted[1].abs().amax(-1, keepdim=True).expand_as(wanted[1])
    assert ((found[1] - wanted[1]).abs() <= 1e-5 * scale + 1e-6)[seen].all() and found[1].isfinite().all()


class Counted:
    """A kernel that counts its launches and does nothing."""

    def __init__(self) -> None:
        self.launches = 0

    def __getitem__(self, grid: object) -> object:
        def run(*arguments: object, **constants: object) -> None:
            self.launches += 1

        return run


class Operations(TorchDispatchMode):
    """Operations that a GPU would launch, and numbers that the host would wait for."""

    FREE = frozenset({"empty", "empty_like", "new_empty", "empty_strided", "detach", "alias", "fused_forward"})

    def __enter__(self) -> "Operations":
        self.launched, self.waits = [], 0
        return super().__enter__()

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        name = function.overloadpacket.__name__
        if name == "_local_scalar_dense":
            self.waits += 1
        elif not function.is_view and name not in self.FREE:
            self.launched.append(name)
        return function(*arguments, **(keywords or {}))


@pytest.fixture
def kernel(monkeypatch):
    counted = Counted()
    monkeypatch.setattr(launch, "forward", counted)
    monkeypatch.setattr(tables, "power_table", counted)
    monkeypatch.setattr(tables, "_checked", lambda x: x)  # what nobody wrote may be NaN
    for name in ("decode", "combine"):
        monkeypatch.setattr(f"attention_priors.attention.kernels_decode.{name}", counted)
    return counted


def counted(kernel: Counted, prior: Prior, queries: int, keys: int, learns: bool) -> tuple[int, int]:
    """Launches and waits of one call."""
    q, k, v = (drawn(1, HEADS, n, WIDTH) for n in (queries, keys, keys))
    scale = torch.ones(HEADS, queries)
    kernel.launches = 0
    with torch.set_grad_enabled(learns), Operations() as seen:
        attention(q, k, v, prior=prior, logit_scale=scale, prior_scale=scale, offset=keys - queries, backend="triton")
    return kernel.launches + len(seen.launched), seen.waits


def test_a_table_in_hand_leaves_one_launch_and_nothing_to_wait_for(kernel):
    prior = gaussian()
    counted(kernel, prior, 64, 64, learns=False)
    assert counted(kernel, prior, 64, 64, learns=False) == (1, 0)
    with torch.no_grad():
        prior.theta_beta.mul_(1.1)
    assert counted(kernel, prior, 64, 64, learns=False) == (2, 0)
    assert counted(kernel, prior, 64, 64, learns=True)[1] == 0
    assert counted(kernel, prior, 64, 64, learns=True) == (3, 0), "θ, the table and its slopes, attention"


@pytest.mark.parametrize("prior", [gaussian(), KerpleLog([1.0] * HEADS, [0.5] * HEADS)], ids=["formula", "table"])
def test_a_decoding_step_is_two_launches_at_every_length(kernel, prior):
    counted(kernel, prior, 1, 600, learns=False)
    assert [counted(kernel, prior, 1, 600 + more, learns=False) for more in range(5)] == [(2, 0)] * 5


def test_the_numbers_of_a_formula_are_looked_at_once(kernel, monkeypatch):
    """Also where they are computed from the parameters: a look waits for the GPU."""
    looked = []
    monkeypatch.setattr(tables, "_checked", looked.append)
    prior = Bounded(HEADS)
    for more in range(3):
        counted(kernel, prior, 1, 600 + more, learns=False)
    assert len(looked) == 3  # strength, exponent, location


@pytest.mark.parametrize("fused", [False, True])
def test_a_table_is_that_of_the_parameters_as_they_are(fused, monkeypatch):
    """After an optimizer's step, another state, another parameter; and what is unchanged is not made again."""
    made, right = [], tables._of_power
    monkeypatch.setattr(tables, "_of_power", lambda *given: made.append(given) or right(*given))
    prior, other = gaussian(), gaussian(0.5, 0.9, 0.0)
    optimizer = torch.optim.AdamW(prior.parameters(), lr=0.1, fused=fused)
    q, k, v = (drawn(1, HEADS, 33, WIDTH, seed=seed) for seed in range(3))

    def step() -> None:
        attention(q, k, v, prior=prior, backend="sdpa").sin().sum().backward()
        optimizer.step()

    def state() -> None:
        prior.load_state_dict(other.state_dict())

    def parameter() -> None:
        prior.theta_mu = torch.nn.Parameter(prior.theta_mu + 1)

    def data() -> None:
        prior.theta_beta.data.mul_(0.5)
        tables.forget()

    for count, change in ((1, None), (1, None), (2, step), (3, state), (4, parameter), (5, data), (5, None)):
        if change is not None:
            change()
        for mode in (torch.no_grad, torch.inference_mode):
            with mode():
                found = attention(q, k, v, prior=prior, backend="triton")
                wanted = attention(q, k, v, prior=prior, backend="reference")
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
        assert len(made) == count
    twin = copy.deepcopy(prior)
    with torch.no_grad():
        twin.theta_alpha += 1
        assert not torch.equal(attention(q, k, v, prior=twin, backend="triton"), found)


def test_a_table_with_gradients_of_its_own_is_made_for_every_call():
    prior = T5Buckets(HEADS, 8, 32)
    torch.nn.init.normal_(prior.values)
    q, k, v = (drawn(1, HEADS, 33, WIDTH, seed=seed) for seed in range(3))
    grads = []
    for _ in range(2):
        prior.zero_grad()
        attention(q, k, v, prior=prior, backend="triton").sin().sum().backward()
        grads.append(prior.values.grad.clone())
    assert torch.equal(*grads) and grads[0].abs().sum() > 0


@torch.no_grad()
def test_decoding_goes_on_with_the_table_that_it_began_with(monkeypatch):
    prior = KerpleLog([1.0, 0.3, 2.0], [0.5, 2.0, 0.1])
    made, right = [], tables._written
    monkeypatch.setattr(tables, "_written", lambda *given: made.append(given[2:4]) or right(*given))
    k, v = (drawn(1, 1, 1030, WIDTH, seed=seed) for seed in (1, 2))
    for length in (600, 601, 1024, 1025, 1030):
        q = drawn(1, HEADS, 1, WIDTH, seed=length)
        given = {"prior": prior, "offset": length - 1}
        found = attention(q, k[:, :, :length], v[:, :, :length], backend="triton", **given)
        wanted = attention(q, k[:, :, :length], v[:, :, :length], backend="reference", **given)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    assert made == [(0, 1023), (0, 2047)]
    assert decode.fits(1, HEADS, 600)


def test_parameters_that_are_no_numbers_are_refused_once_for_each_of_their_values():
    prior = gaussian()
    q, k, v = (drawn(1, HEADS, 300, WIDTH) for _ in range(3))
    with torch.no_grad():
        prior.theta_alpha[1] = torch.nan
        for queries in (300, 1):
            with pytest.raises(ValueError, match="holds NaN; check the prior's parameters"):
                attention(q[:, :, :queries], k, v, prior=prior, offset=300 - queries, backend="triton")
