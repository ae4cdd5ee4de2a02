"""BAM's claims about passkeys in worlds where they hold, where they fail, and where arms or seeds are missing."""

import functools
import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.passkey import retrieval
from attention_priors.checks.passkey.retrieval import BASES, SCALED
from attention_priors.checks.passkey.runs import Runs
from attention_priors.experiments import passkeys

T, OURS = 128, "bam-ssmax"
NEAR, FAR = (96, 112, 128, 160, 256, 512, 1024, 2048, 4096, 8192), (64000,)
ENCODINGS = ("bam", OURS, *BASES, *SCALED)


def only_bam(name, multiple):
    """BAM SSMax is perfect everywhere and the others only up to the training length."""
    return float(multiple <= 1 or name == OURS)


def nobody(name, multiple):
    return float(multiple <= 1)


def ssmax_helps(name, multiple):
    """SSMax helps all, BAM is the best of each kind and needs SSMax."""
    return 1.0 if multiple <= 1 else {OURS: 1.0, "bam": 0.5}.get(name, 0.4 if name.endswith("-ssmax") else 0.0)


def ssmax_hurts(name, multiple):
    return float(multiple <= 1 or (not name.endswith("-ssmax") and name != "bam"))


@functools.lru_cache(maxsize=32)
def frames(rule, seeds=5, far=FAR, names=ENCODINGS):
    """The metrics of runs in which a share rule(encoding, multiple) of the prompts is answered, the shallow first."""
    rows, reach, samples = [], [], []
    for name in names:
        lengths = [(n, 20) for n in NEAR] + [(n, 10) for n in far if name == OURS]
        good = list(itertools.accumulate((rule(name, n / T) >= 0.8 for n, _ in lengths), bool.__and__))
        longest = max((n for (n, _), enough in zip(lengths, good, strict=True) if enough), default=0)
        for seed in range(seeds):
            one = {"form": "plain", "encoding": name, "seed": seed, "trained": T}
            reach.append(one | {"reach": longest, "longest_tested": lengths[-1][0]})
            for n, asked in lengths:
                right = round(rule(name, n / T) * asked)
                rows.append(one | {"length": n, "correct": right, "samples": asked, "accuracy": right / asked})
                if name == OURS:
                    samples += [
                        one | {"length": n, "depth": k / (asked - 1), "correct": int(k < right)} for k in range(asked)
                    ]
    return {
        name: pd.DataFrame(made)
        for name, made in (("passkey_samples", samples), ("passkey_by_length", rows), ("passkey_reach", reach))
    }


def test_the_made_up_metrics_are_those_of_the_experiment():
    made = frames(only_bam, 2)
    found = passkeys.by_length(made["passkey_samples"].assign(digits=0))
    expected = made["passkey_by_length"].query("encoding == @OURS").reset_index(drop=True)
    assert found[["seed", "length", "correct", "samples"]].equals(expected[["seed", "length", "correct", "samples"]])


def outcome(claim, rule, **world):
    return CHECKS[claim].verdict("cpu", frames(rule, **world)).outcome


def notes(claim, made):
    return CHECKS[claim].frame(made)["note"].tolist()


WORLDS = {
    "BAM-F2": (only_bam, nobody),
    "BAM-F3": (only_bam, nobody),
    "BAM-F13": (ssmax_helps, ssmax_hurts),
    "BAM-C1": (only_bam, nobody),
    "BAM-C6": (only_bam, nobody),
    "BAM-C13": (ssmax_helps, ssmax_hurts),
}


@pytest.mark.parametrize("claim", retrieval.CHECKS)
def test_worlds_where_it_holds_and_where_it_fails(claim):
    holds, fails = WORLDS[claim]
    assert (outcome(claim, holds), outcome(claim, fails)) == ("agrees", "disagrees")


@pytest.mark.parametrize("claim", retrieval.CHECKS)
def test_what_learned_nothing_and_one_seed_decide_nothing(claim):
    assert outcome(claim, lambda name, multiple: 0.0) == "undecided"
    assert all("gate missed" in note or "not compared" in note for note in notes(claim, frames(lambda *_: 0.0)))
    assert outcome(claim, WORLDS[claim][0], seeds=1) == "undecided"


def test_a_table_of_places_that_answers_at_the_training_length_alone_misses_its_gate():
    found = Runs(frames(lambda name, multiple: float(multiple == 1 or name == OURS))["passkey_by_length"])
    assert found.present(["rope", OURS]) == [OURS] and found.why("rope") == "gate missed: rope (seed 0, 1, 2, 3, 4)"
    assert found.why("alibi-content") == "not in this profile: alibi-content" and found.why(OURS) == ""


def test_a_small_profile_is_undecided_and_names_the_missing_arms():
    names = ("nope", "sinusoidal", "rope", "alibi", "bam", OURS)
    small = frames(only_bam, 3, (), names)
    assert CHECKS["BAM-F2"].verdict("cpu", small).outcome == "undecided"
    assert "not in this profile: rope-ssmax" in notes("BAM-F2", small)[2]
    assert "not asked at 500T" in notes("BAM-C1", small)[0] and "not compared: nope" in notes("BAM-C13", small)[0]
    assert outcome("BAM-C6", ssmax_hurts, names=names) == "disagrees"  # one rival that is there refutes "alone"


def test_the_lead_over_a_rival_that_lost_some_seeds_says_so():
    made = frames(ssmax_helps)["passkey_by_length"].copy()
    made.loc[(made["encoding"] == "alibi") & (made["seed"] < 2) & (made["length"] == 112), "correct"] = 0
    found = Runs(made).ahead(["bam"], BASES)
    assert found.value == 0.5 and "gate missed: alibi (seed 0, 1)" in found.note


def test_what_was_given_up_counts_as_without_a_hit():
    made = frames(only_bam)["passkey_by_length"]
    found = Runs(made[(made["encoding"] != "rope") | (made["length"] <= 512)])
    assert found.lengths("rope") == [*NEAR, *FAR] and found.counts("rope", [8192])[0] == (0, 20)
    assert found.counts("bam", [64000])[0] == (0, 10)


@pytest.mark.parametrize(("limit", "expected"), [(2, "agrees"), (8, "agrees"), (16, "undecided"), (32, "undecided")])
def test_the_ratio_of_reaches_counts_steps_and_ends(limit, expected):
    made = frames(lambda name, multiple: float(name == OURS or multiple <= (limit if name == "alibi" else 1)))
    (found,) = [each for each in CHECKS["BAM-C1"].judged(made) if "reach" in each.finding.text]
    assert found.outcome == expected and f"{500 / limit:.3g} times as far as the nearest here" in found.note


def test_a_reach_short_of_the_claim_is_refuted_up_to_a_step():
    found = retrieval.further(frames(lambda name, multiple: float(multiple <= (16 if name == OURS else 2))))
    assert (found.value, found.interval(0.95)) == (3, (2, 4))


@pytest.mark.parametrize(("helped", "expected"), [(6, "agrees"), (5, "agrees"), (4, "disagrees"), (0, "disagrees")])
def test_nearly_all_means_five_of_six(helped, expected):
    gaining = [f"{base}-ssmax" for base in (*BASES, "bam")[:helped]]

    def rule(name, multiple):
        losing = name.removesuffix("-ssmax") if f"{name.removesuffix('-ssmax')}-ssmax" not in gaining else ""
        return 1.0 if multiple <= 1 or name in gaining or name == losing else 0.0

    found = CHECKS["BAM-C13"].judged(frames(rule))[0]
    assert (found.estimate.value, found.outcome) == (helped, expected)


def test_few_prompts_make_larger_cells():
    made = frames(lambda name, multiple: 1.0 if multiple <= 64 else 0.8)
    samples = made["passkey_samples"]
    few = samples[(samples["length"] == 64000) & samples["depth"].isin([k / 9 for k in (0, 2, 4, 6, 9)])]
    perfect, empty = (CHECKS["BAM-F3"].judged(made | {"passkey_samples": few})[k].estimate.value for k in (0, 1))
    assert (perfect, empty) == (0.5, 0.0)  # the miss is at the end: one of two halves is perfect, none empty
