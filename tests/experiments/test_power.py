"""What the benchmark's seeds could show, in made-up worlds."""

import pandas as pd
import pytest

from attention_priors.experiments import differences as power
from attention_priors.figures import TABLES, NotCompared


def counts(far, seeds=3, gate=50):
    """Hits of 50 at T and at 4T, by encoding and seed."""
    rows = [
        (name, seed, length, hits, 50, 128)
        for name, each in far.items()
        for seed, right in enumerate(each)
        for length, hits in ((96, gate), (128, gate), (512, right))
    ]
    return pd.DataFrame(rows, columns=["encoding", "seed", "length", "correct", "samples", "trained"])


def test_the_spread_is_that_of_models_without_that_of_prompts():
    found = power.spreads(counts({"bam": (50, 50, 50), "t5": (0, 50, 25), "rope": (24, 26, 25), "nope": (10,)}), 512)
    assert list(found.index) == ["bam", "t5", "rope"]  # one seed has no spread
    assert found["bam"] == 0 == found["rope"]  # seeds that differ by no more than prompts do
    assert found["t5"] == pytest.approx((0.25 - (0.25 / 3) / 49) ** 0.5)


def test_without_two_seeds_that_passed_nothing_is_shown():
    frame = power.shown(counts({"bam": (50, 50, 50)}, gate=20))
    assert len(frame) and frame["difference"].isna().all()
    with pytest.raises(NotCompared, match="two seeds that passed"):
        TABLES["power_measured"].build(frame)
