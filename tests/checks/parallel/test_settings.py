"""What print decides of ParallelComp's tables and settings: verdicts, and the numbers in words worked by hand."""

from dataclasses import replace

import pytest

from attention_priors.checks import CHECKS
from attention_priors.checks.parallel import rows, settings
from attention_priors.checks.parallel.rows import LLAMA2, LLAMA3

VERDICTS = {
    "verified": "PC-TAB2 PC-TAB4 PC-TAB12",
    "verified with correction": "PC-TAB6 PC-TAB8 PC-C1 PC-C15 PC-C17",
}
RETRIEVAL = ("R.PK", "R.Num", "R.KV")


@pytest.mark.parametrize(("name", "verdict"), [(name, v) for v, names in VERDICTS.items() for name in names.split()])
def test_verdicts(name, verdict):
    assert CHECKS[name].verdict("theory").verdict == verdict


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample.model_dump()


@pytest.fixture
def edit(monkeypatch):
    """edit(number, row, task, value): one cell of a table changed."""

    def change(number, row, task, value):
        changed = rows.wide(number).copy()
        changed.loc[row, task] = value
        held = rows.wide
        for module in (rows, settings):
            monkeypatch.setattr(module, "wide", lambda n: changed if n == number else held(n))

    return change


def test_an_average_that_is_off_by_a_hundredth_is_refused(edit):
    edit(6, f"Sink-eviction-layer-1-8 ({LLAMA2})", "Average", 36.97)
    assert not settings.averages_follow("averages", 6).judge().holds
    assert settings.averages_follow("averages", 2).judge().holds


def test_a_row_that_differs_in_one_cell_is_not_repeated(edit):
    law = CHECKS["PC-TAB6"].sentences[2]
    edit(6, f"Ours ({LLAMA2})", "R.KV", 20.61)
    assert replace(law).judge().failed == 1


def test_greatest_lengths_by_hand():
    # 125 + 125 + 175 + 834 + 120 + 258 = 1637
    assert settings.longest(2) == [{"table": 2, "total": 1637, "tasks": 6}]
    assert (example("PC-TAB8")["claimed"], example("PC-TAB8")["actual"]) == (30657, pytest.approx(505159 / 16))


def test_blocks_of_layers():
    assert example("PC-TAB6") == {"inputs": {"table": 6, "layer": 25}, "claimed": "25-32", "actual": "24-31"}
    assert [settings.block_of(8, layer) for layer in (8, 9, 24, 32)] == ["1-8", "9-16", "17-24", "25-32"]
    with pytest.raises(ValueError, match="values to unpack"):  # no row of Table 6 holds the last layer
        settings.block_of(6, 32)


def test_memory_of_128k_by_hand():
    # 16.06 GB of weights, 128 KiB a key, 2^17 keys
    found = settings.megabytes(**settings.LLAMA3_8B)
    assert found == pytest.approx((16.06e9 + 2**17 * 2**17) / 1e6)
    assert found < settings.card() < settings.megabytes(**settings.LLAMA3_8B | {"heads": 32})


def test_halves_of_the_ratio_to_gpt4():
    shares = {
        columns: settings.ratio(case["own"], case["rival"])
        for columns in (RETRIEVAL, ("En.MC", "Math.F", "Code.Debug"))
        for case in [settings.beside_gpt4("Ours-calibration", *columns)]
    }
    assert list(shares.values()) == [pytest.approx(1.015, abs=5e-4), pytest.approx(0.730, abs=5e-4)]


def test_a_printed_score_would_show_the_failure_of_retrieval():
    assert settings.scores_of(settings.RAG) == 0
    assert settings.scores_of("ChatQA-2") == 4


def test_numbers_told_in_practice():
    four = rows.scores(4).loc["ParallelComp-Qwen2.5"] - rows.scores(4).loc["Qwen2.5"]
    assert (four["LCC"], four["REP"]) == (pytest.approx(13.87), pytest.approx(5.46))
    assert four.drop(["LCC", "REP"]).mean() == pytest.approx(-0.30, abs=0.005)
    twelve = rows.averages(12)
    assert twelve[twelve.index.str.startswith("APE")].idxmax() == "APE0.8+0.8"
    six = rows.averages(6)
    names = (
        "Recency-eviction-layer-9-16",
        "Middle-eviction-layer-1-8",
        "Sink-eviction-layer-24-31",
        "Ours-calibration",
    )
    parts = [six[f"{name} ({LLAMA2})"] - six[f"Ours ({LLAMA2})"] for name in names]
    assert parts == pytest.approx([47.59 - 49.45, 48.99 - 49.45, 0.03, 1.82])
    eight = rows.scores(8).filter(regex="Sink|Recency|Middle", axis=0).mean(axis=1)
    above = eight[eight > rows.cell(8, "mean", f"No-eviction ({LLAMA2})")]
    assert (len(eight), list(above.index)) == (12, [f"Middle-eviction-layer-9-16 ({LLAMA2})"])
    highest = rows.scores(8)["QMSum"].nlargest(2)
    assert highest.iloc[0] - highest.iloc[1] == pytest.approx(13.37)
    nine = rows.scores(9).loc["Ours"] - rows.scores(9).loc[settings.RAG]
    assert nine.round().to_dict() == {"QM": 11, "QASP": 10, "MSQ": 3, "HQA": -8, "MFQA": -8}


def test_the_best_variant_is_a_matter_of_the_backbone_alone():
    assert settings.best_variant(2) == "Ours-calibration"
    assert rows.averages(2).filter(like=f"({LLAMA3})").idxmax() == f"Ours-calibration ({LLAMA3})"
