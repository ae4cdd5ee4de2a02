"""Goat's toy mixture: does a trained log-prior come apart into a sink and a diagonal? (Goat, Fig. 1 and equation 19)

Models of one layer predict texts whose next symbol is the first, the one before the last, or noise. What the best
prediction costs is known, so that a model has either learned both copies or not. A spectrum and a bias on keys can
trade a line, s (i - j) = s i - s j: the prior that both induce is judged, and their own peaks are told beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pandas as pd
import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor

from .. import runtime
from ..config import Encodings, Frozen, Profile, Recipe, Seeds, Size
from ..evaluation import TOKENS_AT_ONCE
from ..model import Transformer
from ..positions.encodings import encoding
from ..positions.priors import Prior
from ..tasks import copying
from ..training.runs import RunSpec
from .arms import Corpus, Rates, check_rates, copying_run, trained
from .experiment import Asked, Experiment, Question, Reading
from .grid import Rows, gather_tables, per_run
from .induced import induced, sides
from .seeds import over_seeds

MAPPED = 32  # queries and keys of the drawn decomposition
MOST = 64  # texts over which attention is averaged
TINY = 1e-30
COPYING = Question("copying")


class Settings(Frozen):
    """Rows, seeds, model and recipe; `multiples` of the recipe's length at which `texts` are asked."""

    size: Size
    recipe: Recipe
    encodings: Encodings
    rates: Rates = Field({}, description="times the recipe's rate; trials: data/tuning/copying.csv")
    prior_rates: Rates = Field({}, description="times the recipe's rate of priors, by the same trials")
    seeds: Seeds
    multiples: tuple[int, ...] = Field(min_length=1)
    texts: int = Field(ge=1)

    @model_validator(mode="after")
    def _can_be_drawn(self) -> Self:
        if 1 not in self.multiples or min(self.multiples) < 1:
            raise ValueError(f"multiples = {list(self.multiples)}; give 1, the training length, and numbers above it")
        if not any(map(_splits, self.encodings)):
            raise ValueError(
                f"encodings = {', '.join(self.encodings)}, but none has a prior over lags and one over "
                "keys to take apart; add goat-eight"
            )
        return self

    @model_validator(mode="after")
    def _rates_are_of_its_rows(self) -> Self:
        check_rates("rates", self.rates, self.encodings)
        check_rates("prior_rates", self.prior_rates, self.encodings)
        return self

    @property
    def lengths(self) -> tuple[int, ...]:
        return tuple(multiple * self.recipe.length for multiple in self.multiples)


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    settings = profile.copying
    return {
        copying_run(profile, name, seed): [Reading(name, length, settings.texts) for length in settings.lengths]
        for name in settings.encodings
        for seed in settings.seeds
    }


def measure(profile: Profile, runs: Path, cache: Path) -> dict[str, pd.DataFrame]:
    """Frames `copying_losses` (a row per model and length), `copying_heads` (per head), `copying_map` (one model)."""
    settings = profile.copying
    jobs = per_run(train_and_look, asked(profile), runs, profile.device, settings.lengths, settings.texts)
    parts = gather_tables(jobs, profile, "copying")
    drawn = next(name for name in settings.encodings if _splits(name))
    first = parts["map"][(parts["map"]["encoding"] == drawn) & (parts["map"]["seed"] == min(settings.seeds))]
    trained_at = {"trained": settings.recipe.length}
    return {
        "copying_losses": parts["losses"].assign(**trained_at),
        "copying_heads": parts["heads"].assign(**trained_at),
        "copying_map": first.reset_index(drop=True),
    }


def _splits(name: str) -> bool:
    """Whether an encoding's prior has a part over lags and a part over keys."""
    row = encoding(name)
    return row.prior is not None and all(row.prior(1).split())


def train_and_look(run_spec: RunSpec, runs: str, device: str, lengths: tuple[int, ...], texts: int) -> dict[str, Any]:
    """One model, trained and measured where the store lacks it."""
    run, record = trained(run_spec, runs, device)
    asked = run_spec.recipe.length, lengths, texts, run_spec.seed
    found = COPYING.put(run, (lengths, texts), lambda: look(run.model(), *asked))
    common = {"encoding": run_spec.model.encoding, "seed": run_spec.seed}
    more = {"losses": {"run": record["key"], "steps": record["steps"]}}
    return {name: [common | row | more.get(name, {}) for row in rows] for name, rows in found.items()}


@torch.no_grad()
def look(model: Transformer, length: int, lengths: Sequence[int], texts: int, seed: int) -> dict[str, list[dict]]:
    """Losses at each of `lengths`; the heads' priors and attention at the training `length`; their parts.

    `excess` is the mean NLL less that of the best prediction of the same symbols, in nats.
    """
    device, losses = next(model.parameters()).device, []
    for asked_at in lengths:
        tokens = copying.texts(texts, asked_at, runtime.generator(seed, f"copying/held/{asked_at}"))
        targets, _ = copying.answers(tokens)
        best, found = copying.bayes(tokens), []
        for part, answer in zip(*(x.split(max(1, TOKENS_AT_ONCE // asked_at)) for x in (tokens, targets)), strict=True):
            logits = model(part.to(device)).float().cpu()
            found.append(F.cross_entropy(logits.mT, answer, reduction="none")[:, 1:-1].double())
        nll = torch.cat(found)
        losses.append(
            {
                "length": asked_at,
                "texts": texts,
                "nll": float(nll.mean()),
                "best": float(best.mean()),
                "excess": float((nll - best).mean()),
                "expected": copying.expected(asked_at),
                "one_copy": copying.expected(asked_at, previous=False),
            }
        )
    tokens = copying.texts(texts, length, runtime.generator(seed, f"copying/held/{length}")).to(device)
    prior, weights = model.blocks[0].attention.prior, model.attention_maps(tokens[:MOST], length)[0].double().cpu()
    return {"losses": losses, "heads": _heads(prior, weights.mean(0), length), "map": _parts(prior, weights, length)}


def _heads(prior: Prior | None, maps: Tensor, length: int) -> Rows:
    """Per head: prior and attention mass on the first key and at lag 1, and where κ and u have their peaks.

    Means over the queries from the fourth on, to which the two keys and one between are three. `below`: the share of
    the keys between whose log-prior is below the row's mean.
    """
    heads, rows = len(maps), []
    pi, (kappa, u) = induced(prior, heads, length), sides(prior, heads, length)
    queries = torch.arange(3, length)
    for head in range(heads):
        row: dict[str, Any] = {"head": head}
        for name, p in (("prior", pi[head]), ("attention", maps[head])):
            row[f"{name}_first"] = float(p[queries, 0].mean())
            row[f"{name}_previous"] = float(p[queries, queries - 1].mean())
        logs = pi[head].clamp(min=1e-300).log()
        between = [(logs[i, 1 : i - 1] < logs[i, : i + 1].mean()).double().mean() for i in queries.tolist()]
        row |= {
            "kappa_peak": int(kappa[head].argmax()),
            "u_peak": int(u[head].argmax()),
            "below": float(torch.stack(between).mean()),
        }
        rows.append({key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()})
    return rows


def _parts(prior: Prior | None, weights: Tensor, length: int) -> Rows:
    """Content, κ and u at the first queries and keys of each head.

    Content is ln p - ln π, the mean over texts, less its mean over the row: the logits <q, k> / sqrt(d).
    """
    heads, size, rows = weights.shape[1], min(MAPPED, length), []
    kappa, u = sides(prior, heads, length)
    content = weights.clamp(min=TINY).log().mean(0) - induced(prior, heads, length).clamp(min=TINY).log()
    for head in range(heads):
        for i in range(size):
            own = content[head, i, : i + 1] - content[head, i, : i + 1].mean()
            for j in range(i + 1):
                about = {"head": head, "query": i, "key": j}
                parts = {"content": own[j], "spectrum": kappa[head, i - j], "sink": u[head, j]}
                rows.append(about | {name: round(float(value), 4) for name, value in parts.items()})
    return rows


def judged(losses: pd.DataFrame, heads: pd.DataFrame) -> pd.DataFrame:
    """A row per encoding and seed: excess at the training length, the heads' largest masses, and what was learned.

    `copied`: within copying.NEAR nats of the best prediction. `far`: the excess at the longest length asked.
    """
    rows = []
    for (name, seed), own in losses.groupby(["encoding", "seed"], sort=False):
        mine = heads[(heads["encoding"] == name) & (heads["seed"] == seed)]
        far, trained_at = int(own["length"].max()), int(own["trained"].iloc[0])
        at = own.set_index("length")
        here = at.loc[trained_at]
        first, previous = mine.loc[mine["prior_first"].idxmax()], mine.loc[mine["prior_previous"].idxmax()]
        rows.append(
            {
                "encoding": name,
                "seed": seed,
                "trained": trained_at,
                **{name: here[name] for name in ("nll", "excess", "expected", "one_copy")},
                "copied": here["excess"] <= copying.NEAR,
                "prior_first": first["prior_first"],
                "prior_previous": previous["prior_previous"],
                "u_peak": int(first["u_peak"]),
                "kappa_peak": int(previous["kappa_peak"]),
                "below": previous["below"],
                "longest": far,
                "far": at.loc[far, "excess"],
                "steps": int(own["steps"].iloc[0]),
            }
        )
    return pd.DataFrame(rows)


def by_length(losses: pd.DataFrame) -> pd.DataFrame:
    """Per encoding and length: the mean excess over seeds and its extremes."""

    def say(group: pd.DataFrame) -> dict:
        return {
            "seeds": len(group),
            "excess": group["excess"].mean(),
            "worst": group["excess"].max(),
            "best": group["excess"].min(),
        }

    return over_seeds(losses, ("encoding", "length"), say, "trained")


EXPERIMENT = Experiment(
    name="copying",
    sections=("copying",),
    asked=asked,
    measure=measure,
    frames=("copying_losses", "copying_heads", "copying_map"),
    derive={
        "copying_judged": (("copying_losses", "copying_heads"), judged),
        "copying_by_length": ("copying_losses", by_length),
    },
)
