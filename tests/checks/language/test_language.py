"""Claims about language models: gates, second models, seeds and documents, sizes, and what was read twice."""

import pandas as pd
import pytest

from attention_priors.checks.language import losses, perplexity, survey
from attention_priors.checks.language.losses import Losses
from checks.committed import frame, frames, notes, outcomes

READINGS, PERPLEXITY = losses.READINGS, losses.PERPLEXITY


def trained_on():
    return frame(PERPLEXITY).query("trained_on")


def test_a_short_rise_counts_and_so_does_the_size_of_a_drift():
    rows = frame(PERPLEXITY)
    alibi, twice = rows["encoding"] == "alibi", rows["length"] == 2 * rows["trained"]
    for more, stable in ((0.3, "agrees"), (0.9, "disagrees")):  # nats
        raised = {PERPLEXITY: rows.assign(growth=rows["growth"] + more * (alibi & twice))}
        assert outcomes("BAM-F6", raised)[0] == "disagrees" and outcomes("BAM-C18", raised)[0] == stable


def test_a_seed_that_misses_its_gate_is_left_out_and_named():
    rows = trained_on()
    bad = (rows["encoding"] == "alibi") & (rows["seed"] == 1)
    data = Losses(rows.assign(passed=rows["passed"] & ~bad, growth=rows["growth"].mask(bad, 9.0)))
    found = data.grows("alibi")
    assert 1 not in found.seeds and found.value < 0.1 and data.why("alibi") == "gate missed: ALiBi (seed 1)"


def test_a_second_model_stands_for_growth_and_never_for_a_comparison_of_losses():
    """NoPE passes its gate with three times the tokens alone."""
    assert outcomes("BAM-F6", frames("BAM-F6"))[-1] == "agrees"  # that it diverges is known from the second
    assert notes("BAM-TAB2", frames("BAM-TAB2"))[0].startswith("NoPE passed its gate with more tokens alone")
    assert outcomes("BAM-TAB2", frames("BAM-TAB2"))[0] == "undecided"
    data = Losses(trained_on())
    assert data.of("nope")["times"].unique().tolist() == [3]
    assert "NoPE at 3 × tokens" in data.at("nope", "growth", 128).note
    assert "tokens" not in data.at("alibi", "growth", 128).note


def test_differences_are_taken_within_a_seed():
    rows = frame(READINGS)
    shifted = rows.assign(loss=rows["loss"] + rows["seed"].map({0: -0.3, 1: 0.0, 2: 0.4, 3: 0.9, 4: -0.5}))
    for name in ("PE-REROPE", "PE-NTK-E", "PE-F9"):
        assert outcomes(name, {READINGS: shifted}) == outcomes(name, frames(name))


def test_changes_that_cancel_are_still_influence():
    table = frame("language_losses")
    table = table[table["times"] == 1]
    rows = table[(table["encoding"] == "alibi") & (table["domain"] == "docstrings")]
    level = rows.groupby(["seed", "document"])["loss"].transform("mean")
    moved = rows.assign(loss=level + 0.3 * (-1.0) ** rows["document"] * (rows["length"] > rows["trained"]))
    given = frames("BAM-C23", language_losses=moved)
    assert perplexity.movement(given, "alibi").value == pytest.approx(0.3)


def test_a_model_that_was_read_twice_is_refused():
    with pytest.raises(ValueError, match=r"alibi, seed 0, was read twice at 128 tokens; keep one of the rows"):
        Losses(pd.concat([trained_on()] * 2)).at("alibi", "loss", 128)


def test_a_corpus_of_one_domain_is_judged_on_it():
    one = {PERPLEXITY: trained_on()}
    assert outcomes("BAM-F7", one)[:3] == outcomes("BAM-F6", one)[:3]


def test_the_sizes_are_judged_apart():
    rows = frame(READINGS).assign(passed=True)
    raised = rows.assign(loss=rows["loss"] + 9.0 * ((rows["part"] == "small") & (rows["encoding"] == "nope")))
    before, after = (outcomes("PE-F6", {READINGS: each}) for each in (rows, raised))
    assert before[4:] == after[4:] and after[1:4] == ["disagrees"] * 3


def test_each_claim_about_scale_is_about_its_own_size():
    (metric,) = frames("X-34")
    rows = frame(metric)
    narrow = rows["width"] == rows["width"].min()
    assert outcomes("X-34", {metric: rows[narrow]}) == outcomes("X-34", frames("X-34"))
    assert {note.split("; ")[-1] for note in notes("X-35", {metric: rows[narrow]})} == {"one size alone"}


def test_the_property_table_says_what_the_sentences_say():
    given = {READINGS: frame(READINGS), PERPLEXITY: frame(PERPLEXITY)}
    table = survey.property_table(given).set_index("encoding")
    assert table.loc["alibi", "extrapolates"] == "yes"
    assert set(table.loc[["rope", "sinusoidal", "learned"], "extrapolates"]) == {"no"}
    assert table.loc["t5-quarter", "survey"] == "YYYY" and table.loc["learned", "survey"] == ""
    near = {name: rows[rows["length"] <= 4 * rows["trained"]] for name, rows in given.items()}
    assert survey.property_table(near).set_index("encoding").loc["alibi", "extrapolates"] == "open"
    assert table.loc["rope", "low"] < table.loc["rope", "growth"] < table.loc["rope", "high"]


def test_the_t5_that_is_judged_has_its_last_bucket_at_a_quarter_of_the_training_length():
    rows = frame(READINGS)
    names = losses.readings({READINGS: rows[rows["encoding"] != losses.T5].assign(trained=512)}).frame["encoding"]
    assert losses.PLAIN_T5 not in set(names) and losses.T5 in set(names)
    assert losses.PLAIN_T5 in set(losses.readings({READINGS: rows}).frame["encoding"])
