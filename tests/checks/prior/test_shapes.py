"""Verdicts of notebook 04 and appendix A1, counterexamples worked out by hand, and laws that notice small errors."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from attention_priors.attention.bench import interpreted
from attention_priors.checks import CHECKS
from attention_priors.claims.law import Law
from attention_priors.model import Transformer, count
from attention_priors.model import paper_model as paper
from attention_priors.theory import generalised_gaussian as theory


def example(identifier, failing=0):
    """The counterexample of one of the sentences that fail."""
    fails = [(law, found) for law, found in CHECKS[identifier].laws if not found.holds]
    law, found = fails[failing]
    return law.counterexample(found)


def stated(identifier, beginning) -> Law:
    return next(law for law, _ in CHECKS[identifier].laws if law.text.startswith(beginning))


def corrected(identifier, beginning) -> Law:
    return next(law for law in CHECKS[identifier].corrected if law.text.startswith(beginning))


def test_d3_says_what_is_missing_without_triton():
    check = CHECKS["BAM-D3"]
    assert len(check.sentences) == (6 if interpreted.AVAILABLE else 4)
    assert bool(check.missing) != interpreted.AVAILABLE and "Triton is not installed" in interpreted.MISSING


def test_d4_the_recommended_start_has_no_scale():
    assert example("BAM-D4")["inputs"] == {"theta_alpha": 0.0, "theta_beta": 0.0}
    with pytest.raises(ZeroDivisionError):
        math.exp(-0.0 / 0.0)


def test_c_beta_past_the_normal_distribution():
    sharper, narrower = example("BAM-C-BETA"), example("BAM-C-BETA", 1)
    assert sharper["inputs"] == {"alpha": 10.0, "keys": 2**18, "low": 2, "high": 3}
    own = [1 / math.fsum(math.exp(-((d / 10) ** beta)) for d in range(500)) for beta in (2, 3)]
    assert (sharper["claimed"], sharper["actual"]) == pytest.approx(own) and own[1] < own[0]
    assert narrower["inputs"] == {"alpha": 10.0, "keys": 2**18, "low": 8, "high": 12}
    assert narrower["actual"] > narrower["claimed"]


def test_l3_keys_that_double_leave_the_oldest_half_of_the_weight():
    outvoted = stated("BAM-L3", "Content without a bound")
    assert outvoted.truth(slope=math.log(2)) == pytest.approx(2**999 / (2**1000 - 1)) == outvoted.says(math.log(2))


def test_t2_by_hand():
    first = example("BAM-T2")
    assert first["inputs"] == {"m": 1.0, "alpha": 1.0, "beta": 0.5, "lag": 1} and first["actual"] == 1


def test_t3_by_hand():
    near, anywhere = example("BAM-T3"), example("BAM-T3", 1)
    assert near["inputs"] == {"n": 3, "alpha": 1.0, "beta": -1.0}
    assert near["actual"] == pytest.approx(math.exp(-1) / (math.exp(-1) + math.exp(-0.5))) and near["actual"] > 1 / 3
    assert anywhere["inputs"] == {"n": 6, "mu": -2, "alpha": 1.0, "beta": -1.0}
    weights = [math.exp(-1 / abs(d - 2)) for d in (0, 1, 3, 4, 5)]
    assert anywhere["actual"] == pytest.approx(weights[0] / sum(weights))


def test_t4_by_hand():
    found = example("BAM-T4")
    assert found["inputs"] == {"n": 10**6, "alpha": 1.0, "beta": -1.0}
    assert 1 / (10**6 - 1) <= found["actual"] < math.e / (10**6 - 1)  # every lag d >= 1 weighs between 1/e and 1


def test_e3_the_nearest_tenth_of_512_keys():
    found = example("BAM-E3")
    assert found["inputs"] == {"theta_alpha": 0.0, "theta_beta": -1.0, "n": 512}
    weights = [math.exp(-1 / d) for d in range(1, 512)]
    assert found["actual"] == pytest.approx(sum(weights[:50]) / sum(weights), abs=2e-3)


def test_e5_slopes_differ_by_head():
    found = CHECKS["BAM-E5"].verdict("theory").counterexample
    assert found.inputs == {"heads": 2, "layer": 1, "head": 2}
    assert (found.claimed, found.actual) == (2**-4, 2**-8)


def test_c4_four_and_sixteen_keys():
    found = example("BAM-C4")
    assert found["inputs"] == {"scale": 1.0, "lead": 0.5, "short": 4, "long": 16}
    assert (found["claimed"], found["actual"]) == (pytest.approx(2 / 5), pytest.approx(4 / 19))


def test_e15_counts_like_the_model():
    with torch.device("meta"):
        model = Transformer(paper("bam-432m", "nope"))
    counted = count(model)
    assert stated("BAM-E15", "Table 1").truth(14) == round((counted["embedding"] + counted["transformer"]) / 1e6)


@pytest.mark.parametrize(
    ("law", "off"),
    [
        (("BAM-L3", "For m > 0"), lambda said: said * (1 - 1e-3)),
        (("BAM-L3", "and no smaller"), lambda said: min(1.0, said * 1.01)),
    ],
)
def test_laws_of_locality_notice_small_errors(law, off):
    law = stated(*law)
    assert law.judge().holds
    assert not replace(law, says=lambda **case: off(law.says(**_taken(law.says, case)))).judge().holds


def _taken(function, case):
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {name: case[name] for name in names}


def test_the_radius_of_suppression_is_noticed_within_one_per_cent():
    law = corrected("BAM-T3", "With mu = 0 a key at lag d")
    assert law.judge().holds
    assert not law.judge(lambda x, alpha, beta, d: law.says(x, 0.99 * alpha, beta, d)).holds


def test_the_farthest_tenth_of_a_negative_shape_tends_to_a_tenth():
    values = [theory.shares(theory.printed(10.0, -1.0), n)[1] for n in (20, 200, 2000, 20_000)]
    assert all(later < earlier for earlier, later in pairwise(values)) and np.isclose(values[-1], 0.1, atol=2e-3)
