"""Verdicts of notebook 04, its counterexamples worked out by hand, and checkers that notice small errors."""

import math
from itertools import pairwise

import numpy as np
import pytest

from attention_priors.bench import interpreted
from attention_priors.checks import (
    CHECKS,
    bam_below_zero,
    bam_gaussian,
    bam_locality,
    bam_scaling,
    belonging,
)
from attention_priors.checks.prior import start
from attention_priors.model import Transformer, count
from attention_priors.model import paper_model as paper
from attention_priors.positions import mass
from attention_priors.theory import generalised_gaussian as theory

VERDICTS = {
    "BAM-D3": "verified" if interpreted.AVAILABLE else "inconclusive",
    "BAM-D4": "verified with correction",
    "BAM-C-BETA": "verified with correction",
    "BAM-L3": "verified with correction",
    "BAM-L4": "verified with correction",
    "BAM-T2": "verified with correction",
    "BAM-T3": "verified with correction",
    "BAM-T4": "contradicted",
    "BAM-T4b": "verified",
    "BAM-E2": "verified with correction",
    "BAM-E3": "verified with correction",
    "BAM-E4": "contradicted",
    "BAM-E5": "verified with correction",
    "BAM-E13": "verified",
    "BAM-E14": "verified",
    "BAM-E15": "verified with correction",
    "BAM-D6": "verified",
    "BAM-C4": "verified with correction",
    "BAM-F1": "verified with correction",
}


def test_the_notebook_owns_these_ids():
    assert {name for name in belonging("generalised_gaussian") if name.startswith("BAM")} == set(VERDICTS)
    modules = (bam_gaussian, bam_locality, bam_below_zero, bam_scaling, start)
    assert sorted(name for module in modules for name in module.CHECKS) == sorted(VERDICTS)


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].verdict("theory").verdict == VERDICTS[identifier]


def examples(identifier):
    return [part.judge().counterexample for part in CHECKS[identifier].printed]


def test_d3_says_what_is_missing_without_triton():
    check = CHECKS["BAM-D3"]
    assert len(check.printed) == (4 if interpreted.AVAILABLE else 3)
    assert bool(check.missing) != interpreted.AVAILABLE and "Triton is not installed" in interpreted.MISSING


def test_d4_the_recommended_start_has_no_scale():
    assert examples("BAM-D4")[1]["inputs"] == {"theta_alpha": 0.0, "theta_beta": 0.0}
    with pytest.raises(ZeroDivisionError):
        math.exp(-0.0 / 0.0)


def test_c_beta_two_keys():
    sharper, narrower = examples("BAM-C-BETA")[2:]
    assert sharper["inputs"] == {"alpha": 2.0, "keys": 2, "low": 1, "high": 2}
    low, high = (1 / (1 + math.exp(-(0.5**beta))) for beta in (1, 2))
    assert (sharper["claimed"], sharper["actual"]) == (pytest.approx(low), pytest.approx(high)) and high < low
    assert (narrower["claimed"], narrower["actual"]) == (pytest.approx(1 - low), pytest.approx(1 - high))


def test_l3_content_beats_the_slope():
    found = examples("BAM-L3")[1]
    i = found["inputs"]["i"]
    assert found["inputs"]["slope"] == pytest.approx(math.log(2))
    assert found["actual"] == pytest.approx(2 ** (i - 1) / (2**i - 1)) and found["actual"] > 0.5


def test_l3_the_uniform_prior_meets_the_printed_criterion():
    found = examples("BAM-L3")[2]["inputs"]
    assert found["slope"] == 0.0
    assert (10**5 - found["window"] - 1) / 10**5 > 0.5  # its mass beyond the window


def test_t2_by_hand():
    first, every, promise = examples("BAM-T2")[1:]
    assert first["inputs"] == {"m": 1.0, "alpha": 1.0, "beta": 0.5, "lag": 1} and first["actual"] == "1"
    assert every["inputs"] == {"m": 1.0, "alpha": 0.25, "beta": 0.5, "lag": 1} and every["actual"] == "2"
    keys = promise["inputs"]["keys"]
    ours, alibi = ([math.exp(-scale * d**power) for d in range(keys)] for scale, power in ((2, 0.5), (1, 1)))
    assert 2 * math.sqrt(keys - 1) / (keys - 1) < 1  # the ratio at the oldest key
    means = [sum(d * w for d, w in enumerate(weights)) / sum(weights) for weights in (ours, alibi)]
    assert promise["actual"] == f"{means[0]:.3f}" and promise["claimed"] == f"above {means[1]:.3f}"
    assert means[0] < means[1]


def test_t3_by_hand():
    first, near, coded = examples("BAM-T3")[1:]
    assert first["inputs"]["i"] == 1 and first["actual"] == "0/0"
    assert near["inputs"] == {"alpha": 1.0, "beta": -1.0, "i": 3, "lag": 1}
    assert near["actual"] == pytest.approx(math.exp(-1) / (math.exp(-1) + math.exp(-0.5))) and near["actual"] > 1 / 3
    assert coded["inputs"] == {"alpha": 1.0, "beta": -0.05, "i": 2, "lag": 0}
    own, other = math.exp(-(1e-5**-0.05)), math.exp(-1)
    assert coded["actual"] == pytest.approx(own / (own + other), rel=1e-5)


def test_t4_by_hand():
    found = examples("BAM-T4")[0]["inputs"]
    assert (found["alpha"], found["beta"]) == (1.0, -1.0)
    assert math.e / (found["i"] - 1) < found["floor"]  # every lag d >= 1 weighs between 1/e and 1


def test_e3_ten_keys():
    found = examples("BAM-E3")[1]
    assert found["inputs"] == {"theta_alpha": 0.0, "theta_beta": -1.0, "n": 10}
    weights = [math.exp(-1 / d) for d in range(1, 10)]
    assert found["actual"] == pytest.approx(weights[-1] / sum(weights), rel=1e-4)


def test_e5_slopes_differ_by_head():
    found = CHECKS["BAM-E5"].verdict("theory").counterexample
    assert found.inputs == {"heads": 2, "layer": 1, "head": 2}
    assert (found.claimed, found.actual) == (2**-4, 2**-8)


def test_c4_four_and_sixteen_keys():
    found = examples("BAM-C4")[1]
    assert found["inputs"] == {"scale": 1.0, "gap": 0.5, "short": 4, "long": 16}
    assert (found["claimed"], found["actual"]) == (pytest.approx(2 / 5), pytest.approx(4 / 19))


def test_e15_counts_like_the_model():
    import torch

    with torch.device("meta"):
        model = Transformer(paper("bam-432m", "nope"))
    counted = count(model)
    assert start.millions(14) == round((counted["embedding"] + counted["transformer"]) / 1e6)


def test_locality_checkers_notice_small_errors():
    loose = bam_locality.CHECKS["BAM-L3"].corrected
    assert not loose.check(lambda m, d, b: loose.statement(m, d, b) * (1 - 1e-6)).holds
    assert not loose.check(lambda m, d, b: min(1.0, loose.statement(m, d, b) * 1.01)).holds
    gamma = bam_locality.CHECKS["BAM-L4"].corrected
    assert not gamma.check(lambda a, b, d: mass.continuous_tail(a, b, d + 1)).holds
    order = bam_locality.CHECKS["BAM-T2"].corrected
    assert not order.check(lambda m, a, b: m * a**b > 1 + 1e-9).holds  # the boundary itself belongs to it


def test_the_threshold_of_suppression_is_noticed_within_one_per_cent():
    part = bam_below_zero.CHECKS["BAM-T3"].corrected
    assert not part.check((lambda x, ta, e: 1.01 * theory.suppression_threshold(x, ta, e), part.statement[1])).holds
    assert not part.check((part.statement[0], lambda x, a, b: 0.9 * theory.suppression_radius(x, a, b))).holds


def test_relative_density_rises_for_negative_shapes():
    values = [theory.shares(theory.printed(10.0, -1.0), n)[1] for n in (20, 200, 2000, 20_000)]
    assert all(later < earlier for earlier, later in pairwise(values)) and np.isclose(values[-1], 0.1, atol=2e-3)
