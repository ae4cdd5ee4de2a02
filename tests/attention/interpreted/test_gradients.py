"""The kernels against the float64 reference: outputs and every gradient, over shapes, dtypes, masks and priors."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_priors.attention import attention, causal, documents, launch, tiles, window
from attention_priors.attention.visible import Visible, bidirectional
from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    Prior,
    Sandwich,
    T5Buckets,
    Uniform,
)
from attention_priors.positions.spectral import Fourier, Sink

from ..free import Free, FreeKeys

IDS = torch.tensor([[0] * 20 + [1] * 7 + [2] * 18, [0] * 3 + [1] * 40 + [2] * 2])


@dataclass(frozen=True)
class Case:
    queries: int = 45
    keys: int | None = None  # as many as queries where None
    heads: int = 2
    kv_heads: int = 1
    batch: int = 1
    width: int = 16
    mask: str = "causal"
    prior: str = "learned"
    logit: str = "row"  # "", "row" or "batch"
    scale: str = "row"
    tile: tuple[int, int] = (32, 32)

    @property
    def offset(self) -> int:
        return 0 if self.mask == "bidirectional" else (self.keys or self.queries) - self.queries


def prior(case: Case) -> Prior | None:
    heads, keys = case.heads, case.keys or case.queries
    rise = torch.linspace(-0.9, 0.9, heads)
    modes = torch.randn(heads, 3, generator=torch.Generator().manual_seed(8))

    def free(length: int, seed: int) -> torch.Tensor:
        return torch.randn(heads, length, generator=torch.Generator().manual_seed(seed))

    def learned() -> GeneralizedGaussian:
        return GeneralizedGaussian(rise, 0.2 + rise, 1 - rise, trainable=GeneralizedGaussian.NAMES)

    def sink() -> Sink:
        torch.manual_seed(9)
        made = Sink(0.1 * rise)
        nn.init.normal_(made.network[-1].weight)
        return made

    return {
        "none": lambda: None,
        "learned": learned,
        "half": lambda: GeneralizedGaussian(rise - 1, 0.5 + rise / 3, 1 - rise, trainable=GeneralizedGaussian.NAMES),
        "uniform": lambda: Uniform(heads),
        "laplace": lambda: Laplace(rise.exp() / 9, trainable=True),
        "kerple-log": lambda: KerpleLog(rise.exp(), rise.exp() / 3),
        "kerple-power": lambda: KerplePower(rise.exp() / 2, 1 + 0.5 * rise),
        "t5": lambda: T5Buckets(heads, 8, 32),
        "sandwich": lambda: Sandwich(heads, width=16),
        "fourier": lambda: Fourier([0.1, 0.7, 2.0], modes, modes.flip(0)),
        "sink": sink,
        "free": lambda: Free(free(case.queries + keys - 1, 5), case.offset - keys + 1),
        "keys": lambda: FreeKeys(free(keys, 6)),
        "free with keys": lambda: Free(free(case.queries + keys - 1, 5), 1 - keys) * FreeKeys(free(keys, 6)),
        "four parameters": lambda: learned() * Laplace(rise.exp() / 30, trainable=True),
        "five parameters": lambda: learned() * KerpleLog(rise.exp(), rise.exp() / 3),
    }[case.prior]()


def visible(case: Case) -> Visible:
    keys = case.keys or case.queries
    seen = causal(case.queries, case.offset)
    uneven = torch.randint(keys, (2, case.batch, case.queries), generator=torch.Generator().manual_seed(2))
    return {
        "causal": lambda: seen,
        "window": lambda: window(case.queries, 9, case.offset),
        "itself": lambda: window(case.queries, 1, case.offset),
        "documents": lambda: seen & documents(IDS),
        "whole documents": lambda: documents(IDS),
        "bidirectional": lambda: bidirectional(case.queries, keys),
        "uneven": lambda: Visible(*uneven.sort(0).values),
    }[case.mask]()


CASES = {
    "one": Case(1, logit="", scale=""),
    "two": Case(2),
    "ragged": Case(),
    "half": Case(prior="half"),
    "exact-tiles": Case(64, logit="", scale=""),
    "narrow-tiles": Case(tile=(32, 16), scale="batch"),
    "flat-tiles": Case(tile=(16, 32), logit="batch"),
    "width-48": Case(width=48),
    "width-256": Case(20, width=256),
    "no-prior": Case(prior="none", scale=""),
    "uniform": Case(prior="uniform"),
    "laplace": Case(prior="laplace"),
    "kerple-log": Case(prior="kerple-log"),
    "kerple-power": Case(prior="kerple-power", scale=""),
    "t5": Case(prior="t5"),
    "sandwich": Case(prior="sandwich", scale=""),
    "fourier": Case(prior="fourier"),
    "sink": Case(prior="sink"),
    "sink-scale-by-sample": Case(prior="keys", batch=2, scale="batch"),
    "free-with-keys": Case(prior="free with keys", batch=2, scale="batch"),
    "four-parameters": Case(prior="four parameters", logit=""),
    "five-parameters": Case(prior="five parameters", scale=""),
    "grouped": Case(heads=4, kv_heads=2, batch=2, logit="batch"),
    "decode-with-gradients": Case(1, keys=70),
    "chunk": Case(20, keys=70, prior="free", scale="batch"),
    "chunk-window": Case(20, keys=70, mask="window"),
    "window": Case(mask="window", prior="free"),
    "window-of-one": Case(33, mask="itself", scale=""),
    "documents": Case(batch=2, mask="documents", scale="batch"),
    "documents-both-ways": Case(batch=2, mask="whole documents", prior="free"),
    "bidirectional": Case(mask="bidirectional", prior="free with keys"),
    "fewer-keys": Case(50, keys=37, mask="bidirectional"),
    "uneven": Case(70, batch=2, mask="uneven"),
    "uneven-free": Case(70, batch=2, mask="uneven", prior="free"),
}  # fmt: skip
DTYPES = {
    torch.float32: ("half", "laplace"),
    torch.bfloat16: ("half", "kerple-log", "t5", "sink"),
    torch.float16: ("half", "laplace"),
}


def setting(case: Case, dtype: torch.dtype) -> SimpleNamespace:
    """The tensors of a case in a dtype: every one that a gradient can reach, by name."""
    generator = torch.Generator().manual_seed(4)
    keys = case.keys or case.queries

    def drawn(*shape: int, dtype: torch.dtype = dtype) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype).requires_grad_()

    made = SimpleNamespace(case=case, visible=visible(case), prior=prior(case))
    made.tensors = {"q": drawn(case.batch, case.heads, case.queries, case.width)}
    made.tensors |= {name: drawn(case.batch, case.kv_heads, keys, case.width) for name in ("k", "v")}
    for name, kind in (("logit_scale", case.logit), ("prior_scale", case.scale)):
        if kind:
            shape = (case.heads, case.queries) if kind == "row" else (case.batch, case.heads, case.queries)
            rows = drawn(*shape, dtype=torch.float32).detach()
            # half precision has no digits left for the gradients of scores in the hundreds
            made.tensors[name] = (rows if dtype == torch.float32 else rows.sigmoid()).requires_grad_()
    made.weight = drawn(case.batch, case.heads, case.queries, case.width).detach()
    return made


def exact(rounded: SimpleNamespace) -> SimpleNamespace:
    """The same numbers in float64."""
    made = SimpleNamespace(**vars(rounded))
    made.tensors = {name: x.detach().double().requires_grad_() for name, x in rounded.tensors.items()}
    made.weight, made.prior = rounded.weight.double(), prior(rounded.case)
    made.prior = made.prior and made.prior.double()
    return made


def results(made: SimpleNamespace, backend: str | Callable) -> dict[str, torch.Tensor]:
    """The output and the gradient of a weighted sum of it with respect to every tensor and parameter."""
    parameters = {n: p for n, p in made.prior.named_parameters() if p.requires_grad} if made.prior is not None else {}
    given = {"prior": made.prior, "visible": made.visible, "offset": made.case.offset}
    attend = partial(attention, backend=backend) if isinstance(backend, str) else backend
    out = attend(**made.tensors, **given)
    leaves = made.tensors | parameters
    if made.case.prior == "none":
        leaves = {name: x for name, x in leaves.items() if name != "prior_scale"}
    grads = torch.autograd.grad((out * made.weight).sum(), list(leaves.values()))
    return {"out": out.detach()} | dict(zip(leaves, grads, strict=True))


def worst(case: Case) -> dict[str, float]:
    """Error of every result in float32, relative to its norm, or to 1 where that is smaller: rows of one key have
    gradients of 0."""
    made = setting(case, torch.float32)
    found, wanted = results(made, "triton"), results(exact(made), "reference")
    assert found.keys() == wanted.keys()
    return {name: float((found[name] - x).norm() / x.norm().clamp(min=1)) for name, x in wanted.items()}


@pytest.fixture(autouse=True)
def tile(request, monkeypatch) -> None:
    case = CASES.get(getattr(request.node, "callspec", SimpleNamespace(params={})).params.get("name"), Case())
    shapes = {kernel: tiles.Tile(*case.tile, 4, 1) for kernel in ("forward", "backward_queries", "backward_keys")}
    monkeypatch.setattr(tiles, "INTERPRETER", tiles.INTERPRETER | shapes)


@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference_in_outputs_and_all_gradients(name: str) -> None:
    # Uneven rows see distant keys alone, with log-priors in the hundreds: 6e-5 seen over seeds for a parameter of them.
    bound = 1e-4 if CASES[name].mask == "uneven" else 2e-5
    for result, error in worst(CASES[name]).items():
        assert error < bound, f"{result}: {error:.1e}"


@pytest.mark.parametrize(("dtype", "name"), [(dtype, name) for dtype, names in DTYPES.items() for name in names])
def test_error_at_most_twice_that_of_plain_attention(dtype: torch.dtype, name: str, written_out) -> None:
    """Both at the same rounded inputs, against float64; a norm over each tensor. The slack is for sums in float32."""
    made = setting(CASES[name], dtype)
    truth, plain, found = results(exact(made), "reference"), results(made, written_out), results(made, "triton")
    for result, value in truth.items():
        assert found[result].dtype == plain[result].dtype
        mine, allowed = (float((x[result].double() - value).norm()) for x in (found, plain))
        assert mine <= 2 * allowed + 2e-6 * max(1, float(value.norm())), f"{result}: {mine:.2e} against {allowed:.2e}"


def test_bitwise_equal_from_run_to_run() -> None:
    case = CASES["free-with-keys"]
    first, second = (results(setting(case, torch.bfloat16), "triton") for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_rows_of_scores_do_not_feel_a_constant() -> None:
    """Σ_j dS_ij = 0: the gradients of the table and of the key prior sum to zero for every head."""
    found = results(setting(Case(prior="free with keys", scale="", mask="bidirectional"), torch.float32), "triton")
    for name in ("factors.0.values", "factors.1.values"):
        assert found[name].abs().max() > 0.1 and found[name].sum(-1).abs().max() < 1e-5


ORDER = ("q", "k", "v", "table", "of_keys", "logit_scale", "prior_scale", "theta")
MUTANTS = {
    "delta left out": ("kernels_backward", " - b_delta[:, None])", ")", "ragged", "q"),
    "delta left out of keys": ("kernels_backward", "- (b_delta * b_a)[:, None]", "", "ragged", "k"),
    "weights not transposed": (
        "kernels_backward", "tl.trans(narrow(b_p, b_do.dtype))", "narrow(b_p, b_do.dtype)", "ragged", "v"),
    "one parameter less": ("kernels_backward", "tl.store(p_dj + 2, ", "tl.store(p_dj + 1, ", "ragged", "theta_mu"),
    "row scale left out of parameters": (
        "kernels_backward", "tl.where(m_m, b_b, 0.0) if", "tl.where(m_m, 1.0, 0.0) if", "ragged", "theta_alpha"),
    "one side of the diagonal": (
        "kernels_table", "tl.sum(tl.where(m_upper, 0.0, b_skewed), 0)", "tl.sum(b_skewed, 0) * 0.0", "chunk", "values"),
    "bias of the next lag": (
        "kernels_forward", "(p_t - i_n + o_m)[:, None]", "(p_t - i_n + o_m + 1)[:, None]", "ragged", "out"),
    "no mask": ("kernels_forward", "(o_key <= b_last[:, None])", "(o_key >= 0)", "window", "out"),
}  # fmt: skip


@contextmanager
def mutated(module: str, text: str, other: str, folder: Path) -> Iterator[None]:
    """launch's kernels from a copy of `module` in which `text` is replaced."""
    source = Path(launch.__file__).with_name(f"{module}.py").read_text()
    assert source.count(text) >= 1
    path = folder / f"{module}_mutant.py"
    path.write_text(source.replace(text, other))
    spec = importlib.util.spec_from_file_location(f"attention_priors.attention.{module}_mutant", path)
    copy = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = copy
    spec.loader.exec_module(copy)
    names = [name for name in ("forward", "backward_queries", "backward_keys", "backward_table") if name in vars(copy)]
    kept = {name: getattr(launch, name) for name in names}
    try:
        for name in names:
            setattr(launch, name, getattr(copy, name))
        yield
    finally:
        for name, kernel in kept.items():
            setattr(launch, name, kernel)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_comparison_finds_kernels_broken_on_purpose(mutant: str, tmp_path) -> None:
    module, text, other, case, result = MUTANTS[mutant]
    with mutated(module, text, other, tmp_path):
        assert not worst(CASES[case])[result] < 1e-3  # unbroken, each of these cases is within 2e-5 above


@pytest.mark.parametrize(
    ("term", "name", "result"),
    [
        ("q", "two", "q"),
        ("k", "two", "k"),
        ("v", "two", "v"),
        ("table", "free-with-keys", "factors.0.values"),
        ("of_keys", "free-with-keys", "factors.1.values"),
        ("logit_scale", "ragged", "logit_scale"),
        ("prior_scale", "ragged", "prior_scale"),
        ("theta", "ragged", "theta_beta"),
    ],
)
def test_the_comparison_finds_a_dropped_gradient(term: str, name: str, result: str, monkeypatch) -> None:
    right = launch.fused_backward

    def wrong(*arguments: object) -> tuple[torch.Tensor, ...]:
        return tuple(x * (place != term) for place, x in zip(ORDER, right(*arguments), strict=True))

    monkeypatch.setattr(launch, "fused_backward", wrong)
    assert not worst(CASES[name])[result] < 1e-3


@pytest.mark.parametrize("step", [-torch.inf, torch.inf])
@pytest.mark.parametrize("strength", [1.0, 1e5, 1e15])
def test_a_log_sum_exp_that_is_off_by_its_rounding_makes_no_weight_above_1(strength: float, step: float) -> None:
    """On a GPU scores of the two passes may round apart: by 1e7 at scores of 1e15, which 2^x turns into infinity."""
    generator = torch.Generator().manual_seed(3)
    q, k, v, d_out = (torch.randn(1, 2, 40, 16, generator=generator) for _ in range(4))
    table = F.pad(-strength * torch.rand(2, 79, generator=generator), (launch.FRONT, launch.BACK))
    rows = torch.rand(1, 2, 40, generator=generator) + 0.5
    first, last = torch.zeros(1, 40, dtype=torch.int32), torch.full((1, 40), 39, dtype=torch.int32)
    jacobian = torch.randn(2, 2, 79, generator=generator)
    jacobian, theta = F.pad(jacobian, (launch.FRONT, launch.BACK)).contiguous(), torch.zeros(2, 2)
    shift, given = launch.FRONT + 39, (table, None, rows, rows)
    out, lse = launch.fused_forward(q, k, v, *given, first, last, None, -1, jacobian, theta, shift, 0.25)
    lse = torch.nextafter(lse, torch.full_like(lse, step))
    grads = [True, False, True, True, True]
    place = (first, last, None, -1)
    made = launch.fused_backward(d_out, q, k, v, out, lse, *given, *place, jacobian, grads, shift, 0.25)
    assert all(gradient.isfinite().all() for gradient in made)
    assert (made[2].abs() <= d_out.abs().sum(2, keepdim=True) * (1 + 1e-5)).all(), "dv = pᵀ dO, and p is at most 1"
