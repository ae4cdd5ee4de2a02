"""Claims that Tables 1, 6, 7 and 10 decide: verdicts, counterexamples by hand, tables changed on purpose."""

from dataclasses import replace

import pytest

from attention_priors.checks import CHECKS, printed
from attention_priors.checks.parallel import averages, rows
from attention_priors.checks.parallel.rows import LLAMA2, LLAMA3

VERDICTS = {
    "verified": "PC-TAB10",
    "verified with correction": "PC-TAB1 PC-TAB7 PC-C2 PC-C11 PC-C12 PC-C13",
}


@pytest.mark.parametrize(("name", "verdict"), [(name, v) for v, names in VERDICTS.items() for name in names.split()])
def test_verdicts(name, verdict):
    assert CHECKS[name].verdict("theory").verdict == verdict


def example(identifier):
    return CHECKS[identifier].verdict("theory").counterexample.model_dump()


def holds(law, cases=None):
    """Judged anew, from the tables as they stand now."""
    return replace(law, cases=cases or law.cases).judge().holds


@pytest.fixture
def edit(monkeypatch):
    """edit(number, where, value): rows and averages then see ParallelComp's table with that one cell changed."""
    changes = []

    def table(paper, n):
        frame = printed.table(paper, n)
        for number, where, value in changes:
            if n == number:
                chosen = (frame[list(where)] == list(where.values())).all(axis=1)
                assert chosen.sum() == 1
                frame.loc[chosen, "score" if "score" in frame else "printed"] = value
        return frame

    def change(number, where, value):
        changes.append((number, where, value))
        rows.wide.cache_clear()

    for module in (rows, averages):
        monkeypatch.setattr(module, "table", table)
    yield change
    rows.wide.cache_clear()


def test_two_averages_and_the_lengths_of_table_1_by_hand():
    found = example("PC-TAB1")
    assert found["inputs"] == {"table": 1, "row": f"Ours-calibration ({LLAMA3})", "total": 724.78, "tasks": 16}
    assert (found["claimed"], found["actual"]) == (45.21, pytest.approx(45.30, abs=0.005))
    assert averages.longest() == [{"total": 505159, "tasks": 16}]  # 31572.4 each
    gaps = (rows.averages(1) - rows.scores(1).mean(axis=1)).abs()
    assert list(gaps.index[gaps > 0.0051]) == [
        f"{name} ({LLAMA3})" for name in ("Ours-calibration", "Ours-calibration-compression")
    ]


def test_every_row_of_table_1_is_in_one_law():
    tried = [case["row"] for law in CHECKS["PC-TAB1"].sentences[:4] for case in law.cases]
    assert sorted(tried) == sorted(rows.scores(1).index)


def test_a_smaller_memory_fits(edit):
    assert example("PC-TAB7")["inputs"] == {"card": 64, "method": "Ours-Compression", "chunks": 20, "used": 71302}
    for chunks in (20, 23):
        edit(7, {"label": "Ours-Compression", "chunks": chunks, "quantity": "memory (MB)"}, "64000")
    assert averages.too_large(64) == ""
    assert holds(CHECKS["PC-TAB7"].sentences[2], averages.memories())


def test_prefill_of_table_7_is_one_set_of_timings(edit):
    assert all(case["plain"] == case["compressed"] for case in averages.costs(averages.PREFILL))
    edit(7, {"label": "Ours", "chunks": 4, "quantity": "prefill (s)"}, "321.50")
    assert not holds(CHECKS["PC-TAB7"].corrected[1], averages.costs(averages.PREFILL))


def test_no_number_of_chunks_gives_176(edit):
    # 23/12 = 1.917, 23/13 = 1.769, 23/14 = 1.643, 23/15 = 1.533
    assert averages.room() == [{"compressed": 23, "plain": n} for n in (12, 13, 14, 15)]
    assert not holds(CHECKS["PC-C2"].sentences[0])
    assert holds(CHECKS["PC-C2"].sentences[0], [{"compressed": 44, "plain": 25}])


def test_a_loss_of_one_backbone_is_mended_by_one_cell(edit):
    law = CHECKS["PC-C2"].sentences[5]
    assert law.cases == [{"table": 2, "backbone": LLAMA2}]
    assert not holds(law)
    edit(2, {"model": LLAMA2, "label": "Ours-compression", "task": "R.KV"}, "28.00")
    assert holds(law)


def test_table_10_leaves_out_the_row_that_was_not_measured(edit):
    assert list(rows.scores(10).index) == ["ChatQA-2", "Ours"]
    edit(10, {"label": "Ours", "task": "KV Retrieval"}, "82.80")
    means, copied, ahead = CHECKS["PC-TAB10"].sentences
    assert not holds(means, rows.average_cases(10))
    assert not holds(copied)
    assert holds(ahead)


def test_the_averages_of_table_6_follow():
    assert (rows.scores(6).mean(axis=1) - rows.averages(6)).abs().max() < 0.0051


@pytest.mark.parametrize(
    ("name", "column", "ahead", "claimed", "actual"),
    [
        ("PC-C11", "R.PK", "Middle-eviction-layer-17-23", 99.32, 98.81),
        ("PC-C12", "Code.Debug", "Sink-eviction-layer-1-8", 23.10, 22.84),
        ("PC-C13", "En.MC", "Middle-eviction-layer-1-8", 37.12, 34.93),
    ],
)
def test_the_cell_that_says_otherwise(name, column, ahead, claimed, actual):
    found = example(name)
    assert (found["inputs"]["column"], found["inputs"]["ahead"]) == (column, f"{ahead} ({LLAMA2})")
    assert (found["claimed"], found["actual"]) == (claimed, actual)


def test_c11_would_hold_if_one_score_were_higher(edit):
    edit(6, {"label": "Middle-eviction-layer-17-23", "task": "R.PK"}, "100.00")
    assert all(holds(law) for law in CHECKS["PC-C11"].sentences)


def test_c12_would_hold_with_another_code_and_a_worse_calibration(edit):
    edit(6, {"label": "Recency-eviction-layer-9-16", "task": "Code.Debug"}, "19.00")
    for task in averages.REASONING:
        edit(6, {"label": "Ours-calibration", "task": task}, "10.00")
    assert all(holds(law) for law in CHECKS["PC-C12"].sentences)


def test_every_score_of_multiple_choice_counts_questions_of_229():
    scores = rows.scores(6)["En.MC"]
    counts = scores / 100 * averages.QUESTIONS
    assert ((counts.round() / averages.QUESTIONS * 100).round(2) == scores).all()
    assert averages.answers(34.93, 33.62, averages.QUESTIONS) == 80 - 77
