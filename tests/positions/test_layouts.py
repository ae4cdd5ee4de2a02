"""The layouts of RoPE are one rotation up to a permutation of the components."""

import pytest
import torch

from attention_priors.positions.layouts import (
    LAYOUTS,
    half_split,
    halves_to_neighbours,
    interleaved,
)
from attention_priors.positions.rotary import Rotary, rope

X = torch.randn(2, 3, 5, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
ANGLES = torch.tensor([0, 1, 7, 4096, 500_000.0], dtype=torch.float64)[:, None] * torch.tensor(
    rope(12).omega, dtype=torch.float64
)


def test_half_split_is_the_rotation_of_the_model():
    positions = torch.tensor([0, 1, 7, 4096, 500_000])
    torch.testing.assert_close(half_split(X, ANGLES), Rotary(rope(12))(X, X, positions, positions)[0])


def llama(x, angles):
    from transformers.models.llama4.modeling_llama4 import apply_rotary_emb

    heads_last, phases = x.transpose(1, 2), torch.polar(torch.ones_like(angles), angles)[None]
    return apply_rotary_emb(heads_last, heads_last, phases)[0].transpose(1, 2)


def neox(x, angles):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    twice = torch.cat([angles, angles], dim=-1)[None]
    return apply_rotary_pos_emb(x, x, twice.cos(), twice.sin())[0]


def roformer(x, angles):
    from transformers.models.roformer.modeling_roformer import RoFormerSelfAttention

    waves = torch.cat([angles.sin(), angles.cos()], dim=-1)
    return RoFormerSelfAttention.apply_rotary_position_embeddings(waves, x, x)[0]


@pytest.mark.parametrize(("name", "published"), [("half-split", neox), ("interleaved", roformer), ("complex", llama)])
def test_every_layout_is_the_published_one(name, published):
    torch.testing.assert_close(LAYOUTS[name](X, ANGLES), published(X, ANGLES).to(X.dtype), rtol=0, atol=1e-5)


def test_the_permutation_leads_from_one_layout_to_the_other():
    order = halves_to_neighbours(12)
    assert order.tolist() == [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]
    torch.testing.assert_close(interleaved(X[..., order], ANGLES), half_split(X, ANGLES)[..., order])
    torch.testing.assert_close(half_split(X, ANGLES), interleaved(X[..., order], ANGLES)[..., torch.argsort(order)])
    assert not torch.allclose(interleaved(X, ANGLES), half_split(X, ANGLES))


def test_refusals():
    with pytest.raises(ValueError, match="width = 5"):
        halves_to_neighbours(5)
    for turn in LAYOUTS.values():
        with pytest.raises(ValueError, match="head width 12"):
            turn(X, ANGLES[:, :4])
