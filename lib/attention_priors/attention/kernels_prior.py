"""The table of a prior that is a power of the lag, and its derivatives, in one launch."""

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)
FAR, FLOOR, DEEPEST = tl.constexpr(1024.0), tl.constexpr(-1e9), tl.constexpr(-1e30)  # as in positions.priors


@triton.jit
def log_prior(b_lag, b_s, b_beta, b_mu, b_epsilon, SHAPED: tl.constexpr):
    """-s (|lag + μ| + ε)^β, the distance's logarithm, and the sign of lag + μ, in float64."""
    b_place = b_lag.to(tl.float64) + b_mu
    b_distance = tl.abs(b_place) + b_epsilon
    if SHAPED:
        b_log = tl.log(b_distance)
        b_power = tl.exp(b_beta * b_log)
    else:
        b_log, b_power = b_distance, b_distance
    b_sign = tl.where(b_place > 0, 1.0, tl.where(b_place < 0, -1.0, 0.0)).to(tl.float64)
    return -b_s * b_power, b_log, b_distance, b_sign


@triton.jit(do_not_specialize=["lowest", "lags"])
def power_table(
    p_t,
    p_slopes,
    p_strength,
    p_beta,
    p_mu,
    s_th,
    s_jh,
    s_j,
    lowest,
    lags,
    epsilon_high,
    epsilon_low,
    FRONT: tl.constexpr,
    BLOCK: tl.constexpr,
    SHAPED: tl.constexpr,
    EXPONENTIAL: tl.constexpr,
    GRAD_S: tl.constexpr,
    GRAD_B: tl.constexpr,
    GRAD_M: tl.constexpr,
    BACKWARDS: tl.constexpr,
):
    """A block of a head's row: (T - its peak) in base 2, and ∂T/∂θ less that at the peak, for up to three parameters.

    Rows are padded by zeros, FRONT of them before the first lag. A power of |lag + μ| peaks beside -μ or at an end.
    `epsilon_high` + `epsilon_low` is ε, which float32 alone would round. BACKWARDS: the highest lag first.
    """
    i_h = tl.program_id(1)
    o_entry = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    o_lag = lags - 1 - (o_entry - FRONT) if BACKWARDS else o_entry - FRONT
    m_row, m_lag = o_entry < s_th, (o_lag >= 0) & (o_lag < lags)
    b_theta = tl.load(p_strength + i_h).to(tl.float64)
    b_epsilon = b_theta * 0 + epsilon_high + epsilon_low
    b_s, b_beta, b_mu, b_turn = b_theta, b_theta * 0 + 1, b_theta * 0, b_theta * 0
    if EXPONENTIAL:
        b_s = tl.exp(b_theta)
    if SHAPED:
        b_beta = tl.load(p_beta + i_h).to(tl.float64)
        b_mu = tl.load(p_mu + i_h).to(tl.float64)
        if EXPONENTIAL:
            b_turn = tl.exp(b_mu) + tl.exp(-b_mu)  # ∂μ/∂θ_μ
            b_mu = tl.exp(b_mu) - tl.exp(-b_mu)

    b_first, b_last = lowest.to(tl.float64), (lowest + lags - 1).to(tl.float64)
    b_near = tl.minimum(tl.maximum(tl.floor(-b_mu), b_first), b_last)
    b_at, b_log_at, b_distance_at, b_sign_at = log_prior(b_near, b_s, b_beta, b_mu, b_epsilon, SHAPED)
    for end in tl.static_range(3):
        b_lag = tl.minimum(b_near + 1, b_last)
        if end > 0:
            b_lag = b_first if end == 1 else b_last
        b_t, b_log, b_distance, b_sign = log_prior(b_lag, b_s, b_beta, b_mu, b_epsilon, SHAPED)
        above = b_t > b_at
        b_log_at, b_distance_at = tl.where(above, b_log, b_log_at), tl.where(above, b_distance, b_distance_at)
        b_sign_at, b_at = tl.where(above, b_sign, b_sign_at), tl.where(above, b_t, b_at)

    b_t, b_log, b_distance, b_sign = log_prior(o_lag + lowest, b_s, b_beta, b_mu, b_epsilon, SHAPED)
    # below FLOOR only the order of values matters, and none has a gradient
    m_slope = m_lag & (tl.where(tl.abs(b_at) > FAR, b_t - b_at, b_t) >= FLOOR)
    b_row = tl.where(b_t - b_at < DEEPEST, DEEPEST, b_t - b_at)  # NaN stays
    b_row = tl.where(m_lag, b_row * LOG2E, 0.0)
    tl.store(p_t + i_h.to(tl.int64) * s_th + o_entry, b_row.to(tl.float32), mask=m_row)
    p_slopes += i_h.to(tl.int64) * s_jh
    if GRAD_S:
        b_slope = b_t - b_at if EXPONENTIAL else (b_t - b_at) / b_s
        b_row = tl.where(m_slope, b_slope, 0.0)
        tl.store(p_slopes + o_entry, b_row.to(tl.float32), mask=m_row)
        p_slopes += s_j
    if GRAD_B:
        b_row = tl.where(m_slope, b_t * b_log - b_at * b_log_at, 0.0)
        tl.store(p_slopes + o_entry, b_row.to(tl.float32), mask=m_row)
        p_slopes += s_j
    if GRAD_M:
        b_slope = b_t * b_beta / b_distance * b_sign - b_at * b_beta / b_distance_at * b_sign_at
        b_row = tl.where(m_slope, b_slope * b_turn, 0.0)
        tl.store(p_slopes + o_entry, b_row.to(tl.float32), mask=m_row)
