"""The judges of notebook 09's benchmark on made-up worlds: encodings, extensions, a second length, fading."""

import functools
import math

import numpy as np
import pandas as pd
import pytest

from attention_priors import claims, config
from attention_priors.checks import CHECKS, bam_contexts, belonging, survey_extensions, survey_languages
from attention_priors.checks.reading_worlds import FADES, KEPT, LOST, STEADY, printed, reverse
from attention_priors.checks.readings import FADING, ORDER, READINGS, Readings
from attention_priors.experiments import readings

TRAINED, TIMES = 128, 4
LANGUAGES, EXTENSIONS, CONTEXTS = survey_languages.CHECKS, survey_extensions.CHECKS, bam_contexts.CHECKS
CLAIMS = [*LANGUAGES, *EXTENSIONS, *CONTEXTS]
PROFILE = config.profile("smoke")
ROWS = PROFILE.readings
NAMES = tuple(dict.fromkeys((*PROFILE.language.encodings, *ROWS.encodings)))


@functools.lru_cache(maxsize=64)
def losses(rule, seeds=(0, 1, 2), multiples=(1, 2, 4, 8, 16, 64), noise=0.001, unigram=300.0):
    """language_readings of models whose loss above 3 nats is rule(name, length / training length), tuned at TIMES T."""
    rng, rows = np.random.default_rng(0), []

    def add(part, name, trained, wanted, known=None):
        for seed in seeds:
            for multiple in wanted:
                jitter = noise * rng.standard_normal()
                rows.append({"part": part, "encoding": name, "seed": seed, "trained": trained, "documents": 8,
                             "length": int(multiple * (known or trained)), "domain": "docstrings", "run": "r",
                             "loss": 3 + rule(name + "+" * (part == "tuned"), multiple) + jitter})  # fmt: skip

    near = [multiple for multiple in multiples if multiple <= 16]
    for name in NAMES:
        add("benchmark", name, TRAINED, multiples)
    for name in ROWS.extensions:
        add("extensions", name, TRAINED, near)
    for name in ROWS.tuned:
        add("tuned", name, TIMES * TRAINED, near, TRAINED)
    for name in ROWS.small:
        add("small", name, TRAINED, (1,))
    for name in ROWS.longer:
        add("longer", name, 2 * TRAINED, [multiple for multiple in (1, 2, 4, 32) if multiple <= max(multiples)])
    return readings.growth(pd.DataFrame(rows)).assign(unigram=unigram, scored=64)


def frames(rule, **how):
    seeds = how.get("seeds", (0, 1, 2))
    gaps, slopes = (LOST, STEADY) if rule is reverse else (KEPT, FADES)
    order = [{"encoding": name, "seed": seed, "gap": gaps.get(name, 0.2)} for name in ROWS.order for seed in seeds]
    fading = [
        {"encoding": name, "seed": seed, "length": multiple * TRAINED, "layer": 0, "head": head,
         "peak": -slopes.get(name, 0.0) * math.log2(multiple) + 0.1 * head}
        for name in ROWS.fading for seed in seeds for multiple in (1, 4, 16) for head in (0, 1)
    ]  # fmt: skip
    return {READINGS: losses(rule, **how), ORDER: pd.DataFrame(order), FADING: pd.DataFrame(fading)}


def holds(claim):
    return survey_languages.WORLDS.get(claim, printed)


def outcome(claim, given):
    return CHECKS[claim].judge(given).outcome


def test_the_notebook_owns_these_ids_and_the_register_agrees():
    assert set(CLAIMS) <= set(belonging("language_models"))
    assert {claims.register()[name].scale for name in CLAIMS} == {"cpu-small"}


@pytest.mark.parametrize("name", survey_languages.SUMMARY)
@pytest.mark.parametrize("column", range(3))
def test_a_wrong_entry_of_the_summary_table_is_found(name, column):
    entries = survey_languages.SUMMARY[name]
    wrong = tuple(not each if place == column else each for place, each in enumerate(entries))
    found = survey_languages.structure({name: wrong})
    assert found.outcome == "disagrees" and survey_languages.PROPERTIES[column] in found.text and found.measured == 2
    assert survey_languages.structure({name: entries}).outcome == "agrees"


def test_the_property_table_says_what_the_sentences_say():
    table = survey_languages.property_table(frames(printed)).set_index("encoding")
    assert len(table) == len(NAMES) and set(table.loc[["alibi", "t5", "sandwich"], "extrapolates"]) == {"yes"}
    assert set(table.loc[["rope", "sinusoidal", "xpos"], "extrapolates"]) == {"no"}
    assert table.loc["t5", "survey"] == "YYYY" and table.loc["learned", "survey"] == ""
    near = survey_languages.property_table(frames(printed, multiples=(1, 2, 4))).set_index("encoding")
    assert near.loc["alibi", "extrapolates"] == "open", "nobody looked far enough"
    assert table.loc["rope", "low"] < table.loc["rope", "growth"] < table.loc["rope", "high"]


@pytest.mark.parametrize("claim", CLAIMS)
def test_both_answers_and_the_flip(claim):
    good, bad = frames(holds(claim)), frames(reverse)
    before = good[READINGS].copy()
    assert outcome(claim, good) == "agrees"
    assert outcome(claim, bad) == "disagrees"
    check = CHECKS[claim]
    assert outcome(claim, check.flip(good)) == "disagrees"
    assert outcome(claim, check.flip(bad)) == "agrees"
    assert good[READINGS].equals(before), "flip changed its input"
    assert check.opposite.startswith("agrees: ") and "disagrees: " in check.opposite


@pytest.mark.parametrize("claim", CLAIMS)
def test_what_cannot_be_told(claim):
    good = holds(claim)
    assert outcome(claim, frames(good, seeds=(0,))) == "undecided"  # one seed has no spread
    assert outcome(claim, frames(good, unigram=25.0)) == "undecided"  # nothing was learned
    spread = frames(good, noise=2.0)
    if claim not in ("PE-PI-E2", "BAM-C5"):  # decided by other frames
        assert outcome(claim, spread) != "agrees"


@pytest.mark.parametrize("claim", ["PE-C2", "PE-C3", "PE-KERPLE-E", "PE-F3", "BAM-F10"])
def test_level_up_to_four_times_is_not_level_up_to_64(claim):
    assert outcome(claim, frames(holds(claim), multiples=(1, 2, 4))) == "undecided"


def test_one_encoding_that_was_not_read_so_far_leaves_it_open():
    good = frames(printed)
    frame = good[READINGS]
    near = frame[(frame["encoding"] != "t5") | (frame["length"] <= 4 * TRAINED)]
    assert outcome("PE-C2", good | {READINGS: near}) == "undecided"
    assert outcome("PE-KERPLE-E", good | {READINGS: near}) == "agrees"


def test_a_blow_up_that_was_not_reached_may_still_come():
    near = frames(printed, multiples=(1, 2, 4))
    assert outcome("PE-DNTK-E", near) == "undecided"

    def tame(name, multiple):
        return printed(name, min(multiple, 4))

    assert outcome("PE-DNTK-E", frames(tame)) == "disagrees"


def test_rows_that_a_profile_leaves_out_decide_nothing():
    good = frames(printed)
    frame = good[READINGS]
    assert outcome("BAM-F10", good | {READINGS: frame[frame["part"] != "longer"]}) == "undecided"
    assert outcome("PE-KERPLE-E", good | {READINGS: frame[~frame["encoding"].str.startswith("kerple")]}) == "undecided"
    assert outcome("PE-C5", good | {READINGS: frame[frame["encoding"] != "lag-table"]}) == "undecided"
    assert outcome("PE-PI", good | {READINGS: frame[frame["part"] != "tuned"]}) == "undecided"
    untold = good | {ORDER: good[ORDER].query("encoding != 'rope-pi'")}
    assert outcome("PE-PI-E2", untold) == "undecided"


def test_one_relative_encoding_that_breaks_decides_c3():
    found = CHECKS["PE-C3"].judge(frames(printed))
    assert found.outcome == "disagrees" and "rope" in found.detail  # RoPE is relative


def test_what_was_tuned_is_another_model_than_the_extension():
    data = Readings(losses(printed))
    assert data.tuned_at == TIMES * TRAINED and data.trained == TRAINED
    assert data.of("rope-pi-4", "growth", TIMES * TRAINED).value == pytest.approx(0.28, abs=1e-2)
    assert data.of("rope-pi-4+", "growth", TIMES * TRAINED).value == pytest.approx(0.0, abs=1e-2)
    assert data.lengths("rope-pi-4", "rope", least=1.001, most=4) == [2 * TRAINED, 4 * TRAINED]


def test_a_spoiled_reading_is_still_that_of_a_model_that_has_learned():
    def spoiled(name, multiple):
        return 5.0 if name == "rope-pi-4" else printed(name, multiple)

    data = Readings(losses(spoiled))
    assert data.learned("rope-pi-4") and data.learned("rope-pi-4+", "rope-ssmax-base-50", "rope-local")
    assert outcome("PE-NTK-E", frames(spoiled)) == "agrees"


def test_the_order_of_neighbours_is_compared_within_a_seed():
    good = frames(printed)
    order = good[ORDER].copy()
    order["gap"] += order["seed"].map({0: 0.0, 1: 2.0, 2: 0.0})  # a seed that tells order better, in every reading
    (_, _, more) = survey_extensions.neighbours(good | {ORDER: order})
    assert more.measured == pytest.approx(KEPT["rope-ntk"] - KEPT["rope-pi"])
    assert more.interval == pytest.approx((more.measured, more.measured))


def test_differences_are_taken_within_a_seed():
    frame = losses(printed).copy()
    frame["loss"] += frame["seed"].map({0: -0.3, 1: 0.0, 2: 0.4})  # seeds differ, in every reading alike
    (lead, *_) = survey_extensions.without_training({READINGS: frame})
    assert lead.outcome == "agrees" and lead.interval[1] - lead.interval[0] < 0.05


def test_fading_is_the_mean_over_heads_from_the_shortest_to_the_longest():
    good = frames(printed)
    assert bam_contexts.faded(good[FADING], "bam").tolist() == pytest.approx([4 * FADES["bam"]] * 3)
    assert len(bam_contexts.faded(good[FADING], "sandwich")) == 0


def test_a_second_training_length_has_its_own_multiples():
    made = bam_contexts.figure_10(frames(printed))
    assert [each.outcome for each in made] == ["agrees"] * len(made)
    assert "32×" in made[1].text  # the longest that models trained on 2 T are read at
    assert "(deciding: rope-ssmax-base-100, alibi, 4×)" in made[-1].text


def test_the_sizes_are_judged_apart():
    frame = losses(printed).copy()
    bad = (frame["part"] == "small") & (frame["encoding"] == "nope")
    frame.loc[bad, "loss"] += 1.0
    found = survey_languages.figure_6({READINGS: frame})
    assert [each.outcome for each in found] == ["agrees", "disagrees", "agrees", "agrees"]


def test_verdicts_are_scaled_reproductions():
    verdict = CHECKS["PE-C2"].verdict("cpu", frames(printed))
    assert (verdict.verdict, verdict.outcome, verdict.recipe) == ("scaled reproduction", "agrees", "paper")
    assert verdict.evidence == ["metrics/language_readings.csv"] and verdict.seeds == [0, 1, 2]
    again = CHECKS["PE-PI-E2"].verdict("cpu", frames(printed))
    assert again.evidence == ["metrics/language_readings.csv", "metrics/language_order.csv"]
