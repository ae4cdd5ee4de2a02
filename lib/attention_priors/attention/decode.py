"""Decoding with the Triton kernels: few queries, many keys, no gradient. `fused` calls this by itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..positions.priors import DEEPEST, Prior
from . import tiles
from .launch import LOG2E, cdiv, options, pointers, rows, rows_of, strides

MOST_ROWS = 64  # queries x heads of a group that one tile holds
FEWEST_KEYS = 256  # below, splitting the keys gains nothing
SPLITS = 256


def fits(queries: int, groups: int, keys: int) -> bool:
    """Whether decoding is a matter of reading the cache once."""
    return queries * groups <= MOST_ROWS and queries <= 16 and keys >= FEWEST_KEYS


def formula(prior: Prior) -> tuple[Tensor, float] | None:
    """(s log2(e), β, μ) [3, heads] and ε where all that depends on the lag is one power (`power`), else None."""
    relative, _ = prior.split()
    power = relative[0].power() if len(relative) == 1 else None
    if power is None:
        return None
    (strength, beta, mu), epsilon = power
    return torch.stack([strength.clamp(max=-DEEPEST) * LOG2E, beta, mu]).detach().float(), epsilon


def split(keys: int, programs: int, device: torch.device, tile: int) -> int:
    """Parts of the keys: enough programs for the device twice over, none shorter than four tiles."""
    wanted = 3
    if device.type == "cuda":
        wanted = cdiv(2 * torch.cuda.get_device_properties(device).multi_processor_count, programs)
    return max(1, min(wanted, cdiv(keys, 4 * tile), SPLITS))


@torch.library.custom_op("attention_priors::fused_decode", mutates_args=())
def fused_decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    of_keys: Tensor | None,
    logit: Tensor | None,
    prior: Tensor | None,
    formula: Tensor | None,
    first: Tensor,
    last: Tensor,
    needed: Tensor | None,
    offset: int,
    shift: int,
    scale: float,
    epsilon: float,
    splits: int,
) -> Tensor:
    """Arguments as in `launch.fused_forward`; `formula` and `epsilon` as from `formula`. `splits` 0: as many as pay."""
    from . import kernels_decode

    batch, heads, queries, width = q.shape
    q, k, v = rows_of(q), rows_of(k), rows_of(v)
    kv_heads, keys, wide = k.shape[1], k.shape[2], tiles.padded(width)
    tile = tiles.tile(tiles.processor(q.device), "decode", wide, q.element_size())
    splits = splits or split(keys, batch * kv_heads, q.device, tile.n)
    part = q.new_empty(batch, heads, queries, splits, width, dtype=torch.float32)
    lse = part.new_empty(batch, heads, queries, splits)
    out = torch.empty_like(q)
    block = max(16, 1 << (heads // kv_heads * queries - 1).bit_length())
    kernels_decode.decode[splits, batch * kv_heads](
        q,
        k,
        v,
        part,
        lse,
        *pointers(lse, table, of_keys, logit, prior, formula),
        first,
        last,
        *pointers(first, needed),
        *strides(q),
        *strides(k),
        *strides(v),
        *strides(logit),
        *strides(prior),
        *strides(table, 1),
        *strides(of_keys, 1),
        rows(first),
        heads,
        heads // kv_heads,
        queries,
        keys,
        offset,
        shift,
        splits,
        scale * LOG2E,
        epsilon,
        D=width,
        BLOCK_D=wide,
        BLOCK_M=block,
        BLOCK_N=tile.n,
        HAS_T=table is not None,
        HAS_U=of_keys is not None,
        HAS_A=logit is not None,
        HAS_B=prior is not None,
        FORMULA=formula is not None,
        SKIP=needed is not None,
        **options(tile),
    )
    kernels_decode.combine[(batch * heads * queries,)](
        part,
        lse,
        out,
        *strides(out),
        heads,
        queries,
        splits,
        D=width,
        BLOCK_D=wide,
        BLOCK_S=1 << (splits - 1).bit_length(),
        num_warps=4,
    )
    return out


@fused_decode.register_fake
def _(q: Tensor, *rest: Any) -> Tensor:
    return torch.empty_like(q if q.stride(-1) == 1 else q.contiguous())
