"""Scores from 0 to 1 of one answer, as the two benchmarks define them.

| name           | benchmark and tasks               | score                                                         |
|----------------|-----------------------------------|---------------------------------------------------------------|
| `first-number` | InfiniteBench R.PK, R.Num         | the first run of digits is the right one                      |
| `word`         | InfiniteBench R.KV                | the right value is one of the words                           |
| `option`       | InfiniteBench En.MC, Code.Debug   | the chosen letter, or the option's text, is right             |
| `number`       | InfiniteBench Math.F              | the first number equals the right one                         |
| `f1`           | LongBench, questions              | F1 of words as SQuAD normalises them, best right answer       |
| `rouge-l`      | LongBench, summaries              | ROUGE-L's F1 (rouge-score), best right answer                 |
| `class`        | LongBench TREC                    | 1 / number of classes named, if the right one is among them   |
| `count`        | LongBench PCount                  | share of the numbers named that are right                     |
| `paragraph`    | LongBench PRe                     | the same with the right paragraph's number                    |
| `code`         | LongBench LCC, RB-P               | edit similarity of the first line of code (rapidfuzz)         |

Sources: Zhang et al. 2024 (section 3) and Bai et al. 2024 (section 3), and the evaluation that each publishes. What
differs: `option` is one rule for both tasks, and a letter must stand alone; LongBench takes ROUGE from another package,
which splits words at spaces, and rounds edit similarity to hundredths.
"""

from __future__ import annotations

import importlib
import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .task import LETTERS, Known

Score = Callable[[str, Sequence[str], Sequence[str]], float]  # answer, right answers, options
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_SEPARATORS = str.maketrans(dict.fromkeys("\n:\"'.,?!{}", " "))
_CUE = re.compile(r"(?:answer|option|choice)(?: is)?\s*:?\s*(?:the |option |\()*", re.IGNORECASE)
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_NO_CODE = ("`", "#", "//")


@dataclass(frozen=True)
class Metric:
    """`binary`: every score is 0 or 1, so that their mean is a share."""

    score: Score
    binary: bool = False


def normalised(text: str) -> list[str]:
    """Words without case, punctuation and articles (SQuAD, Rajpurkar et al. 2016)."""
    bare = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return _ARTICLES.sub(" ", bare).split()


def _best(one: Callable[[str, str], float], answer: str, right: Sequence[str], options: Sequence[str]) -> float:
    """The score against the right answer that it is nearest to."""
    return max(one(answer, each) for each in right)


def _f1(answer: str, right: str) -> float:
    said, wanted = normalised(answer), normalised(right)
    same = sum((Counter(said) & Counter(wanted)).values())
    return 2 * same / (len(said) + len(wanted)) if same else 0.0


def _rouge(answer: str, right: str) -> float:
    scorer = _needed("rouge_score.rouge_scorer").RougeScorer(["rougeL"])
    return float(scorer.score(right, answer)["rougeL"].fmeasure)


def _code(answer: str, right: str) -> float:
    lines = (line for line in answer.lstrip("\n").split("\n") if not any(mark in line for mark in _NO_CODE))
    return _needed("rapidfuzz.fuzz").ratio(next(lines, ""), right) / 100


def _first_number(answer: str, right: str) -> float:
    found = re.search("[0-9]+", answer)
    return float(found is not None and found[0] == right)


def _number(answer: str, right: str) -> float:
    found = re.search(_NUMBER, answer)
    if not re.fullmatch(_NUMBER, right):
        raise ValueError(f"right answer {right[:40]!r} is no number, but this metric compares numbers; correct the row")
    return float(found is not None and float(found[0]) == float(right))


def _word(answer: str, right: str) -> float:
    return float(right in answer.translate(_SEPARATORS).split())


def _option(answer: str, right: Sequence[str], options: Sequence[str]) -> float:
    """What the answer begins with, else what follows a cue such as "answer:", else the first letter that stands alone.

    `right` is the option's text and its letter. ValueError where there is nothing to choose from.
    """
    if not options:
        raise ValueError("options = [], but this metric reads a choice among them; give at least two")
    text, letter = right[:2]
    answer = answer.strip()
    choices = LETTERS[: len(options)]
    alone = re.compile(rf"\(?([{choices}])(?![\w'])")
    cue = _CUE.search(answer)
    for rest in [answer, *([answer[cue.end() :]] if cue else [])]:
        if found := alone.match(rest):
            return float(found[1] == letter)
        said = [each for each in options if rest.startswith(each)]
        if said:
            return float(max(said, key=len) == text)
    found = re.search(rf"(?<!\w)([{choices}])(?![\w'])", answer)
    return float(found is not None and found[1] == letter)


def _class(answer: str, right: Sequence[str], options: Sequence[str]) -> float:
    """A class whose name is a part of the right one's is not counted as named."""

    def one(wanted: str) -> float:
        named = [each for each in options if each in answer and (each == wanted or each not in wanted)]
        return 1 / len(named) if wanted in named else 0.0

    return max(map(one, right))


def _count(answer: str, right: str) -> float:
    numbers = re.findall("[0-9]+", answer)
    return numbers.count(right) / len(numbers) if numbers else 0.0


def _paragraph(answer: str, right: str) -> float:
    found = re.search("[0-9]+", right)
    return _count(answer, found[0]) if found else 0.0


_METRICS = {
    "first-number": Metric(partial(_best, _first_number), binary=True),
    "word": Metric(partial(_best, _word), binary=True),
    "option": Metric(_option, binary=True),
    "number": Metric(partial(_best, _number), binary=True),
    "f1": Metric(partial(_best, _f1)),
    "rouge-l": Metric(partial(_best, _rouge)),
    "class": Metric(_class),
    "count": Metric(partial(_best, _count)),
    "paragraph": Metric(partial(_best, _paragraph)),
    "code": Metric(partial(_best, _code)),
}
METRICS: Known[Metric] = Known("metric", _METRICS)


def score(name: str, answer: str, right: Sequence[str], options: Sequence[str] = ()) -> float:
    """The score of one answer. ValueError for an unknown metric, and where there is no right answer."""
    if not right:
        raise ValueError(f"right answers = [], but metric {name!r} compares with one; give at least one")
    return METRICS[name].score(answer, right, options)


def _needed(module: str) -> Any:
    """A module of the extra `benchmarks`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(
            f"this score needs {error.name}, which is not there; in a clone, pip install '.[benchmarks]'"
        ) from None
