"""X-11 and X-33: what decides them, and that every sentence can be decided either way."""

import itertools

import pandas as pd
import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.passkey import benchmark as x11
from attention_priors.experiments.benchmark import MULTIPLES

NAMES = [names[0] for names in x11.LISTED.values()]
METHOD = x11.LISTED["ParallelComp"][0]


def frames(names=NAMES, slope=1.0, multiples=MULTIPLES, hits=x11.HEAVY, missed=()):
    lengths = [128 * multiple for multiple in multiples]
    asked = pd.DataFrame(itertools.product(names, lengths), columns=["encoding", "length"]).assign(trained=128)
    by_length, chunks = asked[asked["encoding"] != METHOD], asked.assign(method=asked["encoding"], encoding="rope")
    rows = [
        (name, seed, n, 50 * ((n <= 128 and name not in missed) or name in hits), 50, 128)
        for name in x11.HEAVY + x11.OTHERS
        for seed in range(5)
        for n in (96, *lengths)
    ]
    counts = pd.DataFrame(rows, columns=["encoding", "seed", "length", "correct", "samples", "trained"])
    masses = [
        (f"prior {i}", seed, i / 9, i / 9, 0.5 + slope * (i / 9 - 0.5), True) for i in range(10) for seed in (0, 1)
    ]
    columns = ["encoding", "seed", "far", "both", "accuracy", "passed"]
    return {
        x11.BY_LENGTH: by_length,
        x11.CHUNKS: chunks[chunks["method"] == METHOD],
        x11.COUNTS: counts,
        x11.TAILS: pd.DataFrame(masses, columns=columns),
    }


def outcomes(given):
    return [each.outcome for each in CHECKS["X-11"].judged(given)]


def test_all_sentences_can_agree_and_the_verdict_counts_them():
    found = CHECKS["X-11"].verdict("full", frames())
    assert outcomes(frames()) == ["agrees"] * 7 and found.outcome == "agrees" and found.seeds == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ((*x11.HEAVY, "t5"), ["agrees", "disagrees", "agrees", "agrees"]),
        (("bam",), ["disagrees", "agrees", "disagrees", "disagrees"]),
        (("kerple-power", "sandwich"), ["disagrees", "agrees", "agrees", "agrees"]),
        (x11.OTHERS, ["disagrees", "disagrees", "agrees", "agrees"]),
    ],
)
def test_what_carries_retrieval_is_decided_by_reach_and_leads(hits, expected):
    assert outcomes(frames(hits=hits))[1:5] == expected


def test_what_was_not_measured_or_has_no_spread_stays_open_and_is_named():
    lacking = CHECKS["X-11"].judged(frames([name for name in NAMES if name != "nope"]))[0]
    assert (lacking.outcome, lacking.note) == ("undecided", "without NoPE")
    unread = frames()
    unread[x11.CHUNKS] = unread[x11.CHUNKS].query("length < 8192")
    assert CHECKS["X-11"].judged(unread)[0].note == "without ParallelComp"
    assert outcomes(frames(multiples=(1, 4)))[:3] == ["undecided"] * 3
    assert outcomes(frames(slope=0.0))[5:] == ["undecided"] * 2
    gate = CHECKS["X-11"].judged(frames(missed=["alibi"]))[2]
    assert gate.outcome == "undecided" and "gate missed: alibi" in gate.note


def test_the_permutation_decides_about_zero():
    assert outcomes(frames(slope=-1.0))[5:] == ["disagrees"] * 2
    few = frames()
    few[x11.TAILS] = few[x11.TAILS][few[x11.TAILS]["encoding"].isin([f"prior {i}" for i in range(4)])]
    found = CHECKS["X-11"].judged(few)[5]
    assert found.estimate.value == 1.0 and found.outcome == "undecided" and "4 encodings" in found.note


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        (("fire", "stick-breaking"), ["agrees"] * 4),
        (("alibi", "kerple-log", "rope-sinks"), ["disagrees"] * 4),
        (("dape",), ["undecided", "undecided", "agrees", "agrees"]),  # a lead of none is smaller than the margin
    ],
)
def test_each_sentence_about_newer_encodings_can_be_decided_either_way(hits, expected, monkeypatch):
    monkeypatch.setattr(x11, "OTHERS", ("alibi", "fire", "stick-breaking", "dape", "rope-sinks"))
    given = frames(hits=hits)
    assert [each.outcome for each in CHECKS["X-33"].judged(given)] == expected
    old = given | {x11.COUNTS: given[x11.COUNTS].query("encoding in ('alibi', 'kerple-log')")}
    assert {each.outcome for each in CHECKS["X-33"].judged(old)} == {"undecided"}, (
        "profiles without them decide nothing"
    )
