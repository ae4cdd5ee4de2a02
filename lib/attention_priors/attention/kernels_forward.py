"""Forward pass: online softmax over tiles of keys, the prior read from its table."""

import triton
import triton.language as tl

from .kernels import add_bias, dot, key_range, narrow, read


@triton.jit
def attend(
    b_acc,
    b_sum,
    b_max,
    b_q,
    b_a,
    b_b,
    b_first,
    b_last,
    p_k,
    p_v,
    p_t,
    p_u,
    i_n,
    keys,
    s_kn: tl.constexpr,
    s_vn: tl.constexpr,
    o_m,
    o_n,
    o_d,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_B: tl.constexpr,
    ASM: tl.constexpr,
    MASKED: tl.constexpr,
):
    """One tile of keys [i_n, i_n + BLOCK_N) into the running sum, maximum and mean."""
    WIDE: tl.constexpr = o_d.shape[0] != D
    m_n = i_n + o_n < keys
    m_d = o_d < D
    # k transposed: [BLOCK_D, BLOCK_N]
    p_tile = p_k + i_n.to(tl.int64) * s_kn + (o_n[None, :] * s_kn + o_d[:, None])
    b_k = read(p_tile, m_n[None, :], m_d[:, None], MASKED, WIDE)
    b_s = dot(b_q, b_k) * b_a[:, None]
    b_u = o_n[None, :].to(tl.float32)
    if HAS_U:
        b_u = tl.load(p_u + i_n + o_n, mask=m_n, other=0.0)[None, :]
    p_bias = (p_t - i_n + o_m)[:, None] - o_n[None, :]
    b_s = add_bias(b_s, b_b[:, None], p_bias, b_u, HAS_T, HAS_U, HAS_B, ASM)
    if MASKED:
        o_key = i_n + o_n[None, :]
        b_s = tl.where((o_key >= b_first[:, None]) & (o_key <= b_last[:, None]), b_s, float("-inf"))
    b_new = tl.maximum(b_max, tl.max(b_s, 1))
    b_top = b_new
    if MASKED:  # a row that has seen nothing yet: exp2(-inf - 0) = 0
        b_top = tl.where(b_new == float("-inf"), 0.0, b_new)
    b_p = tl.math.exp2(b_s - b_top[:, None])
    b_fade = tl.math.exp2(b_max - b_top)
    b_sum = b_sum * b_fade + tl.sum(b_p, 1)
    # v: [BLOCK_N, BLOCK_D]
    p_tile = p_v + i_n.to(tl.int64) * s_vn + (o_n[:, None] * s_vn + o_d[None, :])
    b_v = read(p_tile, m_n[:, None], m_d[None, :], MASKED, WIDE)
    b_acc = b_acc * b_fade[:, None] + dot(narrow(b_p, b_v.dtype), b_v)
    return b_acc, b_sum, b_new


@triton.jit(do_not_specialize=["queries", "keys", "shift"])
def forward(
    p_q,
    p_k,
    p_v,
    p_o,
    p_lse,
    p_t,
    p_u,
    p_a,
    p_b,
    p_first,
    p_last,
    p_need,
    s_qb,
    s_qh,
    s_qm: tl.constexpr,
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
    shift,
    scale,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
    SKIP: tl.constexpr,
    ASM: tl.constexpr,
):
    """o_i = Σ_j p_ij v_j and log2 Σ_j 2^s_ij for a block of queries of one head. o has q's strides.

    `shift` is the entry of lag(0, 0) in the table.
    """
    i_m = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M  # the longest rows first
    i_b, i_h = tl.program_id(1) // heads, tl.program_id(1) % heads
    o_m, o_n, o_d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    # rows beyond the last one repeat it, so that they see keys and stay finite
    o_row = tl.minimum(i_m + o_m, queries - 1)
    m_m = i_m + o_m < queries
    p_first += i_b * s_ib
    p_last += i_b * s_ib
    b_first, b_last = tl.load(p_first + o_row), tl.load(p_last + o_row)
    b_need = b_first
    if SKIP:
        b_need = tl.load(p_need + tl.program_id(1).to(tl.int64) * queries + o_row)
    start, inner, outer, stop = key_range(b_first, b_last, b_need, BLOCK_N)

    b_a = tl.full([BLOCK_M], 1.0, tl.float32) * scale
    if HAS_A:
        b_a *= tl.load(p_a + i_b.to(tl.int64) * s_ab + i_h * s_ah + o_row * s_am)
    b_b = b_a
    if HAS_B:
        b_b = tl.load(p_b + i_b.to(tl.int64) * s_bb + i_h * s_bh + o_row * s_bm)
    # q: [BLOCK_M, BLOCK_D]
    p_q += i_b.to(tl.int64) * s_qb + i_h.to(tl.int64) * s_qh + i_m.to(tl.int64) * s_qm
    b_q = read(p_q + o_m[:, None] * s_qm + o_d[None, :], m_m[:, None], o_d[None, :] < D, True, BLOCK_D != D)
    i_g = i_h // groups
    p_k += i_b.to(tl.int64) * s_kb + i_g.to(tl.int64) * s_kh
    p_v += i_b.to(tl.int64) * s_vb + i_g.to(tl.int64) * s_vh
    p_t += i_h.to(tl.int64) * s_th + shift + i_m
    p_u += i_h.to(tl.int64) * s_uh

    b_max = tl.full([BLOCK_M], float("-inf"), tl.float32)
    b_sum = tl.zeros([BLOCK_M], tl.float32)
    b_acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for index in tl.range(0, outer - inner):
        b_acc, b_sum, b_max = attend(
            b_acc,
            b_sum,
            b_max,
            b_q,
            b_a,
            b_b,
            b_first,
            b_last,
            p_k,
            p_v,
            p_t,
            p_u,
            (inner + index) * BLOCK_N,
            keys,
            s_kn,
            s_vn,
            o_m,
            o_n,
            o_d,
            D,
            BLOCK_N,
            HAS_T,
            HAS_U,
            HAS_B,
            ASM,
            False,
        )
    # read again: the loop above has no register for them
    b_first, b_last = tl.load(p_first + o_row), tl.load(p_last + o_row)
    left = inner - start
    for index in tl.range(0, left + stop - outer, num_stages=1):
        tile = start + index + tl.where(index >= left, outer - inner, 0)
        b_acc, b_sum, b_max = attend(
            b_acc,
            b_sum,
            b_max,
            b_q,
            b_a,
            b_b,
            b_first,
            b_last,
            p_k,
            p_v,
            p_t,
            p_u,
            tile * BLOCK_N,
            keys,
            s_kn,
            s_vn,
            o_m,
            o_n,
            o_d,
            D,
            BLOCK_N,
            HAS_T,
            HAS_U,
            HAS_B,
            ASM,
            True,
        )

    seen = b_sum > 0  # a query without any key gets 0, and a log-sum-exp that makes its weights 0 in the backward pass
    b_o = b_acc / tl.where(seen, b_sum, 1.0)[:, None]
    b_lse = tl.where(seen, b_max + tl.math.log2(tl.where(seen, b_sum, 1.0)), float("inf"))
    tl.store(p_lse + tl.program_id(1).to(tl.int64) * queries + i_m + o_m, b_lse, mask=m_m)
    p_o += i_b.to(tl.int64) * s_qb + i_h.to(tl.int64) * s_qh + i_m.to(tl.int64) * s_qm
    m_o = m_m[:, None] & (o_d[None, :] < D)
    tl.store(p_o + o_m[:, None] * s_qm + o_d[None, :], narrow(b_o, p_o.dtype.element_ty), mask=m_o)
