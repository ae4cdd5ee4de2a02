"""The fast path in blocks: the properties find it broken, its memory, and what surrounds it."""

import math
from dataclasses import replace

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from attention_priors.attention import attention, sdpa
from attention_priors.positions.priors import GeneralizedGaussian, Laplace

from .largest import Largest
from .test_properties import Case, Setting, problems, small_blocks

RIGHT = sdpa.Call.bias
WRONG = {
    "no gradient of the table": ("_add_diagonals", lambda d_table, *rest: None),
    "no gradient of the row scale": ("_add_scale", lambda d_scale, *rest: None),
    "bias of the next lag": ("Call.bias", lambda own, block: RIGHT(own._replace(table=own.table.roll(1, -1)), block)),
    "no mask": ("Blocks.hidden", lambda blocks, block: torch.zeros(1, dtype=torch.bool)),
}


@pytest.mark.parametrize("blocks", ["whole", "blocks"])
@pytest.mark.parametrize("name", WRONG)
def test_the_properties_find_what_is_broken_on_purpose(name, blocks, monkeypatch):
    case = Case(1, "float64", 2, 2, 2, queries=75, mask="uneven", relative="gaussian", prior="rows", blocks=blocks)
    small_blocks(case)
    assert not problems(case, "sdpa")
    monkeypatch.setattr(f"attention_priors.attention.sdpa.{WRONG[name][0]}", WRONG[name][1])
    assert problems(case, "sdpa")


@pytest.mark.parametrize("blocks", ["whole", "blocks"])
def test_a_checkpoint_computes_the_same_again(blocks):
    """It refuses to unpack what was saved twice."""
    case = Case(4, kv_heads=4, queries=75, mask="uneven", relative="gaussian", logit="rows", prior="rows")
    small_blocks(replace(case, blocks=blocks))
    made, found = Setting(case, "sdpa"), []
    leaves = [x.requires_grad_() for x in made.tensors.values()] + list(made.factors[0].parameters())
    given = {**made.tensors, "prior": made.factors[0], "visible": made.visible, "backend": "sdpa"}
    for out in (attention(**given), checkpoint(attention, use_reentrant=False, **given)):
        found.append([out, *torch.autograd.grad((out * made.weight).sum(), leaves)])
    assert all(torch.equal(again, plain) for plain, again in zip(*found, strict=True))


def drawn(length: int) -> list[torch.Tensor]:
    """q, k, v and a row scale that learn."""
    made = [torch.randn(2, 2, length, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
    return [x.requires_grad_() for x in (*made, torch.ones(2, length))]


def memory(length: int, backend: str) -> tuple[int, int]:
    """(largest single tensor, bytes kept for the backward pass) of forward and backward."""
    leaves, kept = drawn(length), {}

    def keep(x: torch.Tensor) -> torch.Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    prior = GeneralizedGaussian([-0.9, 0.9], [0.3, 1.0], trainable=GeneralizedGaussian.NAMES)
    with Largest() as seen, torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        attention(*leaves[:3], prior_scale=leaves[3], prior=prior, backend=backend).sum().backward()
    return seen.bytes, sum(kept.values())


def test_memory_grows_linearly_with_the_length(monkeypatch):
    """No tensor of length x length, nor anything near it, in the forward pass or in the backward pass."""
    monkeypatch.setattr(sdpa, "BLOCK_QUERIES", 64)
    monkeypatch.setattr(sdpa, "BLOCK_KEYS", 256)
    short, long = memory(512, "sdpa"), memory(2048, "sdpa")
    assert long[0] < 4 * 2048 * 2048 / 8
    assert long[0] <= 4.2 * short[0] and long[1] <= 4.2 * short[1]
    assert memory(512, "reference")[0] >= 4 * 2 * 2 * 512 * 512  # the measurement sees a matrix where there is one


def test_an_unused_gradient_is_not_computed():
    (q, k, v, _), prior = drawn(20), Laplace([0.5, 0.1])
    with torch.no_grad():
        assert attention(q, k, v, prior=prior).requires_grad is False
    attention(q, k, v, prior=prior).sum().backward()
    assert prior.slopes.grad is None and q.grad is not None


def test_a_weight_that_underflows_is_zero_and_the_others_are_exact():
    """exp of scores below the smallest normal number: 0, not a denormal; everything else as torch's own exp."""
    for dtype in (torch.float32, torch.float64):
        low = math.log(torch.finfo(dtype).tiny)
        x = torch.tensor([0.0, -1.0, low / 2, low + 3, low - 3, 10 * low, sdpa.HIDDEN, -torch.inf], dtype=dtype)
        assert torch.equal(sdpa._exp(x.clone())[:4], x.exp()[:4])
        assert torch.equal(sdpa._exp(x.clone())[4:], torch.zeros(4, dtype=dtype))
