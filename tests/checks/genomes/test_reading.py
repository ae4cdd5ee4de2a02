"""Goat on DNA: the seeds and windows that an interval is over, what was seen in training, and what has no number."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.genomes.reading import COST, LOSSES, TEXTS
from checks.committed import frame, frames


def judged(identifier, place, **changed):
    return CHECKS[identifier].judged(frames(identifier, **changed))[place]


def test_only_seeds_of_which_both_pass_are_compared():
    losses = frame(LOSSES)
    missed = (losses["encoding"] == "rope") & (losses["seed"] == 1)
    found = judged("GOAT-F4", 0, **{LOSSES: losses.assign(passed=losses["passed"] & ~missed)})
    assert found.estimate.seeds == (0, 2, 3, 4) and "missed: RoPE, seed 1" in found.note


def test_windows_seen_in_training_count_in_the_first_sentence_alone_and_the_interval_is_over_windows():
    losses = frame(LOSSES)
    ours, new = losses["encoding"] == "goat-composite", losses["new"]
    before = judged("GOAT-F4", 1)
    more = {LOSSES: losses.assign(bits=losses["bits"] + 9.0 * (ours & ~new))}
    seen = judged("GOAT-F4", 1, **more)
    assert seen.estimate.value == before.estimate.value and seen.interval == before.interval
    share = (~losses.drop_duplicates("window")["new"]).mean()
    moved = judged("GOAT-F4", 0).estimate.value - judged("GOAT-F4", 0, **more).estimate.value
    assert moved == pytest.approx(9 * share)
    noise = np.random.default_rng(1).normal(size=losses["window"].nunique())
    shift = noise[losses["window"].factorize()[0]]
    wide = judged("GOAT-F4", 1, **{LOSSES: losses.assign(bits=losses["bits"] + shift * (ours & new))})
    assert wide.interval[1] - wide.interval[0] > 5 * (before.interval[1] - before.interval[0])


def test_a_lead_that_is_too_small_says_so():
    losses = frame(LOSSES)
    near = losses[losses["encoding"] == "rope"]
    rival = near.assign(encoding="goat-composite", bits=near["bits"] - 0.003)
    others = losses[losses["encoding"] != "goat-composite"]
    found = judged("GOAT-C-8", 0, **{LOSSES: pd.concat([others, rival], ignore_index=True)})
    assert found.outcome == "undecided" and "smaller than 0.005, our margin" in found.note


def test_a_model_that_always_writes_the_same_has_no_correlation_and_growth_needs_half_the_longest_length():
    texts, cost = frame(TEXTS), frame(COST)
    same = texts.assign(written=texts["written"].mask(texts["encoding"] == "rope", 0.5))
    found = judged("GOAT-F4", 5, **{TEXTS: same})
    assert found.outcome == "undecided" and "r is not defined" in found.note
    found = judged("GOAT-C-1", 0, **{COST: cost[cost["length"] != cost["length"].max() // 2]})
    assert found.outcome == "undecided" and "half of 2,048 bases was not measured" in found.note


@pytest.mark.parametrize(("ratio", "expected"), [(1.0, "agrees"), (1.11, "undecided"), (1.5, "disagrees")])
def test_the_throughput_has_a_margin_at_the_training_length(ratio, expected):
    cost = frame(COST)
    rope = cost.loc[cost["way"] == "rope"].set_index(["length", "round"])["milliseconds"]
    ours, turn = cost["way"] == "goat", cost.set_index(["length", "round"]).index
    noise = 1 + 0.03 * np.random.default_rng(0).normal(size=len(cost))
    times = cost["milliseconds"].mask(ours, ratio * noise * rope.reindex(turn).to_numpy())
    times = times.mask(ours & (cost["length"] > cost["length"].min()), 9 * times)
    assert judged("GOAT-C-8", 2, **{COST: cost.assign(milliseconds=times)}).outcome == expected
