"""Ablations of BAM on the plain passkey task: what the prior starts from and trains, readings, lengths, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from .. import runtime, store
from ..config import Evaluation, Extension, Profile, Recipe
from ..model import Transformer
from ..positions.priors import GeneralizedGaussian
from ..positions.variants import Misread
from ..text import packing
from ..training import Run, RunSpec
from . import benchmark, languages, learned, passkeys, readings
from .grid import Job, run_all

OURS, ROTATION, INTERPOLATED = "bam-ssmax", "rope", "rope-pi-4"
PRIORS = ("start", "subset", "sign", "scaling", "version")  # studies of the prior: encodings of the profile's size
TRAINING = ("length", "size", "interpolation")  # studies of how a model is trained
EXTENDED = "extended"
HEADS = ["encoding", "seed", "layer", "head", "theta_alpha", "beta", "mu", "scale", "passkey_mass", "passkey_lift",
         "recent_mass", "entropy", "run"]  # fmt: skip


@dataclass(frozen=True)
class Arm:
    """One line of a study for one seed: what is trained, under which name it is read, and what it is asked."""

    study: str
    name: str  # the same for all seeds, unique within its study
    encoding: str
    spec: RunSpec
    evaluations: tuple[Evaluation, ...]
    misread: bool = False


def arms(profile: Profile, studies: Iterable[str]) -> list[Arm]:
    """Every arm of some studies, for every seed. ValueError for a study that there is not."""
    made = []
    for study in studies:
        if study not in _STUDIES:
            raise ValueError(f"unknown study {study!r}; choose among {', '.join(_STUDIES)}")
        made += _STUDIES[study](profile)
    return made


def seeds(profile: Profile, name: str) -> tuple[int, ...]:
    """Those of the profile; what the passkey experiment trains anyway has all of its seeds there."""
    return profile.seeds_for(name) if name in profile.passkey.encodings else profile.seeds


def counts(profile: Profile, runs: Path, studies: Sequence[str]) -> pd.DataFrame:
    """Train what is missing, then answer prompts: a row per arm, seed and length.

    `correct` of `samples`; `asked` is 0 where too many shorter lengths had no hit: those prompts count as missed.
    """
    by_run: dict[RunSpec, list[Arm]] = {}
    for arm in arms(profile, studies):
        by_run.setdefault(arm.spec, []).append(arm)
    tables: dict[RunSpec, list[dict[str, Any]]] = {}
    for later in (False, True):  # what starts from another run comes after it
        chosen = [spec for spec in by_run if (spec.start is not None) == later]
        order = sorted(chosen, key=_cost, reverse=True)
        jobs = [Job(spec.name, answer, (tuple(by_run[spec]), str(runs), profile.device)) for spec in order]
        found = run_all(jobs, profile.workers, profile.threads, "ablations")
        tables |= dict(zip(order, found, strict=True))
    frame = pd.DataFrame([row for spec in by_run for row in tables[spec]])
    places = {study: place for place, study in enumerate(studies)}
    return frame.sort_values("study", key=lambda column: column.map(places), kind="stable").reset_index(drop=True)


def answer(chosen: Sequence[Arm], runs: str, device: str) -> list[dict[str, Any]]:
    """Arms of one run: train it if it is not in the store, then answer what has not been answered yet."""
    spec = chosen[0].spec
    run = Run(spec, runs, runtime.device(device))
    record = run.train(runtime.say if runtime.headless() else None)
    rows = []
    for arm in chosen:
        answers = (MisreadAnswers if arm.misread else passkeys.Answers)(run, arm.encoding, "plain")
        about = {
            "study": arm.study, "arm": arm.name, "encoding": arm.encoding, "seed": spec.seed,
            "trained": spec.recipe.length, "started": spec.start.recipe.length if spec.start else 0,
            "width": spec.model.width, "layers": spec.model.layers, "parameters": record["parameters"]["transformer"],
        }  # fmt: skip
        missed = 0
        for wanted, length in ((each, length) for each in arm.evaluations for length in each.lengths):
            asked = not 0 < wanted.give_up <= missed
            correct = sum(row["correct"] for row in answers(length, wanted.samples)) if asked else 0
            missed = 0 if correct else missed + 1
            rows.append(about | {"length": length, "correct": correct, "samples": wanted.samples, "asked": int(asked),
                                 "run": record["key"]})  # fmt: skip
    return rows


class MisreadAnswers(passkeys.Answers):
    """The answers of a model whose priors are evaluated by the formula of `variants.Misread`."""

    def __init__(self, run: Run, name: str, form: str) -> None:
        super().__init__(run, name, form)
        self.code = (*self.code, "misread", store.fingerprint(misread, Misread))

    def _open(self) -> Transformer:
        return misread(super()._open())


def misread(model: Transformer) -> Transformer:
    """The model with every prior of the generalised Gaussian replaced by `Misread`, in place."""
    for block in model.blocks:
        if isinstance(block.attention.prior, GeneralizedGaussian):
            block.attention.prior = Misread(block.attention.prior)
    return model


def longer(recipe: Recipe, multiple: int) -> Recipe:
    """The recipe at `multiple` times the length, with as many tokens a step. ValueError where texts do not divide."""
    if recipe.batch % (multiple * recipe.accumulate):
        raise ValueError(
            f"batch = {recipe.batch} in {recipe.accumulate} parts cannot be {multiple} times fewer and longer texts; "
            f"use a multiple of {multiple * recipe.accumulate}"
        )
    return recipe.model_copy(update={"length": multiple * recipe.length, "batch": recipe.batch // multiple})


def extended(spec: RunSpec, extension: Extension, name: str | None = None) -> RunSpec:
    """A short training from the weights of `spec` on longer texts, as the encoding `name` (default: its own)."""
    recipe = longer(spec.recipe, extension.factor).model_copy(
        update={"steps": extension.steps, "warmup": extension.warmup, "rate": extension.rate * spec.recipe.rate,
                "target": None, "cooldown": 0}
    )  # fmt: skip
    model = spec.model.model_copy(update={"encoding": name or spec.model.encoding})
    return spec.model_copy(update={"model": model, "recipe": recipe, "start": spec})


def plan(profile: Profile, studies: Iterable[str] = (*PRIORS, *TRAINING)) -> dict[str, RunSpec]:
    """The runs of some studies that no other experiment has, by name: ablations/<study>/<arm>/<seed>."""
    known, named = {*passkeys.plan(profile), *benchmark.plan(profile)}, {}
    for arm in arms(profile, studies):
        if arm.spec not in known:
            known.add(arm.spec)
            named[f"ablations/{arm.study}/{arm.name}/{arm.spec.seed}"] = arm.spec
    return named


def heads(profile: Profile, runs: Path) -> pd.DataFrame:
    """Priors and attention of every head of the BAM arms in two studies, as in `learned.heads_and_maps`."""
    chosen: dict[tuple[str, RunSpec], Arm] = {}
    for arm in arms(profile, ("subset", "sign")):
        if arm.encoding.startswith("bam"):
            chosen.setdefault((arm.encoding, arm.spec), arm)
    jobs = [Job(arm.spec.name, examine, (arm, str(runs), profile.device)) for arm in chosen.values()]
    found = run_all(jobs, profile.workers, profile.threads, "heads")
    return pd.DataFrame([row for rows in found for row in rows], columns=HEADS)


def examine(arm: Arm, runs: str, device: str) -> list[dict[str, Any]]:
    """The heads of one trained model, kept beside it in the store."""
    run = Run(arm.spec, runs, runtime.device(device))
    key = run.train()["key"]
    path = run.path / f"heads-{store.key(learned.PROMPTS, store.fingerprint(learned.heads_and_maps))}.json"

    def measure() -> list[dict[str, Any]]:
        model = run.model()
        rows, _ = learned.heads_and_maps(model, arm.spec.seed)
        for row in rows:
            mu = model.blocks[row["layer"]].attention.prior.mu.detach()
            row |= {"encoding": arm.encoding, "mu": round(float(mu[row["head"]]), 6), "run": key}
        return rows

    return store.kept_json(path, measure)


def language(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Losses on long documents as in `languages.losses`, for the profile's language arms."""
    chosen = _language(profile, *languages.corpus(profile, cache))
    jobs = [Job(spec.name, languages.train_and_read, (spec, str(runs), profile, (name,))) for spec, name in chosen]
    tables = run_all(jobs, profile.workers, profile.threads, "language models of ablations")
    return pd.DataFrame([row for table in tables for row in table])


def language_plan(profile: Profile, packed: packing.PackedCorpus, path: Path) -> dict[str, RunSpec]:
    """The language runs that no other experiment has, by name: ablations/language/<encoding>/<seed>."""
    known = {*languages.plan(profile, packed, path), *readings.plan(profile, packed, path)}
    chosen = [(spec, name) for spec, name in _language(profile, packed, path) if spec not in known]
    return {f"ablations/language/{name}/{spec.seed}": spec for spec, name in chosen}


def _language(profile: Profile, packed: packing.PackedCorpus, path: Path) -> list[tuple[RunSpec, str]]:
    known = profile.language.encodings
    return [
        (languages.spec(profile, name, seed, packed, path), name)
        for name in profile.ablations.language
        for seed in (profile.seeds_for(name) if name in known else profile.seeds)
    ]


def _cost(spec: RunSpec) -> tuple[int, str]:
    steps = spec.recipe.steps * spec.recipe.batch * spec.recipe.length
    return steps * spec.model.layers * spec.model.width + spec.recipe.length, spec.name


def _near(profile: Profile) -> Evaluation:
    return profile.passkey.evaluation.model_copy(update={"give_up": profile.ablations.give_up})


def _encodings(profile: Profile, study: str) -> list[Arm]:
    return [
        Arm(study, name, name, passkeys.spec(profile, name, seed), (_near(profile),))
        for name in getattr(profile.ablations, study)
        for seed in seeds(profile, name)
    ]


def _versions(profile: Profile) -> list[Arm]:
    read_again = [
        Arm("version", f"{name}-misread", name, passkeys.spec(profile, name, seed), (_near(profile),), misread=True)
        for name in profile.ablations.misread
        for seed in seeds(profile, name)
    ]
    return _encodings(profile, "version") + read_again


def _lengths(profile: Profile) -> list[Arm]:
    settings, made = profile.ablations, []
    for name in settings.length:
        for multiple in settings.multiples:
            for seed in seeds(profile, name) if multiple == 1 else profile.seeds:
                spec = passkeys.spec(profile, name, seed)
                recipe = spec.recipe.model_copy(update={"length": multiple * spec.recipe.length})
                spec = spec.model_copy(update={"recipe": recipe})
                made.append(Arm("length", f"{name}-{multiple}T", name, spec, (_near(profile), settings.far)))
    return made


def _sizes(profile: Profile) -> list[Arm]:
    settings, made = profile.ablations, []
    for size in settings.sizes:
        name = f"{size.width}x{size.layers}"
        for seed in seeds(profile, OURS) if size == profile.passkey.size else profile.seeds:
            spec = passkeys.spec(profile, OURS, seed)
            spec = spec.model_copy(update={"model": spec.model.model_copy(update=size.model_dump())})
            made.append(Arm("size", name, OURS, spec, (_near(profile), settings.far)))
            tuned = extended(spec, settings.extension)
            made.append(Arm("size", f"{name}-{EXTENDED}", OURS, tuned, (_near(profile), settings.far)))
    return made


def _interpolated(profile: Profile) -> list[Arm]:
    made = []
    for seed in seeds(profile, ROTATION):
        spec = passkeys.spec(profile, ROTATION, seed)
        made += [Arm("interpolation", name, name, spec, (_near(profile),)) for name in (ROTATION, INTERPOLATED)]
        for name in (ROTATION, INTERPOLATED):
            tuned = extended(spec, profile.ablations.interpolation, name)
            made.append(Arm("interpolation", f"{name}-{EXTENDED}", name, tuned, (_near(profile),)))
    return made


_STUDIES = {
    **{study: partial(_encodings, study=study) for study in PRIORS if study != "version"},
    "version": _versions,
    "length": _lengths,
    "size": _sizes,
    "interpolation": _interpolated,
}
