"""Gradient of a free table, dT[h, lag] = Σ_{i - j = lag} b_i dS_ij, without atomics.

A program walks the tiles of one diagonal over all positions and samples. Their dS all have the same lags at the same
places, so that they add up in registers, and one skewed sum at the end turns the square into its 2 W - 1 lags.
"""

import triton
import triton.language as tl

from .kernels import add_bias, dot, read, weigh


@triton.jit
def diagonal_tile(
    b_q,
    b_k,
    b_v,
    b_do,
    b_lse,
    b_delta,
    b_a,
    b_b,
    b_bias,
    b_first,
    b_last,
    o_key,
    HAS_B: tl.constexpr,
    MASKED: tl.constexpr,
):
    """b_i dS of one tile, [W, W]. All of the bias comes in `b_bias`."""
    b_s = dot(b_q, tl.trans(b_k)) * b_a[:, None]
    b_s = b_s + b_bias * b_b[:, None] if HAS_B else b_s + b_bias
    if MASKED:
        b_s = tl.where((o_key >= b_first[:, None]) & (o_key <= b_last[:, None]), b_s, float("-inf"))
    b_ds = weigh(b_s, b_lse) * (dot(b_do, tl.trans(b_v)) - b_delta[:, None])
    return b_ds * b_b[:, None] if HAS_B else b_ds


# A launch turns arguments that are 1 into constants: those that are added up or cast by themselves stay values.
@triton.jit(do_not_specialize=["queries", "keys", "shift", "lowest", "batch", "heads", "splits", "lags", "front"])
def backward_table(
    p_q,
    p_k,
    p_v,
    p_do,
    p_lse,
    p_delta,
    p_t,
    p_u,
    p_a,
    p_b,
    p_dt,
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
    batch,
    heads,
    groups,
    queries,
    keys,
    shift,
    front,
    lowest,
    lags,
    splits,
    scale,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    W: tl.constexpr,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_A: tl.constexpr,
    HAS_B: tl.constexpr,
    SKIP: tl.constexpr,
    ASM: tl.constexpr,
):
    """Tiles (m, m - diagonal), diagonal = program 0 + `lowest`, into dT[2, splits, heads, lags].

    The two planes hold the lags from the tiles' upper and lower triangles, which neighbouring diagonals share.
    """
    diagonal = tl.program_id(0) + lowest
    i_h, i_split = tl.program_id(1) // splits, tl.program_id(1) % splits
    o_w, o_d = tl.arange(0, W), tl.arange(0, BLOCK_D)
    i_g = i_h // groups
    first_tile = tl.maximum(diagonal, 0)
    last_tile = tl.minimum(tl.cdiv(queries, W), tl.cdiv(keys, W) + diagonal)
    length = tl.maximum(last_tile - first_tile, 0)
    part = tl.cdiv(length * batch, splits)
    m_d = o_d[None, :] < D
    p_bias = (p_t + i_h.to(tl.int64) * s_th + shift + diagonal * W + o_w)[:, None] - o_w[None, :]
    b_table = add_bias(tl.zeros([W, W], tl.float32), 1.0, p_bias, 0.0, HAS_T, False, False, ASM)

    b_acc = tl.zeros([W, W], tl.float32)
    for index in tl.range(i_split * part, tl.minimum((i_split + 1) * part, length * batch)):
        i_b = index // length
        i_m = (first_tile + index % length) * W
        i_n = i_m - diagonal * W
        o_row = tl.minimum(i_m + o_w, queries - 1)
        b_first = tl.load(p_first + i_b * s_ib + o_row)
        b_last = tl.load(p_last + i_b * s_ib + o_row)
        b_need = b_first
        i_flat = (i_b * heads + i_h).to(tl.int64)
        if SKIP:
            b_need = tl.load(p_need + i_flat * queries + o_row)
        if (tl.max(b_last, 0) >= i_n) & (tl.min(b_need, 0) < i_n + W):
            m_m, m_n = i_m + o_w < queries, i_n + o_w < keys
            b64, m64, n64 = i_b.to(tl.int64), i_m.to(tl.int64), i_n.to(tl.int64)
            # all four tiles: [W, BLOCK_D]; rows beyond the last have do = 0, and so dS = 0
            p_tile = p_q + b64 * s_qb + i_h.to(tl.int64) * s_qh + m64 * s_qm
            b_q = read(p_tile + o_w[:, None] * s_qm + o_d[None, :], m_m[:, None], m_d, True, BLOCK_D != D)
            p_tile = p_do + b64 * s_qb + i_h.to(tl.int64) * s_qh + m64 * s_qm
            b_do = read(p_tile + o_w[:, None] * s_qm + o_d[None, :], m_m[:, None], m_d, True, BLOCK_D != D)
            p_tile = p_k + b64 * s_kb + i_g.to(tl.int64) * s_kh + n64 * s_kn
            b_k = read(p_tile + o_w[:, None] * s_kn + o_d[None, :], m_n[:, None], m_d, True, BLOCK_D != D)
            p_tile = p_v + b64 * s_vb + i_g.to(tl.int64) * s_vh + n64 * s_vn
            b_v = read(p_tile + o_w[:, None] * s_vn + o_d[None, :], m_n[:, None], m_d, True, BLOCK_D != D)
            b_lse = tl.load(p_lse + i_flat * queries + o_row, mask=m_m, other=float("inf"))
            b_delta = tl.load(p_delta + i_flat * queries + o_row, mask=m_m, other=0.0)
            b_a = tl.full([W], 1.0, tl.float32) * scale
            if HAS_A:
                b_a *= tl.load(p_a + b64 * s_ab + i_h * s_ah + o_row * s_am)
            b_b = b_a
            if HAS_B:
                b_b = tl.load(p_b + b64 * s_bb + i_h * s_bh + o_row * s_bm)
            b_bias = b_table
            if HAS_U:
                b_bias += tl.load(p_u + i_h.to(tl.int64) * s_uh + i_n + o_w, mask=m_n, other=0.0)[None, :]
            o_key = i_n + o_w[None, :]
            if (tl.max(b_first, 0) <= i_n) & (tl.min(b_last, 0) >= i_n + W - 1):
                b_acc += diagonal_tile(
                    b_q, b_k, b_v, b_do, b_lse, b_delta, b_a, b_b, b_bias, b_first, b_last, o_key, HAS_B, False
                )
            else:
                b_acc += diagonal_tile(
                    b_q, b_k, b_v, b_do, b_lse, b_delta, b_a, b_b, b_bias, b_first, b_last, o_key, HAS_B, True
                )

    # skewed[r, d] = acc[r, (r - d) mod W]: lag d for r >= d, lag d - W for r < d
    b_skewed = tl.gather(b_acc, (o_w[:, None] - o_w[None, :] + W) % W, 1)
    m_upper = o_w[:, None] >= o_w[None, :]
    b_near = tl.sum(tl.where(m_upper, b_skewed, 0.0), 0)
    b_far = tl.sum(tl.where(m_upper, 0.0, b_skewed), 0)
    o_out = shift - front + diagonal * W + o_w
    p_dt += (i_split * heads + i_h).to(tl.int64) * lags
    tl.store(p_dt + o_out, b_near, mask=(o_out >= 0) & (o_out < lags))
    p_dt += (splits * heads).to(tl.int64) * lags
    tl.store(p_dt + o_out - W, b_far, mask=(o_out >= W) & (o_out < lags + W))
