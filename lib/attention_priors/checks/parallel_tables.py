"""Arithmetic of ParallelComp's tables: averages, the same score in two tables, the same row in two tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attention_priors.checks import parallel_rows as tables
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.checks.parallel_rows import (
    BACKBONES,
    HALF_UNIT,
    LLAMA3,
    Averages,
    Order,
    Orders,
    check_averages,
    check_orders,
    compare_cells,
    evaluate_averages,
    evaluate_cells,
    evaluate_orders,
    rows,
)
from attention_priors.checks.printed import claimed, table

VARIANTS = ("Ours", "Ours-calibration", "Ours-compression", "Ours-calibration-compression")
# Table 9's names of five tasks of Table 1
LONGBENCH = {"QM": "QMSum", "QASP": "Qasper", "MSQ": "Musique", "HQA": "HotpotQA", "MFQA": "MF-en"}


# C3: who is ahead of FullKV


def check_ahead_of_full(statement: tuple[tuple[str, ...], frozenset[str]]) -> Evidence:
    """(backbones, methods): the methods of Table 1 whose mean is above FullKV's on all of the backbones."""
    backbones, said = statement
    means = tables.column(1, "mean")
    ahead = []
    for backbone in backbones:
        rows_ = means[backbone]
        full = rows_[rows_.index.str.startswith("FullKV")].item()
        names = rows_.index[rows_ > full]
        ahead.append({"Ours" if label.startswith("Ours") else label for label in names})
    found = set.intersection(*ahead)
    worst = {backbone: min(means[(backbone, v)] for v in VARIANTS) for backbone in backbones}
    detail = "the lowest of the method's four variants: " + ", ".join(f"{k} {v:.2f}" for k, v in worst.items())
    return compare(", ".join(sorted(found)), "==", ", ".join(sorted(said)), detail=detail)


# TAB9, E6: five scores that two tables print


def check_table9(statement: Mapping[str, float]) -> Evidence:
    """The method's scores by Table 9's task names against Table 1's row of the same method (Llama3)."""
    elsewhere = {task: float(tables.wide(1).loc[(LLAMA3, "Ours"), full]) for task, full in LONGBENCH.items()}
    mean = sum(statement.values()) / len(statement)
    rag = float(tables.column(9, "mean")["", "ChatQA-2 w/ RAG"])
    detail = f"mean of these {len(statement)} scores {mean:.2f}, {mean - rag:+.2f} against ChatQA-2 with RAG"
    return compare_cells(statement, elsewhere, detail)


def outlying(value: float) -> tuple[float, float, float]:
    """The other variant nearest to a Musique score (Llama3), its distance, the largest such distance on other tasks."""
    frame = tables.split(1)[0].loc[LLAMA3]
    others = frame.loc[list(VARIANTS[1:])]
    bound = (others - frame.loc["Ours"]).abs().min().drop("Musique").max()
    gaps = (others["Musique"] - value).abs()
    return float(others["Musique"][gaps.idxmin()]), round(float(gaps.min()), 2), round(float(bound), 2)


def check_musique(value: float) -> Evidence:
    """A score of the method must lie as close to one of its variants as on the other fifteen tasks."""
    nearest, gap, bound = outlying(value)
    example = None
    if gap > bound:
        said, actual = evaluate_musique(value, nearest, bound)
        example = {"inputs": {"nearest": nearest, "bound": bound}, "claimed": said, "actual": actual}
    scores = tables.split(1)[0].loc[(LLAMA3, "Ours")]
    mean = (scores.sum() - scores["Musique"] + value) / len(scores)
    detail = f"distance from the nearest of three variants; with it Table 1's mean is {mean:.2f} (printed 44.93)"
    return compare(gap, "<=", bound, counterexample=example, detail=detail)


def evaluate_musique(value: float, nearest: float, bound: float):
    """Distance of the score from the nearest variant: at most the bound if both are the same method, and what it is."""
    return claimed(round(abs(value - nearest), 2), "<=", bound)


# TAB11: which row of Table 12 a row of Table 11 is


def check_settings(statement: Mapping[str, str]) -> Evidence:
    """By row of Table 11: the row of Table 12 that holds the same seventeen numbers."""
    first, second = tables.wide(11).loc[""], tables.wide(12).loc[""]
    found = {
        row: ", ".join(other for other in second.index if tables.identical(first.loc[row], second.loc[other]))
        for row in statement
    }
    differ = [row for row in statement if found[row] != statement[row]]
    example = None
    if differ:
        inputs = {"row": differ[0], "average": float(first.loc[differ[0], "AVG"])}
        said, actual = evaluate_settings(statement, **inputs)
        example = {"inputs": inputs, "claimed": said, "actual": actual}
    text = [", ".join(f"{row} = {label}" for row, label in names.items()) for names in (found, statement)]
    return compare(text[0], "==", text[1], counterexample=example)


def evaluate_settings(statement: Mapping[str, str], row: str, average: float):
    """The row of Table 12 that the caption of Table 11 means, and the one with this average."""
    printed = tables.wide(12).loc[""]["AVG"]
    return statement[row], ", ".join(printed.index[(printed - average).abs() < 1e-9])


# C16: the tuned rivals of Table 12


def check_excess(statement: Mapping[str, float]) -> Evidence:
    """By rival: the average of its best setting in Table 12 less the method's, to two decimals."""
    means = tables.column(12, "mean")[""]
    own, found = float(means["ParallelComp"]), {}
    for rival in statement:
        found[rival] = round(float(means[means.index.str.startswith(rival)].max()) - own, 2)
    differ = [rival for rival in statement if abs(found[rival] - statement[rival]) > HALF_UNIT]
    example = None
    if differ:
        rival = differ[0]
        best = round(float(means[means.index.str.startswith(rival)].max()), 2)
        inputs = {"rival": rival, "best": best, "own": round(own, 2)}
        said, actual = evaluate_excess(statement, **inputs)
        example = {"inputs": inputs, "claimed": said, "actual": actual}
    worst = max(abs(found[r] - statement[r]) for r in statement)
    return compare(worst, "<=", HALF_UNIT, counterexample=example, detail=f"best setting less the method: {found}")


def evaluate_excess(statement: Mapping[str, float], rival: str, best: float, own: float):
    """By how much a rival's best average is said to exceed the method's, and by how much it does."""
    return statement[rival], round(best - own, 2)


# E4: Table 2 against the benchmark's own list


@dataclass(frozen=True)
class Baselines:
    """Cells (label, task) of the baselines that Table 2 takes over; `rest`: the others are as listed too."""

    cells: Mapping[tuple[str, str], str]
    rest: bool = False


def check_leaderboard(statement: Baselines) -> Evidence:
    """Cells of Table 2 against the list in the README of InfiniteBench; "<5" compares as text."""
    listed = table("infinitebench", 1).set_index(["label", "task"]).printed
    said = dict(statement.cells)
    if statement.rest:
        printed = table(tables.PAPER, 2).set_index(["label", "task"]).printed
        said = {key: printed[key] for key in listed.index if key not in said} | said
    differ = [key for key, value in said.items() if not _same(value, listed[key])]
    example = None
    if differ:
        inputs = dict(zip(("label", "task"), differ[0], strict=True))
        claim, actual = evaluate_leaderboard(statement, **inputs)
        example = {"inputs": inputs, "claimed": claim, "actual": actual}
    means = {label: _mean_with(label, said) for label in dict.fromkeys(label for label, _ in said)}
    detail = f"cells that differ, of {len(said)}; averages with them, <5 as 2.5: "
    detail += ", ".join(f"{k} {v:.2f}" for k, v in means.items())
    return compare(len(differ), "==", 0, 0, counterexample=example, detail=detail)


def evaluate_leaderboard(statement: Baselines, label: str, task: str):
    """What Table 2 prints in a cell, and what the benchmark lists there."""
    listed = table("infinitebench", 1).set_index(["label", "task"]).printed
    pair = statement.cells[label, task], listed[label, task]
    return tuple(value if value.startswith("<") else float(value) for value in pair)


def _same(first: str, second: str) -> bool:
    return first == second if "<" in first + second else float(first) == float(second)


def _mean_with(label: str, changed: Mapping[tuple[str, str], str]) -> float:
    scores = tables.split(2)[0].xs(label, level="label").iloc[0].copy()
    for (row, task), value in changed.items():
        if row == label:
            scores[task] = tables.number(value)
    return float(scores.mean())


# The claims

SETTINGS = {"APE": "APE0.5+0.8", "StarAttn": "StarAttn4K", "ParallelComp": "ParallelComp"}
SHOWN9 = {"QM": 24.18, "QASP": 39.05, "MSQ": 33.25, "HQA": 49.58, "MFQA": 42.66}
MEANS9 = {("", "ChatQA-2"): 34.63, ("", "ChatQA-2 w/ RAG"): 36.16, ("", "Ours"): 37.74}
MEANS11 = {("", "ParallelComp"): 38.15, ("", "APE"): 34.06, ("", "StarAttn"): 32.72}
MEANS5 = {("", "Llama3.1"): 22.90, ("", "ParallelComp-Llama3.1"): 66.29, ("", "Qwen2.5"): 53.72,
          ("", "ParallelComp-Qwen2.5"): 70.64}  # fmt: skip
# label, task: what Table 2 prints, what the benchmark lists
CELLS = {
    ("YaRN-Mistral-7B-128k", "Code.Debug"): ("60.00", "<5"),
    ("Kimi-Chat", "Code.Debug"): ("17.14", "17.77"),
    ("Claude-2", "Code.Debug"): ("17.77", "<5"),
    ("Yi-6B-200K", "Code.Debug"): ("<5", "9.14"),
    ("Yi-34B-200K", "Math.F"): ("<5", "25.71"),
    ("Yi-34B-200K", "Code.Debug"): ("25.71", "13.96"),
    ("ChatGLM-3-6B-128K", "Math.F"): ("<5", "7.71"),
    ("ChatGLM-3-6B-128K", "Code.Debug"): ("7.71", "7.36"),
}
LISTED = {key: listed for key, (_, listed) in CELLS.items()}


def _average(label: str, said: float, wrong: float) -> Part:
    row = ("", label)
    return Part(f"The average of {label} is {said}", Averages(5, {row: said}), check_averages,
                Averages(5, {row: wrong}), evaluate_averages)  # fmt: skip


def _baseline(label: str, text: str, wrong: str) -> Part:
    printed = {key: value for key, (value, _) in CELLS.items() if key[0] == label}
    false = dict.fromkeys(printed, wrong)
    return Part(text, Baselines(printed), check_leaderboard, Baselines(false), evaluate_leaderboard)


def _gains(*columns: str) -> tuple[Order, ...]:
    """ParallelComp ahead of the model alone, Tables 4 and 5."""
    return tuple(
        Order(n, rows("", f"ParallelComp-{base}"), rows("", base), columns or tuple(tables.tasks(n)))
        for n in (4, 5) for base in ("Llama3.1", "Qwen2.5")
    )  # fmt: skip


def _losses(n: int, base: str, *columns: str) -> set:
    return {(n, task, ("", f"ParallelComp-{base}"), ("", base)) for task in columns}


LOSSES = frozenset(
    _losses(4, "Llama3.1", "MUS", "GOV", "TRIV", "PCNNT") | _losses(5, "Llama3.1", "CODE")
    | _losses(4, "Qwen2.5", "2WKI", "MUS", "QMS", "NEWS", "PCNNT", "PREN")
)  # fmt: skip

CHECKS = {
    check.id: check
    for check in (
        Check(
            "PC-C3",
            (
                Part("On LongBench the method alone has a higher mean than FullKV on both backbones",
                     (BACKBONES, frozenset({"Ours"})), check_ahead_of_full, ((LLAMA3,), frozenset({"Ours"}))),
            ),
            practice="FullKV is the model cut off at its own window, 4K or 8K. On Llama3 InfLLM and ChunkLlama are "
            "ahead of it too.",
        ),
        Check(
            "PC-C10",
            (
                Part("Both models have a higher mean with ParallelComp, on LongBench and on InfiniteBench",
                     Orders(_gains("mean")), check_orders, Orders(_gains("MUS")[:2]), evaluate_orders),
                Part("The improvement is consistent: it appears on every task", Orders(_gains()), check_orders,
                     Orders(_gains(), LOSSES - _losses(5, "Llama3.1", "CODE")), evaluate_orders),
            ),
            Part("The means rise: LongBench 36.94 to 38.15 and 40.60 to 41.54, InfiniteBench 22.90 to 66.29 and 53.72 "
                 "to 70.64. But 11 of 44 scores fall: Llama3.1 loses MUS, GOV, TRIV, PCNNT and CODE, Qwen2.5 loses "
                 "2WKI, MUS, QMS, NEWS, PCNNT and PREN (by 6.5)",
                 Orders(_gains("mean") + _gains(), LOSSES), check_orders, Orders(_gains("mean") + _gains()),
                 evaluate_orders),
            practice="On LongBench about one point in the mean, with losses up to 6.5; on InfiniteBench much, and more "
            "than four fifths of it from the three retrieval tasks.",
        ),
        Check(
            "PC-C16",
            (
                Part("Tuned, APE's average is .32 above the method's", {"APE": 0.32}, check_excess, {"APE": 0.23},
                     evaluate_excess),
                Part("Tuned, StarAttention's average is .32 above the method's", {"StarAttn": 0.32}, check_excess,
                     {"StarAttn": 5.43}, evaluate_excess),
            ),
            Part("APE at 0.8 and 0.8 is .32 points above the method (38.47 against 38.15), StarAttention 5.43 below",
                 {"APE": 0.32, "StarAttn": -5.43}, check_excess, {"APE": 0.32, "StarAttn": 5.43}, evaluate_excess),
            practice="A tuned baseline wins, by points and not by percent; and it reads the full context, which is "
            "another budget than 24K of cache.",
        ),
        Check(
            "PC-TAB5",
            (
                _average("Llama3.1", 26.36, 22.63),
                _average("ParallelComp-Llama3.1", 59.55, 66.92),
                _average("Qwen2.5", 53.72, 53.27),
                _average("ParallelComp-Qwen2.5", 70.64, 70.46),
            ),
            Part("Over the six tasks Llama3.1 averages 22.90 alone and 66.29 with ParallelComp. What is printed for "
                 "these two rows is the mean of five tasks, without PS (5.59 and 100); the Qwen2.5 rows average six",
                 Averages(5, MEANS5), check_averages, Averages(5, {**MEANS5, ("", "Llama3.1"): 26.36}),
                 evaluate_averages),
            practice="The gain on Llama3.1 is 43.4 points, not 33.2: the slip hides the task on which it is largest.",
        ),
        Check(
            "PC-TAB9",
            (
                Part("The averages are 34.63, 36.16 and 37.74", Averages(9, MEANS9), check_averages,
                     Averages(9, {**MEANS9, ("", "Ours"): 37.47}), evaluate_averages),
                Part("The method's five scores are those of Table 1 (Llama3)", SHOWN9, check_table9,
                     {**SHOWN9, "HQA": 49.88}, evaluate_cells),
            ),
            Part("Four of the five scores are those of Table 1. Musique is 26.23 there, and with it the method "
                 "averages 36.34, .18 above ChatQA-2 with RAG instead of 1.6",
                 {**SHOWN9, "MSQ": 26.23}, check_table9, SHOWN9, evaluate_cells),
            practice="The lead over retrieval augmentation rests on one cell.",
        ),
        Check(
            "PC-E6",
            (
                Part("Musique, Table 9: 33.25", 33.25, check_musique, 33.52, evaluate_musique),
                Part("Musique, Table 1: 26.23", 26.23, check_musique, 32.62, evaluate_musique),
            ),
            Part("Musique is 26.23: the three other variants of the method have 24.96 to 26.68, and on no other task "
                 "is the nearest of them farther from it than 1.4 points",
                 26.23, check_musique, 33.25, evaluate_musique),
            practice="33.25 is out of reach of every variant of the method, so the smaller score is the likely one.",
        ),
        Check(
            "PC-TAB11",
            (
                Part("The averages are 38.15, 34.06 and 32.72", Averages(11, MEANS11), check_averages,
                     Averages(11, {**MEANS11, ("", "APE"): 34.60}), evaluate_averages),
                Part("APE is set to 0.5 and 0.8", {"APE": "APE0.5+0.8"}, check_settings, {"APE": "APE0.8+0.8"},
                     evaluate_settings),
                Part("By the caption, StarAttention's chunk is 2K", {"StarAttn": "StarAttn2K"}, check_settings,
                     {"StarAttn": "StarAttn6K"}, evaluate_settings),
            ),
            Part("The averages follow from the rows. The row of StarAttention repeats, in all seventeen numbers, the "
                 "one that Table 12 labels with a chunk of 4K: one of the two labels is wrong",
                 SETTINGS, check_settings, {**SETTINGS, "StarAttn": "StarAttn2K"}, evaluate_settings),
            practice="Which chunk was used cannot be told from the tables.",
        ),
        Check(
            "PC-E4",
            (
                _baseline("YaRN-Mistral-7B-128k", "YaRN, Code.Debug: 60.00", "17.14"),
                _baseline("Kimi-Chat", "Kimi-Chat, Code.Debug: 17.14", "12.57"),
                _baseline("Claude-2", "Claude-2, Code.Debug: 17.77", "32.29"),
                _baseline("Yi-6B-200K", "Yi-6B, Code.Debug: below 5", "7.36"),
                _baseline("Yi-34B-200K", "Yi-34B, Math.Find: below 5; Code.Debug: 25.71", "9.14"),
                _baseline("ChatGLM-3-6B-128K", "ChatGLM, Math.Find: below 5; Code.Debug: 7.71", "17.77"),
            ),
            Part("The benchmark's README lists, for Code.Debug, YaRN < 5, Kimi-Chat 17.77, Claude-2 < 5, Yi-6B 9.14, "
                 "Yi-34B 13.96, ChatGLM 7.36, and for Math.Find Yi-34B 25.71, ChatGLM 7.71. The other 34 of 42 cells "
                 "of these baselines agree with it",
                 Baselines(LISTED, rest=True), check_leaderboard,
                 Baselines({**LISTED, ("Claude-2", "Code.Debug"): "17.77"}, rest=True), evaluate_leaderboard),
            practice="The averages become 33.2 (YaRN, printed 42.82), 58.3 (Kimi-Chat, 58.23) and 59.8 (Claude-2, "
            "62.38), with < 5 as 2.5. Nobody passes the method by it.",
        ),
    )
}  # fmt: skip
