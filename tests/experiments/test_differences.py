"""Paired differences between rows of the benchmark, by hand."""

import math

import pandas as pd
import pytest

from attention_priors.evaluation import difference_interval
from attention_priors.experiments.differences import COLUMNS, QUESTIONS, differences
from attention_priors.figures import FIGURES
from attention_priors.positions.encodings import ENCODINGS

FULL = dict.fromkeys((96, 128, 512, 2048, 8192), 50)
# rows that are asked for and do not exist yet stay out until they do
WANTED = {"bam-positive", *(f"{name}-ssmax-prior" for name in ("kerple-power", "kerple-log", "sandwich", "t5"))}


def counts(**hits):
    """Hits of 50 at 96, 128 and beyond by encoding ("_" for "-"), the same for five seeds unless listed by seed."""
    rows = [
        (name.replace("_", "-"), seed, length, right, 50, 128)
        for name, each in hits.items()
        for seed, own in enumerate(each if isinstance(each, list) else [each] * 5)
        for length, right in own.items()
    ]
    return pd.DataFrame(rows, columns=["encoding", "seed", "length", "correct", "samples", "trained"])


def test_a_pair_differs_within_the_seeds_of_both_that_passed():
    near = FULL | {2048: 10, 8192: 0}
    table = {96: 0, 128: 50, 512: 50, 2048: 50, 8192: 50}  # knows one place
    found = differences(counts(sandwich=FULL, alibi=[near, near, near, near, table]))
    row = found[found["multiple"] == 16].iloc[0]
    assert list(found.columns) == COLUMNS and found["multiple"].tolist() == [4, 16, 64]
    assert (row["ours"], row["theirs"], row["seeds"]) == ("sandwich", "alibi", 4)
    assert row["difference"] == pytest.approx(0.8) and row["low"] > 0.7 and row["differs"]
    first = found[found["multiple"] == 4].iloc[0]
    assert first["difference"] == 0 and first["low"] < 0 < first["high"] and not first["differs"]


def test_what_was_given_up_counts_as_missed_and_what_learned_nothing_is_not_compared():
    stopped = {length: right for length, right in FULL.items() if length < 8192} | {2048: 0}
    found = differences(counts(kerple_log=FULL, nope=stopped, alibi={96: 0, 128: 0}))
    last = found[(found["multiple"] == 64) & (found["ours"] == "kerple-log")].set_index("theirs")
    assert last.loc["nope", "difference"] == 1.0 and last.loc["nope", "seeds"] == 5
    assert last.loc["alibi", "seeds"] == 0 and math.isnan(last.loc["alibi", "difference"])
    assert "none passed of ALiBi − NoPE, KERPLE log − ALiBi" in FIGURES["encodings_differences"].caption(found)


def test_holm_counts_the_pairs_of_a_length():
    some = [FULL | {8192: right} for right in (20, 30, 40, 37, 23)]
    alone = differences(counts(bam=some, nope=FULL | {8192: 18}))
    assert alone[alone["multiple"] == 64]["differs"].tolist() == [True]
    others = dict.fromkeys(("sandwich", "kerple_log", "t5"), FULL | {8192: 24})
    many = counts(bam=some, nope=FULL | {8192: 18}, **others)
    found = differences(many).query("multiple == 64")
    pair = found[(found["ours"] == "bam") & (found["theirs"] == "nope")].iloc[0]
    assert pair["low"] > 0 and not pair["differs"]


def test_every_pair_is_of_known_encodings_and_asked_once():
    pairs = [pair for each in QUESTIONS.values() for pair in each]
    assert {name for pair in pairs for name in pair} <= {*ENCODINGS, *WANTED} and len(set(pairs)) == len(pairs)


def test_seeds_are_paired_by_their_number():
    """ALiBi's first seed has no partner; the other four find 10, 20, 30 and 40 of 50."""
    table = {96: 0, 128: 50, 512: 50, 2048: 50, 8192: 50}
    rivals = [FULL | {2048: 10 * seed} for seed in range(5)]
    found = differences(counts(sandwich=[table, *[FULL] * 4], alibi=rivals)).query("multiple == 16").iloc[0]
    assert (found["seeds"], found["difference"]) == (4, pytest.approx(0.5))


def test_what_was_asked_is_that_of_the_length():
    rows = counts(sandwich=FULL, alibi=FULL | {2048: 20})
    far = rows["length"] == 2048
    rows = rows.assign(samples=rows["samples"].mask(far, 20), correct=rows["correct"].mask(far, rows["correct"] // 2.5))
    assert differences(rows).query("multiple == 16")["difference"].tolist() == [pytest.approx(0.6)]


def test_holm_steps_down_and_a_difference_may_be_negative():
    """BAM and NoPE differ alone, not at a third of 5 %; the other two pairs differ at that."""
    some = [20, 30, 40, 37, 23]
    last = counts(bam=[FULL | {8192: right} for right in some], nope=FULL | {8192: 18}, sandwich=FULL)
    found = differences(last).query("multiple == 64").set_index(["ours", "theirs"])
    assert found["differs"].all() and found.loc[("bam", "sandwich"), "difference"] < 0
    expected = difference_interval(some, [50] * 5, [18] * 5, [50] * 5, 0.95)
    assert found.loc[("bam", "nope"), ["low", "high"]].tolist() == pytest.approx(expected)
