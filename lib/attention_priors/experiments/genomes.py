"""Language models of a genome: bits per base beside Markov chains, what they write, what attention costs.

Models read windows of the validation part. Copies of training text reward memory: the windows that share no run of RUN
bases with the training part, on either strand, are marked as new. A model that does not read those with fewer bits than
a Markov chain of order GATE decides nothing.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from pydantic import AfterValidator, Field, model_validator
from torch import Tensor

from .. import evaluation, runtime
from ..config import Encodings, Frozen, Lengths, ModelConfig, Profile, Recipe, Seeds, Size
from ..corpora import genome
from ..corpora.markov import Markov
from ..evaluation import TOKENS_AT_ONCE
from ..model import Transformer
from ..training.runs import RunSpec
from .arms import Corpus, trained
from .continuations import content, correlation, fixed, resampled, rows, spread, written
from .cost import cost
from .experiment import Asked, Experiment, Frames, Question, Reading
from .grid import Tables, gather_tables, per_run
from .seeds import carry, over_seeds

GATE = 3  # order of the Markov chain that a model has to beat
RUN = 20  # bases: chance alone repeats a run this long in 3 of 10,000 windows
NEW, ALL = "new", "all"  # windows that share no run of RUN bases with the training part; all windows
FEW = 3  # completions of the paper's figure
GENOMES = Question("genomes")


def _known(name: str) -> str:
    genome.pin(name)
    return name


class Settings(Frozen):
    """Language models of one genome, and what they are asked; windows are as long as the recipe's."""

    genome: Annotated[str, AfterValidator(_known)]
    size: Size
    recipe: Recipe
    encodings: Encodings
    seeds: Seeds
    order: int = Field(ge=GATE, description="the highest order of the Markov chains")
    windows: int = Field(ge=2, description="of the validation part, at most")
    scored: int = Field(ge=1, description="bases at the end of each window")
    texts: int = Field(ge=FEW, description="that are continued")
    beginning: int = Field(ge=1, description="bases that a model is given")
    piece: int = Field(ge=1, description="bases of which the content of G and C is taken")
    pieces: int = Field(ge=1, description="that it writes")
    lengths: Lengths = Field(description="texts of which a training step is timed")

    @model_validator(mode="after")
    def _within_a_window(self) -> Self:
        length, needed = self.recipe.length, self.beginning + self.piece * self.pieces
        if needed > length + 1:
            raise ValueError(
                f"a beginning of {self.beginning} bases and {self.pieces} pieces of {self.piece} make "
                f"{needed}, but a window has {length + 1}; shorten them"
            )
        if not self.order <= length + 1 - self.scored:
            raise ValueError(
                f"{self.scored} scored bases of {length + 1} leave fewer than order = {self.order} before "
                "them; score fewer"
            )
        return self


def spec(profile: Profile, name: str, seed: int) -> RunSpec:
    """The training run of an encoding."""
    settings = profile.genomes
    model = ModelConfig(vocabulary=len(genome.BASES), encoding=name, **settings.size.model_dump())
    inputs = (settings.genome, genome.identity(settings.genome))
    return RunSpec(task="genomes", model=model, recipe=settings.recipe, seed=seed, inputs=inputs)


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    settings = profile.genomes
    return {
        spec(profile, name, seed): [Reading(name, settings.recipe.length, settings.windows)]
        for name in settings.encodings
        for seed in settings.seeds
    }


@lru_cache(maxsize=2)
def windows(settings: Settings, run: int = RUN) -> tuple[np.ndarray, np.ndarray]:
    """First bases of the validation windows, and which of them share no run of that many with the training part."""
    found, length = genome.find(settings.genome), settings.recipe.length + 1
    first = genome.starts(found.part("validation"), length, settings.windows)
    return first, genome.novel(found, first, length, found.part("train"), run)


def continued(settings: Settings) -> np.ndarray:
    """First bases of the windows that models continue: evenly of those without a run of 32. ValueError for too few."""
    first, apart = windows(settings, genome.SHARED)
    if apart.sum() < settings.texts:
        raise ValueError(
            f"{apart.sum()} of {len(first)} validation windows share no run of {genome.SHARED} bases with the training "
            f"part, but {settings.texts} texts are to be continued; ask for fewer, or for more windows"
        )
    return first[apart][np.linspace(0, apart.sum() - 1, settings.texts).round().astype(int)]


def text_of(settings: Settings, first: np.ndarray) -> Tensor:
    """The windows as tokens, [windows, length + 1]."""
    found = genome.find(settings.genome)
    return torch.from_numpy(np.stack([found.bases(int(at), settings.recipe.length + 1) for at in first])).long()


@torch.inference_mode()
def bits(model: Transformer, text: Tensor, scored: int) -> list[float]:
    """Bits per base of the last `scored` bases of each window."""
    device, step = next(model.parameters()).device, max(1, TOKENS_AT_ONCE // text.shape[1])
    made: list[float] = []
    for part in text.split(step):
        part = part.to(device)
        logits = model(part[:, :-1], last=scored)
        losses = F.cross_entropy(logits.float().flatten(0, 1), part[:, -scored:].flatten(), reduction="none")
        made += [round(loss, 6) for loss in (losses.view(len(part), -1).double().mean(1) / np.log(2)).tolist()]
    return made


def train_and_read(run_spec: RunSpec, runs: str, profile: Profile) -> Tables:
    """One model, trained and measured where the store lacks it."""
    run, record = trained(run_spec, runs, profile.device)
    settings = profile.genomes
    asks = settings.model_dump(mode="json", include={"windows", "scored", "texts", "beginning", "piece", "pieces"})
    found = GENOMES.put(run, asks, lambda: read(run.model(), settings))
    about = {"encoding": run_spec.model.encoding, "seed": run_spec.seed}
    return {part: [about | row | {"run": record["key"]} for row in each] for part, each in found.items()}


def read(model: Transformer, settings: Settings) -> Tables:
    """Bits per base of every window, and G and C of what is written after the beginnings of some."""
    first, _ = windows(settings)
    losses = bits(model, text_of(settings, first), settings.scored)
    text, written_bases = text_of(settings, continued(settings)), settings.piece * settings.pieces
    beginnings, rest = text[:, : settings.beginning], text[:, settings.beginning :][:, :written_bases]
    made = written(fixed(model, settings.recipe.length), beginnings, written_bases, 0)
    before = content(beginnings, settings.beginning)[:, 0]
    return {
        "losses": [{"window": int(at), "bits": value} for at, value in zip(first, losses, strict=True)],
        "texts": rows(content(made, settings.piece), content(rest, settings.piece), before),
    }


def orders(settings: Settings) -> pd.DataFrame:
    """Bits per base of Markov chains on the same scored bases, by order: of the new windows, and of all."""
    found, (first, new) = genome.find(settings.genome), windows(settings)
    chain = Markov(found, found.part("train"), settings.order)
    scored = first[:, None] + np.arange(settings.recipe.length + 1 - settings.scored, settings.recipe.length + 1)
    each = chain.bits(found, scored.reshape(-1)).reshape(settings.order + 1, *scored.shape).mean(-1)
    about = [(NEW, each[:, new]), (ALL, each)]
    return pd.DataFrame(
        {
            "order": order,
            "windows": part,
            "count": rows.shape[1],
            "strength": chain.strengths[order],
            "bits": float(rows[order].mean()),
        }
        for part, rows in about
        for order in range(settings.order + 1)
    )


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    settings = profile.genomes
    chains = orders(settings)
    found = gather_tables(per_run(train_and_read, asked(profile), runs, profile), profile, "genomes")
    floor = float(chains.loc[(chains["windows"] == NEW) & (chains["order"] == GATE), "bits"].iloc[0])
    losses, new = found["losses"], dict(zip(*windows(settings), strict=True))
    losses = losses[["encoding", "seed", "bits", "window", "run"]].assign(new=losses["window"].map(new))
    passed = losses[losses["new"]].groupby(["encoding", "seed"])["bits"].mean() < floor
    models = pd.MultiIndex.from_frame(losses[["encoding", "seed"]])
    about = {"trained": settings.recipe.length}
    return {
        "genomes_orders": chains.assign(scored=settings.scored, **about),
        "genomes_losses": losses.assign(passed=passed.reindex(models).to_numpy(), floor=floor, **about),
        "genomes_texts": found["texts"].assign(bases=settings.piece, beginning=settings.beginning),
    }


def beside(losses: pd.DataFrame, chains: pd.DataFrame) -> pd.DataFrame:
    """Models and Markov chains in one table: a chain has an `order` and no encoding, a model an encoding and a seed."""
    parts = pd.concat([losses[losses["new"]].assign(windows=NEW), losses.assign(windows=ALL)])
    models = parts.groupby(["windows", "encoding", "seed", "passed"], sort=False, as_index=False)["bits"].mean()
    both = pd.concat([chains[["windows", "order", "bits", "count"]], models], ignore_index=True)
    return both.assign(**carry(chains, "scored", "trained"))


def over_models(both: pd.DataFrame) -> pd.DataFrame:
    """A row per encoding: how many seeds passed the gate, mean bits over seeds with t interval, of new windows and all.

    `below` is the lowest order whose chain reads new windows as well as the mean of the seeds; NaN where none does.
    """
    models, chains = both[both["encoding"].notna()], both[both["encoding"].isna()]
    floor = chains[chains["windows"] == NEW].set_index("order")["bits"]

    def say(group: pd.DataFrame) -> dict:
        found = {"seeds": group["seed"].nunique(), "passed": int(group.loc[group["windows"] == NEW, "passed"].sum())}
        for part, own in group.groupby("windows", sort=False):
            low, high = evaluation.seed_interval(own["bits"])
            found |= {part: own["bits"].mean(), f"{part}_low": low, f"{part}_high": high}
        better = floor[floor <= found[NEW]]
        return found | {"floor": floor[GATE], "below": better.index.min() if len(better) else np.nan}

    return over_seeds(models, ("encoding",), say)


def correlations(texts: pd.DataFrame) -> pd.DataFrame:
    """r of G and C, written against true, per encoding and seed, with an interval over texts; `few`: of FEW texts.

    The row "beginning" says the content of the beginning again for every piece: what needs no model.
    """

    def wide(own: pd.DataFrame, column: str) -> np.ndarray:
        return own.pivot(index="text", columns="piece", values=column).to_numpy()

    made, models = [], list(texts.groupby(["encoding", "seed"], sort=False))
    true, before = (wide(models[0][1], column) for column in ("true", "before"))
    every = [(model, wide(own, "written")) for model, own in models]
    for (name, seed), values in [*every, (("beginning", 0), before)]:
        whole, few = (spread(values, true, resampled(len(values), size)) for size in (None, FEW))
        (low, high), (few_low, few_high) = (np.nanpercentile(each, [2.5, 97.5]) for each in (whole, few))
        about = {"encoding": name, "seed": seed, "texts": len(values), "r": correlation(values, true)}
        made.append(about | {"low": low, "high": high, "few_low": few_low, "few_high": few_high})
    return pd.DataFrame(made)


EXPERIMENT = Experiment(
    name="genomes",
    sections=("genomes",),
    asked=asked,
    measure=measure,
    frames=("genomes_orders", "genomes_losses", "genomes_texts"),
    derive={
        "genomes_bits": (("genomes_losses", "genomes_orders"), beside),
        "genomes_models": ("genomes_bits", over_models),
    },
)
COST = Experiment(
    name="genomes_cost",
    sections=("genomes",),
    trained=("random",),
    measure=lambda profile, runs, cache: {
        "genomes_cost": pd.DataFrame(
            cost(profile.genomes.size, profile.genomes.lengths, runtime.device(profile.device))
        )
    },
    frames=("genomes_cost",),
)
