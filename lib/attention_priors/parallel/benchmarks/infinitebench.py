"""InfiniteBench (Zhang et al. 2024): the tasks of ParallelComp's Table 2.

A task is one file of lines {id, context, input, answer, options}. An answer is a text, a number or a list of them; of a
choice among `options` it is the option's text, and the letter after it where the list has two. The lengths of answers
leave room for a few words beside what is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .files import Pinned, lines
from .task import LETTERS, Fields, Row, Task, table

DATA = Pinned(
    "xinrongzhang2022/InfiniteBench",
    "90f0394333616266d9fe85824ceaf505093cbaa5",
    "commit at which public code reads these files; not looked up on the hub",
)
_CHOICE = "{options}\nReply with the letter of your choice.\nAnswer:"

TASKS = table(
    Task("passkey", "R.PK", "\n\nThe text above tells a pass key. {input} Reply with its digits.\nAnswer:",
         16, "first-number", keep=1),
    Task("number_string", "R.Num",
         "\n\nThe text above tells a sequence of digits. {input} Reply with all of them.\nAnswer:",
         24, "first-number", keep=1),
    Task("kv_retrieval", "R.KV", "\n\nLook up a key of the JSON object above, and reply with its value.\n{input}",
         50, "word", keep=1),
    Task("longbook_choice_eng", "En.MC", "\n\nThis question is about the book above.\n{input}\n" + _CHOICE,
         40, "option"),
    Task("math_find", "Math.F", "\n\nThis is about the list of numbers above.\n{input}", 16, "number"),
    Task("code_debug", "Code.Debug",
         "\n\nOne of these functions of the code above was given an error on purpose. Which?\n" + _CHOICE,
         16, "option"),
)  # fmt: skip


def rows(task: str, folder: Path | None = None) -> Iterator[Row]:
    """The prompts of a task, in the order of its file. ValueError for a line that is none."""
    for where, values in lines(DATA, f"{task}.jsonl", folder):
        yield row(TASKS[task], values, where)


def row(task: Task, values: object, where: str) -> Row:
    """One line of a file, or what `synthetic` made in the same form."""
    fields = Fields(values, where)
    options = fields.texts("options", empty=True)
    answers = fields.texts("answer")
    if task.metric == "option":
        answers = _lettered(answers, options, where)
    return Row(fields.text("id"), fields.text("context", empty=False), fields.text("input"), answers, options)


def _lettered(answers: tuple[str, ...], options: tuple[str, ...], where: str) -> tuple[str, ...]:
    """The right option and its letter."""
    if answers[0] in options:
        return answers[0], LETTERS[options.index(answers[0])]
    if answers[0] in tuple(LETTERS[: len(options)]):
        return options[LETTERS.index(answers[0])], answers[0]
    raise ValueError(f"{where}: answer {answers[0][:40]!r} is none of {len(options)} options; give the option's text")
