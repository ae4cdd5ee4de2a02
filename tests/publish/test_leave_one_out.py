"""Outcomes without one of their seeds: in a made-up world, and of what is committed."""

import pandas as pd
import pytest

from attention_priors import claims, config
from attention_priors.checks import CHECKS
from attention_priors.claims.finding import Finding, mean
from attention_priors.claims.law import claim
from attention_priors.publish import leave_one_out
from attention_priors.store.layout import Layout

ID = "BAM-C6"
RESULTS = config.ROOT / "results"


@pytest.fixture
def world(monkeypatch):
    """Decides a claim from a value per seed, told directly and through a derived metric, and leaves each seed out."""

    def outcome(values, metric="rows", fewest=5, decide=None):
        decide = decide or (lambda layout: leave_one_out.leave_one_out(layout, fewest))
        rows = pd.DataFrame({"seed": range(len(values)), "value": values})
        total = pd.DataFrame({"all": [rows["value"].mean()], "seeds": [len(rows)]})
        read = {"rows": rows, "twice": _twice(rows), "total": total}

        def estimate(frames):
            frame = frames[metric]
            if metric == "total":
                return mean(dict.fromkeys(range(int(frame["seeds"].iloc[0])), frame["all"].iloc[0]))
            return mean(frame.set_index("seed")["value"].to_dict())

        check = claim(ID, Finding("The value is positive", estimate, ">", 0.0, metrics=(metric,)))
        monkeypatch.setattr(leave_one_out, "CHECKS", {ID: check})
        monkeypatch.setattr(leave_one_out.experiments, "derived", lambda: {"twice": ("rows", _twice)})
        monkeypatch.setattr(leave_one_out, "Report", lambda *_: Committed(read))
        monkeypatch.setattr(claims, "read", lambda _: {ID: check.verdict("cpu", {metric: read[metric]})})
        return decide(Layout(RESULTS, "cpu"))

    return outcome


class Committed:
    def __init__(self, frames):
        self.frames = frames

    def source(self, name):
        return self.frames[name]


def _twice(rows):
    return rows.assign(value=2 * rows["value"])


@pytest.mark.parametrize("metric", ["rows", "twice"])
def test_seeds_that_agree_keep_the_outcome(world, metric):
    row = world([1.0, 1.1, 0.9, 1.0, 1.05], metric).loc[ID]
    assert (row["outcome"], row["seeds"], row["kept"]) == ("agrees", 5, 5)
    assert row["undecided"] == row["opposite"] == row["fixed"] == []


@pytest.mark.parametrize("metric", ["rows", "twice"])
def test_the_seeds_that_an_outcome_needs_are_named(world, metric):
    """The mean of these five is certainly positive, that of four of them is not if a large one is missing."""
    row = world([0.1, 0.2, 1.0, 1.1, 0.6], metric).loc[ID]
    assert row["outcome"] == "agrees" and row["opposite"] == []
    assert row["kept"] + len(row["undecided"]) == 5 and {2, 3} <= set(row["undecided"])


def test_what_was_measured_over_all_seeds_at_once_is_no_evidence(world):
    row = world([1.0] * 5, "total").loc[ID]
    assert row["fixed"] == [0, 1, 2, 3, 4] and row["kept"] == 0


def test_few_seeds_and_open_claims_are_left_out(world):
    assert world([1.0, 1.1, 0.9, 1.0]).empty and len(world([1.0, 1.1, 0.9, 1.0], fewest=4)) == 1
    assert world([1.0, -1.1, 0.9, -1.0, 0.1]).empty, "an undecided claim has no outcome that a seed could carry"


@pytest.mark.parametrize("metric", ["rows", "twice"])
def test_as_many_seeds_more_decide_what_is_near(world, metric):
    """0.3, 0.8 and 1.1: t at 2 degrees of freedom leaves 0 in, at 5 it does not. Around 0 nothing is decided."""
    near = world([0.3, 0.8, 1.1], metric, decide=leave_one_out.twice_the_seeds)
    assert near.loc[ID].to_dict() == {"seeds": 3, "with twice as many": "agrees"}
    assert world([-0.1, 0.1, 0.0], metric, decide=leave_one_out.twice_the_seeds).iloc[0, 1] == "undecided"
    assert world([1.0, 1.1, 0.9], metric, decide=leave_one_out.twice_the_seeds).empty, "decided already"


def test_no_committed_outcome_is_the_work_of_one_seed():
    for profile in ("cpu", "full"):
        layout = Layout(RESULTS, profile)
        if not (layout.own / "claims.json").exists():
            continue
        found = leave_one_out.leave_one_out(layout, fewest=3)
        assert len(found) and found["opposite"].map(len).eq(0).all(), found[found["opposite"].map(len) > 0]
        assert (found["seeds"] == found[["undecided", "opposite", "fixed"]].map(len).sum(axis=1) + found["kept"]).all()
        assert set(found.index) <= set(CHECKS)
