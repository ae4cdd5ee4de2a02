"""What the theory of priors says of the whole benchmark: near and far mass against measured accuracy (X-11).

The priors are read from the trained models, the factor of SSMax included where it scales them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import torch

from .. import runtime
from ..config import Profile
from ..model import Attention, Transformer
from ..positions.encodings import encoding
from ..positions.mass import normalised, tail_mass
from ..training.runs import Run
from .arms import passkey_run
from .correlation import Correlation, spearman_permutation
from .experiment import Question
from .gate import gated

LEVEL = 0.05  # of the hypothesis of notebook 18
APART = 0.5  # of the near mass: below it no head of a model stays near the query
MULTIPLE = 64  # of the training length: where both are taken
NEAR = 4  # keys within T / NEAR are near
QUANTITIES = {"near": "near mass", "far": "far mass", "both": "the smaller of the two"}
COLUMNS = ["encoding", "seed", "length", "trained", "near", "far", "both", "accuracy", "passed"]
TAILS = Question("tails")


@torch.no_grad()
def log_prior(attention: Attention, length: int) -> torch.Tensor:
    """b_h(lag) of the last of `length` queries, times the factor of its row where that scales the prior: [heads lags].

    0 for a model without a prior. A key-only prior is read at the keys' own places.
    """
    places = torch.arange(length)
    table = torch.zeros(attention.heads, length, dtype=torch.float64)
    if attention.prior is not None:
        relative, of_keys = attention.prior.split()
        for prior in relative:
            table += prior.log_prior(places).double()
        for prior in of_keys:
            table += prior.log_prior(places, length).double().flip(-1)  # by lag: the last key first
    if attention.scales_prior and (scale := attention.scale(torch.tensor([length]))) is not None:
        table *= scale.double()
    return table


def masses(model: Transformer, length: int, trained: int) -> tuple[float, float]:
    """(near, far): the most that the prior of one of all heads puts on lags below T / NEAR, and on those above T.

    At the last of `length` queries, under the priors alone. One head that looks back is enough, and another one may be
    the one that stays near.
    """
    tables = [log_prior(block.attention, length) for block in model.blocks]
    near = max(float(normalised(table)[:, : trained // NEAR].sum(-1).max()) for table in tables)
    return near, max(float(tail_mass(table, trained).max()) for table in tables)


def _kept(run: Run, length: int) -> tuple[float, float]:
    """`masses` of a trained run, taken once and kept beside it."""
    near, far = TAILS.put(run, length, lambda: masses(run.model().cpu(), length, run.spec.recipe.length))
    return near, far


def tails(profile: Profile, runs: Path, counts: pd.DataFrame) -> pd.DataFrame:
    """A row per seed of every trained encoding that has a prior, not set by content, or nothing: masses and accuracy.

    Both at 64 T, or at the longest length below it that was asked; a seed that was not asked there counts as 0.
    `passed`: of the gate. `both` is the smaller of the two masses.
    """
    trained = profile.passkey.recipe.length
    length = int(counts["length"][counts["length"] <= MULTIPLE * trained].max())
    shares = (counts["correct"] / counts["samples"]).set_axis(counts.set_index(["encoding", "seed", "length"]).index)
    gates = gated(counts).set_index(["encoding", "seed"])["passed"]
    rows = []
    for name in profile.benchmark.encodings:
        row = encoding(name)
        if row.rotary or row.absolute or row.trained_as or row.forgets or row.pairs:
            continue
        for seed in profile.seeds_for(name):
            near, far = _kept(Run(passkey_run(profile, name, seed), runs, runtime.device(profile.device)), length)
            accuracy, passed = float(shares.get((name, seed, length), 0.0)), bool(gates[name, seed])
            rows.append((name, seed, length, trained, near, far, min(near, far), accuracy, passed))
    return pd.DataFrame(rows, columns=COLUMNS)


def correlation(frame: pd.DataFrame, quantity: str, by: str = "encoding") -> Correlation:
    """Spearman's correlation of one of QUANTITIES with accuracy over the encodings that passed, by permutation.

    `by` "family": over the means of families, since forms of one encoding are alike.
    """
    passed = frame[frame["passed"].astype(bool)]
    families = passed.assign(family=[encoding(name).base for name in passed["encoding"]])
    return spearman_permutation(families, by, quantity, "accuracy")


def staying(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the encodings that passed and of which, over seeds, some head's prior stays near the query."""
    near = frame[frame["passed"].astype(bool)].groupby("encoding")["near"].mean()
    return frame[frame["encoding"].isin(near[near > APART].index)]


def correlations(frame: pd.DataFrame) -> pd.DataFrame:
    """`correlation` of every quantity, of all encodings, of `staying` and of families: ρ, p, interval, number."""
    over = {
        "all encodings": (frame, "encoding"),
        f"near mass above {APART:g}": (staying(frame), "encoding"),
        "means of families": (frame, "family"),
    }
    rows = [
        {"over": words, "quantity": quantity, **correlation(own, name, by)._asdict()}
        for words, (own, by) in over.items()
        for name, quantity in QUANTITIES.items()
    ]
    return pd.DataFrame(rows).rename(columns={"rho": "Spearman's ρ with accuracy"})


def near_mass_leads(frame: pd.DataFrame) -> str:
    """What became of the hypothesis of notebook 18: near mass goes with accuracy for certain, and far mass less."""
    near, far = (correlation(frame, name) for name in ("near", "far"))
    if pd.isna(near.rho):
        return f"{near.n} encodings passed their gate: too few to tell."
    found = [
        f"near mass {near.rho:.2f}, p = {near.p:.2g}: {'above' if near.rho > 0 else 'below'} zero"
        f"{'' if near.p <= LEVEL else ', not for certain'}",
        f"far mass {far.rho:.2f}: {'lower' if far.rho < near.rho else 'not lower'}",
    ]
    holds = near.rho > 0 and near.p <= LEVEL and far.rho < near.rho
    outcome = "holds" if holds else "does not hold"
    return f"Over {near.n} encodings, {'; '.join(found)}. As it was written, the hypothesis {outcome}."
