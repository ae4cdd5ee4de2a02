"""Claims about language models on made-up worlds: both answers, gates, absent arms, lengths that were not read."""

import functools
import math

import pandas as pd
import pytest

from attention_priors.checks import CHECKS, belonging
from attention_priors.checks.language import losses, perplexity, survey
from attention_priors.checks.language.losses import Losses
from attention_priors.claims.finding import judge
from checks.language import worlds
from checks.language.worlds import TRAINED, as_summed_up, frames, passkeys, printed, relative_is_enough, reverse

CLAIMS = [*perplexity.CHECKS, *survey.CHECKS]
HOLDS = {"PE-C3": relative_is_enough, "PE-TAB": as_summed_up}
READINGS, PERPLEXITY = losses.READINGS, losses.PERPLEXITY
given = functools.lru_cache(frames)


def outcome(claim, frames):
    return CHECKS[claim].verdict("cpu", frames).outcome


def judged(claim, frames):
    return {each.finding.text: each for each in CHECKS[claim].judged(frames)}


def test_the_notebooks_own_these_claims():
    assert set(CLAIMS) - set(belonging("language_models")) == {"BAM-C7"}
    assert "BAM-C7" in belonging("learned_priors")  # it also reads passkeys


@pytest.mark.parametrize("claim", CLAIMS)
def test_both_answers_and_what_cannot_be_told(claim):
    holds = HOLDS.get(claim, printed)
    assert outcome(claim, given(holds)) == "agrees"
    assert outcome(claim, given(reverse)) == "disagrees"
    assert outcome(claim, given(holds, seeds=(0,))) == "undecided"  # one seed has no spread
    missed = {name: frame.assign(passed=False) if "passed" in frame else frame for name, frame in given(holds).items()}
    assert outcome(claim, missed) == "undecided"
    assert all(
        "gate missed" in each.note or each.finding.metrics != (READINGS,) for each in CHECKS[claim].judged(missed)
    )


def test_verdicts_are_scaled_reproductions_with_their_recipe_and_seeds():
    found = CHECKS["BAM-F6"].verdict("cpu", given(printed))
    assert (found.verdict, found.recipe, found.seeds) == ("scaled reproduction", "language-small", [0, 1, 2])
    assert found.evidence == ["metrics/language_perplexity.csv"]
    assert "0.1 is our bound" in found.sentences[0].note


@pytest.mark.parametrize(
    "claim", ["BAM-F6", "BAM-F7", "BAM-C7", "BAM-C18", "PE-C2", "PE-C3", "PE-KERPLE-E", "PE-F3", "BAM-F10"]
)
def test_level_up_to_four_times_is_not_level_up_to_64(claim):
    assert outcome(claim, given(HOLDS.get(claim, printed), multiples=(1, 2, 4))) == "undecided"


def test_a_blow_up_that_was_not_reached_may_still_come():
    assert outcome("PE-DNTK-E", given(printed, multiples=(1, 2, 4))) == "undecided"
    assert outcome("PE-DNTK-E", frames(lambda name, multiple: printed(name, min(multiple, 4)))) == "disagrees"


def test_a_short_rise_counts_and_so_does_the_size_of_a_drift():
    def hump(name, multiple):
        return printed(name, multiple) + 0.3 * (name == "alibi" and multiple == 2)

    def drifting(name, multiple):
        return printed(name, multiple) + 0.2 * (name == "bam" and multiple > 1)

    assert outcome("BAM-F6", frames(hump)) == "disagrees"
    drifted = frames(drifting)
    assert outcome("BAM-F6", drifted) == "disagrees"  # 0.2 nats are neither level
    assert outcome("BAM-C18", drifted) == "agrees"  # nor unstable
    wrong = [each for each in CHECKS["BAM-F6"].judged(drifted) if each.outcome == "disagrees"]
    assert [each.finding.text for each in wrong] == [
        "The loss of BAM grows by at most 0.1 nats at every length up to 64T"
    ]
    assert wrong[0].estimate.value == pytest.approx(0.22, abs=1e-9)
    assert math.exp(losses.DIVERGES) < 2  # so that its sub-linearity is implied


def without(frame, *names):
    return frame[~frame["encoding"].isin(names)]


def test_an_arm_that_a_profile_leaves_out_leaves_it_open_unless_another_fails():
    good = given(printed)
    short = good | {READINGS: without(good[READINGS], "t5", "kerple-power", "rope-pi", "lag-table", "learned")}
    for claim in ("PE-C2", "PE-KERPLE-E", "PE-C5", "PE-C4", "PE-PI-E2"):
        assert outcome(claim, short) == "undecided", claim
    note = judged("PE-C2", short)["The loss of T5 buckets grows by at most 0.1 nats at every length up to 64T"].note
    assert "not in this profile: T5 buckets" in note
    bad = given(reverse)
    assert outcome("PE-C2", bad | {READINGS: without(bad[READINGS], "t5")}) == "disagrees"
    for part in ("longer", "tuned", "small"):
        gone = good | {READINGS: good[READINGS].query("part != @part")}
        assert outcome({"longer": "BAM-F10", "tuned": "PE-PI", "small": "PE-F6"}[part], gone) == "undecided"


def test_a_seed_that_misses_its_gate_is_left_out_and_named():
    frame = given(printed)[PERPLEXITY].copy()
    bad = (frame["encoding"] == "alibi") & (frame["seed"] == 1)
    frame.loc[bad, ["passed", "growth"]] = False, 9.0
    data = Losses(frame.query("trained_on"))
    found = data.grows("alibi")
    assert found.seeds == (0, 2) and found.value < 0.01 and data.why("alibi") == "gate missed: ALiBi (seed 1)"


def test_a_second_model_stands_for_growth_and_never_for_a_comparison_of_losses():
    frame = given(printed)[PERPLEXITY]
    first = frame["encoding"] == "nope"
    second = frame[first].assign(times=3, loss=lambda rows: rows["loss"] - 0.5)
    both = {**given(printed), PERPLEXITY: pd.concat([frame.assign(passed=~first), second], ignore_index=True)}
    assert outcome("BAM-F6", both) == "agrees"  # that it diverges is known from the second
    found = judged("BAM-TAB2", both)["NoPE has the highest loss at T"]
    assert found.outcome == "undecided" and "NoPE passed its gate with more tokens" in found.note
    data = Losses(both[PERPLEXITY].query("trained_on"))
    assert data.of("nope")["times"].unique().tolist() == [3]
    assert "NoPE at 3 × tokens" in data.at("nope", "growth", TRAINED).note
    assert "tokens" not in data.at("alibi", "growth", TRAINED).note


def test_differences_are_taken_within_a_seed():
    frame = given(printed)[READINGS].copy()
    frame["loss"] += frame["seed"].map({0: -0.3, 1: 0.0, 2: 0.4})  # seeds differ, in every reading alike
    lead = next(iter(judged("PE-NTK-E", {READINGS: frame}).values()))
    assert lead.outcome == "agrees" and lead.interval[1] - lead.interval[0] < 0.05
    frame["swap"] += frame["seed"].map({0: 0.0, 1: 2.0, 2: 0.0})
    more = list(judged("PE-PI-E2", {READINGS: frame}).values())[-1]
    assert more.estimate.value == pytest.approx(worlds.KEPT["rope-ntk"] - worlds.KEPT["rope-pi"], abs=0.01)
    assert more.interval[1] - more.interval[0] < 0.05


def test_retrieval_decides_c7():
    assert outcome("BAM-C7", given(printed) | {"passkey_by_length": passkeys(far=0.9)}) == "disagrees"


def test_changes_that_cancel_are_still_influence():
    some = given(printed)
    table = some["language_losses"].copy()
    far = (table["encoding"] == "alibi") & (table["length"] > TRAINED)
    table.loc[far, "loss"] += 0.3 * (-1.0) ** table.loc[far, "document"]
    assert perplexity.movement(some | {"language_losses": table}, "alibi").value == pytest.approx(0.3)
    assert outcome("BAM-C23", some | {"language_losses": table}) == "disagrees"


def test_a_model_that_was_read_twice_is_refused():
    frame = given(printed)[PERPLEXITY].query("trained_on")
    with pytest.raises(ValueError, match=r"alibi, seed 0, was read twice at 128 tokens; keep one of the rows"):
        Losses(pd.concat([frame, frame])).at("alibi", "loss", TRAINED)


def test_a_corpus_of_one_domain_is_judged_on_it():
    one = given(printed)[PERPLEXITY].query("domain == 'docstrings'")
    assert outcome("BAM-F7", given(printed) | {PERPLEXITY: one}) == "agrees"


def test_what_was_tuned_is_another_model_than_the_extension():
    data = losses.readings(given(printed))
    assert data.trained == TRAINED and data.lengths("rope-pi-4", "rope", least=1.001, most=4) == [256, 512]
    assert data.at("rope-pi-4", "growth", 512).value == pytest.approx(0.28, abs=1e-2)
    assert data.at("rope-pi-4+", "growth", 512).value == pytest.approx(0.0, abs=1e-2)


def test_fading_is_the_mean_over_heads_from_the_shortest_to_the_longest():
    assert perplexity.faded(given(printed)[perplexity.FADING], "bam").tolist() == pytest.approx(
        [4 * worlds.FADES["bam"]] * 3
    )
    assert len(perplexity.faded(given(printed)[perplexity.FADING], "sandwich")) == 0


def test_the_sizes_are_judged_apart():
    frame = given(printed)[READINGS].copy()
    frame.loc[(frame["part"] == "small") & (frame["encoding"] == "nope"), "loss"] += 1.0
    found = CHECKS["PE-F6"].judged({READINGS: frame})
    assert [each.outcome for each in found] == ["agrees", *["disagrees"] * 3, *["agrees"] * 4]


def test_the_property_table_says_what_the_sentences_say():
    table = survey.property_table(given(printed)).set_index("encoding")
    assert set(table.loc[["alibi", "t5", "sandwich"], "extrapolates"]) == {"yes"}
    assert set(table.loc[["rope", "sinusoidal", "xpos"], "extrapolates"]) == {"no"}
    assert table.loc["t5", "survey"] == "YYYY" and table.loc["learned", "survey"] == ""
    near = survey.property_table(given(printed, multiples=(1, 2, 4))).set_index("encoding")
    assert near.loc["alibi", "extrapolates"] == "open", "nobody looked far enough"
    assert table.loc["rope", "low"] < table.loc["rope", "growth"] < table.loc["rope", "high"]


def test_holm_counts_the_sentences_of_a_claim():
    findings = [each for each in CHECKS["BAM-C18"].sentences]
    assert len(findings) == 14 and {each.outcome for each in judge(findings, given(printed))} == {"agrees"}
