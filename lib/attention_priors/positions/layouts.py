"""The published layouts of RoPE: which components share a plane, and the permutation from one layout to the other.

Half-split (GPT-NeoX, Hugging Face): components i and i + d/2. Interleaved (RoFormer, Meta's Llama): 2i and 2i + 1.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


def half_split(x: Float[Tensor, "*rows width"], angles: Float[Tensor, "*#rows planes"]) -> Float[Tensor, "*rows width"]:
    """x ⊙ (cos, cos) + (-x_second, x_first) ⊙ (sin, sin): "rotate_half" (GPT-NeoX, Hugging Face).

    ValueError unless two components have one angle.
    """
    _check_width(x, angles)
    cos, sin = (torch.cat([part, part], dim=-1).to(x.dtype) for part in (angles.cos(), angles.sin()))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


def interleaved(
    x: Float[Tensor, "*rows width"], angles: Float[Tensor, "*#rows planes"]
) -> Float[Tensor, "*rows width"]:
    """x ⊙ cos + (-x_1, x_0, -x_3, x_2, ...) ⊙ sin, every angle twice in a row (Su et al. 2024, eq. 34).

    ValueError unless two components have one angle.
    """
    _check_width(x, angles)
    cos, sin = (part.repeat_interleave(2, dim=-1).to(x.dtype) for part in (angles.cos(), angles.sin()))
    return x * cos + torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2) * sin


def complex_product(
    x: Float[Tensor, "*rows width"], angles: Float[Tensor, "*#rows planes"]
) -> Float[Tensor, "*rows width"]:
    """(x_{2i} + i x_{2i+1}) e^{i angle}: the interleaved layout as complex numbers (Meta's Llama).

    ValueError unless two components have one angle.
    """
    _check_width(x, angles)
    planes = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(planes * torch.polar(torch.ones_like(angles), angles).to(planes.dtype)).flatten(-2)


LAYOUTS = {"half-split": half_split, "interleaved": interleaved, "complex": complex_product}


def halves_to_neighbours(width: int) -> Int[Tensor, " width"]:
    """(0, d/2, 1, d/2 + 1, ...): `x[..., halves_to_neighbours(d)]` moves half-split features to the interleaved layout.

    interleaved(x[..., p], angles) = half_split(x, angles)[..., p]. Scores agree when q and k both move; the inverse
    is `torch.argsort` of it. ValueError unless `width` is even and at least 2.
    """
    if width < 2 or width % 2:
        raise ValueError(f"width = {width}, but a rotation needs an even head width of at least 2")
    return torch.arange(width).unflatten(0, (2, -1)).T.flatten()


def _check_width(x: Tensor, angles: Tensor) -> None:
    if x.shape[-1] != 2 * angles.shape[-1]:
        raise ValueError(f"head width {x.shape[-1]}, but there are {angles.shape[-1]} angles, one for two components")
