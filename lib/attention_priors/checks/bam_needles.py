"""BAM's claims about RULER's needle tasks, judged on the metrics of notebook 11 (scaled reproductions).

Table 3, Table 4 and the sentences around them are about models of 120M and 1B parameters: nothing small decides them.
They are read as sentences about the small models all the same and shown with their intervals, and stay out of the
ledger. What is decided is the protocol (BAM-D8): its tasks are what RULER's table says, and they tell models apart.

An encoding that has not learned a task at the training length counts as a lower bound there (see `bam_passkeys`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import pandas as pd

from attention_priors import evaluation
from attention_priors.checks.bam_passkeys import OURS, PERFECT, Accuracies, ahead, worst
from attention_priors.checks.evidence import EmpiricalCheck
from attention_priors.checks.intervals import UNKNOWN, Estimate, Sentence, finding, judge, sentence
from attention_priors.experiments import needles

RECIPE = "passkey-small"
ANSWERS, READINGS = "ruler_answers", "ruler_readings"
ANSWERED, GUESSED = 0.8, 0.1
EXACT = 0.9  # of the prompts of a task: no finite sample shows all; 48 of 48 have the interval [0.93, 1]
ONLY = 12  # multiples of the training length: "the only one being able to perform retrieval above 6K", trained on 512
MANY = 2  # keys or more in a haystack of needles
# haystack, kind of key, kind of value; different keys, values of a key, keys asked for. RULER (Hsieh et al. 2024).
RULER = {
    "single-1": ("noise", "words", "numbers", 1, 1, 1),
    "single-2": ("prose", "words", "numbers", 1, 1, 1),
    "single-3": ("prose", "words", "uuids", 1, 1, 1),
    "multikey-1": ("prose", "words", "numbers", 4, 1, 1),
    "multikey-2": ("needles", "words", "numbers", None, 1, 1),
    "multikey-3": ("needles", "uuids", "uuids", None, 1, 1),
    "multivalue": ("prose", "words", "numbers", 1, 4, 1),
    "multiquery": ("prose", "words", "numbers", 4, 1, 4),
}
SINGLE = ("single-1", "single-2", "single-3")
TABLE_3 = ("rope-ssmax", "alibi-ssmax", "nope-ssmax", "sinusoidal-ssmax", "rope-local")  # beside BAM SSMax

Frames = Mapping[str, pd.DataFrame]
Rule = Callable[[str, str, float], float]  # (task, encoding, length / training length) -> score


class Scores(Accuracies):
    """One task's part of ruler_answers: scores in place of accuracies."""

    def __init__(self, frame: pd.DataFrame, task: str) -> None:
        super().__init__(frame[frame["task"] == task].assign(form="plain"))

    def at(self, name: str, lengths: int | list[int]) -> Estimate:
        """Score at one length, or the mean over several."""
        rows = self.of(name)
        rows = rows[rows["length"].isin(lengths if isinstance(lengths, list) else [lengths])]
        if rows.empty:
            return UNKNOWN
        each = rows.assign(score=needles.score).groupby("seed").agg({"score": "mean", "samples": "sum"})
        return Estimate(float(each["score"].mean()), *needles.score_interval(each["score"], each["samples"]))


def as_ruler_says(rows: pd.DataFrame) -> pd.Series:
    """For each prompt that was read: is it what RULER's table says of its task, and is its answer stated?"""
    read = ["haystack", "key", "value", "keys", "values", "queries"]
    found = []
    for row in rows.to_dict("records"):
        wanted = RULER[row["task"]]
        same = [row[name] == value for name, value in zip(read, wanted, strict=True) if value is not None]
        enough = wanted[3] is not None or row["keys"] >= MANY
        found.append(all(same) and enough and bool(row["stated"]) and row["tokens"] == row["length"] + 1)
    return pd.Series(found, index=rows.index)


def definition(frames: Frames) -> list[Sentence]:
    """BAM-D8: the generator, read by a reader of its own, and what models make of its prompts."""
    counts = frames[READINGS].assign(same=as_ruler_says).groupby("task")["same"].agg(["sum", "size"])
    worst_read = (counts["sum"] / counts["size"]).idxmin()
    right, prompts = map(int, counts.loc[worst_read])
    read = Estimate(right / prompts, *evaluation.binomial_interval(right, prompts))
    outcome = "undecided" if set(RULER) - set(counts.index) else judge(read, ">=", EXACT)
    frame = frames[ANSWERS]
    data = {task: Scores(frame, task) for task in RULER if task in set(frame["task"])}
    first = data["single-1"]
    names = [name for name in dict.fromkeys(frame["encoding"]) if name != needles.UNTRAINED]
    best = max(names, key=lambda name: first.at(name, first.trained).value)
    solved = first.at(best, first.trained)
    control = {task: scores.at(needles.UNTRAINED, scores.trained) for task, scores in data.items()}
    worst_task = max(control, key=lambda task: (control[task].value, control[task].high))
    text = f"Nobody guesses: the untrained control scores at most {GUESSED} on every task at T (highest: {worst_task})"
    return [
        sentence(f"Of every task, at least {EXACT} of the prompts are what RULER's table says (lowest: {worst_read})",
                 read, ">=", EXACT, outcome),
        sentence(f"The tasks can be answered: the best encoding scores at least {ANSWERED} on Single 1 at T ({best})",
                 solved, ">=", ANSWERED, judge(solved, ">=", ANSWERED), first.seeds(best)),
        sentence(text, control[worst_task], "<=", GUESSED, judge(control[worst_task], "<=", GUESSED),
                 first.seeds(needles.UNTRAINED)),
    ]  # fmt: skip


def _there(data: Accuracies, names: Iterable[str]) -> list[str]:
    return [name for name in names if len(data.of(name))]


def lead(data: Accuracies, ours: str, others: list[str], text: str) -> Sentence:
    """`ahead`, undecided where nothing is there to be ahead of."""
    if not _there(data, [ours]) or not others:
        return Sentence(f"{text} (not tested)", math.nan, ">", 0.0, "undecided")
    return ahead(data, ours, others, text)


def table_3(frames: Frames) -> list[Sentence]:
    """BAM's Table 3 and appendix E.1, of those of its encodings that were trained."""
    data = {task: Scores(frames[ANSWERS], task) for task in SINGLE}
    sentences = []
    for number, (_, scores) in enumerate(data.items(), 1):
        text = f"Single {number}: BAM SSMax leads all others of Table 3, mean score above T"
        sentences.append(lead(scores, OURS, _there(scores, TABLE_3), text))
    first = data["single-1"]
    mine = {(OURS, length): first.at(OURS, length) for length in first.lengths(OURS, beyond=False)}
    others, least = _there(first, TABLE_3), ONLY * first.trained
    cells = [(name, length) for name in others for length in first.lengths(name) if length >= least]
    far = {cell: first.at(*cell) for cell in cells}
    text = f"Single 1: beyond {ONLY} T only BAM retrieves: all others of Table 3 at most {GUESSED}"
    return [
        *sentences,
        worst(f"Single 1: BAM SSMax scores at least {PERFECT} at every length", first, mine, ">=", PERFECT),
        worst(text, first, far, "<=", GUESSED),
        lead(first, "rope-ssmax", _there(first, ["alibi-ssmax"]), "Single 1: RoPE SSMax leads ALiBi SSMax"),
    ]


def table_4(frames: Frames) -> list[Sentence]:
    """BAM's Table 4 and appendix E.2: BAM SSMax against RoPE SSMax, task by task."""
    sentences = []
    for task in RULER:
        data = Scores(frames[ANSWERS], task)
        text = f"{task}: BAM SSMax leads RoPE SSMax, mean score above T"
        sentences.append(lead(data, OURS, _there(data, ["rope-ssmax"]), text))
    return sentences


SENTENCES: dict[str, Callable[[Frames], list[Sentence]]] = {
    "BAM-D8": definition,
    "BAM-TAB3": table_3,
    "BAM-TAB4": table_4,
}


def sentences(frames: Frames, claims: Iterable[str] = tuple(SENTENCES)) -> pd.DataFrame:
    """What notebook 11 shows: every sentence with its number, interval and outcome."""
    rows = []
    for name in claims:
        for found in SENTENCES[name](frames):
            measured = "–" if math.isnan(found.measured) else f"{found.measured:.3g}"
            interval = "–" if found.interval is None else "[{:.3g}, {:.3g}]".format(*found.interval)
            rows.append({"claim": name, "sentence": found.text, "measured": measured, "95 % interval": interval,
                         "should be": f"{found.relation} {found.expected:.3g}", "outcome": found.outcome})  # fmt: skip
    return pd.DataFrame(rows)


# Worlds in which a claim holds or fails: the test of its judge


def as_printed(task: str, name: str, multiple: float) -> float:
    """Everyone answers at the training length, BAM SSMax at all lengths, RoPE SSMax at twice the training length."""
    reach = {needles.UNTRAINED: 0, OURS: math.inf, "rope-ssmax": 2}
    return float(multiple <= reach.get(name, 1))


def turned(task: str, name: str, multiple: float) -> float:
    """The untrained model answers, and so does ALiBi; BAM and RoPE at the training length alone."""
    return float(multiple <= 1 or name in (needles.UNTRAINED, "alibi-ssmax", "nope-ssmax"))


def level(task: str, name: str, multiple: float) -> float:
    """All trained models answer everything."""
    return float(name != needles.UNTRAINED)


def world(frames: Frames, rule: Rule) -> Frames:
    """The same models with other answers; the prompts are left as they are."""
    frame = frames[ANSWERS]
    scores = [rule(row.task, row.encoding, row.length / row.trained) for row in frame.itertuples()]
    right = (pd.Series(scores, index=frame.index) * frame["samples"]).round().astype(int) * frame["required"]
    return {**frames, ANSWERS: frame.assign(right=right, asked=True)}


def _verdict(frames: Frames):
    return finding(definition(frames))


def _flip(frames: Frames) -> Frames:
    return world(frames, as_printed if _verdict(frames).outcome == "disagrees" else turned)


CHECKS = {
    "BAM-D8": EmpiricalCheck(
        "BAM-D8",
        (READINGS, ANSWERS),
        RECIPE,
        _verdict,
        f"agrees: an independent reading finds RULER's parameters in at least {EXACT} of the prompts of each of the "
        f"eight tasks, some trained encoding scores at least {ANSWERED} on Single 1 at the training length, and the "
        f"untrained control at most {GUESSED} on every task; disagrees: one of these is excluded by its interval",
        _flip,
    )
}
