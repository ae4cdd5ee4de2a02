"""What BAM's heads learn (BAM §2.5, §3.2, Fig. 4), read from the heads of trained passkey models.

Runs that missed the gate of the passkey task decide nothing. An interval is Student's t over seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import ANY, RANK, SHARE, UNKNOWN, Estimate, Frames, mean, share
from attention_priors.claims.law import claim, claims

RECIPE = "passkey-small"
HEADS, CORRELATIONS, EDITS, GATE = "learned_heads", "learned_correlations", "learned_edits", "passkey_gate"
OURS = "bam-ssmax"
NEGATIVE = -0.05  # an exponent that has clearly left its start at 0
LONG = 8  # multiples of the training length from which on a context is long
FEW = 0.05  # of a model's heads: fewer are none
KEPT = 0.1  # accuracy at T: an edit that costs more has broken the task, not shortened its reach


def learned(frames: Frames, name: str) -> pd.DataFrame:
    """The rows of the models that learned the task."""
    gate = frames[GATE]
    passed = gate[(gate["encoding"] == OURS) & (gate["form"] == "plain") & gate["passed"].astype(bool)]
    return frames[name][frames[name]["seed"].isin(passed["seed"])]


def over_seeds(
    name: str, of: Callable[[pd.DataFrame], float], within: tuple[float, float] = ANY
) -> Callable[[Frames], Estimate]:
    """The mean over seeds of what `of` makes of a model's rows; UNKNOWN where it is NaN for one of them."""

    def found(frames: Frames) -> Estimate:
        values = {int(seed): of(rows) for seed, rows in learned(frames, name).groupby("seed")}
        return UNKNOWN if any(map(np.isnan, values.values())) else mean(values, within)

    return found


def correlation(reading: str) -> Callable[[Frames], Estimate]:
    """Spearman's ρ of one of `experiments.learned.CORRELATED`."""
    return over_seeds(CORRELATIONS, lambda rows: float(rows.loc[rows["reading"] == reading, "rho"].mean()), RANK)


def negative(frames: Frames) -> Estimate:
    """The share of a model's heads with β < NEGATIVE; the note has the lowest exponents, which one steep head rules."""
    heads = learned(frames, HEADS).assign(below=lambda rows: rows["beta"] < NEGATIVE).groupby("seed")
    found = share({int(seed): (int(rows["below"].sum()), len(rows)) for seed, rows in heads})
    lowest = heads["beta"].min()
    note = f"the lowest β of {len(lowest)} seeds lies between {lowest.min():.2f} and {lowest.max():.2f}"
    return replace(found, note=note.replace("-", "−")) if len(lowest) else found


def lift(rows: pd.DataFrame) -> float:
    """Mean lift of the heads with β < NEGATIVE; NaN where there are none."""
    return float(rows.loc[rows["beta"] < NEGATIVE, "passkey_lift"].mean())


def nearby(rows: pd.DataFrame) -> float:
    """Rank correlation of β with the attention on the latest tokens, mean over layers."""
    layers = [own["beta"].corr(own["recent_mass"], "spearman") for _, own in rows.groupby("layer")]
    return float(np.nanmean(layers)) if np.isfinite(layers).any() else np.nan


def before_the_others(rows: pd.DataFrame) -> float:
    """P(a head with β < NEGATIVE gives the key more than another head of its layer), mean over layers with both."""
    shares = []
    for _, layer in rows.groupby("layer"):
        negative = layer["beta"] < NEGATIVE
        mine, others = (layer.loc[which, "passkey_mass"].to_numpy() for which in (negative, ~negative))
        if len(mine) and len(others):
            more = np.sign(mine[:, None] - others)
            shares.append(float((more + 1).mean() / 2))
    return float(np.mean(shares)) if shares else np.nan


def accuracies(rows: pd.DataFrame, far: bool) -> pd.Series:
    """Mean accuracy by edit, at long contexts or at the training length."""
    multiples = rows["length"] / rows["trained"]
    return rows[multiples >= min(LONG, multiples.max()) if far else multiples == 1].groupby("edit")["accuracy"].mean()


def loss(rows: pd.DataFrame, edit: str, than: str, far: bool) -> float:
    """Accuracy that `edit` leaves below that of `than`."""
    found = accuracies(rows, far)
    return float(found.get(than, np.nan) - found.get(edit, np.nan))


def lost(edit: str, than: str, far: bool = True) -> Callable[[Frames], Estimate]:
    """`loss` over seeds."""
    return over_seeds(EDITS, lambda rows: loss(rows, edit, than, far), RANK)


def reach_lost(edit: str, than: str) -> Callable[[Frames], Estimate]:
    """The same at long contexts, less what is lost at the training length."""
    return over_seeds(EDITS, lambda rows: loss(rows, edit, than, True) - loss(rows, edit, than, False), (-2.0, 2.0))


_NEGATIVE = f"β < {NEGATIVE:g}".replace("-", "−")

of_heads, correlated, edited = (measuring(name, GATE) for name in (HEADS, CORRELATIONS, EDITS))

claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "BAM-F4",
        correlated(
            "The lower its β, the more a head attends to the key: rank correlation within layers",
            correlation("attention on the key, within layers"),
            "<",
            0.0,
        ),
        correlated(
            "And not because attention contains the prior: the same for what content alone attends to",
            correlation("content alone on the key, within layers"),
            "<",
            0.0,
            decides=False,
        ),
        of_heads(
            "The lower its β, the less a head attends to the 32 latest tokens: rank correlation within layers",
            over_seeds(HEADS, nearby, RANK),
        ),
        missing="that 0 < beta < 1 decays more slowly than beta near 1, beyond the 32 latest tokens",
    ),
    claim(
        "BAM-C8",
        of_heads(
            f"From a start at 0 exponents become negative: the share of a model's heads with {_NEGATIVE}",
            negative,
            ">",
            FEW,
            ours=True,
        ),
        of_heads(
            f"Heads with {_NEGATIVE} give the key sentence more than its even share: their lift",
            over_seeds(HEADS, lift),
            ">",
            1.0,
        ),
        of_heads(
            "They are those that look at the key: P(one gives it more than another head of its layer)",
            over_seeds(HEADS, before_the_others, SHARE),
            ">",
            0.5,
        ),
    ),
    claim(
        "BAM-C21",
        edited(
            f"Heads with β < 0 made uniform cost reach: accuracy lost from {LONG} T on, less what is lost at T",
            reach_lost("negative to uniform", "as trained"),
        ),
        edited(
            "From there on they cost more than as many random heads made uniform",
            lost("negative to uniform", "random to uniform"),
            decides=False,
        ),
        edited(
            "The edit steers the reach and leaves the task: accuracy lost at T",
            lost("negative to uniform", "as trained", far=False),
            "<=",
            KEPT,
            ours=True,
            decides=False,
        ),
        missing="selecting a prior before training (BAM-F8, BAM-C3); the paper speaks of learning and selecting "
        "priors, not of editing trained ones",
    ),
)
