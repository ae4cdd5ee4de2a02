"""Goat on passkeys: its forms and starts beside their rivals, all with heads that hold position and content.

Recipe and gate are those of the section `passkey`, at a multiple of its length, but for the rate of rows that have
failed by it; heads are wide enough for Goat's 2R + 2 coordinates and content, for every row alike. Two scores: the
whole passkey, and the share of its digits (the answer span of the paper), whose chance is 0.1. The trained priors are
read as the paper draws one: without a mask, and renormalised over the causal keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pandas as pd
import torch
from pydantic import Field, model_validator

from .. import runtime
from ..config import Encodings, Evaluation, Frozen, ModelConfig, Profile, Seeds, Size
from ..positions.encodings import encoding
from ..positions.priors import Prior
from ..tasks import passkey
from ..training.runs import Run, RunSpec
from .answers import Wanted, answers, readings
from .arms import Corpus, Rates, check_prompts, check_rates, stretched
from .experiment import Experiment, Frames, Question
from .grid import Rows
from .seeds import carry, over_seeds

GOAT = "goat"  # begins the names of Goat's forms
CHANCE = 0.1  # of a digit
NEAREST = 8  # the nearest eighth of the lags counts as next to the diagonal
GOAT_HEADS = Question("goat-heads")


class More(Frozen):
    """Rows that have further seeds."""

    encodings: Encodings
    seeds: Seeds


class Settings(Frozen):
    """Rows, seeds and prompts; the recipe is that of the section `passkey`, `size` that of all rows here."""

    size: Size
    multiple: int = Field(ge=1, description="times the training length of the section `passkey`")
    encodings: Encodings
    rates: Rates = Field({}, description="times the recipe's rate; trials: data/tuning/goat.csv")
    seeds: Seeds
    more: More | None = Field(default=None, json_schema_extra={"before": None}, description="seeds of some of these")
    evaluation: Evaluation
    far: Evaluation

    @model_validator(mode="after")
    def _more_of_its_rows(self) -> Self:
        if self.more and (unknown := sorted(set(self.more.encodings) - set(self.encodings))):
            raise ValueError(f"more.encodings has {unknown}, which encodings lacks; add them there or take them out")
        return self

    @model_validator(mode="after")
    def _rates_are_of_its_rows(self) -> Self:
        check_rates("rates", self.rates, self.encodings)
        return self

    @model_validator(mode="after")
    def _holds_a_key(self) -> Self:
        check_prompts(evaluation=self.evaluation, far=self.far)
        return self

    @model_validator(mode="after")
    def _holds_position_and_content(self) -> Self:
        for name in self.encodings:
            if (rotary := encoding(name).rotary) is not None:
                rotary(self.size.width // self.size.heads, self.size.rope_base)  # refuses heads that are too narrow
        return self


def run(profile: Profile, name: str, seed: int) -> RunSpec:
    """The training run behind an encoding (RoPE's extensions use RoPE's weights)."""
    settings, trained = profile.goat_passkey, encoding(name).trained_as or name
    model = ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding=trained, **settings.size.model_dump())
    recipe = stretched(profile.passkey.recipe, settings.multiple)
    recipe = recipe.model_copy(update={"rate": settings.rates.get(trained, 1.0) * recipe.rate})
    return RunSpec(task="passkey", model=model, recipe=recipe, seed=seed)


def wanted(profile: Profile) -> Wanted:
    """Every training run, with the names under which its model is asked."""
    settings, made = profile.goat_passkey, {}
    for name in settings.encodings:
        further = settings.more.seeds if settings.more and name in settings.more.encodings else ()
        for seed in dict.fromkeys((*settings.seeds, *further)):
            made.setdefault(run(profile, name, seed), {})[name] = [settings.evaluation, settings.far]
    return made


def naming(profile: Profile, _: Corpus | None = None) -> dict[RunSpec, str]:
    """The section `passkey` has runs of the same encodings with other heads."""
    return {spec: f"goat-passkeys/{spec.model.encoding}/{spec.seed}" for spec in wanted(profile)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frames `goat_passkey_counts` (answers by length) and `goat_passkey_heads` (Goat's trained priors)."""
    every = wanted(profile)
    found = answers(profile, runs, every, "Goat on passkeys")
    where = runtime.device(profile.device)
    trained = profile.goat_passkey.multiple * profile.passkey.recipe.length
    steps = {(spec.model.encoding, spec.seed): Run(spec, runs, where).record()["steps"] for spec in every}

    def say(group: pd.DataFrame) -> dict[str, Any]:
        early, name = group[group["depth"] < 0.5], group["encoding"].iloc[0]
        counts = {"correct": int(group["correct"].sum()), "digits": int(group["digits"].sum()), "samples": len(group)}
        counts |= {"early_digits": int(early["digits"].sum()), "early": len(early)}
        return counts | {"steps": steps[encoding(name).trained_as or name, group["seed"].iloc[0]]} | carry(group, "run")

    counts = over_seeds(found, ("encoding", "seed", "length"), say)
    goats = [spec for spec in every if spec.model.encoding.startswith(GOAT)]
    heads = [row for spec in goats for row in read(Run(spec, runs, where), trained // 2)]
    columns = ["encoding", "seed", "layer", "head", "length", "ahead", "ahead_uniform", "recent", "recent_uniform"]
    return {
        "goat_passkey_counts": counts.assign(trained=trained),
        "goat_passkey_heads": pd.DataFrame(heads, columns=columns),
    }


def read(trained: Run, length: int) -> Rows:
    """Where the priors of a finished run's heads put their mass, a row a head."""

    def measured() -> Rows:
        rows = []
        for layer, block in enumerate(trained.model().blocks):
            found = {name: values.tolist() for name, values in mass(block.attention.prior, length).items()}
            rows += [
                {"layer": layer, "head": head} | {name: round(values[head], 7) for name, values in found.items()}
                for head in range(block.attention.heads)
            ]
        return rows

    common = {"encoding": trained.spec.model.encoding, "seed": trained.spec.seed, "length": length}
    return [common | row for row in GOAT_HEADS.put(trained, length, measured)]


@torch.no_grad()
def mass(prior: Prior, length: int) -> dict[str, torch.Tensor]:
    """Of the prior over `length` keys, by head: its mass on later keys without a mask, on the nearest keys with one.

    Means over queries. `ahead` is the mass on keys after the query; `recent`, after renormalising over the causal keys,
    that on the nearest eighth of the lags; each beside the same of the uniform prior.
    """
    lags = torch.arange(1 - length, length)
    places = torch.arange(length)
    index = places[:, None] - places + length - 1  # of the lag of query i and key j
    logs = torch.zeros(prior.heads, length, length, dtype=torch.float64)
    if (table := prior.table(lags)) is not None:
        logs = logs + table.double()[:, index]
    if (bias := prior.of_keys(places, length)) is not None:
        logs = logs + bias.double()[:, None]
    later = torch.ones(length, length, dtype=torch.bool).triu(1)
    near = ~later & (places[:, None] - places < max(1, length // NEAREST))

    def shares(logs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ahead = (logs.softmax(-1) * later).sum(-1).mean(-1)
        return ahead, (logs.masked_fill(later, -torch.inf).softmax(-1) * near).sum(-1).mean(-1)

    (ahead, recent), (free, close) = shares(logs), shares(torch.zeros_like(logs))
    return {"ahead": ahead, "ahead_uniform": free, "recent": recent, "recent_uniform": close}


EXPERIMENT = Experiment(
    name="goat_passkeys",
    sections=("goat_passkey", "passkey"),
    naming=naming,
    asked=lambda profile, _: readings(wanted(profile)),
    measure=measure,
    frames=("goat_passkey_counts", "goat_passkey_heads"),
)
