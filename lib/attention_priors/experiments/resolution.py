"""Models that see, trained at one resolution and asked at others: what each way to tell places makes of a finer grid.

The same drawings are made again at every resolution, so that a finer picture has more patches and each patch shows
less of it. A model is asked twice: with places counted in patches, as shift invariance has it, and with the grid of
training stretched over the picture, as bicubic interpolation does to a table. Where there is a prior, a third time
with the prior at zero. The learned priors are written down as they are on the grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import pandas as pd
import torch
from pydantic import AfterValidator, Field, model_validator

from .. import config, runtime
from ..config import Frozen, Lengths, Profile, Recipe, Seeds, Size
from ..corpora import images
from ..positions.grids import Grid, GridFourier, grid_encoding
from ..training.vision import ImageRun, ImageSpec, VisionConfig, VisionModel
from ..training.vision.model import GridName, grid_of
from .arms import UNTRAINED, Corpus
from .experiment import Asked, Experiment, Frames, Question, Reading
from .gate import POOLED
from .grid import Job, Rows, Tables, gather_tables, per_run

COUNTED, STRETCHED, BARE = "counted in patches", "stretched", "prior at zero"  # what places are when a model is asked
PATCHES_AT_ONCE = 8192
NEAR = 2.0  # patches; what counts as local
FRAMES = ("resolution_answers", "resolution_priors")
SECTION, WRITTEN = "resolution", "digits"  # of a profile: drawings, and MNIST's digits as a check
RESOLUTION, PRIORS = Question("resolution"), Question("resolution-priors")


class Settings(Frozen):
    """Pictures, and the resolutions at which models are trained and asked. A recipe's `length` is in patches."""

    images: Annotated[str, AfterValidator(images.known)]
    classes: int = Field(ge=2)
    channels: int = Field(default=1, ge=1)
    size: Size
    recipe: Recipe
    side: int = Field(ge=1, description="pixels on a side in training")
    patch: int = Field(ge=1)
    encodings: tuple[GridName, ...] = Field(min_length=1)
    class_token: tuple[bool, ...] = Field(min_length=1, description="models with one, without, or both")
    seeds: Seeds
    sides: Lengths
    samples: int = Field(ge=1, description="held-out pictures, the same ones at every resolution")
    gate: float = Field(default=POOLED, gt=0, le=1, description="share right at `side`; a run below decides nothing")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, values in (("encodings", self.encodings), ("class_token", self.class_token)):
            if len(set(values)) < len(values):
                raise ValueError(f"{name} = {list(values)} name one twice; name each once")
        for side in self.sides:
            grid_of(side, side, self.patch)
        grid = grid_of(self.side, self.side, self.patch)
        if self.recipe.length != grid.patches:
            raise ValueError(
                f"recipe.length = {self.recipe.length}, but a picture of training has {grid.patches} "
                f"patches ({grid.height} x {grid.width}); give that"
            )
        if self.side not in self.sides:
            raise ValueError(f"sides = {list(self.sides)} lack {self.side}, at which models are trained: add it")
        return self


def spec(profile: Profile, name: str, seed: int, class_token: bool, section: str = SECTION) -> ImageSpec:
    """The run of an encoding, with a class token or without, by the settings of a section."""
    settings = getattr(profile, section)
    model = VisionConfig(
        vocabulary=settings.classes,
        channels=settings.channels,
        encoding=name,
        side=settings.side,
        patch=settings.patch,
        class_token=class_token,
        **settings.size.model_dump(),
    )
    task = f"{section}/token" if class_token else section
    return ImageSpec(task=task, model=model, recipe=settings.recipe, seed=seed, images=settings.images)


def asked(profile: Profile, _: Corpus | None = None, section: str = SECTION) -> Asked:
    settings = getattr(profile, section)
    grids = [grid_of(side, side, settings.patch) for side in settings.sides]
    return {
        spec(profile, name, seed, token, section): [
            Reading(name, grid.patches, settings.samples * len(ways(name))) for grid in grids
        ]
        for token in settings.class_token
        for name in settings.encodings
        for seed in settings.seeds
    }


def ways(name: str) -> tuple[str, ...]:
    """What places are when a model of this encoding is asked."""
    return (COUNTED, STRETCHED, BARE) if grid_encoding(name).prior else (COUNTED, STRETCHED)


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Train what is missing, then ask: right pictures by way and side, and the priors that were learned."""
    found = tables(profile, runs, SECTION)
    columns = ["encoding", "seed", "layer", "head", "down", "across", "value"]
    return dict(zip(FRAMES, (found[FRAMES[0]], found[FRAMES[1]].reindex(columns=columns)), strict=True))


def tables(profile: Profile, runs: Path, section: str) -> Frames:
    """`measure` by the settings of a section."""
    settings, specs = getattr(profile, section), list(asked(profile, section=section))
    jobs = per_run(train_and_ask, specs, runs, profile.device, settings)
    first = specs[: len(settings.seeds)]
    jobs += [Job(f"{UNTRAINED}/{each.name}", untrained, (each, settings)) for each in first]
    rows = gather_tables(jobs, profile, "resolutions")
    about = {"trained": settings.side, "images": settings.images, "classes": settings.classes, "gate": settings.gate}
    return rows | {FRAMES[0]: rows[FRAMES[0]].assign(**about)}


def train_and_ask(run_spec: ImageSpec, runs: str, device: str, settings: Settings) -> Tables:
    """One model, trained and asked where the store lacks it."""
    run = ImageRun(run_spec, runs, runtime.device(device))
    record = run.train(runtime.say if runtime.headless() else None)
    asked = settings.sides, settings.samples
    rows = RESOLUTION.put(run, asked, lambda: answers(run.model(), run_spec, settings))
    common = {"encoding": run_spec.model.encoding, "token": run_spec.model.class_token, "seed": run_spec.seed}
    told = {"steps": record["steps"], "run": record["key"]}
    found = {FRAMES[0]: [common | row | told for row in rows]}
    if run_spec.model.class_token == settings.class_token[0]:
        where = {"encoding": common["encoding"], "seed": common["seed"]}
        found[FRAMES[1]] = [where | row for row in PRIORS.put(run, None, lambda: priors(run.model()))]
    return found


def untrained(run_spec: ImageSpec, settings: Settings) -> Tables:
    """The control: a model before training."""
    torch.manual_seed(runtime.seed_for(run_spec.seed, f"init/{run_spec.model.encoding}"))
    rows = answers(VisionModel(run_spec.model).eval(), run_spec, settings)
    common = {"encoding": UNTRAINED, "token": run_spec.model.class_token, "seed": run_spec.seed}
    return {FRAMES[0]: [common | row | {"steps": 0, "run": UNTRAINED} for row in rows if row["places"] == COUNTED]}


@torch.inference_mode()
def answers(model: VisionModel, run_spec: ImageSpec, settings: Settings) -> Rows:
    """Right answers among held-out pictures by way and side; the pictures depend on the seed alone."""
    source = images.pictures(run_spec.images, config.CACHE)
    device, rows = next(model.parameters()).device, []
    for side in settings.sides:
        step = max(1, PATCHES_AT_ONCE // grid_of(side, side, settings.patch).patches)
        pictures, labels = source.test(settings.samples, side, run_spec.seed)
        for way in ways(run_spec.model.encoding):
            with at_zero(model, way == BARE):
                logits = torch.cat(
                    [model(part.to(device), stretched=way == STRETCHED)[:, 0].cpu() for part in pictures.split(step)]
                )
            right = int((logits.argmax(-1) == labels).sum())
            rows.append({"places": way, "side": side, "correct": right, "samples": settings.samples})
    return rows


@contextmanager
def at_zero(model: VisionModel, wanted: bool = True) -> Iterator[None]:
    """The model with the coefficients of its priors at zero, where `wanted`; as it was afterwards."""
    found = [module for module in model.modules() if isinstance(module, GridFourier)] if wanted else []
    kept = [{name: value.clone() for name, value in module.state_dict().items()} for module in found]
    with torch.no_grad():
        for module in found:
            for parameter in module.parameters():
                parameter.zero_()
    try:
        yield
    finally:
        for module, state in zip(found, kept, strict=True):
            module.load_state_dict(state)


@torch.no_grad()
def priors(model: VisionModel) -> Rows:
    """κ at every lag of the grid of training, by layer and head, its largest value 0; nothing without a prior."""
    down, across = (torch.arange(1 - n, n) for n in (model.config.grid.height, model.config.grid.width))
    lags = torch.cartesian_prod(down, across).double()
    rows = []
    for layer, block in enumerate(model.blocks, 1):
        if block.attention.prior is not None:
            kappa = block.attention.prior.log_prior(lags).cpu()
            kappa = kappa - kappa.amax(1, keepdim=True)
            rows += [
                {"layer": layer, "head": head, "down": int(lag[0]), "across": int(lag[1]), "value": round(value, 4)}
                for head, values in enumerate(kappa.tolist(), 1)
                for lag, value in zip(lags.tolist(), values, strict=True)
            ]
    return rows


def locality(frame: pd.DataFrame) -> pd.DataFrame:
    """Per encoding, seed, layer and head: the share of the prior's mass within NEAR patches of the query.

    A mean over the queries of the grid; `uniform` is the share that a uniform prior has there.
    """
    rows = []
    for names, own in frame.groupby(["encoding", "seed", "layer", "head"], sort=False):
        table = own.pivot(index="down", columns="across", values="value").to_numpy()
        near, uniform = near_mass(table)
        rows.append(
            dict(zip(("encoding", "seed", "layer", "head"), names, strict=True)) | {"near": near, "uniform": uniform}
        )
    return pd.DataFrame(rows, columns=["encoding", "seed", "layer", "head", "near", "uniform"])


def near_mass(kappa: np.ndarray) -> tuple[float, float]:
    """Mass within NEAR patches of the query under exp(κ) and under the uniform prior, over a grid of any shape.

    `kappa` [2 H - 1, 2 W - 1] holds κ at the lags from 1 - H and 1 - W on.
    """
    grid = Grid(*((n + 1) // 2 for n in kappa.shape))
    places = grid.places().long().numpy()
    lags = places[:, None] - places[None]
    logs = kappa[lags[..., 0] + grid.height - 1, lags[..., 1] + grid.width - 1]
    weights = np.exp(logs - logs.max(1, keepdims=True))
    close = np.hypot(lags[..., 0], lags[..., 1]) <= NEAR
    return float(((weights * close).sum(1) / weights.sum(1)).mean()), float(close.mean())


EXPERIMENT = Experiment(
    name=SECTION,
    sections=(SECTION,),
    asked=asked,
    measure=measure,
    frames=FRAMES,
    derive={"resolution_locality": ("resolution_priors", locality)},
)
DIGITS = Experiment(
    name=WRITTEN,
    sections=(WRITTEN,),
    asked=partial(asked, section=WRITTEN),
    measure=lambda profile, runs, cache: {"digits_answers": tables(profile, runs, WRITTEN)[FRAMES[0]]},
    frames=("digits_answers",),
)
