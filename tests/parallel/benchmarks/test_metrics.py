"""Scores against values worked out by hand from the benchmarks' definitions."""

import builtins
import importlib

import pytest

from attention_priors.parallel.benchmarks import metrics

OPTIONS = ("Bo Lee", "Ann", "Ann Lee", "Cy")
CLASSES = ("Human", "Human group", "Place")
CASES: list[tuple[str, str, tuple[str, ...], tuple[str, ...], float]] = [
    ("first-number", "It is 48213, not 5.", ("48213",), (), 1),
    ("first-number", "Of 2 keys: 48213", ("48213",), (), 0),
    ("first-number", "no digits", ("48213",), (), 0),
    ("first-number", "482131", ("48213",), (), 0),
    ("word", 'The value is "b-2".', ("b-2",), (), 1),
    ("word", "b-21", ("b-2",), (), 0),
    ("option", "B", ("Ann", "B"), OPTIONS, 1),
    ("option", "B. Ann", ("Ann", "B"), OPTIONS, 1),
    ("option", "(B) because", ("Ann", "B"), OPTIONS, 1),
    ("option", "A", ("Ann", "B"), OPTIONS, 0),
    ("option", "Ann", ("Ann", "B"), OPTIONS, 1),
    ("option", "Ann Lee", ("Ann", "B"), OPTIONS, 0),
    ("option", "The answer is: B", ("Ann", "B"), OPTIONS, 1),
    ("option", "The correct option is (C).", ("Ann", "B"), OPTIONS, 0),
    ("option", "Surely it was B that did it", ("Ann", "B"), OPTIONS, 1),
    ("option", "Because nobody knows", ("Ann", "B"), OPTIONS, 0),
    ("option", "E", ("Ann", "B"), OPTIONS, 0),
    ("number", "It is 7.5", ("7.5",), (), 1),
    ("number", "7.0", ("7",), (), 1),
    ("number", "7.5", ("7",), (), 0),
    ("f1", "The cat sat.", ("a cat sat down",), (), 0.8),  # 2 of 2 words said, 2 of 3 wanted
    ("f1", "dog", ("cat", "the dog"), (), 1),
    ("f1", "", ("cat",), (), 0),
    ("rouge-l", "the cat sat on the mat", ("the cat lay on the mat",), (), 5 / 6),
    ("rouge-l", "mat the cat", ("the cat", "nothing"), (), 0.8),  # 2 of 3 words, 2 of 2
    ("class", "Human group", ("Human group",), CLASSES, 1),
    ("class", "Human group", ("Human",), CLASSES, 0.5),
    ("class", "Human or Place", ("Human",), CLASSES, 0.5),
    ("class", "Place", ("Human",), CLASSES, 0),
    ("count", "7 of 12 are different", ("7",), (), 0.5),
    ("count", "seven", ("7",), (), 0),
    ("paragraph", "Paragraph 12", ("Paragraph 12",), (), 1),
    ("paragraph", "Paragraph 1 or 12", ("Paragraph 12",), (), 0.5),
    ("paragraph", "12", ("Paragraph 1",), (), 0),
    ("code", "\n# a remark\n```\nreturn x\nreturn y", ("return x",), (), 1),
    ("code", "abcd", ("abxd",), (), 0.75),  # 1 - 2 edits (out and in) / 8 letters
    ("code", "# only a remark", ("return x",), (), 0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "answer", "right", "options", "value"), CASES, ids=lambda each: str(each)[:24])
def test_scores(name, answer, right, options, value):
    assert metrics.score(name, answer, right, options) == pytest.approx(value)


def test_every_metric_has_cases_and_binary_ones_score_0_or_1():
    assert {name for name, *_ in CASES} == set(metrics.METRICS)
    graded = {name for name, *_, value in CASES if value not in (0, 1)}
    assert graded == {name for name, metric in metrics.METRICS.items() if not metric.binary}


def test_what_cannot_be_scored_is_one_line():
    for call, value, remedy in [
        (lambda: metrics.score("rouge", "a", ["a"]), "'rouge'", "nearest: rouge-l"),
        (lambda: metrics.score("f1", "a", []), "right answers = []", "at least one"),
        (lambda: metrics.score("option", "A", ["Ann", "A"]), "options = []", "at least two"),
        (lambda: metrics.score("number", "7", ["seven"]), "'seven'", "correct the row"),
    ]:
        with pytest.raises(ValueError) as caught:
            call()
        assert value in str(caught.value) and remedy in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_package_is_named(monkeypatch):
    def missing(name: str) -> builtins.object:
        raise ModuleNotFoundError(name="rapidfuzz")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ValueError, match=r"needs rapidfuzz.*in a clone, pip install .*\[benchmarks\]"):
        metrics.score("code", "a", ["a"])
