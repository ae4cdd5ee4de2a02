"""Ablations of BAM on the plain passkey task: what the prior starts from and trains, readings, lengths, sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from pydantic import Field

from ..config import Encodings, Evaluation, Extension, Frozen, Length, Profile, Seeds, Size
from ..positions.encodings import encoding
from ..training.runs import RunSpec
from .answers import Answers, MisreadAnswers
from .arms import OURS, Corpus, corpus, extended, language_run, passkey_run, resized, stretched, trained
from .documents import asked_of, read_all, told
from .experiment import Asked, Experiment, Question, Reading
from .grid import Job, Rows, gather, run_all
from .heads import PROMPTS, heads_and_maps

ROTATION, INTERPOLATED = "rope", "rope-pi-4"
PRIORS = ("start", "subset", "sign", "scaling", "version")  # studies of the prior: encodings of the profile's size
TRAINING = ("length", "size", "interpolation")  # studies of how a model is trained
EXTENDED = "extended"
HEADS = [
    "encoding",
    "seed",
    "layer",
    "head",
    "theta_alpha",
    "beta",
    "mu",
    "scale",
    "passkey_mass",
    "passkey_lift",
    "recent_mass",
    "entropy",
    "run",
]
HEAD_MAPS = Question("heads")


class Settings(Frozen):
    """Ablations of BAM on the plain passkey task: model, recipe and lengths are those of the section `passkey`.

    The first six are encodings by study; `misread` are read by another formula once more, and `language` also learn
    the language task. An encoding that the section `passkey` has too is trained and asked only once.
    """

    start: Encodings
    subset: Encodings
    sign: Encodings
    scaling: Encodings
    version: Encodings
    misread: Encodings
    language: Encodings
    length: Encodings = Field(description="encodings that are trained at several lengths")
    multiples: tuple[Length, ...] = Field(description="of the training length, with as many texts a step")
    sizes: tuple[Size, ...]
    size_seeds: Seeds = Field(description="of the sizes that the section `passkey` does not train")
    extension: Extension = Field(description="of every size")
    interpolation: Extension = Field(description="of RoPE with position interpolation, and without")
    far: Evaluation = Field(description="of the studies of length and size, beyond the passkeys' lengths")
    give_up: int = Field(ge=0, description="as in `Evaluation`")


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
    tables: dict[RunSpec, Rows] = {}
    for later in (False, True):  # what starts from another run comes after it
        chosen = [spec for spec in by_run if (spec.start is not None) == later]
        order = sorted(chosen, key=_cost, reverse=True)
        jobs = [Job(spec.name, answer, (tuple(by_run[spec]), str(runs), profile.device)) for spec in order]
        found = run_all(jobs, profile.workers, profile.threads, "ablations")
        tables |= dict(zip(order, found, strict=True))
    frame = pd.DataFrame([row for spec in by_run for row in tables[spec]])
    return frame.sort_values("study", key=lambda column: column.map(studies.index), kind="stable", ignore_index=True)


def answer(chosen: Sequence[Arm], runs: str, device: str) -> Rows:
    """Arms of one run: train it if it is not in the store, then answer what has not been answered yet."""
    spec = chosen[0].spec
    run, record = trained(spec, runs, device)
    rows = []
    for arm in chosen:
        answers = (MisreadAnswers if arm.misread else Answers)(run, arm.encoding, "plain")
        about = {"study": arm.study, "arm": arm.name, "encoding": arm.encoding, "seed": spec.seed}
        about |= {"trained": spec.recipe.length, "started": spec.start.recipe.length if spec.start else 0}
        about |= {"width": spec.model.width, "layers": spec.model.layers}
        about |= {"parameters": record["parameters"]["transformer"]}
        missed = 0
        for wanted, length in ((each, length) for each in arm.evaluations for length in each.lengths):
            asked = not 0 < wanted.give_up <= missed
            correct = sum(row["correct"] for row in answers(length, wanted.samples)) if asked else 0
            missed = 0 if correct else missed + 1
            found = {"length": length, "correct": correct, "samples": wanted.samples, "asked": int(asked)}
            rows.append(about | found | {"run": record["key"]})
    return rows


def naming(profile: Profile, _: Corpus | None = None) -> dict[RunSpec, str]:
    """What the passkey experiment trains, or could train, has the name that it has there; what else is trained is
    called ablations/<study>/<arm>/<seed>, after the first arm that it is in."""
    found: dict[RunSpec, str] = {}
    for arm in arms(profile, (*PRIORS, *TRAINING)):
        usual = arm.spec == passkey_run(profile, arm.spec.model.encoding, arm.spec.seed)
        found.setdefault(arm.spec, arm.spec.name if usual else f"ablations/{arm.study}/{arm.name}/{arm.spec.seed}")
    return found


def asked(profile: Profile, _: Corpus | None = None, studies: Iterable[str] = (*PRIORS, *TRAINING)) -> Asked:
    made: Asked = {}
    for arm in arms(profile, studies):
        made.setdefault(arm.spec, []).extend(
            Reading(arm.encoding, length, each.samples) for each in arm.evaluations for length in each.lengths
        )
    return made


def heads(profile: Profile, runs: Path) -> pd.DataFrame:
    """Priors and attention of every head of the BAM arms in two studies, as in `heads.heads_and_maps`."""
    chosen: dict[tuple[str, RunSpec], Arm] = {}
    for arm in arms(profile, ("subset", "sign")):
        if encoding(arm.encoding).base == "bam":
            chosen.setdefault((arm.encoding, arm.spec), arm)
    jobs = [Job(arm.spec.name, examine, (arm, str(runs), profile.device)) for arm in chosen.values()]
    return gather(jobs, profile, "heads").reindex(columns=HEADS)


def examine(arm: Arm, runs: str, device: str) -> Rows:
    """The heads of one trained model, kept beside it in the store."""
    run, record = trained(arm.spec, runs, device)

    def measure() -> Rows:
        model = run.model()
        rows, _ = heads_and_maps(model, arm.spec.seed)
        for row in rows:
            mu = model.blocks[row["layer"]].attention.prior.mu.detach()
            row |= {"encoding": arm.encoding, "mu": round(float(mu[row["head"]]), 6), "run": record["key"]}
        return rows

    return HEAD_MAPS.put(run, PROMPTS, measure)


def language(profile: Profile, found: Corpus) -> dict[RunSpec, list[str]]:
    """The language models of the section's `language`. What the language experiment trains too has all of its seeds."""
    return {
        language_run(profile, name, seed, *found): [name]
        for name in profile.ablations.language
        for seed in (profile.seeds_for(name) if name in profile.language.encodings else profile.seeds)
    }


def losses(profile: Profile, runs: Path, cache: Path) -> pd.DataFrame:
    """Losses on long documents as in `documents.told`."""
    found = corpus(profile, cache)
    frame = read_all(language(profile, found), runs, profile, "language models of ablations")
    return told(frame, profile, *found, trained=profile.language.recipe.length)


def _cost(spec: RunSpec) -> tuple[int, str]:
    steps = spec.recipe.steps * spec.recipe.batch * spec.recipe.length
    return steps * spec.model.layers * spec.model.width + spec.recipe.length, spec.name


def _near(profile: Profile) -> Evaluation:
    return profile.passkey.evaluation.model_copy(update={"give_up": profile.ablations.give_up})


def _encodings(profile: Profile, study: str) -> list[Arm]:
    named = [(name, name, False) for name in getattr(profile.ablations, study)]
    if study == "version":
        named += [(f"{name}-misread", name, True) for name in profile.ablations.misread]
    return [
        Arm(study, arm, name, passkey_run(profile, name, seed), (_near(profile),), misread)
        for arm, name, misread in named
        for seed in seeds(profile, name)
    ]


def _lengths(profile: Profile) -> list[Arm]:
    settings, made = profile.ablations, []
    for name in settings.length:
        for multiple in settings.multiples:
            for seed in seeds(profile, name) if multiple == 1 else profile.seeds:
                spec = passkey_run(profile, name, seed)
                spec = spec.model_copy(update={"recipe": stretched(spec.recipe, multiple)})
                made.append(Arm("length", f"{name}-{multiple}T", name, spec, (_near(profile), settings.far)))
    return made


def _sizes(profile: Profile) -> list[Arm]:
    settings, made = profile.ablations, []
    for size in settings.sizes:
        name = f"{size.width}x{size.layers}"
        for seed in seeds(profile, OURS) if size == profile.passkey.size else settings.size_seeds:
            spec = passkey_run(profile, OURS, seed)
            spec = resized(spec, size)
            made.append(Arm("size", name, OURS, spec, (_near(profile), settings.far)))
            tuned = extended(spec, settings.extension)
            made.append(Arm("size", f"{name}-{EXTENDED}", OURS, tuned, (_near(profile), settings.far)))
    return made


def _interpolated(profile: Profile) -> list[Arm]:
    made = []
    for seed in seeds(profile, ROTATION):
        spec = passkey_run(profile, ROTATION, seed)
        made += [Arm("interpolation", name, name, spec, (_near(profile),)) for name in (ROTATION, INTERPOLATED)]
        for name in (ROTATION, INTERPOLATED):
            tuned = extended(spec, profile.ablations.interpolation, name)
            made.append(Arm("interpolation", f"{name}-{EXTENDED}", name, tuned, (_near(profile),)))
    return made


_STUDIES = {
    **{study: partial(_encodings, study=study) for study in PRIORS},
    "length": _lengths,
    "size": _sizes,
    "interpolation": _interpolated,
}


PRIOR = Experiment(
    name="prior_ablations",
    sections=("ablations", "passkey"),
    asked=partial(asked, studies=PRIORS),
    measure=lambda profile, runs, cache: {
        "ablation_priors": counts(profile, runs, PRIORS),
        "ablation_heads": heads(profile, runs),
    },
    frames=("ablation_priors", "ablation_heads"),
)
TRAINED = Experiment(
    name="training_ablations",
    sections=("ablations", "passkey"),
    naming=naming,
    asked=partial(asked, studies=TRAINING),
    measure=lambda profile, runs, cache: {"ablation_training": counts(profile, runs, TRAINING)},
    frames=("ablation_training",),
)
LANGUAGE = Experiment(
    name="language_ablations",
    sections=("ablations", "language"),
    asked=lambda profile, found: asked_of(profile, language(profile, found)),
    measure=lambda profile, runs, cache: {"ablation_language": losses(profile, runs, cache)},
    frames=("ablation_language",),
)
