"""Decoding with the Triton kernels: few queries, many keys, no gradient. `fused` calls this by itself."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from . import tiles
from .kernels import start
from .launch import cdiv, options, rows, rows_of, strides
from .tables import LOG2E

MOST_ROWS = 64  # queries x heads of a group that one tile holds
FEWEST_KEYS = 256  # below, splitting the keys gains nothing
SPLITS = 256


def fits(queries: int, groups: int, keys: int) -> bool:
    """Whether decoding is a matter of reading the cache once."""
    return queries * groups <= MOST_ROWS and queries <= 16 and keys >= FEWEST_KEYS


def split(keys: int, programs: int, device: torch.device, tile: int) -> int:
    """Parts of the keys: enough programs for the device twice over, none shorter than four tiles."""
    wanted = cdiv(2 * processors(device), programs) if device.type == "cuda" else 3
    return max(1, min(wanted, cdiv(keys, 4 * tile), SPLITS))


@functools.lru_cache
def compiled_for(device: torch.device, width: int, size: int) -> tuple[int, dict[str, Any]]:
    """Keys of a tile, and what heads of this width in numbers of `size` bytes are compiled with."""
    wide = tiles.padded(width)
    tile = tiles.tile(tiles.processor(device), "decode", wide, size)
    return tile.n, {"D": width, "BLOCK_D": wide, "BLOCK_N": tile.n, **options(tile)}


@functools.lru_cache
def processors(device: torch.device) -> int:
    """Multiprocessors of a GPU."""
    return torch.cuda.get_device_properties(device).multi_processor_count


def run_decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor | None,
    of_keys: Tensor | None,
    logit: Tensor | None,
    prior: Tensor | None,
    strength: Tensor | None,
    beta: Tensor | None,
    mu: Tensor | None,
    epsilon: float,
    exponential: bool,
    first: Tensor | None,
    last: Tensor | None,
    needed: Tensor | None,
    offset: int,
    shift: int,
    scale: float,
    splits: int,
) -> Tensor:
    """Arguments as in `launch.run_forward`, with a table that runs backwards, or the numbers of a `Power` in its place.

    `first` and `last` None: each query sees the keys up to itself. `splits` 0: as many as pay.
    """
    from . import kernels_decode

    batch, heads, queries, width = q.shape
    q, k, v = rows_of(q), rows_of(k), rows_of(v)
    _, kv_heads, keys, _ = k.shape
    groups, count = heads // kv_heads, batch * heads * queries
    tile, constants = compiled_for(q.device, width, q.element_size())
    splits = splits or split(keys, batch * kv_heads, q.device, tile)
    parts = q.new_empty(count * splits * (width + 1), dtype=torch.float32)  # means, then their log-sum-exp
    out = torch.empty_like(q)
    start(
        kernels_decode.decode,
        (splits, batch * kv_heads),
        q,
        k,
        v,
        parts,
        table,
        of_keys,
        logit,
        prior,
        strength,
        beta,
        mu,
        first,
        last,
        needed,
        *strides(q),
        *strides(k),
        *strides(v),
        *strides(logit),
        *strides(prior),
        *strides(table, 1),
        *strides(of_keys, 1),
        0 if first is None else rows(first),
        heads,
        groups,
        queries,
        keys,
        offset,
        shift,
        splits,
        scale * LOG2E,
        epsilon,
        BLOCK_M=max(16, 1 << (groups * queries - 1).bit_length()),
        HAS_T=table is not None,
        HAS_U=of_keys is not None,
        HAS_A=logit is not None,
        HAS_B=prior is not None,
        FORMULA=strength is not None,
        SHAPED=beta is not None,
        EXPONENTIAL=exponential,
        PLAIN=first is None,
        SKIP=needed is not None,
        **constants,
    )
    start(
        kernels_decode.combine,
        (count,),
        parts,
        out,
        *strides(out),
        heads,
        queries,
        splits,
        D=width,
        BLOCK_D=constants["BLOCK_D"],
        BLOCK_S=1 << (splits - 1).bit_length(),
        num_warps=4,
    )
    return out


fused_decode = torch.library.custom_op("attention_priors::fused_decode", mutates_args=())(run_decode)


@fused_decode.register_fake
def _(q: Tensor, *rest: Any) -> Tensor:
    return torch.empty_like(q if q.stride(-1) == 1 else q.contiguous())
