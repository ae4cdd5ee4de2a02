"""Which keys a row of scores can do without: a bound on their weight, proven for any content and any table.

Row i has scores s_j = c_j + b T(i - j) + b u_j with b > 0, and |c_j| <= S = |a_i| |q_i| max_j |k_j| / sqrt(d) (Cauchy
and Schwarz). Let F be its visible keys at lags >= w, and d* any lag that it sees. The sum of all its exponentials is at
least the one at d*, so that the weight of F is

    p(F) <= e^(2 S + b (max u - min u) - b T(d*)) Σ_{d in F} e^(b T(d)).

With G(w) = log Σ_{d >= w} e^T(d) and X(w) = max_{d >= w} T(d), one table each for all rows,

    b >= 1:     Σ_F e^(b T) <= e^((b - 1) X(w)) e^G(w)       (factor out the largest term)
    0 < b < 1:  Σ_F e^(b T) <= n^(1 - b) e^(b G(w))          (Hölder; n visible keys).

Both fall with w, and bisection finds the smallest w at which p(F) <= tolerance. A tile of keys is skipped when every
row of the tile can do without all of it. Leaving out weight ε and normalising the rest moves the output by
ε |o_F - o_rest| <= 2 ε max_j |v_j|; in the backward pass the row's Σ_j |dS_ij| moves by at most
6 ε max_j |<dO_i, v_j>|: 2 ε for the terms left out, 4 ε for the others, whose weights grow by 1 / (1 - ε) and whose δ_i
moves by 2 ε. The d* taken is the table's largest lag or, where the row does not see it, the nearest that it sees.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from . import tiles


def suffixes(table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """G, X [heads, lags] and the entry of each head's largest log-prior, int32 [heads]."""
    backward = table.flip(-1).double()
    total = backward.logcumsumexp(-1).flip(-1).to(torch.float32)
    top = backward.cummax(-1).values.flip(-1).to(torch.float32)
    return total.contiguous(), top.contiguous(), table.argmax(-1).to(torch.int32)


def window(table: Tensor, content: float, tolerance: float, scale: float = 1.0) -> Tensor:
    """The smallest w for the last query of a causal row, whose lags 0, 1, .. the table holds: int64 [heads].

    `content` is S, `scale` b > 0. The kernel finds the same by bisection.
    """
    total, top, peak = suffixes(table)
    count = table.shape[1]
    tail = total * scale + (1 - scale) * math.log(count) if scale < 1 else total + (scale - 1) * top
    bound = 2 * content + tail - scale * table.gather(1, peak.long()[:, None])
    return (bound > math.log(tolerance)).sum(-1)


@torch.library.custom_op("attention_priors::first_needed", mutates_args=())
def first_needed(
    q: Tensor,
    k: Tensor,
    table: Tensor,
    of_keys: Tensor | None,
    logit: Tensor | None,
    prior: Tensor | None,
    first: Tensor,
    last: Tensor,
    offset: int,
    lowest: int,
    tolerance: float,
) -> Tensor:
    """The first key that a row needs: first <= needed <= last, [batch, heads, queries] int32.

    table [heads, lags] from lag `lowest` on and of_keys [heads, keys], natural logarithms; the rest as in `launch`.
    """
    from .kernels import start
    from .kernels_skip import needed_keys
    from .launch import cdiv, pointers, rows, rows_of, strides

    batch, heads, queries, width = q.shape
    q, table = rows_of(q), table.to(torch.float32).contiguous()
    total, top, peak = suffixes(table)
    norm = torch.linalg.vector_norm(k, dim=-1, dtype=torch.float32).amax(-1).contiguous()
    reach = table.new_zeros(heads) if of_keys is None else of_keys.amax(-1) - of_keys.amin(-1)
    needed = torch.empty(batch, heads, queries, dtype=torch.int32, device=q.device)
    block, lags = 64, table.shape[1]
    start(
        needed_keys,
        (cdiv(queries, block), batch * heads),
        q,
        norm,
        table,
        total,
        top,
        peak,
        reach,
        *pointers(norm, logit, prior),
        first,
        last,
        needed,
        *strides(q),
        *strides(logit),
        *strides(prior),
        rows(first),
        heads,
        heads // k.shape[1],
        queries,
        offset,
        lowest,
        lags,
        width**-0.5,
        math.log(tolerance),
        D=width,
        BLOCK_D=tiles.padded(width),
        BLOCK_M=block,
        STEPS=lags.bit_length() + 1,
        HAS_A=logit is not None,
        HAS_B=prior is not None,
        num_warps=4,
    )
    return needed


@first_needed.register_fake
def _(q: Tensor, *rest: Any) -> Tensor:
    return q.new_empty(q.shape[:3], dtype=torch.int32)
