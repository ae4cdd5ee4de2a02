"""Goat on DNA: the seeds and windows that an interval is over, what was seen in training, and what has no number."""

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.genomes import reading
from attention_priors.checks.genomes.reading import COST, LOSSES, TEXTS
from attention_priors.evaluation import seed_interval
from attention_priors.experiments.continuations import correlation, resampled, spread
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


def bits_of(lead):
    """RoPE reads each base with 2 bits, Goat with `lead`[window, seed] fewer."""
    rows = [
        (name, seed, window, 2 - lead[window][seed] * (name != "rope"))
        for name in ("rope", "goat-composite")
        for window in range(len(lead))
        for seed in range(len(lead[0]))
    ]
    return pd.DataFrame(rows, columns=["encoding", "seed", "window", "bits"]).assign(passed=True, new=True)


def test_fewer_bits_are_uncertain_by_seeds_and_by_windows_whichever_says_less():
    told = np.add.outer([0.1, 0.2, 0.3], [0.0, 0.3, 0.9])
    for lead, deciding in ((told, told.mean(0)), (told.T, told.T.mean(1))):
        found = reading.fewer_bits(bits_of(lead.tolist()))
        assert found.value == pytest.approx(told.mean()) and found.interval(0.9) == pytest.approx(
            seed_interval(deciding, 0.9)
        )


@pytest.mark.parametrize(("own", "decided_by"), [(0.0, "texts"), (0.02, "texts"), (1.0, "seeds")])
def test_content_is_closer_within_texts_and_seeds_whichever_say_less(own, decided_by):
    rng = np.random.default_rng(0)
    true, common = rng.random((120, 4)), rng.normal(size=(2, 120, 4))
    written = {
        (name, seed): true + noise * (1 + own * seed * (name != "rope")) * common[k]
        for k, (name, noise) in enumerate((("goat-composite", 0.2), ("rope", 0.5)))
        for seed in range(6)
    }
    texts = pd.concat(
        pd.DataFrame(
            {
                "encoding": name,
                "seed": seed,
                "text": np.repeat(range(120), 4),
                "piece": [*range(4)] * 120,
                "written": each.ravel(),
                "true": true.ravel(),
            }
        )
        for (name, seed), each in written.items()
    )
    losses = bits_of([[0.0] * 6])
    leads = [correlation(written["goat-composite", s], true) - correlation(written["rope", s], true) for s in range(6)]
    drawn = np.mean(
        [
            np.subtract(*(spread(written[name, s], true, resampled(120)) for name in ("goat-composite", "rope")))
            for s in range(6)
        ],
        axis=0,
    )
    over = {"texts": tuple(np.percentile(drawn, [5, 95])), "seeds": seed_interval(leads, 0.9)}
    found = reading.closer_content({reading.LOSSES: losses, reading.TEXTS: texts})
    ends = [(min(a, b), max(c, d)) for (a, c), (b, d) in [over.values()]]
    assert found.value == pytest.approx(np.mean(leads))
    assert [found.interval(0.9)] == [pytest.approx(e) for e in ends] and ends[0] == over[decided_by]


def test_time_and_memory_by_hand():
    rows = [
        (length, turn, way, spent, held)
        for length in (64, 128)
        for turn, slow in enumerate((1.0, 2.0, 4.0))
        for way, spent, held in (("goat", 10.0, length), ("rope", 10 * slow, 2 * length + 64))
    ]
    cost = pd.DataFrame(rows, columns=["length", "round", "way", "milliseconds", "memory"])
    found = reading.throughput(cost)
    assert found.value == pytest.approx(2) and found.interval(0.9) == pytest.approx(
        tuple(np.exp(seed_interval(np.log([1, 2, 4]), 0.9)))
    )
    assert reading.memory("goat", "rope")(cost).value == 128 / 320 and reading.growth(cost).value == 2


@pytest.mark.beyond
def test_what_decides_about_goat_on_dna():
    sentences = CHECKS["GOAT-F4"].sentences
    assert [each.decides for each in sentences] == [True, False, True, True, False, True]
    assert [each.margin for each in sentences] == [0.005, 0.005, 0, 0, 0, 0.05]
    assert [bool(each.beyond) for each in sentences] == [False, False, True, False, False, False]
    assert [each.decides for each in CHECKS["GOAT-C-8"].sentences] == [True, False, True]
