"""Reading without the blocks that weigh nothing: what is left out, what it weighs, and what is refused."""

import sys

import pytest
import torch

from attention_priors.attention import attention, causal
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, Prior, RelativePrior
from attention_priors.positions.spectral import Sink

from .free import FirstKey

SDPA = sys.modules["attention_priors.attention.sdpa"]
reference = sys.modules["attention_priors.attention.reference"]
SKIP = sys.modules["attention_priors.attention.sdpa_skip"]
HEADS, LENGTH, WIDTH = 4, 400, 8


class Level(RelativePrior):
    """Laplace, below a common level."""

    def __init__(self, level: float) -> None:
        super().__init__()
        self.heads, self.level = HEADS, level

    def log_prior(self, lags: torch.Tensor) -> torch.Tensor:
        return (self.level - lags.double()).expand(HEADS, -1)


PRIORS = {
    "laplace": lambda: Laplace([2.0, 0.02, 0.5, 1.0]),
    "learned": lambda: GeneralizedGaussian([0.5, -1.0, 0.0, 1.0], [1.0, -0.5, 0.7, 0.2]),
    "elsewhere": lambda: GeneralizedGaussian([1.0, 0.5, 0.0, 1.0], [0.8] * 4, [0.0, -2.0, 2.0, -5.0]),
    "sink": lambda: Laplace([2.0, 0.02, 0.5, 1.0]) * FirstKey(torch.full((HEADS,), 30.0), trainable=False),
}
SCALES = {
    "none": None,
    "above one": (1.0, 6.0),
    "below one": (0.3, 0.9),
    "around one": (0.5, 2.0),
    "of both signs": (-0.5, 2.0),
    "from nothing": (0.0, 6.0),
}


@pytest.fixture(autouse=True)
def reading_in_small_blocks(monkeypatch):
    for name, value in (("WHOLE", 0), ("READING_QUERIES", 64), ("READING_KEYS", 16)):
        monkeypatch.setattr(SDPA, name, value)
    with torch.no_grad():
        yield


def call(scale: str, dtype: torch.dtype = torch.float32, seed: int = 0, kv_heads: int = HEADS) -> dict:
    """Arguments of `attention`. The scales differ by row, head and sample; a's are by sample, b's by head alone."""
    generator = torch.Generator().manual_seed(seed)
    heads = {"q": HEADS, "k": kv_heads, "v": kv_heads}
    drawn = {name: torch.randn(2, n, LENGTH, WIDTH, generator=generator).to(dtype) for name, n in heads.items()}
    drawn["visible"] = causal(LENGTH)
    if SCALES[scale] is not None:
        by_head = torch.linspace(*SCALES[scale], LENGTH) * torch.tensor([1.0, 0.6, 0.8, 0.4])[:, None]
        drawn["prior_scale"] = by_head.to(dtype)
        drawn["logit_scale"] = torch.stack([by_head, 0.7 * by_head]).to(dtype)
    return drawn


def weights(prior: Prior, q, k, v, visible, logit_scale=None, prior_scale=None) -> torch.Tensor:
    """What the reference gives to each key: [batch, heads, queries, keys]."""
    places = torch.arange(LENGTH)
    given = {"logit_scale": logit_scale, "prior_scale": prior_scale, "q_positions": places, "k_positions": places}
    return reference.weights(q, k, prior=prior, visible=visible, **given)


WINDOWS = SKIP._windows


@pytest.fixture
def windows(monkeypatch):
    """For each of the calls that follow: per head and row the first lag that may be left out, [heads, queries]."""
    seen = []

    def spy(*arguments):
        found = WINDOWS(*arguments)
        rows = torch.tensor([span[0].stop - span[0].start for span in arguments[-1].spans])
        seen.append(found.repeat_interleave(rows, 1))
        return found

    monkeypatch.setattr(SKIP, "_windows", spy)
    return seen


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", PRIORS)
def test_what_is_left_out_weighs_less_than_rounding(name, scale, seed, windows):
    prior, given = PRIORS[name](), call(scale, seed=seed)
    out = attention(**given, prior=prior, backend="sdpa_skip")
    whole = attention(**given, prior=prior, backend="sdpa")
    torch.testing.assert_close(out, whole, rtol=1e-6, atol=1e-6)  # of the same blocks, and so of the same rounding
    exact = {key: x.double() if isinstance(x, torch.Tensor) else x for key, x in given.items()}
    p = weights(prior.double(), **exact)
    lag = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    (window,) = windows
    assert bool((window < LENGTH).any()), "something is left out"
    assert float((p * (lag >= window[..., None])).sum(-1).max()) <= torch.finfo(torch.float32).eps / 8


def test_a_level_common_to_all_lags_changes_no_window(windows):
    """Log-priors are not normalised; in the sums of the bound a level of -1e9 would leave no digits."""
    for level in (0.0, -1e9):
        attention(**call("none", torch.float64), prior=Level(level).double(), backend="sdpa_skip")
    near, far = (window.double() for window in windows)
    assert float(near.max()) < 100 and torch.equal(near, far)


@pytest.mark.parametrize("name", ["laplace", "sink"])
def test_near_heads_leave_out_most_blocks_and_far_heads_none(name, monkeypatch):
    elements = []
    fused = SKIP.fused_part

    def count(call, block):
        elements.append(call.q.shape[1] * (block.stop - block.start) * (block.right - block.left))
        return fused(call, block)

    monkeypatch.setattr(SKIP, "fused_part", count)
    given = call("none")
    read = {}
    for label, rates in (("near", [2.0] * 4), ("one far", [2.0, 2.0, 1e-9, 2.0]), ("far", [1e-9] * 4)):
        elements.clear()
        attention(
            **given,
            prior=Laplace(rates)
            if name == "laplace"
            else Laplace(rates) * FirstKey(torch.full((HEADS,), 30.0), trainable=False),
            backend="sdpa_skip",
        )
        read[label] = sum(elements)
    assert read["near"] < 0.4 * read["far"]
    # One far head costs a quarter of four, the three near ones what they cost alone, whatever their order.
    assert read["one far"] == pytest.approx(0.25 * read["far"] + 0.75 * read["near"], rel=0.05)


def learning(*names: str) -> dict:
    given = call("above one")
    return given | {name: given[name].requires_grad_() for name in names}


@pytest.mark.parametrize(
    ("given", "prior"),
    [
        (learning("q"), PRIORS["laplace"]()),
        (learning("v"), None),
        (learning("prior_scale"), PRIORS["laplace"]()),
        (learning(), Laplace([1.0] * HEADS, trainable=True)),
        (learning(), PRIORS["laplace"]() * Sink(torch.ones(HEADS))),
    ],
    ids=["q", "without a prior", "scale", "prior over lags", "prior over keys"],
)
def test_learning_is_refused(given, prior):
    asked = pytest.raises(ValueError, match=r"only reads.*torch.no_grad\(\).*backend='sdpa'")
    with asked, torch.enable_grad():
        attention(**given, prior=prior, backend="sdpa_skip")


def test_other_devices_are_refused():
    elsewhere = {name: call("none")[name].to("meta") for name in "qkv"}
    with pytest.raises(ValueError, match=r"for the CPU, but q is on meta; use backend='auto'"):
        SKIP.sdpa_skip(**elsewhere, prior=None, logit_scale=None, prior_scale=None, visible=causal(LENGTH), offset=0)
