"""PC-MINI in worlds where it holds, where it fails, and where arms, seeds or gates are missing."""

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.chunks.needles import BASELINES, BY_LENGTH

NEAR = {"k3": 1.0, "all": 1.0}


def frames(shares, seeds=3, missed=(), encoding="rope", samples=50, length=2048):
    """Accuracy at 16T by method; what is not named has 0.1."""
    rows = [
        (encoding, method, seed, length, round(share * samples), samples, 128, seed not in missed)
        for method, share in ({name: 0.1 for name in BASELINES} | shares).items()
        if share is not None
        for seed in range(seeds)
    ]
    columns = ["encoding", "method", "seed", "length", "correct", "samples", "trained", "passed"]
    return {BY_LENGTH: pd.DataFrame(rows, columns=columns)}


def judged(given):
    (found,) = CHECKS["PC-MINI"].judged(given)
    return found


@pytest.mark.parametrize(
    ("shares", "outcome", "decided"),
    [
        ({"k3": 0.9}, "agrees", ""),
        ({"k3": 0.4, "rerope": 0.9}, "disagrees", "decided by the lead over Leaky ReRoPE"),
        ({"k3": 0.5, "yarn": 0.5}, "undecided", "decided by the lead over YaRN"),
        ({"k3": 0.4, "all": 1.0, "lexical": 1.0}, "agrees", ""),  # ways that read chunks are no rivals here
    ],
)
def test_the_best_rival_without_chunks_decides(shares, outcome, decided):
    found = judged(frames(shares))
    assert found.outcome == outcome and decided in found.note


def test_one_seed_decides_nothing():
    assert judged(frames({"k3": 0.9}, seeds=1)).outcome == "undecided"


def test_models_that_miss_the_gate_are_left_out_and_named():
    found = judged(frames({"k3": 0.9}, seeds=4, missed=(1,)))
    assert found.outcome == "agrees" and found.estimate.seeds == (0, 2, 3) and "seed 1" in found.note
    nobody = judged(frames({"k3": 0.9}, missed=(0, 1, 2)))
    assert nobody.outcome == "undecided" and "gate missed: rope (seed 0, 1, 2)" in nobody.note


def test_what_a_profile_lacks_is_named():
    found = judged(frames({"k3": 0.9, "yarn": None, "pi": None}))
    assert found.outcome == "agrees" and "not in this profile: position interpolation, YaRN" in found.note
    assert judged(frames({})).outcome == "undecided"  # without K = 3
    assert judged(frames({"k3": 0.9}, encoding="alibi")).outcome == "undecided"


def test_the_lead_at_64_times_stands_beside_and_does_not_decide():
    near, far = frames({"k3": 0.9}), frames({"k3": 0.4, "rerope": 0.9}, length=8192)
    both = {BY_LENGTH: pd.concat([near[BY_LENGTH], far[BY_LENGTH]])}
    found = judged(both)
    assert found.outcome == "agrees" and found.estimate.value == judged(near).estimate.value
    assert "at 64 times it is -0.50 [-0.59, -0.36]" in found.note and "the lead over Leaky ReRoPE" in found.note
    assert judged(far).outcome == "undecided" and "64 times" not in judged(near).note
