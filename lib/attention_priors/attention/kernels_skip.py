"""From which key on a row of scores needs its keys, given a tolerance: see `skipping` for the bound and its proof."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["queries", "offset", "lowest", "lags"])
def needed_keys(
    p_q,
    p_norm,
    p_t,
    p_sum,
    p_top,
    p_peak,
    p_reach,
    p_a,
    p_b,
    p_first,
    p_last,
    p_need,
    s_qb,
    s_qh,
    s_qm: tl.constexpr,
    s_ab,
    s_ah,
    s_am,
    s_bb,
    s_bh,
    s_bm,
    s_ib,
    heads,
    groups,
    queries,
    offset,
    lowest,
    lags,
    scale,
    limit,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    STEPS: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
):
    """Bisection over the lag w: the bound on the weight of all lags >= w falls with w."""
    i_m = tl.program_id(0) * BLOCK_M
    i_b, i_h = tl.program_id(1) // heads, tl.program_id(1) % heads
    o_m, o_d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    m_m = i_m + o_m < queries
    o_row = tl.minimum(i_m + o_m, queries - 1)
    b_first = tl.load(p_first + i_b * s_ib + o_row)
    b_last = tl.load(p_last + i_b * s_ib + o_row)
    # q: [BLOCK_M, BLOCK_D]
    p_q += i_b.to(tl.int64) * s_qb + i_h.to(tl.int64) * s_qh
    p_tile = p_q + o_row[:, None].to(tl.int64) * s_qm + o_d[None, :]
    b_q = tl.load(p_tile, mask=o_d[None, :] < D, other=0.0).to(tl.float32)
    b_range = 2.0 * scale * tl.sqrt(tl.sum(b_q * b_q, 1)) * tl.load(p_norm + i_b * (heads // groups) + i_h // groups)
    if HAS_A:
        b_range *= tl.abs(tl.load(p_a + i_b.to(tl.int64) * s_ab + i_h * s_ah + o_row * s_am))
    b_b = tl.full([BLOCK_M], 1.0, tl.float32)
    if HAS_B:
        b_b = tl.load(p_b + i_b.to(tl.int64) * s_bb + i_h * s_bh + o_row * s_bm)
    p_t += i_h.to(tl.int64) * lags
    p_sum += i_h.to(tl.int64) * lags
    p_top += i_h.to(tl.int64) * lags

    # entries of the table: lag - lowest
    b_near = offset + o_row - b_last - lowest
    b_far = offset + o_row - b_first - lowest
    b_peak = tl.minimum(tl.maximum(tl.load(p_peak + i_h), b_near), b_far)
    b_base = b_range * 1.0001 + 0.001 + b_b * (tl.load(p_reach + i_h) - tl.load(p_t + b_peak))
    b_count = tl.math.log2((b_far - b_near + 1).to(tl.float32)) * 0.6931471805599453
    b_low, b_high = b_near + 1, b_far + 1  # the answer is in [low, high]; at high nothing is left to skip
    for _ in tl.range(0, STEPS):
        b_w = (b_low + b_high) // 2
        b_at = tl.minimum(b_w, lags - 1)
        b_sum, b_top = tl.load(p_sum + b_at), tl.load(p_top + b_at)
        b_tail = tl.where(b_b >= 1.0, b_sum + (b_b - 1.0) * b_top, b_b * b_sum + (1.0 - b_b) * b_count)
        enough = (b_base + b_tail <= limit) & (b_b > 0.0)
        b_high = tl.where(enough & (b_low < b_high), b_w, b_high)
        b_low = tl.where(enough, b_low, tl.minimum(b_w + 1, b_high))
    b_need = offset + o_row - lowest - b_high + 1
    b_need = tl.minimum(tl.maximum(b_need, b_first), b_last)
    tl.store(p_need + tl.program_id(1).to(tl.int64) * queries + i_m + o_m, b_need, mask=m_m)
