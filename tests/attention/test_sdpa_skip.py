"""Reading without the blocks that weigh nothing: what is left out, what it weighs, and what is refused."""

import sys

import pytest
import torch

from attention_priors.attention import attention, causal, documents
from attention_priors.positions.priors import GeneralizedGaussian, KeyPrior, Laplace, Prior

SDPA = sys.modules["attention_priors.attention.sdpa"]
SKIP = sys.modules["attention_priors.attention.sdpa_skip"]
HEADS, LENGTH, WIDTH = 4, 400, 8


class Sink(KeyPrior):
    """The first key is exp(3) times as likely as any other."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = HEADS

    def log_prior(self, keys: torch.Tensor, length: int) -> torch.Tensor:
        return 3.0 * (keys == 0).expand(HEADS, -1)


PRIORS = {
    "laplace": lambda: Laplace([2.0, 0.02, 0.5, 1.0]),
    "learned": lambda: GeneralizedGaussian([0.5, -1.0, 0.0, 1.0], [1.0, -0.5, 0.7, 0.2]),
    "elsewhere": lambda: GeneralizedGaussian([1.0, 0.5, 0.0, 1.0], [0.8] * 4, [0.0, -2.0, 2.0, -5.0]),
    "sink": lambda: Laplace([2.0, 0.02, 0.5, 1.0]) * Sink(),
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


def call(scale: str, dtype: torch.dtype = torch.float32, seed: int = 0) -> dict:
    generator = torch.Generator().manual_seed(seed)
    drawn = {name: torch.randn(2, HEADS, LENGTH, WIDTH, generator=generator).to(dtype) for name in "qkv"}
    drawn["visible"] = causal(LENGTH)
    if SCALES[scale] is not None:
        drawn["prior_scale"] = torch.linspace(*SCALES[scale], LENGTH).expand(HEADS, -1).to(dtype)
        drawn["logit_scale"] = drawn["prior_scale"].expand(2, -1, -1)
    return drawn


def weights(prior: Prior, q, k, v, visible, logit_scale=None, prior_scale=None) -> torch.Tensor:
    """What the reference gives to each key: [batch, heads, queries, keys]."""
    given = {"visible": visible, "logit_scale": logit_scale, "prior_scale": prior_scale}
    parts = []
    for left in range(0, LENGTH, WIDTH):  # the mean of unit vectors is their weights
        unit = torch.zeros_like(v)
        unit[:, :, left : left + WIDTH] = torch.eye(WIDTH, dtype=v.dtype)
        parts.append(attention(q, k, unit, prior=prior, backend="reference", **given))
    return torch.cat(parts, -1)


@pytest.fixture
def left_out(monkeypatch):
    """The (head, block of queries, first lag left out) of the calls that follow."""
    seen = []

    def spy(*arguments):
        seen.append(WINDOWS(*arguments))
        return seen[-1]

    monkeypatch.setattr(SKIP, "_windows", spy)
    return seen


WINDOWS = SKIP._windows


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", PRIORS)
def test_what_is_left_out_weighs_less_than_rounding(name: str, scale: str, seed: int, left_out) -> None:
    prior, given = PRIORS[name](), call(scale, seed=seed)
    out = attention(**given, prior=prior, backend="sdpa_skip")
    exact = {key: x.double() if isinstance(x, torch.Tensor) else x for key, x in given.items()}
    p = weights(prior.double(), **exact)
    (windows,) = left_out
    step = -(-LENGTH // windows.shape[1])
    lag = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
    beyond = lag >= windows.repeat_interleave(step, 1)[:, :LENGTH, None]
    assert float((p * beyond).sum(-1).max()) <= torch.finfo(torch.float32).eps / 8
    whole = attention(**given, prior=PRIORS[name](), backend="sdpa")
    torch.testing.assert_close(out, whole, rtol=1e-6, atol=1e-6)  # of the same blocks, and so of the same rounding


@pytest.mark.parametrize("name", ["laplace", "sink"])
def test_near_heads_leave_out_most_blocks_and_far_heads_none(name: str, monkeypatch) -> None:
    elements = []
    fused = SKIP._fused

    def count(q, k, v, table, scale, blocks, block):
        start, stop, left, right, _ = block
        elements.append(q.shape[1] * (stop - start) * (right - left))
        return fused(q, k, v, table, scale, blocks, block)

    monkeypatch.setattr(SKIP, "_fused", count)
    given = call("none")
    read = {}
    for label, rates in (("near", [2.0] * 4), ("one far", [2.0, 2.0, 1e-9, 2.0]), ("far", [1e-9] * 4)):
        elements.clear()
        attention(**given, prior=Laplace(rates) if name == "laplace" else Laplace(rates) * Sink(), backend="sdpa_skip")
        read[label] = sum(elements)
    assert read["near"] < 0.4 * read["far"]
    # One far head costs a quarter of four, the three near ones what they cost alone, whatever their order.
    assert read["one far"] == pytest.approx(0.25 * read["far"] + 0.75 * read["near"], rel=0.05)


def test_the_comparison_finds_windows_that_are_too_short(monkeypatch) -> None:
    given, prior = call("none"), PRIORS["laplace"]()
    wanted = attention(**given, prior=prior, backend="reference")
    monkeypatch.setattr(SKIP, "_windows", lambda *arguments: (WINDOWS(*arguments) // 8).clamp(min=1))
    found = attention(**given, prior=prior, backend="sdpa_skip")
    assert not torch.allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_documents_and_chunks_of_a_longer_context() -> None:
    given, prior = call("above one", torch.float64), PRIORS["learned"]().double()
    ids = (torch.arange(LENGTH) // 150).expand(2, -1)
    given["visible"] = causal(LENGTH) & documents(ids)
    found, wanted = (attention(**given, prior=prior, backend=name) for name in ("sdpa_skip", "reference"))
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)
    whole = call("none", torch.float64)
    chunk = {"k": whole["k"], "v": whole["v"], "q": whole["q"][:, :, 300:], "offset": 300}
    found = attention(**chunk, prior=prior, backend="sdpa_skip")
    wanted = attention(**whole, prior=prior, backend="reference")[:, :, 300:]
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


def test_learning_and_other_devices_are_refused() -> None:
    given, prior = call("none"), PRIORS["laplace"]()
    asked = pytest.raises(ValueError, match=r"only reads.*torch.no_grad\(\).*backend='sdpa'")
    with asked, torch.enable_grad():
        attention(**given | {"q": given["q"].requires_grad_()}, prior=prior, backend="sdpa_skip")
    elsewhere = {name: given[name].detach().to("meta") for name in "qkv"}
    with pytest.raises(ValueError, match=r"for the CPU, but q is on meta; use backend='triton'"):
        SKIP.sdpa_skip(**elsewhere, prior=prior, logit_scale=None, prior_scale=None, visible=causal(LENGTH), offset=0)
