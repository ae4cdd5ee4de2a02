"""Backward pass in two kernels without atomics: one walks keys for a block of queries, one queries for a block of keys.

With p = exp(s - lse) and dS = p (dO Vᵀ - δ), δ_i = <dO_i, O_i>: dq = scale a dS K, dk = scale (a dS)ᵀ Q, dv = pᵀ dO,
da_i = <q_i, dq_i> / a_i taken before the factor a_i, db_i = Σ_j dS_ij (T + u), du_j = Σ_i b_i dS_ij, and for up to four
parameters of the table dθ_k = Σ_ij b_i dS_ij ∂T[i - j]/∂θ_k. Each program writes what it alone has summed.

δ comes from the rounded output, so that a row's Σ_j dS_ij = r_i is not 0 but of the order of the rounding, and sums
over large T or ∂T/∂θ feel it. REFINE sums r_i: since dS_ij - r_i p_ij has the sum 0, the row's Σ_j dS_ij T_ij becomes
Σ_j dS_ij T_ij - r_i Σ_j p_ij T_ij, and the other kernels get δ_i + r_i.
"""

import triton
import triton.language as tl

from .kernels import add_bias, dot, gather, key_range, narrow, read, weigh

LN2 = tl.constexpr(0.6931471805599453)


@triton.jit
def add_rows(b_sum, b_mean, b_value, b_ds, b_p):
    """Row sums of dS x and of p x."""
    return b_sum + tl.sum(b_value * b_ds, 1), b_mean + tl.sum(b_value * b_p, 1)


@triton.jit
def walk_keys(
    b_dq,
    b_r,
    b_db,
    b_mb,
    b_j0,
    b_m0,
    b_j1,
    b_m1,
    b_j2,
    b_m2,
    b_j3,
    b_m3,
    b_q,
    b_do,
    b_lse,
    b_delta,
    b_a,
    b_b,
    b_first,
    b_last,
    p_k,
    p_v,
    p_t,
    p_u,
    p_j,
    i_n,
    keys,
    s_kn: tl.constexpr,
    s_vn: tl.constexpr,
    s_j,
    o_m,
    o_n,
    o_d,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_B: tl.constexpr,
    REFINE: tl.constexpr,
    GRAD_B: tl.constexpr,
    JACOBIANS: tl.constexpr,
    ASM: tl.constexpr,
    MASKED: tl.constexpr,
):
    """One tile of keys into dq / (scale a) and the row sums: dS; dS and p times T + u; dS and p times ∂T/∂θ_k."""
    WIDE: tl.constexpr = o_d.shape[0] != D
    m_n = i_n + o_n < keys
    m_d = o_d < D
    # k: [BLOCK_N, BLOCK_D]; v transposed: [BLOCK_D, BLOCK_N]
    p_tile = p_k + i_n.to(tl.int64) * s_kn + (o_n[:, None] * s_kn + o_d[None, :])
    b_k = read(p_tile, m_n[:, None], m_d[None, :], MASKED, WIDE)
    p_tile = p_v + i_n.to(tl.int64) * s_vn + (o_n[None, :] * s_vn + o_d[:, None])
    b_v = read(p_tile, m_n[None, :], m_d[:, None], MASKED, WIDE)
    b_s = dot(b_q, tl.trans(b_k)) * b_a[:, None]
    p_bias = (p_t - i_n + o_m)[:, None] - o_n[None, :]
    b_u = o_n[None, :].to(tl.float32)
    if HAS_U:
        b_u = tl.load(p_u + i_n + o_n, mask=m_n, other=0.0)[None, :]
    b_s = add_bias(b_s, b_b[:, None], p_bias, b_u, HAS_T, HAS_U, HAS_B, ASM)
    if MASKED:
        o_key = i_n + o_n[None, :]
        b_s = tl.where((o_key >= b_first[:, None]) & (o_key <= b_last[:, None]), b_s, float("-inf"))
    b_p = weigh(b_s, b_lse)
    b_ds = b_p * (dot(b_do, b_v) - b_delta[:, None])
    if REFINE:
        b_r += tl.sum(b_ds, 1)
    if GRAD_B:
        b_bias = add_bias(tl.zeros_like(b_s), 1.0, p_bias, b_u, HAS_T, HAS_U, False, ASM)
        b_db, b_mb = add_rows(b_db, b_mb, b_bias, b_ds, b_p)
    p_slope = (p_j - i_n + o_m)[:, None] - o_n[None, :]
    if JACOBIANS >= 1:
        b_j0, b_m0 = add_rows(b_j0, b_m0, gather(p_slope, ASM), b_ds, b_p)
    if JACOBIANS >= 2:
        b_j1, b_m1 = add_rows(b_j1, b_m1, gather(p_slope + s_j, ASM), b_ds, b_p)
    if JACOBIANS >= 3:
        b_j2, b_m2 = add_rows(b_j2, b_m2, gather(p_slope + 2 * s_j, ASM), b_ds, b_p)
    if JACOBIANS >= 4:
        b_j3, b_m3 = add_rows(b_j3, b_m3, gather(p_slope + 3 * s_j, ASM), b_ds, b_p)
    b_dq += dot(narrow(b_ds, b_k.dtype), b_k)
    return b_dq, b_r, b_db, b_mb, b_j0, b_m0, b_j1, b_m1, b_j2, b_m2, b_j3, b_m3


@triton.jit(do_not_specialize=["queries", "keys", "shift"])
def backward_queries(
    p_q,
    p_k,
    p_v,
    p_o,
    p_do,
    p_lse,
    p_delta,
    p_dq,
    p_t,
    p_u,
    p_a,
    p_b,
    p_da,
    p_db,
    p_j,
    p_dj,
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
    s_jh,
    s_j,
    s_ib,
    heads,
    groups,
    queries,
    keys,
    shift,
    scale,
    scale2,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
    GRAD_A: tl.constexpr,
    GRAD_B: tl.constexpr,
    JACOBIANS: tl.constexpr,
    SKIP: tl.constexpr,
    REFINE: tl.constexpr,
    ASM: tl.constexpr,
):
    """dq, da, db, the block's part of dθ, and δ for the other kernels. o, do and dq have q's strides.

    `scale` is 1/sqrt(d), `scale2` the same in units of ln 2, as the forward pass has it.
    """
    i_m = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    i_b, i_h = tl.program_id(1) // heads, tl.program_id(1) % heads
    o_m, o_n, o_d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    o_row = tl.minimum(i_m + o_m, queries - 1)
    m_m = i_m + o_m < queries
    o_flat = tl.program_id(1).to(tl.int64) * queries + i_m + o_m
    p_first += i_b * s_ib
    p_last += i_b * s_ib
    b_first, b_last = tl.load(p_first + o_row), tl.load(p_last + o_row)
    b_need = b_first
    if SKIP:
        b_need = tl.load(p_need + tl.program_id(1).to(tl.int64) * queries + o_row)
    start, inner, outer, stop = key_range(b_first, b_last, b_need, BLOCK_N)

    # q, o, do: [BLOCK_M, BLOCK_D]; rows beyond the last have do = 0, and so dS = 0
    i_l = i_m.to(tl.int64)
    m_d = o_d[None, :] < D
    o_q = i_b.to(tl.int64) * s_qb + i_h.to(tl.int64) * s_qh + i_l * s_qm + (o_m[:, None] * s_qm + o_d[None, :])
    b_q = read(p_q + o_q, m_m[:, None], m_d, True, BLOCK_D != D)
    b_o = read(p_o + o_q, m_m[:, None], m_d, True, BLOCK_D != D)
    b_do = read(p_do + o_q, m_m[:, None], m_d, True, BLOCK_D != D)
    b_delta = tl.sum(b_o.to(tl.float32) * b_do.to(tl.float32), 1)
    b_lse = tl.load(p_lse + o_flat, mask=m_m, other=float("inf"))
    b_a, b_a2 = tl.full([BLOCK_M], 1.0, tl.float32) * scale, tl.full([BLOCK_M], 1.0, tl.float32) * scale2
    if HAS_A:
        b_row = tl.load(p_a + i_b.to(tl.int64) * s_ab + i_h * s_ah + o_row * s_am)
        b_a, b_a2 = b_a * b_row, b_a2 * b_row
    b_b = b_a
    if HAS_B:
        b_b = tl.load(p_b + i_b.to(tl.int64) * s_bb + i_h * s_bh + o_row * s_bm)
    i_g = i_h // groups
    p_k += i_b.to(tl.int64) * s_kb + i_g.to(tl.int64) * s_kh
    p_v += i_b.to(tl.int64) * s_vb + i_g.to(tl.int64) * s_vh
    p_t += i_h.to(tl.int64) * s_th + shift + i_m
    p_u += i_h.to(tl.int64) * s_uh
    p_j += i_h.to(tl.int64) * s_jh + shift + i_m

    b_dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    b_r = tl.zeros([BLOCK_M], tl.float32)
    b_db, b_j0, b_j1, b_j2, b_j3 = b_r, b_r, b_r, b_r, b_r
    b_mb, b_m0, b_m1, b_m2, b_m3 = b_r, b_r, b_r, b_r, b_r
    for index in tl.range(0, outer - inner):
        b_dq, b_r, b_db, b_mb, b_j0, b_m0, b_j1, b_m1, b_j2, b_m2, b_j3, b_m3 = walk_keys(
            b_dq,
            b_r,
            b_db,
            b_mb,
            b_j0,
            b_m0,
            b_j1,
            b_m1,
            b_j2,
            b_m2,
            b_j3,
            b_m3,
            b_q,
            b_do,
            b_lse,
            b_delta,
            b_a2,
            b_b,
            b_first,
            b_last,
            p_k,
            p_v,
            p_t,
            p_u,
            p_j,
            (inner + index) * BLOCK_N,
            keys,
            s_kn,
            s_vn,
            s_j,
            o_m,
            o_n,
            o_d,
            D,
            BLOCK_N,
            HAS_T,
            HAS_U,
            HAS_B,
            REFINE,
            GRAD_B,
            JACOBIANS,
            ASM,
            False,
        )
    # read again: the loop above has no register for them
    b_first, b_last = tl.load(p_first + o_row), tl.load(p_last + o_row)
    left = inner - start
    for index in tl.range(0, left + stop - outer, num_stages=1):
        tile = start + index + tl.where(index >= left, outer - inner, 0)
        b_dq, b_r, b_db, b_mb, b_j0, b_m0, b_j1, b_m1, b_j2, b_m2, b_j3, b_m3 = walk_keys(
            b_dq,
            b_r,
            b_db,
            b_mb,
            b_j0,
            b_m0,
            b_j1,
            b_m1,
            b_j2,
            b_m2,
            b_j3,
            b_m3,
            b_q,
            b_do,
            b_lse,
            b_delta,
            b_a2,
            b_b,
            b_first,
            b_last,
            p_k,
            p_v,
            p_t,
            p_u,
            p_j,
            tile * BLOCK_N,
            keys,
            s_kn,
            s_vn,
            s_j,
            o_m,
            o_n,
            o_d,
            D,
            BLOCK_N,
            HAS_T,
            HAS_U,
            HAS_B,
            REFINE,
            GRAD_B,
            JACOBIANS,
            ASM,
            True,
        )

    tl.store(p_delta + o_flat, b_delta + b_r, mask=m_m)
    if GRAD_A:  # before the factor a_i, which may be 0: ln n = 0 for a query that sees one key
        tl.store(p_da + o_flat, tl.sum(b_dq * b_q.to(tl.float32), 1) * scale, mask=m_m)
    if GRAD_B:  # the table is in units of ln 2
        tl.store(p_db + o_flat, (b_db - b_r * b_mb) * LN2, mask=m_m)
    if JACOBIANS > 0:
        p_dj += (tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)) * JACOBIANS
        b_weight = tl.where(m_m, b_b, 0.0) if HAS_B else tl.where(m_m, 1.0, 0.0)
        tl.store(p_dj, tl.sum((b_j0 - b_r * b_m0) * b_weight, 0))
        if JACOBIANS >= 2:
            tl.store(p_dj + 1, tl.sum((b_j1 - b_r * b_m1) * b_weight, 0))
        if JACOBIANS >= 3:
            tl.store(p_dj + 2, tl.sum((b_j2 - b_r * b_m2) * b_weight, 0))
        if JACOBIANS >= 4:
            tl.store(p_dj + 3, tl.sum((b_j3 - b_r * b_m3) * b_weight, 0))
    tl.store(p_dq + o_q, narrow(b_dq * b_a[:, None], p_dq.dtype.element_ty), mask=m_m[:, None] & m_d)


@triton.jit
def walk_queries(
    b_dk,
    b_dv,
    b_du,
    b_k,
    b_v,
    b_u,
    p_q,
    p_do,
    p_lse,
    p_delta,
    p_a,
    p_b,
    p_first,
    p_last,
    p_t,
    i_m,
    i_n,
    queries,
    s_qm: tl.constexpr,
    s_am,
    s_bm,
    scale2,
    o_m,
    o_n,
    o_d,
    D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
    GRAD_U: tl.constexpr,
    ASM: tl.constexpr,
    MASKED: tl.constexpr,
):
    """One tile of queries into dk / scale, dv and du."""
    WIDE: tl.constexpr = o_d.shape[0] != D
    o_row = i_m + o_m
    m_m = o_row < queries
    if MASKED:
        o_row = tl.minimum(o_row, queries - 1)
    m_d = o_d < D
    # q, do: [BLOCK_M, BLOCK_D]
    o_q = i_m.to(tl.int64) * s_qm + (o_m[:, None] * s_qm + o_d[None, :])
    b_q = read(p_q + o_q, m_m[:, None], m_d[None, :], MASKED, WIDE)
    b_do = read(p_do + o_q, m_m[:, None], m_d[None, :], MASKED, WIDE)
    b_lse = tl.load(p_lse + o_row)
    # rows beyond the last: do = 0 and δ = 0, and so dS = 0
    b_delta = tl.load(p_delta + o_row, mask=m_m, other=0.0) if MASKED else tl.load(p_delta + o_row)
    b_a = tl.full([BLOCK_M], 1.0, tl.float32)
    if HAS_A:
        b_a = tl.load(p_a + o_row * s_am)
    b_b = b_a
    if HAS_B:
        b_b = tl.load(p_b + o_row * s_bm)
    b_s = dot(b_q, tl.trans(b_k)) * (b_a * scale2)[:, None]
    p_bias = (p_t + i_m + o_m)[:, None] - o_n[None, :]
    b_s = add_bias(b_s, b_b[:, None], p_bias, b_u[None, :], HAS_T, HAS_U, HAS_B, ASM)
    if MASKED:
        b_first = tl.load(p_first + o_row)
        b_last = tl.load(p_last + o_row)
        o_key = i_n + o_n[None, :]
        # rows beyond the last have q = 0 and its log-sum-exp, below which their scores may be too far for exp2
        m_seen = m_m[:, None] & (o_key >= b_first[:, None]) & (o_key <= b_last[:, None])
        b_s = tl.where(m_seen, b_s, float("-inf"))
    b_p = weigh(b_s, b_lse)
    b_dv += dot(tl.trans(narrow(b_p, b_do.dtype)), b_do)
    b_dp = dot(b_do, tl.trans(b_v))
    if GRAD_U:
        b_ds = b_p * (b_dp - b_delta[:, None])
        b_du += tl.sum(b_ds * b_b[:, None], 0) if HAS_B else tl.sum(b_ds, 0)
    # a_i dS, with a_i inside the difference: no instruction more than dS itself
    b_ds = b_p * (b_dp * b_a[:, None] - (b_delta * b_a)[:, None])
    b_dk += dot(tl.trans(narrow(b_ds, b_q.dtype)), b_q)
    return b_dk, b_dv, b_du


@triton.jit(do_not_specialize=["queries", "keys", "shift"])
def backward_keys(
    p_q,
    p_k,
    p_v,
    p_do,
    p_lse,
    p_delta,
    p_dk,
    p_dv,
    p_t,
    p_u,
    p_a,
    p_b,
    p_du,
    p_first,
    p_last,
    p_span,
    s_qb,
    s_qh,
    s_qm: tl.constexpr,
    s_kb,
    s_kh,
    s_kn: tl.constexpr,
    s_vb,
    s_vh,
    s_vn: tl.constexpr,
    s_gb,
    s_gh,
    s_gn: tl.constexpr,
    s_ab,
    s_ah,
    s_am,
    s_bb,
    s_bh,
    s_bm,
    s_th,
    s_uh,
    s_ib,
    s_sb,
    s_sh,
    heads,
    groups,
    queries,
    keys,
    shift,
    scale,
    scale2,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
    GRAD_U: tl.constexpr,
    ASM: tl.constexpr,
):
    """dk and dv of a block of keys, summed over the query heads that share it in their order; du per query head.

    `p_span` holds, per block of keys, the queries [start, stop) that need it, and [inner, outer) that see it whole.
    do has q's strides.
    """
    i_n = tl.program_id(0) * BLOCK_N
    kv_heads = heads // groups
    i_b, i_g = tl.program_id(1) // kv_heads, tl.program_id(1) % kv_heads
    o_m, o_n, o_d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_D)
    m_n = i_n + o_n < keys
    i_l, m_d = i_n.to(tl.int64), o_d[None, :] < D
    # k, v: [BLOCK_N, BLOCK_D]
    o_k = i_b.to(tl.int64) * s_kb + i_g.to(tl.int64) * s_kh + i_l * s_kn + o_n[:, None] * s_kn + o_d[None, :]
    b_k = read(p_k + o_k, m_n[:, None], m_d, True, BLOCK_D != D)
    o_v = i_b.to(tl.int64) * s_vb + i_g.to(tl.int64) * s_vh + i_l * s_vn + o_n[:, None] * s_vn + o_d[None, :]
    b_v = read(p_v + o_v, m_n[:, None], m_d, True, BLOCK_D != D)
    p_first += i_b * s_ib
    p_last += i_b * s_ib

    b_dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    b_dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    for member in tl.range(0, groups):
        i_h = i_g * groups + member
        i_flat = (i_b * heads + i_h).to(tl.int64)
        p_heads_q = p_q + i_b.to(tl.int64) * s_qb + i_h.to(tl.int64) * s_qh
        p_heads_do = p_do + i_b.to(tl.int64) * s_qb + i_h.to(tl.int64) * s_qh
        p_heads_lse = p_lse + i_flat * queries
        p_heads_delta = p_delta + i_flat * queries
        p_heads_a = p_a + i_b.to(tl.int64) * s_ab + i_h.to(tl.int64) * s_ah
        p_heads_b = p_b + i_b.to(tl.int64) * s_bb + i_h.to(tl.int64) * s_bh
        p_heads_t = p_t + i_h.to(tl.int64) * s_th + shift - i_n
        b_u = o_n.to(tl.float32)
        if HAS_U:
            b_u = tl.load(p_u + i_h.to(tl.int64) * s_uh + i_n + o_n, mask=m_n, other=0.0)
        b_du = tl.zeros([BLOCK_N], tl.float32)
        p_bounds = p_span + i_b.to(tl.int64) * s_sb + i_h.to(tl.int64) * s_sh + tl.program_id(0) * 4
        start = tl.load(p_bounds) // BLOCK_M
        stop = tl.maximum(tl.cdiv(tl.load(p_bounds + 1), BLOCK_M), start)
        inner = tl.minimum(tl.maximum(tl.cdiv(tl.load(p_bounds + 2), BLOCK_M), start), stop)
        outer = tl.minimum(tl.maximum(tl.load(p_bounds + 3) // BLOCK_M, inner), stop)
        for index in tl.range(0, outer - inner):
            b_dk, b_dv, b_du = walk_queries(
                b_dk,
                b_dv,
                b_du,
                b_k,
                b_v,
                b_u,
                p_heads_q,
                p_heads_do,
                p_heads_lse,
                p_heads_delta,
                p_heads_a,
                p_heads_b,
                p_first,
                p_last,
                p_heads_t,
                (inner + index) * BLOCK_M,
                i_n,
                queries,
                s_qm,
                s_am,
                s_bm,
                scale2,
                o_m,
                o_n,
                o_d,
                D,
                BLOCK_M,
                HAS_T,
                HAS_U,
                HAS_A,
                HAS_B,
                GRAD_U,
                ASM,
                False,
            )
        left = inner - start
        for index in tl.range(0, left + stop - outer, num_stages=1):
            tile = start + index + tl.where(index >= left, outer - inner, 0)
            b_dk, b_dv, b_du = walk_queries(
                b_dk,
                b_dv,
                b_du,
                b_k,
                b_v,
                b_u,
                p_heads_q,
                p_heads_do,
                p_heads_lse,
                p_heads_delta,
                p_heads_a,
                p_heads_b,
                p_first,
                p_last,
                p_heads_t,
                tile * BLOCK_M,
                i_n,
                queries,
                s_qm,
                s_am,
                s_bm,
                scale2,
                o_m,
                o_n,
                o_d,
                D,
                BLOCK_M,
                HAS_T,
                HAS_U,
                HAS_A,
                HAS_B,
                GRAD_U,
                ASM,
                True,
            )
        if GRAD_U:
            tl.store(p_du + i_flat * keys + i_n + o_n, b_du, mask=m_n)

    m_k = m_n[:, None] & m_d
    o_g = i_b.to(tl.int64) * s_gb + i_g.to(tl.int64) * s_gh + i_l * s_gn + o_n[:, None] * s_gn + o_d[None, :]
    tl.store(p_dk + o_g, narrow(b_dk * scale, p_dk.dtype.element_ty), mask=m_k)
    tl.store(p_dv + o_g, narrow(b_dv, p_dv.dtype.element_ty), mask=m_k)
