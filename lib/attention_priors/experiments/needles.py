"""RULER's needle tasks for every encoding of a profile: lessons, answers at growing lengths, averages over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
import torch
from pydantic import AfterValidator, Field, model_validator

from .. import runtime
from ..config import Encodings, Evaluation, Frozen, ModelConfig, Profile, Recipe, Size
from ..corpora import packing
from ..evaluation import TOKENS_AT_ONCE, reader
from ..model import Transformer
from ..positions.encodings import encoding
from ..tasks import needles
from ..tasks.needle_batches import ingredients, read
from ..tasks.needle_reading import reading
from ..tasks.needle_source import Source
from ..tasks.needle_text import TASKS, Retrieval, find
from ..tasks.needle_tokens import fewest
from ..training.runs import Run, RunSpec
from .arms import OURS, UNTRAINED, Corpus, corpus, trained, untrained
from .experiment import Asked, Experiment, Question, Reading
from .gate import gated
from .grid import Job, Rows, gather
from .seeds import over_seeds, score_interval, spread

CONTROL = OURS  # the encoding of the untrained control
NEEDLES = tuple(name for name, task in TASKS.items() if isinstance(task, Retrieval))  # RULER's eight, without tracking
ENOUGH = 4  # encodings that learned a task, ours: of fewer, it says nothing about encodings
ANSWERS = Question("needles")


def _known(task: str) -> str:
    if task not in TASKS:
        find(task)  # names the nearest
        raise ValueError(f"{task!r} is a lesson, which nobody is asked; choose from {', '.join(TASKS)}")
    return task


def _holds(name: str, length: int, tasks: Sequence[str]) -> None:
    """ValueError where a model that reads `length` tokens cannot have read a whole prompt of each task."""
    needy = max(tasks, key=fewest)
    if length + 1 < fewest(needy):
        raise ValueError(
            f"{name} = {length}, but the task {needy!r} takes at least {fewest(needy) - 1} tokens; "
            "use a longer one, or leave the task out"
        )


class Lesson(Frozen):
    """A stage of training: a recipe, and the weight of each task in its batches."""

    recipe: Recipe
    mixture: dict[str, int]

    @model_validator(mode="after")
    def _drawn(self) -> Self:
        if not self.mixture or min(self.mixture.values()) < 1:
            raise ValueError(f"mixture = {self.mixture}; give at least one task, each with a weight of 1 or more")
        recipe, tasks = self.recipe, tuple(map(str, self.mixture))
        _holds("recipe.length", recipe.length, tasks)
        if recipe.varied is not None:
            _holds("recipe.varied.shortest", recipe.varied.shortest, tasks)
        for length in recipe.gate.lengths if recipe.gate is not None else ():
            _holds("recipe.gate.lengths", length, tasks)
        return self


class Settings(Frozen):
    """RULER's needle tasks: prose from the corpus of `language`, lessons that go on where the last one ended.

    The training length is that of the last lesson. Models are asked `tasks`, which the last lesson has to teach.
    """

    vocabulary: int = Field(ge=2, description="words of the tokenizer")
    size: Size
    lessons: tuple[Lesson, ...] = Field(min_length=1)
    tasks: tuple[Annotated[str, AfterValidator(_known)], ...] = Field(min_length=1)
    encodings: Encodings
    evaluation: Evaluation

    @property
    def recipe(self) -> Recipe:
        """That of the last lesson."""
        return self.lessons[-1].recipe

    @model_validator(mode="after")
    def _taught(self) -> Self:
        taught, lengths = self.lessons[-1], self.evaluation.lengths
        if missing := [task for task in self.tasks if task not in taught.mixture]:
            raise ValueError(f"tasks: {missing[0]!r} is not in the last lesson's mixture; add it there")
        if min(lengths) > taught.recipe.length:
            raise ValueError(
                f"evaluation.lengths begin at {min(lengths)}, beyond the training length "
                f"{taught.recipe.length}; ask up to it too, or the gate is unknown"
            )
        _holds("evaluation.lengths", min(lengths), self.tasks)
        return self


def spec(profile: Profile, name: str, seed: int, packed: packing.PackedCorpus, path: Path) -> RunSpec:
    """The training run behind an encoding, with the lessons that it starts from (RoPE Local uses RoPE's weights)."""
    settings = profile.needles
    size = settings.size.model_dump()
    model = ModelConfig(vocabulary=settings.vocabulary, encoding=encoding(name).trained_as or name, **size)
    made = None
    for lesson in settings.lessons:
        stage = "needles" if lesson is settings.lessons[-1] else "needles-lesson"
        tasks = tuple(task for task, weight in lesson.mixture.items() for _ in range(weight))
        made = RunSpec(
            task=stage,
            model=model,
            recipe=lesson.recipe,
            seed=seed,
            inputs=(ingredients(packed.meta["tokens_sha256"], tasks), *tasks),
            corpus=str(path),
            start=made,
        )
    return made


def wanted(profile: Profile, found: Corpus) -> dict[RunSpec, list[str]]:
    """Every training run, with the names under which its model is evaluated. All have the profile's seeds."""
    made: dict[RunSpec, list[str]] = {}
    for name in profile.needles.encodings:
        for seed in profile.seeds:
            made.setdefault(spec(profile, name, seed, *found), []).append(name)
    return made


def asked(profile: Profile, found: Corpus) -> Asked:
    each, tasks = profile.needles.evaluation, profile.needles.tasks
    return {
        run: [Reading(name, length, each.samples * len(tasks)) for name in names for length in each.lengths]
        for run, names in wanted(profile, found).items()
    }


def answers(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Train what is missing, then ask: right answers per task, encoding, seed and length, an untrained control last.

    At a given seed all encodings are asked the same prompts. A model without a hit at `give_up` lengths in a row is not
    asked at longer ones: `asked` is False there, and `right` 0; the control is asked at all lengths up to T. `steps`
    are those of all lessons. ValueError where some model's answers are missing.
    """
    found = corpus(profile, cache)
    every = wanted(profile, found)
    order = sorted(every, key=lambda run: -len(every[run]))  # the longest jobs first
    jobs = [Job(run.name, train_and_answer, (run, str(runs), profile, tuple(every[run]))) for run in order]
    for seed in profile.seeds:
        control = spec(profile, CONTROL, seed, *found)
        jobs.append(Job(f"{UNTRAINED}/{seed}", _untrained, (control, profile)))
    frame = gather(jobs, profile, "needles")
    missing = {(name, run.seed) for run, names in every.items() for name in names}
    missing -= set(zip(frame["encoding"], frame["seed"], strict=True))
    if missing:
        raise ValueError(f"no answers of {sorted(missing)}; needles leave no encoding and no seed out")
    order, by = (*TASKS, *profile.needles.encodings, UNTRAINED), ["task", "encoding", "seed", "length"]
    frame = frame.assign(trained=profile.needles.recipe.length)
    return frame.sort_values(
        by, key=lambda column: column.map(order.index) if column.name in by[:2] else column, ignore_index=True
    )


def train_and_answer(run_spec: RunSpec, runs: str, profile: Profile, names: tuple[str, ...]) -> Rows:
    """One model, trained and asked where the store lacks it."""
    run, record = trained(run_spec, runs, profile.device)
    steps, lesson, rows = record["steps"], run_spec.start, []
    while lesson is not None:
        steps += Run(lesson, runs, runtime.device(profile.device)).record()["steps"]
        lesson = lesson.start
    for name in names:
        local, told = run_spec.recipe.length if encoding(name).local else None, {"steps": steps, "run": record["key"]}
        rows += [{"encoding": name, **row, **told} for row in _table(Answers(run_spec, run, local), profile)]
    return rows


class Answers:
    """The answers of a finished run's model, each kept beside the run; where there is none, of an untrained model."""

    def __init__(self, spec: RunSpec, run: Run | None = None, local: int | None = None) -> None:
        self.spec, self.run, self.local, self.seed = spec, run, local, spec.seed
        self.prompts = ingredients("", tuple(TASKS))

    @cached_property
    def model(self) -> Transformer:
        return self.run.model() if self.run else untrained(self.spec)

    def __call__(self, task: str, length: int, samples: int) -> int:
        """What `answered` returns."""

        def measure() -> int:
            source, _ = read(self.spec.corpus, self.spec.model.vocabulary)
            return answered(self.model, task, length, samples, self.seed, source, self.local)

        if self.run is None:
            return measure()
        return ANSWERS.put(self.run, (task, length, samples, self.local, self.prompts), measure)


def _table(ask: Any, profile: Profile, always: int = 0) -> Rows:
    """The rows of one model; `ask` is called as `Answers` are. Up to `always` tokens nothing is given up."""
    asked, rows = profile.needles.evaluation, []
    for task in profile.needles.tasks:
        missed = 0
        for length in asked.lengths:
            given_up = 0 < asked.give_up <= missed and length > always
            right = 0 if given_up else ask(task, length, asked.samples)
            missed = 0 if right else missed + 1
            about = {"task": task, "seed": ask.seed, "length": length, "right": right}
            rows.append(about | {"required": required(task), "samples": asked.samples, "asked": not given_up})
    return rows


def required(task: str) -> int:
    """How many answers a prompt of the task requires."""
    row = needles.find(task)
    return row.queries * row.values if isinstance(row, Retrieval) else row.hops + 1


def drawn(task: str, length: int, samples: int, seed: int, source: Source) -> needles.Prompts:
    """Prompts of which a model reads `length` tokens; they depend on (seed, task, length) and on the prose alone."""
    return needles.prompts(task, length + 1, samples, runtime.generator(seed, f"prompts/{task}/{length}"), source)


@torch.inference_mode()
def answered(
    model: Transformer, task: str, length: int, samples: int, seed: int, source: Source, local: int | None = None
) -> int:
    """How many required answers are right, each of their tokens predicted from the true ones before it.

    Where all answers are right, greedy decoding gives the same ones; after a wrong one it reads other tokens.
    """
    prompts = drawn(task, length, samples, seed, source)
    device = next(model.parameters()).device
    parts = prompts.tokens[:, :-1].split(max(1, TOKENS_AT_ONCE // length))
    how = {"last": prompts.longest, "local": local, "backend": reader(model)}
    guesses = [model(part.to(device), **how).argmax(-1).cpu() for part in parts]
    return int(needles.matches(torch.cat(guesses), prompts).sum())


def _untrained(run_spec: RunSpec, profile: Profile) -> Rows:
    told = {"steps": 0, "run": UNTRAINED}
    rows = _table(Answers(run_spec), profile, always=run_spec.recipe.length)
    return [{"encoding": UNTRAINED, **row, **told} for row in rows]


def readings(profile: Profile, cache: Path) -> pd.DataFrame:
    """What `needle_reading.reading` finds in prompts of RULER's eight tasks: a row per prompt, of the first seed.

    At every evaluated length that holds the task; where it is asked, these are the prompts that are asked.
    """
    _, path = corpus(profile, cache)
    source, words = read(str(path), profile.needles.vocabulary)
    asked, rows = profile.needles.evaluation, []
    for task, length in ((task, length) for task in NEEDLES for length in asked.lengths if length >= fewest(task)):
        for tokens in drawn(task, length, asked.samples, profile.seeds[0], source).tokens:
            found = reading(words.decode(tokens.tolist()))
            rows.append({"task": task, "seed": profile.seeds[0], "length": length, **found})
    return pd.DataFrame(rows)


def score(frame: pd.DataFrame) -> pd.Series:
    """RULER's score of each row: right answers over required ones."""
    return frame["right"] / (frame["required"] * frame["samples"])


def gates(frame: pd.DataFrame) -> pd.DataFrame:
    """Per task, encoding and seed: who learned the task (`gate.gated`), pooled and worst score up to T, and steps.

    The untrained control is left out.
    """
    trained = frame[frame["encoding"] != UNTRAINED].assign(form=frame["task"], correct=frame["right"])
    return gated(trained.assign(samples=trained["samples"] * trained["required"])).rename(columns={"form": "task"})


def scores(frame: pd.DataFrame) -> pd.DataFrame:
    """Per task, encoding and length: mean score over seeds with `score_interval`, and how it was obtained.

    `asked` is the number of seeds that were asked (the others count as 0), `passed` of those that learned the task
    (`gates`). Where none was asked: no interval.
    """
    counts = gates(frame).groupby(["task", "encoding"])["passed"].sum()

    def say(group: pd.DataFrame) -> dict:
        values, asked = score(group), int(group["asked"].sum())
        interval = score_interval(values, group["samples"]) if asked else (np.nan, np.nan)
        passed = int(counts.get((group["task"].iloc[0], group["encoding"].iloc[0]), 0))
        return {
            "trained": int(group["trained"].iloc[0]),
            "seeds": len(group),
            "asked": asked,
            "passed": passed,
            "samples": int(group["samples"].iloc[0]),
            **spread(values, interval),
        }

    return over_seeds(frame, ("task", "encoding", "length"), say)


def able(gates: pd.DataFrame) -> list[str]:
    """The tasks that can tell encodings apart: those that at least ENOUGH of them have learned."""
    learned = gates[gates["passed"].astype(bool)].groupby("task")["encoding"].nunique()
    return [name for name in dict.fromkeys(gates["task"]) if learned.get(name, 0) >= ENOUGH]


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Per encoding, seed and length: the mean score over the needle tasks that are `able`, and the prompts behind it.

    `passed` says whether the run learned all of these tasks (`gates`). Where no task is able: over all that were asked.
    """
    found = gates(frame)
    asked = [name for name in NEEDLES if name in set(frame["task"])]
    over = [name for name in able(found) if name in asked] or asked
    passed = found[found["task"].isin(over)].groupby(["encoding", "seed"])["passed"].all()
    rows = frame[frame["task"].isin(over)].assign(score=score)
    grouped = rows.groupby(["encoding", "seed", "length"], sort=False)
    made = grouped.agg(
        score=("score", "mean"), prompts=("samples", "sum"), tasks=("task", "nunique"), trained=("trained", "first")
    ).reset_index()
    runs = zip(made["encoding"], made["seed"], strict=True)
    return made.assign(passed=[bool(passed.get(run, False)) for run in runs])


READINGS = Experiment(
    name="needle_readings",
    sections=("needles", "language"),
    measure=lambda profile, runs, cache: {"ruler_readings": readings(profile, cache)},
    frames=("ruler_readings",),
    exact=("ruler_readings",),
)
EXPERIMENT = Experiment(
    name="needles",
    sections=("needles", "language"),
    asked=asked,
    measure=lambda profile, runs, cache: {"ruler_answers": answers(profile, runs, cache)},
    frames=("ruler_answers",),
    derive={
        "ruler_gates": ("ruler_answers", gates),
        "ruler_over_seeds": ("ruler_answers", scores),
        "ruler_average": ("ruler_answers", averages),
    },
)
