"""Paired differences between rows of the benchmark, by hand."""

import math

import pandas as pd
import pytest

from attention_priors.experiments.differences import COLUMNS, QUESTIONS, differences
from attention_priors.figures import FIGURES
from attention_priors.figures.spec import NotCompared
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


def test_a_profile_without_pairs_has_no_rows_and_no_figure():
    empty = differences(counts(rope=FULL))
    assert empty.empty and list(empty.columns) == COLUMNS
    with pytest.raises(NotCompared, match="no pair of encodings passed"):
        FIGURES["encodings_differences"].draw(empty)


def test_every_pair_is_of_known_encodings_and_asked_once():
    pairs = [pair for each in QUESTIONS.values() for pair in each]
    assert {name for pair in pairs for name in pair} <= {*ENCODINGS, *WANTED} and len(set(pairs)) == len(pairs)


def test_the_figure_draws_a_row_for_each_pair():
    near = FULL | {2048: 10, 8192: 0}
    found = differences(counts(sandwich=FULL, alibi=near, bam=FULL, nope=near))
    spec = FIGURES["encodings_differences"]
    axes = spec.draw(found).axes
    assert [ax.get_title() for ax in axes] == ["4×", "16×", "64×"]
    pairs = found[["ours", "theirs"]].drop_duplicates()
    assert len(axes[0].get_yticklabels()) == len(pairs) and "Sandwich − ALiBi" in spec.caption(found)
