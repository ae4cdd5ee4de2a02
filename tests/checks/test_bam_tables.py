"""Audits of BAM's tables: verdicts, counterexamples worked out by hand, and tables that are changed on purpose."""

import pytest

from attention_priors.checks import CHECKS, bam_counts, bam_recipe, bam_tables, bam_times, printed

VERDICTS = {
    "BAM-E6": "contradicted",
    "BAM-E7": "contradicted",
    "BAM-E8": "contradicted",
    "BAM-E9": "verified with correction",
    "BAM-E10": "contradicted",
    "BAM-C19": "verified with correction",
    "BAM-TAB1": "verified with correction",
    "BAM-C17": "verified with correction",
    "BAM-C22": "verified",
    "BAM-E11": "verified with correction",
}


@pytest.mark.parametrize("identifier", VERDICTS)
def test_verdicts(identifier):
    assert CHECKS[identifier].decide().verdict == VERDICTS[identifier]


def example(identifier):
    return CHECKS[identifier].decide().counterexample


@pytest.fixture
def edit(monkeypatch):
    """edit(module, number, where, column, value): the module then sees the table with that one cell changed."""

    def change(module, number, where, column, value):
        def table(paper, n):
            frame = printed.table(paper, n)
            if n == number:
                rows = (frame[list(where)] == list(where.values())).all(axis=1)
                assert rows.sum() == 1
                frame.loc[rows, column] = value
            return frame

        monkeypatch.setattr(module, "table", table)

    return change


# E6, by hand: 18.9281 - 18.3599 = 0.5682


def test_e6_rope_on_wikipedia():
    found = example("BAM-E6")
    assert found["inputs"] == {"corpus": "wikipedia", "baseline": "rope", "bam": 18.9281, "other": 18.3599}
    assert found["actual"] == 0.5682


def test_e6_holds_of_fineweb():
    gaps = bam_tables.perplexity_gaps()
    ahead = gaps[(gaps.corpus == "fineweb") & (gaps.gap > 0)]
    assert list(ahead.encoding) == ["alibi"]
    assert ahead.gap.item() == pytest.approx(0.0869)


def test_e6_would_hold_if_rope_and_alibi_were_worse_on_wikipedia(monkeypatch):
    frame = printed.table("bam", 2)
    frame.loc[(frame.corpus == "wikipedia") & frame.encoding.isin(["rope", "alibi"]), "perplexity"] = 19.0
    frame.loc[(frame.corpus == "wikipedia") & (frame.encoding == "alibi"), "perplexity"] = 18.9
    monkeypatch.setattr(bam_tables, "table", lambda paper, number: frame)
    assert bam_tables.check_perplexity(bam_tables.Perplexity(bam_tables.FAMILY)).holds


def test_with_ssmax_bam_is_first_on_fineweb_and_second_on_wikipedia():
    gaps = bam_tables.perplexity_gaps("bam-ssmax")
    assert [(r.corpus, r.encoding) for r in gaps[gaps.gap > 0].itertuples()] == [("wikipedia", "alibi-ssmax")]


# E7, E8


def test_e7_rope_on_single_2_at_4k():
    found = example("BAM-E7")
    assert found["inputs"] == {"task": "Single 2", "length": "4K", "bam": 0.24, "best": 0.52}


def test_e7_sums_by_hand():
    sums = bam_tables.against_best_sum(3).loc["Single 2"]
    assert sums.bam == pytest.approx(1 + 1 + 1 + 0.88 + 0.24 + 0.06 + 0.02)
    assert sums.best == pytest.approx(0.98 + 0.96 + 0.94 + 0.84 + 0.52)
    assert sums.baseline == "rope-ssmax"


def test_e7_holds_when_the_cell_is_changed(edit):
    edit(bam_tables, 3, {"task": "Single 2", "length": "4K", "encoding": "bam-ssmax"}, "accuracy", 0.52)
    for part in CHECKS["BAM-E7"].printed:
        assert part.judge().holds
    assert not CHECKS["BAM-E7"].corrected.judge().holds


def test_e8_four_cells_below_3072():
    behind = bam_tables.against_best(4).query("best > bam")
    assert set(behind.index) == bam_tables.LOST_1B
    assert {int(length) for _, length in behind.index} == {1024, 1536, 2048}


def test_e8_sees_one_more_loss(edit):
    edit(bam_tables, 4, {"task": "Single 1", "length": "32768", "encoding": "rope-ssmax"}, "accuracy", 1.01)
    assert not CHECKS["BAM-E8"].corrected.judge().holds


def test_a_cell_that_is_not_in_the_table_is_refused():
    assert not bam_tables.check_behind(bam_tables.Behind(3, cells=bam_tables.LOST_120M | {("Single 9", "4K")})).holds


# C19, E10


def test_c19_alibi_at_10k():
    found = example("BAM-C19")
    assert found["inputs"] == {"task": "Single 1", "length": "10K", "baseline": "alibi-ssmax", "accuracy": 0.04}


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
    assert bam_tables.reach(model, bar) == length


def test_e10_fails_at_the_first_length_beyond_1k():
    assert example("BAM-E10")["inputs"] == {"model": "1.1B", "length": "51K", "accuracy": 0.0, "bar": 0.8}


# E9


def test_e9_multiple_by_hand():
    # 7.0 - 4.5 = 2.5, less 0.1 for rounding, over 0.3 + 0.0 and 0.1 for rounding
    found = example("BAM-E9")
    assert found["inputs"] == {"size": "120M", "fast": 4.5, "fast_sd": 0.0, "slow": 7.0, "slow_sd": 0.3}
    assert found["actual"] == pytest.approx(2.4 / 0.4)


def test_welch_by_hand():
    # NoPE against RoPE at 1.1B: gap 1.0 - 0.1, variances (0.25^2 + 0.75^2) / 100, so t = 0.9 / 0.0791 = 11.4
    pairs = bam_times.time_pairs("1.1B")
    row = next(r for r in pairs.itertuples() if (r.fast.encoding, r.slow.encoding) == ("nope", "rope"))
    assert row.multiple == pytest.approx(0.9)
    assert row.p < 1e-15


def test_holm_rejects_nothing_among_equal_rows(monkeypatch):
    frame = printed.table("bam", 6).assign(milliseconds=10.0, deviation=0.1)
    monkeypatch.setattr(bam_times, "table", lambda paper, number: frame)
    assert bam_times.distinguished("120M") == 0
    assert bam_times.check_overlap(bam_times.Overlap(dict.fromkeys(bam_times.SIZES, 1.0))).holds


def test_shares_of_a_table_where_only_ssmax_matters(monkeypatch):
    frame = printed.table("bam", 6)
    frame["milliseconds"] = 10.0 + frame.encoding.str.endswith("-ssmax")
    monkeypatch.setattr(bam_times, "table", lambda paper, number: frame)
    assert bam_times.ssmax_share("120M") == pytest.approx(1.0)


def test_fewer_runs_distinguish_fewer_pairs():
    counts = [bam_times.distinguished("8B", runs) for runs in (100, 30, 10, 5)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] == 0


# Table 1, counts and recipe


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        (95.96e6, "~95M", True),
        (95.96e6, "~96M", True),
        (95.96e6, "~97M", False),
        (380.7e6, "~380M", True),
        (431.0e6, "432M", False),
        (1.141e9, "1.1B", True),
        (1.160e9, "1.2B", True),
        (1.0738e9, "~1B", True),
        (65.5e6, "~67M", False),
    ],
)
def test_rounded_or_cut(value, text, shown):
    assert bam_counts.shows(value, text) is shown


def test_tab1_by_hand():
    shape = bam_counts.shapes()["120M"]
    block = 4 * 768 * 768 + 3 * 768 * 1536 + 2 * 768
    assert bam_counts.transformer(shape) == 12 * block + 768 + 32768 * 768 == 95_963_904
    found = example("BAM-TAB1")
    assert found["inputs"] == {"name": "432M", "embedding": 50_331_648, "transformer": 380_677_632}
    assert found["actual"] == 431_009_280


def test_built_model_has_the_scalars_it_would_train():
    assert bam_counts.built("120M") == {
        "embedding": 25_165_824, "transformer": 95_963_904, "prior": 0, "prior_fixed": 0,
        1: 192, 2: 384, 3: 576, "scale": 192,
    }  # fmt: skip


def test_a_small_model_counts_like_its_pieces():
    from attention_priors.config import ModelConfig
    from attention_priors.model import Transformer, count

    sizes = {"vocabulary": 11, "width": 8, "layers": 3, "heads": 2, "hidden": 12}
    found = count(Transformer(ModelConfig(encoding="bam-location-ssmax", **sizes)))
    shape = bam_counts.Shape(heads=2, layers=3, width=8, hidden=12, vocabulary=11)
    assert found["embedding"] == bam_counts.embedding(shape)
    assert found["transformer"] == bam_counts.transformer(shape) + 2 * 3  # and SSMax
    assert found["prior"] == bam_counts.per_head(3)(shape)
    assert count(Transformer(ModelConfig(encoding="bam", **sizes)))["prior"] == bam_counts.per_head(2)(shape)
    assert count(Transformer(ModelConfig(encoding="bam-shared-ssmax", **sizes)))["prior"] == 2 * 2


def test_e11_is_1008_at_432m():
    assert example("BAM-E11") == {
        "inputs": {"scalars": 3, "heads": 24, "layers": 14},
        "claimed": "< 1000",
        "actual": 1008,
    }


def test_share_of_the_conclusion():
    # 0.00032 %: 384 of the 120M model's parameters
    found = bam_counts.built("120M")
    assert 100 * found[2] / (found["embedding"] + found["transformer"] + found[2]) == pytest.approx(3.2e-4, abs=5e-6)


def test_c17_budget_and_batch():
    assert 19_251 * 589_824 == 11_354_701_824
    assert 589_824 == 1152 * 512 == 6 * 48 * 2048
    assert example("BAM-C17")["inputs"] == {"model": "432M", "rate": 5e-4}


def test_a_schedule_of_another_length_is_refused():
    assert not bam_recipe.check_cosine(lambda: [1e-3, 1e-4]).holds
