"""Answers to a benchmark's prompts, written one by one: a run that is killed goes on where it was."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from ... import runtime, store
from ..chunks import Options, chunk_size
from ..generate import decode
from ..hf import HuggingFace
from . import metrics, plan
from .methods import METHODS, SEED, Settings
from .prompts import Wording
from .task import Row, Task

VERSION = 1  # raise it when the same model would answer the same prompts otherwise
Tasks = Mapping[str, tuple[Task, Sequence[Row]]]  # with their prompts, by name


@dataclass(frozen=True)
class Wanted:
    """One answer: what is asked, how it is read, and the file that holds it."""

    task: Task
    method: str
    row: Row
    options: Options
    text: str
    question: str
    path: Path


def spread(rows: Sequence[Row], samples: int | None) -> list[Row]:
    """So many rows, evenly over the file: R.PK and its like are sorted by depth. All where there are no more."""
    if samples is None or samples >= len(rows):
        return list(rows)
    return [rows[index * len(rows) // samples] for index in range(samples)]


def check_room(tasks: Tasks, names: Sequence[str], settings: Settings, wording: Wording) -> None:
    """ValueError where a question leaves no room in a method's window; asked of all before the first is answered."""
    for task, _, row, options, _, question in _each(tasks, names, settings, wording):
        if options.window is not None:
            try:
                chunk_size(options.window, len(wording.tokens(question)), options)
            except ValueError as error:
                raise ValueError(f"{task.name}, row {row.id}: {error}") from None


def wanted(
    tasks: Tasks,
    names: Sequence[str],
    settings: Settings,
    wording: Wording,
    model: str,
    folder: Path,
) -> list[Wanted]:
    """Every answer, and the file that holds it, which the whole of what it depends on names. `model`: its identity."""
    found = []
    for task, name, row, options, text, question in _each(tasks, names, settings, wording):
        plain = {
            each.name: getattr(options, each.name)
            for each in fields(options)
            if each.name not in ("choose", "calibration", "at_once")
        }
        how = METHODS[name].chooses, METHODS[name].cut, repr(options.calibration)
        key = store.key(VERSION, model, name, plain, how, SEED, row.id, text, question)
        found.append(Wanted(task, name, row, options, text, question, folder / task.name / name / f"{key}.json"))
    return found


def answer(model: PreTrainedModel, wording: Wording, each: Wanted) -> dict[str, Any]:
    """Read the text and decode greedily, up to a token that ends the text or the model's turn."""
    reader = HuggingFace(model)
    text, question = wording.tokens(each.text), wording.tokens(each.question)
    began = time.monotonic()
    beat = _beat(f"{each.task.name} {each.row.id}")
    session = METHODS[each.method].open(reader, text, question, each.options, beat)
    tokens = decode(session, question, each.task.answer, stop=ends(model, wording.tokenizer))
    return {
        "id": each.row.id,
        "answer": wording.tokenizer.decode(tokens, skip_special_tokens=True),
        "tokens": len(text) + len(question),
        "question": len(question),
        "chunks": len(session.spans),
        "kept": list(session.kept),
        "entries": session.entries,
        "seconds": round(time.monotonic() - began, 3),
    }


def ends(model: PreTrainedModel, tokenizer: Any) -> set[int]:
    """Tokens that end an answer: the tokenizer's, and those that the model's own settings name."""
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    listed = named if isinstance(named, list) else [named]
    return {token for token in [*listed, getattr(tokenizer, "eos_token_id", None)] if token is not None}


def _each(
    tasks: Tasks, names: Sequence[str], settings: Settings, wording: Wording
) -> Iterator[tuple[Task, str, Row, Options, str, str]]:
    """Task, method, row, options, text and question of every answer, in the order in which they are made."""
    for task, rows in tasks.values():
        for row in rows:
            text, question = wording.written(task, row)
            for name in names:
                yield task, name, row, METHODS[name].options(task, settings, wording.bos, row), text, question


def run(model: PreTrainedModel, wording: Wording, asked: Sequence[Wanted]) -> list[dict[str, Any]]:
    """One record of each answer with its score; what is on the disk is read, the rest is made and written."""
    missing = [each for each in asked if not each.path.exists()]
    runtime.say(f"[benchmarks] {len(asked) - len(missing)} of {len(asked)} answers are there")
    for each in runtime.progress(missing, "benchmarks"):
        store.kept_json(each.path, lambda each=each: answer(model, wording, each))
    shape = plan.Shape.of(model.config)
    return [
        record(each, store.kept_json(each.path, lambda each=each: answer(model, wording, each)), shape)
        for each in asked
    ]


def record(each: Wanted, made: Mapping[str, Any], shape: plan.Shape) -> dict[str, Any]:
    """An answer with its task, method and score, and the FLOPs of reading (`plan`)."""
    score = metrics.score(each.task.metric, each.task.counted(made["answer"]), each.row.answers, each.row.options)
    question = made["question"]
    read = plan.cost(shape, METHODS[each.method], each.options, made["tokens"] - question, question, 2).prefill
    return {"task": each.task.name, "method": each.method, "score": round(score, 6), "flops": read, **made}


def _beat(label: str) -> Callable[[int, int], None]:
    """A line every 15 seconds while one text is read."""
    last = time.monotonic()

    def told(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= runtime.HEARTBEAT_SECONDS:
            last = time.monotonic()
            runtime.say(f"[{label}] {done} of {total} parts")

    return told
