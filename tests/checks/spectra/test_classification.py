"""Goat's classification and recency: verdicts, counterexamples by hand, sentences a little off are refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special
from torch.nn.functional import one_hot, scaled_dot_product_attention

from attention_priors.checks import CHECKS
from attention_priors.checks.spectra import recency
from attention_priors.theory import classification as theory
from attention_priors.theory import key_slope


def examples(identifier):
    return [None if found.holds else law.counterexample(found) for law, found in CHECKS[identifier].laws]


def refused(law, says):
    return not replace(law, says=says).judge().holds


def test_df1_two_keys_of_a_slope():
    """-(i - j)/2 at i, j = 0, 1 is [[0, 1/2], [-1/2, 0]]: rank 2; both rows rise by 1/2, which one coordinate says."""
    slope = np.array([[0, 0.5], [-0.5, 0]])
    assert theory.numerical_rank(slope) == 2 and theory.numerical_rank(theory.centred(slope)) == 1


def test_t2_the_alternating_mode_and_the_constant():
    most, count = examples("GOAT-F.T2")[3:]
    assert most == {"inputs": {"w": [1]}, "claimed": 0, "actual": 1}
    assert count == {"inputs": {"w": [1]}, "claimed": 2, "actual": 1}
    assert CHECKS["GOAT-F.T2"].statements[4].judge().trials[1].actual == 3
    lag = np.subtract.outer(np.arange(3), np.arange(3))
    assert np.linalg.matrix_rank((-1.0) ** lag) == 1 and np.linalg.matrix_rank(1 + np.cos(lag)) == 3


def test_t2c_halving_is_bounded_on_the_past():
    assert examples("GOAT-F.T2c")[1]["inputs"] == {"rho": 0.5, "t": 0}
    i, j = np.arange(30), np.arange(30)
    assert np.array_equal(np.outer(0.5**i, 2.0**j), 0.5 ** np.subtract.outer(i, j).astype(float))


def test_f4_by_hand():
    """u(i) = i (i - 1) / 2: u(0) = 0, u(-1) = 1, u(-2) = 3, so Δu(0) = 0 - 1 and ΔΔu(0) = 0 - 2 + 3."""
    assert examples("GOAT-F.4")[1] == {"inputs": {"t": 2, "k": 3}, "claimed": [0, 0, 1], "actual": [0, -1, 1]}


def test_t2g_the_span_of_the_shifts_of_a_constant():
    """κ = 1: its shifts span the constants, so that d, unbounded, is no component of it."""
    shifts = np.ones((5, 9))
    with_lag = np.vstack([shifts, np.arange(9)])
    assert np.linalg.matrix_rank(shifts) == 1 and np.linalg.matrix_rank(with_lag) == 2


def test_t4_a_constant_key_prior_takes_a_lane_and_changes_no_weight():
    ones = np.ones((2, 2))
    assert theory.numerical_rank(ones) == 1 and theory.numerical_rank(theory.centred(ones)) == 0


def test_t3p_a_law_on_one_lag():
    moved, point = examples("GOAT-F.T3p")[1:]
    assert moved is None
    assert point == {"inputs": {"keys": 3, "mean": 1}, "claimed": 2, "actual": 1}


def test_t3r_two_rows_of_one_slope():
    found = examples("GOAT-F.T3r")[1]
    assert found["inputs"]["m"] == pytest.approx(math.log(2))
    assert (found["claimed"], found["actual"]) == (pytest.approx(1), pytest.approx((0 * 1 + 1 / 2) / (1 + 1 / 2)))


def test_e6_two_keys_share_a_number():
    found = examples("GOAT-E6")[1]
    assert found["inputs"] == {"m": 1.0, "older": 256, "newer": 257}
    assert (found["claimed"], found["actual"]) == (pytest.approx(math.e), 1.0)


def test_e6_the_last_exact_lengths():
    """bf16 holds the integers to 256, so that 257 keys fit one coordinate and 258 do not; two hold 65,536."""
    assert np.array_equal(key_slope.key_slope(1.0, 257, "bf16").sum(axis=0), np.arange(257))
    assert not np.array_equal(key_slope.key_slope(1.0, 258, "bf16").sum(axis=0), np.arange(258))
    assert np.array_equal(CHECKS["GOAT-E6"].corrected[1].truth(1.0, 65_536), np.arange(65_536))


def test_e6_bloom_builds_its_bias_in_the_dtype_of_the_model():
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    mask = torch.ones(1, 300)
    half, full = (build_alibi_tensor(mask, 8, dtype)[0, 0].double() for dtype in (torch.bfloat16, torch.float32))
    assert half.diff().min() == 0 and full.diff().min() > 0


def last_weights(coordinates, width=64):
    """Weight of all other keys, then of the last `width` - 1, as torch's attention gives them in bf16, content zero."""
    lanes, keys = coordinates.shape
    q, k = torch.zeros(1, 1, width, dtype=torch.bfloat16), torch.zeros(1, keys, width, dtype=torch.bfloat16)
    q[..., :lanes], k[0, :, :lanes] = width**0.5, torch.as_tensor(coordinates.T).bfloat16()
    v = one_hot(torch.arange(keys).sub(keys - width).clamp(min=0), width).bfloat16()[None]
    return scaled_dot_product_attention(q, k, v)[0, 0].double().numpy()


def test_e6_torch_attention_agrees_with_the_emulation():
    coordinates = key_slope.key_slope(0.5, 2048, "bf16")
    exact = special.softmax(0.5 * np.arange(2048))
    blocks = np.concatenate([[exact[:-63].sum()], exact[-63:]])
    measured = key_slope.total_variation(last_weights(coordinates), blocks)
    assert measured == pytest.approx(key_slope.misplaced(coordinates, 0.5), abs=5e-3)
    _, both = CHECKS["GOAT-E6"].corrected[0].truth(lambda j: (j, 0 * j), 0.5, 2048)  # the larger of the two
    assert both == pytest.approx(measured, abs=5e-3) and both >= measured


def test_p31b_a_content_of_one_and_a_content_of_zero():
    """q = (1, 0) moves RoPE's logit by cos 1 - 1 from lag 0 to lag 1, and q = 0 does not move it."""
    one, zero = torch.tensor([1.0, 0.0], dtype=torch.float64), torch.zeros(2, dtype=torch.float64)
    moves = [recency.rotated(q, one, 1) - recency.rotated(q, one, 0) for q in (one, zero)]
    assert moves[0] - moves[1] == pytest.approx(math.cos(1) - 1)
    assert recency.explained("ALiBi") == pytest.approx(1)


def test_small_errors_are_refused():
    mean, zeros = CHECKS["GOAT-F.T3r"].corrected[1], CHECKS["GOAT-F.T3p"].corrected[0]
    assert refused(mean, lambda m, keys: mean.says(m, keys) + 1e-2)
    assert refused(zeros, lambda q, r: zeros.says(q, r) * (1 + 1e-3))
    sizes = CHECKS["GOAT-AF.3"].sentences[0]
    assert refused(sizes, lambda count, seed: (1 - 1e-3) * sizes.says(count, seed))
    scales = CHECKS["GOAT-E.2"].sentences[0]
    assert refused(scales, lambda a, b: (a * b) ** 0.01 * scales.says(a, b))
