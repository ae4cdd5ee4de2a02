"""Decoding: a few queries against a long cache, its keys split over programs and combined by their log-sum-exp.

The kernel waits for memory, so that a power per score costs nothing: the generalised Gaussian is computed on the spot,
without a table of half a million lags. All query heads of a key head form one tile; keys are read once.
"""

import triton
import triton.language as tl

from .kernels import dot, narrow, read

LOG2E = tl.constexpr(1.4426950408889634)
DEEPEST = tl.constexpr(-1.4426950408889634e30)  # of a log-prior, in base 2


@triton.jit
def power(b_lag, b_strength, b_beta, b_mu, epsilon, SHAPED: tl.constexpr):
    """-s (|lag + μ| + ε)^β in base 2, s in units of ln 2."""
    if SHAPED:
        b_distance = tl.abs(b_lag.to(tl.float32) + b_mu) + epsilon
        b_power = tl.math.exp2(b_beta * tl.math.log2(b_distance))
    else:
        b_power = tl.abs(b_lag).to(tl.float32)
    return tl.maximum(-b_strength * b_power, DEEPEST)


@triton.jit(do_not_specialize=["keys", "shift", "offset", "splits", "s_th", "s_uh", "s_ib"])
def decode(
    p_q,
    p_k,
    p_v,
    p_part,
    p_t,
    p_u,
    p_a,
    p_b,
    p_strength,
    p_beta,
    p_mu,
    p_first,
    p_last,
    p_need,
    s_qb,
    s_qh,
    s_qm,
    s_kb,
    s_kh,
    s_kn: tl.constexpr,
    s_vb,
    s_vh,
    s_vn: tl.constexpr,
    s_ab,
    s_ah,
    s_am,
    s_bb,
    s_bh,
    s_bm,
    s_th,
    s_uh,
    s_ib,
    heads,
    groups,
    queries,
    keys,
    offset,
    shift,
    splits,
    scale,
    epsilon,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
    FORMULA: tl.constexpr,
    SHAPED: tl.constexpr,
    EXPONENTIAL: tl.constexpr,
    PLAIN: tl.constexpr,
    SKIP: tl.constexpr,
):
    """Mean of v and log2-sum-exp2 of one part of the keys, for all queries of the heads that share a key head.

    p_part [batch, heads, queries, splits, D] takes the means, and what lies behind it, without D, the second.
    What a flag leaves out is None. PLAIN: query i, at `offset` + i, sees the keys up to itself. The table runs
    backwards, so that its entries follow the keys: `shift` is the entry of the first query and the first key.
    """
    i_split = tl.program_id(0)
    kv_heads = heads // groups
    i_b, i_g = tl.program_id(1) // kv_heads, tl.program_id(1) % kv_heads
    o_r, o_n, o_d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    m_r, m_d = o_r < groups * queries, o_d < D
    o_row = tl.minimum(o_r, groups * queries - 1)  # rows: heads of the group x queries
    o_head, o_query = i_g * groups + o_row // queries, o_row % queries
    o_flat = (i_b * heads + o_head).to(tl.int64) * queries + o_query
    if PLAIN:
        b_first, b_last = o_query * 0, offset + o_query
    else:
        b_first = tl.load(p_first + i_b * s_ib + o_query)
        b_last = tl.load(p_last + i_b * s_ib + o_query)
    b_need = b_first
    if SKIP:
        b_need = tl.load(p_need + o_flat)
    low, high = tl.min(b_need, 0) // BLOCK_N, tl.max(b_last, 0) // BLOCK_N + 1
    per_split = tl.cdiv(high - low, splits)
    start = low + i_split * per_split
    stop = tl.minimum(start + per_split, high)

    b64 = i_b.to(tl.int64)
    b_a = tl.full([BLOCK_M], 1.0, tl.float32) * scale
    if HAS_A:
        b_a *= tl.load(p_a + b64 * s_ab + o_head * s_ah + o_query * s_am)
    b_b = b_a
    if HAS_B:
        b_b = tl.load(p_b + b64 * s_bb + o_head * s_bh + o_query * s_bm)
    b_strength, b_beta, b_mu = b_a, b_a, b_a
    if FORMULA:
        b_strength = tl.load(p_strength + o_head).to(tl.float32)
        if EXPONENTIAL:
            b_strength = tl.exp(b_strength)
        b_strength = tl.minimum(b_strength * LOG2E, -DEEPEST)
        if SHAPED:
            b_beta = tl.load(p_beta + o_head).to(tl.float32)
            b_mu = tl.load(p_mu + o_head).to(tl.float32)
            if EXPONENTIAL:
                b_mu = tl.exp(b_mu) - tl.exp(-b_mu)
    # q: [BLOCK_M, BLOCK_D]
    o_q = b64 * s_qb + o_head.to(tl.int64) * s_qh + o_query * s_qm
    b_q = read(p_q + o_q[:, None] + o_d[None, :], m_r[:, None], m_d[None, :], True, BLOCK_D != D)
    p_k += b64 * s_kb + i_g.to(tl.int64) * s_kh
    p_v += b64 * s_vb + i_g.to(tl.int64) * s_vh

    b_max = tl.full([BLOCK_M], float("-inf"), tl.float32)
    b_sum = tl.zeros([BLOCK_M], tl.float32)
    b_acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for index in tl.range(0, tl.maximum(stop - start, 0)):
        i_n = (start + index) * BLOCK_N
        o_key = i_n + o_n
        m_n = o_key < keys
        # k transposed: [BLOCK_D, BLOCK_N]; v: [BLOCK_N, BLOCK_D]
        p_tile = p_k + i_n.to(tl.int64) * s_kn + (o_n[None, :] * s_kn + o_d[:, None])
        b_k = read(p_tile, m_n[None, :], m_d[:, None], True, BLOCK_D != D)
        p_tile = p_v + i_n.to(tl.int64) * s_vn + (o_n[:, None] * s_vn + o_d[None, :])
        b_v = read(p_tile, m_n[:, None], m_d[None, :], True, BLOCK_D != D)
        b_s = dot(b_q, b_k) * b_a[:, None]
        m_seen = (o_key[None, :] >= b_first[:, None]) & (o_key[None, :] <= b_last[:, None])
        b_bias = tl.zeros_like(b_s)
        if HAS_T:
            p_row = p_t + o_head.to(tl.int64) * s_th + shift - o_query
            b_bias = tl.load(p_row[:, None] + o_key[None, :], mask=m_seen & m_r[:, None], other=0.0)
        if FORMULA:
            b_lag = (offset + o_query)[:, None] - o_key[None, :]
            b_bias += power(b_lag, b_strength[:, None], b_beta[:, None], b_mu[:, None], epsilon, SHAPED)
        if HAS_U:
            p_keys = p_u + (o_head.to(tl.int64) * s_uh)[:, None] + o_key[None, :]
            b_bias += tl.load(p_keys, mask=m_seen, other=0.0)
        b_s += b_bias * b_b[:, None] if HAS_B else b_bias
        b_s = tl.where(m_seen, b_s, float("-inf"))
        b_new = tl.maximum(b_max, tl.max(b_s, 1))
        b_top = tl.where(b_new == float("-inf"), 0.0, b_new)
        b_p = tl.math.exp2(b_s - b_top[:, None])
        b_fade = tl.math.exp2(b_max - b_top)
        b_sum = b_sum * b_fade + tl.sum(b_p, 1)
        b_acc = b_acc * b_fade[:, None] + dot(narrow(b_p, b_v.dtype), b_v)
        b_max = b_new

    seen = b_sum > 0
    b_total = tl.where(seen, b_sum, 1.0)
    b_lse = tl.where(seen, b_max + tl.math.log2(b_total), float("-inf"))
    o_part = o_flat * splits + i_split
    p_lse = p_part + (tl.num_programs(1) // kv_heads * heads * queries).to(tl.int64) * splits * D
    tl.store(p_lse + o_part, b_lse, mask=m_r)
    p_out = p_part + (o_part * D)[:, None] + o_d[None, :]
    tl.store(p_out, b_acc / b_total[:, None], mask=m_r[:, None] & m_d[None, :])


@triton.jit(do_not_specialize=["splits"])
def combine(
    p_part,
    p_o,
    s_ob,
    s_oh,
    s_om,
    heads,
    queries,
    splits,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    """Σ_s w_s o_s / Σ_s w_s with w_s = 2^lse_s, for one query of one head."""
    i_flat = tl.program_id(0)
    i_b, i_h, i_m = i_flat // (heads * queries), i_flat // queries % heads, i_flat % queries
    o_s, o_d = tl.arange(0, BLOCK_S), tl.arange(0, BLOCK_D)
    m_s, m_d = o_s < splits, o_d < D
    o_part = i_flat.to(tl.int64) * splits + o_s
    p_lse = p_part + tl.num_programs(0).to(tl.int64) * splits * D
    b_lse = tl.load(p_lse + o_part, mask=m_s, other=float("-inf"))
    b_max = tl.max(b_lse, 0)
    b_w = tl.math.exp2(b_lse - tl.where(b_max == float("-inf"), 0.0, b_max))
    # parts: [BLOCK_S, BLOCK_D]
    p_tile = p_part + o_part[:, None] * D + o_d[None, :]
    b_part = tl.load(p_tile, mask=m_s[:, None] & m_d[None, :], other=0.0)
    b_total = tl.sum(b_w, 0)
    b_o = tl.sum(b_part * b_w[:, None], 0) / tl.where(b_total > 0, b_total, 1.0)
    p_o += i_b.to(tl.int64) * s_ob + i_h.to(tl.int64) * s_oh + i_m.to(tl.int64) * s_om
    tl.store(p_o + o_d, narrow(b_o, p_o.dtype.element_ty), mask=m_d)
