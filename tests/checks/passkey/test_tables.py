"""Audits of BAM's tables 3 to 6: counterexamples worked out by hand, and tables that are changed on purpose."""

import pytest

from attention_priors.checks import CHECKS, printed
from attention_priors.checks.passkey import tables, timing


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample


def test_e7_rope_on_single_2_at_4k():
    assert example("BAM-E7").inputs == {"task": "Single 2", "length": "4K", "bam": 0.24, "best": 0.52}


def test_e7_sums_by_hand():
    sums = tables.against_best(3, total=True).loc["Single 2"]
    assert sums.bam == pytest.approx(1 + 1 + 1 + 0.88 + 0.24 + 0.06 + 0.02)
    assert sums.best == pytest.approx(0.98 + 0.96 + 0.94 + 0.84 + 0.52)
    assert sums.baseline == "rope-ssmax"


def test_a_cell_that_is_changed_changes_who_is_ahead(monkeypatch):
    frame = printed.table("bam", 3)
    cell = (frame.task == "Single 2") & (frame.length == "4K") & (frame.encoding == "bam-ssmax")
    assert cell.sum() == 1
    frame.loc[cell, "accuracy"] = 0.52
    monkeypatch.setattr(tables, "table", lambda paper, number: frame)
    for total in (False, True):
        assert {tables.ahead(case["bam"], case["best"]) for case in tables.contests(3, total)} == {"none"}


def test_e8_four_cells_below_3072():
    behind = tables.against_best(4).query("best > bam")
    assert sorted(behind.index) == sorted(tables.LOST_1B)
    assert {int(length) for _, length in behind.index} == {1024, 1536, 2048}


@pytest.mark.parametrize(
    ("model", "bar", "length"),
    [
        ("1.1B", 1.0, "-"),
        ("1.1B", 0.9, "<1K"),
        ("120M", 0.8, "256K"),
        ("120M", 0.1, "512K"),
        ("431M Ext.", 1.0, "512K"),
    ],
)
def test_reach(model, bar, length):
    assert tables.reach(model, bar) == length


def test_e10_fails_at_the_first_length_beyond_1k():
    assert example("BAM-E10").inputs == {"model": "1.1B", "length": "51K", "accuracy": 0.0}


def test_e9_multiple_by_hand():
    # 7.0 - 4.5 = 2.5, less 0.1 for rounding, over 0.3 + 0.0 and 0.1 for rounding
    found = example("BAM-E9")
    assert found.inputs == {"size": "120M", "fast": 4.5, "fast_sd": 0.0, "slow": 7.0, "slow_sd": 0.3}
    assert found.actual == pytest.approx(2.4 / 0.4)


def test_welch_by_hand():
    # NoPE against RoPE at 1.1B: gap 1.0 - 0.1, variances (0.25^2 + 0.75^2) / 100, so t = 0.9 / 0.0791 = 11.4
    pairs = timing.time_pairs("1.1B")
    row = next(r for r in pairs.itertuples() if (r.fast.encoding, r.slow.encoding) == ("nope", "rope"))
    assert row.multiple == pytest.approx(0.9)
    assert row.p < 1e-15


def test_holm_rejects_nothing_among_equal_rows(monkeypatch):
    frame = printed.table("bam", 6).assign(milliseconds=10.0, deviation=0.1)
    monkeypatch.setattr(timing, "table", lambda paper, number: frame)
    assert timing.distinguished("120M") == 0
    assert all(timing.time_pairs(size).multiple.max() <= 1 for size in timing.SIZES)


def test_shares_of_a_table_where_only_ssmax_matters(monkeypatch):
    frame = printed.table("bam", 6)
    frame["milliseconds"] = 10.0 + frame.encoding.str.endswith("-ssmax")
    monkeypatch.setattr(timing, "table", lambda paper, number: frame)
    assert timing.ssmax_share("120M") == pytest.approx(1.0)


def test_fewer_runs_distinguish_fewer_pairs():
    counts = [timing.distinguished("8B", runs) for runs in (100, 30, 10, 5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 0
