"""The figures and tables of Goat on made-up worlds: with all rows, with few, and with one."""

import pytest

from attention_priors.experiments import goat_languages
from attention_priors.figures import FIGURES, TABLES, NotCompared, methods
from attention_priors.figures.goat import retrieval
from attention_priors.positions.encodings import ENCODINGS
from checks.goat import worlds

UNDIVIDED = ("rope-undivided",)


def world():
    counted = worlds.counts(rows=(*worlds.ROWS, *UNDIVIDED), missed=UNDIVIDED)
    return worlds.metrics(counted)


def test_every_encoding_of_every_profile_has_a_colour():
    assert all(methods.paint(name) for name in ENCODINGS)
    assert retrieval.ordered(["rope", "goat-code", "alibi", "goat-rope"]) == ["goat-code", "goat-rope", "rope", "alibi"]


def test_the_caption_tells_of_goat_and_of_the_best_rival():
    said = FIGURES["goat_passkeys"].caption(world()["goat_passkey_counts"])
    assert "Goat composite 1.00, Goat with RoPE in the content 0.1" in said and "of the others" in said
    assert "Missed their gate" not in said and "undivided" not in said
    missed = worlds.counts(missed=("alibi",))
    assert FIGURES["goat_passkeys"].caption(missed).endswith(": ALiBi (seeds 0, 1, 2).")


def test_the_table_of_logits_has_both_ways_or_is_not_made():
    spec = TABLES["goat_undivided"]
    table = spec.build(world()[spec.metrics])
    assert table["encoding"].tolist() == ["RoPE"] * 2 and table["logits"].tolist() == ["divided by √d", "not divided"]
    assert table["passed the gate"].tolist() == ["3 of 3", "0 of 3"]
    assert table["digits at 2T"].str.match(r"0\.\d\d \[0\.\d\d, 0\.\d\d\]").all()
    with pytest.raises(NotCompared, match="without 1/√d"):
        spec.build(worlds.counts())


def test_the_table_of_differences_has_goat_against_rivals_alone():
    spec = TABLES["goat_differences"]
    table = spec.build(world()[spec.metrics])
    assert set(table["Goat"]) == {"Goat composite", "Goat (authors' code)", "Goat with RoPE in the content"}
    row = table[(table["Goat"] == "Goat composite") & (table["rival"] == "ALiBi")].iloc[0]
    assert row["gap at 1T (nats)"].startswith("-0.10") and row["lower on, 1T"] == "100%"
    none = goat_languages.differences(worlds.text(missed=worlds.ROWS))
    for make in (spec.build, spec.caption):
        with pytest.raises(NotCompared, match="no pair passed its gate"):
            make(none)
