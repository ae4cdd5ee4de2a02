"""The fast path against the specification: outputs and every gradient, in whole and in blocks, and its memory."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint

from attention_priors.attention import attention, causal, documents, window
from attention_priors.attention.visible import Visible, bidirectional
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, Uniform

SDPA = sys.modules["attention_priors.attention.sdpa"]  # the module; the package's attribute is its function
IDS = torch.tensor([[0] * 30 + [1] * 20 + [2] * 25, [0] * 3 + [1] * 70 + [2] * 2])


@dataclass(frozen=True)
class Case:
    queries: int
    keys: int | None = None  # as many as queries where None
    heads: int = 4
    kv_heads: int = 4
    mask: str = "causal"
    prior: str = "learned"
    logit: str = ""  # "", "row" or "batch"
    scale: str = ""
    width: int = 4

    @property
    def offset(self) -> int:
        return 0 if self.mask == "bidirectional" else (self.keys or self.queries) - self.queries


CASES = {
    "one": Case(1),
    "two": Case(2, logit="row", scale="row"),
    "ragged": Case(75, logit="row", scale="row"),
    "power-of-two": Case(64, scale="batch"),
    "scales-by-sample": Case(75, logit="batch", scale="batch"),
    "content-scale": Case(75, logit="row"),
    "no-prior": Case(75, prior="none", logit="row"),
    "no-prior-window": Case(75, prior="none", mask="window"),
    "laplace": Case(75, prior="laplace", scale="row"),
    "product": Case(75, prior="product", scale="row"),
    "grouped": Case(75, heads=6, kv_heads=2, prior="learned", logit="row", scale="row"),
    "one-kv-head": Case(40, heads=3, kv_heads=1, scale="row"),
    "decode": Case(1, keys=90, logit="row", scale="row"),
    "chunk": Case(40, keys=90, logit="batch", scale="row"),
    "chunk-window": Case(40, keys=90, mask="window", scale="batch"),
    "window": Case(75, mask="window", scale="row"),
    "window-of-one": Case(33, mask="itself", scale="row"),
    "documents": Case(75, mask="documents", logit="batch", scale="batch"),
    "documents-both-ways": Case(75, mask="whole documents", scale="row"),
    "bidirectional": Case(75, mask="bidirectional", scale="row"),
    "fewer-keys": Case(75, keys=50, mask="bidirectional", scale="row"),
    "uneven": Case(75, mask="uneven", scale="batch"),
}
BLOCKS = {"whole": (256, 256, 512), "blocks": (0, 8, 16), "narrow": (0, 1, 7), "wide": (0, 512, 4096)}
CONSTANTS = ("WHOLE", "BLOCK_QUERIES", "BLOCK_KEYS"), ("WHOLE", "READING_QUERIES", "READING_KEYS")


def visible(case: Case) -> Visible:
    keys = case.keys or case.queries
    seen = causal(case.queries, case.offset)
    generator = torch.Generator().manual_seed(2)
    uneven = torch.randint(keys, (2, 2, case.queries), generator=generator).sort(0).values
    return {
        "causal": lambda: seen,
        "window": lambda: window(case.queries, 9, case.offset),
        "itself": lambda: window(case.queries, 1, case.offset),
        "documents": lambda: seen & documents(IDS),
        "whole documents": lambda: documents(IDS),
        "bidirectional": lambda: bidirectional(case.queries, keys),
        "uneven": lambda: Visible(uneven[0], uneven[1]),
    }[case.mask]()


def prior(name: str, heads: int) -> nn.Module | None:
    theta = torch.linspace(-0.9, 0.9, heads)
    learned = GeneralizedGaussian(theta, 0.2 + theta, 1 - theta, trainable=GeneralizedGaussian.NAMES)
    laplace = Laplace(torch.linspace(0.05, 1, heads), trainable=True)
    return {"none": None, "learned": learned, "laplace": laplace, "product": learned * laplace * Uniform(heads)}[name]


def setting(case: Case, dtype: torch.dtype = torch.float64) -> SimpleNamespace:
    """The tensors of a case: every one that a gradient can reach, by name."""
    generator = torch.Generator().manual_seed(4)
    keys = case.keys or case.queries

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype).requires_grad_()

    made = SimpleNamespace(case=case, visible=visible(case), prior=prior(case.prior, case.heads))
    made.tensors = {"q": drawn(2, case.heads, case.queries, case.width)}
    made.tensors |= {name: drawn(2, case.kv_heads, keys, case.width) for name in ("k", "v")}
    for name, kind in (("logit_scale", case.logit), ("prior_scale", case.scale)):
        if kind:
            shape = (case.heads, case.queries) if kind == "row" else (2, case.heads, case.queries)
            made.tensors[name] = drawn(*shape)
    made.weight = drawn(2, case.heads, case.queries, case.width).detach()
    if made.prior is not None:
        made.prior = made.prior.to(torch.float64 if dtype == torch.float64 else torch.float32)
    return made


def results(made: SimpleNamespace, backend: str | Callable) -> dict[str, torch.Tensor]:
    """The output and the gradient of a weighted sum of it with respect to every tensor and parameter."""
    parameters = dict(made.prior.named_parameters()) if made.prior is not None else {}
    given = {"prior": made.prior, "visible": made.visible, "offset": made.case.offset}
    attend = partial(attention, backend=backend) if isinstance(backend, str) else backend
    out = attend(**made.tensors, **given)
    leaves = made.tensors | parameters
    grads = torch.autograd.grad((out * made.weight).sum(), list(leaves.values()), allow_unused=False)
    return {"out": out.detach()} | dict(zip(leaves, grads, strict=True))


def blocks_of(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for constants in CONSTANTS:
        for constant, value in zip(constants, BLOCKS[name], strict=True):
            monkeypatch.setattr(SDPA, constant, value)


def compare(case: Case) -> None:
    found, wanted = results(setting(case), "sdpa"), results(setting(case), "reference")
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].dtype == value.dtype
        torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-10, msg=lambda m, n=name: f"{n}: {m}")


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference_in_outputs_and_all_gradients(name: str, blocks: str, monkeypatch) -> None:
    blocks_of(monkeypatch, blocks)
    compare(CASES[name])


RIGHT = SDPA.Call.bias
WRONG = {
    "no gradient of the table": ("_add_diagonals", lambda d_table, *rest: None),
    "no gradient of the row scale": ("_add_scale", lambda d_scale, *rest: None),
    "bias of the next lag": ("Call.bias", lambda own, block: RIGHT(own._replace(table=own.table.roll(1, -1)), block)),
    "no mask": ("Blocks.hidden", lambda blocks, block: torch.zeros(1, dtype=torch.bool)),
}


@pytest.mark.parametrize("blocks", ["whole", "blocks"])
@pytest.mark.parametrize("name", WRONG)
def test_the_comparison_finds_what_is_broken_on_purpose(name: str, blocks: str, monkeypatch) -> None:
    blocks_of(monkeypatch, blocks)
    monkeypatch.setattr(f"attention_priors.attention.sdpa.{WRONG[name][0]}", WRONG[name][1])
    with pytest.raises(AssertionError, match=r"theta|prior_scale|out"):
        compare(Case(75, mask="uneven", scale="row"))


@pytest.mark.parametrize("blocks", ["whole", "blocks"])
def test_a_checkpoint_computes_the_same_again(blocks: str, monkeypatch) -> None:
    """It refuses to unpack what was saved twice."""
    blocks_of(monkeypatch, blocks)
    case = Case(75, mask="uneven", logit="row", scale="row")
    again = results(setting(case), partial(checkpoint, partial(attention, backend="sdpa"), use_reentrant=False))
    for name, wanted in results(setting(case), "sdpa").items():
        assert torch.equal(again[name], wanted)


def test_autocast_rounds_no_bias() -> None:
    """On a GPU the model runs under autocast, where a bias of -257 would become -256."""
    case = Case(400, prior="laplace", scale="row", width=8)
    made = setting(case, torch.bfloat16)
    made.prior = Laplace([1.0] * 4, trainable=True)
    leaves = [*made.tensors.values(), *made.prior.parameters()]
    found = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            out = attention(**made.tensors, prior=made.prior, backend="sdpa")
        found.append([out, *torch.autograd.grad((out * made.weight).sum(), leaves)])
    assert all(torch.equal(cast, plain) for plain, cast in zip(*found, strict=True))


class Largest(TorchDispatchMode):
    """The largest storage that any operation returns, in bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        sizes = [x.untyped_storage().nbytes() for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
        self.bytes = max([self.bytes, *sizes])
        return out


def memory(length: int, backend: str) -> tuple[int, int]:
    """(largest single tensor, bytes kept for the backward pass) of forward and backward."""
    made = setting(Case(length, heads=2, kv_heads=2, width=8, logit="row", scale="row"), torch.float32)
    made.visible = causal(length)
    kept: dict[int, int] = {}

    def keep(x: torch.Tensor) -> torch.Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with Largest() as seen, torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        results(made, backend)
    return seen.bytes, sum(kept.values())


def test_memory_grows_linearly_with_the_length(monkeypatch) -> None:
    """No tensor of length x length, nor anything near it, in the forward pass or in the backward pass."""
    monkeypatch.setattr(SDPA, "BLOCK_QUERIES", 64)
    monkeypatch.setattr(SDPA, "BLOCK_KEYS", 256)
    short, long = memory(512, "sdpa"), memory(2048, "sdpa")
    assert long[0] < 4 * 2048 * 2048 / 8
    assert long[0] <= 4.2 * short[0] and long[1] <= 4.2 * short[1]
    assert memory(512, "reference")[0] >= 4 * 2 * 2 * 512 * 512  # the measurement sees a matrix where there is one


def test_an_unused_gradient_is_not_computed() -> None:
    made = setting(Case(20, scale="row"))
    for parameter in made.prior.parameters():
        parameter.requires_grad_(False)
    with torch.no_grad():
        assert attention(**made.tensors, prior=made.prior).requires_grad is False
    out = attention(**made.tensors, prior=made.prior)
    out.sum().backward()
    assert all(p.grad is None for p in made.prior.parameters()) and made.tensors["q"].grad is not None


def test_a_document_that_begins_at_the_floor_sees_itself_alone(monkeypatch) -> None:
    """θ_β = -2 puts lag 0 at the floor; the first token of a later document sees nothing else."""
    blocks_of(monkeypatch, "narrow")
    made = setting(Case(75, mask="documents", prior="none"))
    made.prior = GeneralizedGaussian([0.0] * 4, [-2.0] * 4).double()
    for reading in (False, True):
        with torch.set_grad_enabled(not reading):
            out = {
                backend: attention(**made.tensors, prior=made.prior, visible=made.visible, backend=backend)
                for backend in ("sdpa", "reference")
            }
        torch.testing.assert_close(out["sdpa"], out["reference"])


def read(made: SimpleNamespace, backend: str) -> torch.Tensor:
    with torch.no_grad():
        given = {"prior": made.prior, "visible": made.visible, "offset": made.case.offset}
        return attention(**made.tensors, **given, backend=backend)


@pytest.mark.parametrize("backend", ["sdpa", "sdpa_skip"])
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("name", CASES)
def test_reading_without_gradients_gives_the_reference_s_output(name, blocks, backend, monkeypatch) -> None:
    blocks_of(monkeypatch, blocks)
    made = setting(CASES[name])
    torch.testing.assert_close(read(made, backend), read(made, "reference"), rtol=1e-10, atol=1e-10)


def test_a_weight_that_underflows_is_zero_and_the_others_are_exact() -> None:
    """exp of scores below the smallest normal number: 0, not a denormal; everything else as torch's own exp."""
    for dtype in (torch.float32, torch.float64):
        low = math.log(torch.finfo(dtype).tiny)
        x = torch.tensor([0.0, -1.0, low / 2, low + 3, low - 3, 10 * low, SDPA.HIDDEN, -torch.inf], dtype=dtype)
        assert torch.equal(SDPA._exp(x.clone())[:4], x.exp()[:4])
        assert torch.equal(SDPA._exp(x.clone())[4:], torch.zeros(4, dtype=dtype))
