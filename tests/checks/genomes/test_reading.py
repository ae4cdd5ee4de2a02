"""Goat on DNA in worlds where its claims hold, where they fail, and where seeds or rivals are missing."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.genomes import reading

TEXTS, PIECES, WINDOWS = 50, 4, 60


def frames(
    lead=0.02,
    ours=0.8,
    theirs=0.2,
    seeds=3,
    passed=True,
    names=("goat-composite", "rope"),
    ratio=1.0,
    held=1.0,
    stored=8.0,
    growth=2.0,
    noise=0.002,
):
    """Goat needs `lead` bits fewer, writes G and C like the genome with weight `ours`, takes `ratio` times the time and
    `held` times the memory of RoPE with the same kernel; a stored bias takes `stored` times its memory."""
    generator = np.random.default_rng(0)
    hard, true = generator.normal(1.9, 0.1, WINDOWS), generator.random((TEXTS, PIECES))
    losses, texts = [], []
    for name in names:
        gain, weight = (lead, ours) if name == "goat-composite" else (0.0, theirs)
        for seed in range(seeds):
            bits = hard - gain + generator.normal(0, noise, WINDOWS)
            losses.append(
                pd.DataFrame(
                    {
                        "encoding": name,
                        "seed": seed,
                        "window": range(WINDOWS),
                        "bits": bits,
                        "new": True,
                        "passed": passed,
                    }
                )
            )
            # What was seen in training favours whoever remembers, and must not count.
            losses.append(
                pd.DataFrame(
                    {
                        "encoding": name,
                        "seed": seed,
                        "window": range(1000, 1060),
                        "new": False,
                        "bits": 0.1 if name == "rope" else 1.9,
                        "passed": passed,
                    }
                )
            )
            written = weight * true + (1 - weight) * generator.random((TEXTS, PIECES))
            texts.append(
                pd.DataFrame(
                    {
                        "encoding": name,
                        "seed": seed,
                        "text": np.repeat(range(TEXTS), PIECES),
                        "piece": np.tile(range(PIECES), TEXTS),
                        "written": written.ravel(),
                        "true": true.ravel(),
                    }
                )
            )
    goat = {"goat": ratio, "rope": 1.0, "goat, stored bias": 9.0, "rope, math": 3.0, "goat, math": 3.0}
    memory = {"goat": held, "rope": 1.0, "goat, stored bias": stored * held, "rope, math": 5.0, "goat, math": 5.0}
    cost = [
        {
            "way": way,
            "length": length,
            "round": turn,
            "milliseconds": 10 * goat[way] * (1 + 0.02 * generator.normal()),
            "memory": 100 * memory[way] * (1 if length == 512 else 1 / growth),
        }
        for length in (256, 512)
        for turn in range(7)
        for way in goat
    ]
    return {reading.LOSSES: pd.concat(losses), reading.TEXTS: pd.concat(texts), reading.COST: pd.DataFrame(cost)}


def outcomes(identifier, given):
    return [each.outcome for each in CHECKS[identifier].judged(given)]


def test_all_can_agree_but_memory_saved_by_another_kernel():
    assert outcomes("GOAT-F4", frames()) == ["agrees", "agrees", "agrees", "disagrees", "agrees"]
    assert CHECKS["GOAT-F4"].verdict("full", frames()).outcome == "agrees"  # the one kernel for both decides nothing
    assert outcomes("GOAT-F4", frames(held=0.64)) == ["agrees"] * 5
    assert outcomes("GOAT-F4", frames(held=6.0))[2:4] == ["disagrees"] * 2
    assert outcomes("GOAT-C-8", frames()) == ["agrees"] * 2 and outcomes("GOAT-C-1", frames()) == ["agrees"] * 2
    found = CHECKS["GOAT-C-8"].verdict("full", frames())
    assert (found.verdict, found.outcome, found.seeds) == ("scaled reproduction", "agrees", [0, 1, 2])


@pytest.mark.parametrize(
    ("identifier", "changes", "expected"),
    [
        ("GOAT-F4", {"lead": -0.02}, ["disagrees", "agrees", "agrees", "disagrees", "agrees"]),
        ("GOAT-F4", {"ours": 0.2, "theirs": 0.8}, ["agrees", "agrees", "agrees", "disagrees", "disagrees"]),
        ("GOAT-F4", {"ours": 0.5, "theirs": 0.5}, ["agrees", "agrees", "agrees", "disagrees", "undecided"]),
        ("GOAT-C-8", {"ratio": 1.5}, ["agrees", "disagrees"]),
        ("GOAT-C-8", {"ratio": 1.11}, ["agrees", "undecided"]),
        ("GOAT-C-8", {"lead": 0.003, "noise": 0.0005}, ["undecided", "agrees"]),
        ("GOAT-C-1", {"growth": 4.0}, ["disagrees", "agrees"]),
        ("GOAT-C-1", {"stored": 0.9}, ["agrees", "disagrees"]),
    ],
)
def test_every_sentence_can_fail(identifier, changes, expected):
    assert outcomes(identifier, frames(**changes)) == expected


def test_a_lead_that_is_too_small_says_so():
    found = CHECKS["GOAT-C-8"].judged(frames(lead=0.003, noise=0.0005))[0]
    assert "smaller than 0.005, our margin" in found.note


def test_one_seed_decides_nothing_about_models():
    assert outcomes("GOAT-F4", frames(seeds=1)) == ["undecided", "agrees", "agrees", "disagrees", "undecided"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"passed": False},
            "gate (Markov order 3) missed: Goat composite, seed 0, 1, 2; gate (Markov order 3) missed: "
            "RoPE, seed 0, 1, 2",
        ),
        ({"names": ("rope",)}, "Goat composite not in this profile"),
    ],
)
def test_models_that_miss_their_gate_or_are_missing_decide_nothing_and_are_named(changes, said):
    found = CHECKS["GOAT-F4"].judged(frames(**changes))
    assert [found[0].outcome, found[4].outcome] == ["undecided"] * 2 and said in found[0].note and said in found[4].note


def test_only_seeds_of_which_both_pass_are_compared():
    given = frames()
    losses = given[reading.LOSSES]
    losses.loc[(losses["encoding"] == "rope") & (losses["seed"] == 1), "passed"] = False
    found = CHECKS["GOAT-F4"].judged(given)[0]
    assert found.estimate.seeds == (0, 2) and "RoPE, seed 1" in found.note


def test_the_interval_is_over_windows_too():
    """Seeds that agree say nothing of other windows."""
    given = frames(noise=1e-9)
    losses = given[reading.LOSSES]
    generator = np.random.default_rng(1)
    shift = dict(zip(range(WINDOWS), generator.normal(0, 0.5, WINDOWS), strict=True))
    ours = losses["encoding"] == "goat-composite"
    losses.loc[ours, "bits"] += losses.loc[ours, "window"].map(shift).fillna(0)
    found = CHECKS["GOAT-F4"].judged(given)[0]
    low, high = found.interval
    assert found.outcome == "undecided" and high - low > 0.2


def test_a_model_that_always_writes_the_same_has_no_correlation():
    given = frames()
    given[reading.TEXTS].loc[given[reading.TEXTS]["encoding"] == "rope", "written"] = 0.5
    found = CHECKS["GOAT-F4"].judged(given)[4]
    assert found.outcome == "undecided" and "r is not defined" in found.note


def test_growth_needs_half_the_longest_length():
    given = frames()
    given[reading.COST] = given[reading.COST].assign(length=lambda rows: rows["length"].replace(256, 300))
    found = CHECKS["GOAT-C-1"].judged(given)[0]
    assert found.outcome == "undecided" and "half of 512 bases was not measured" in found.note
