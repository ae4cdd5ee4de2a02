"""Goat on the sinks of language models (Fig. 2b and 2c, sections 5 and 6).

"Goat" is the paper's form from a uniform start, and the authors' code, whose first key has a parameter of its own and
whose slopes start at ALiBi's. Models that do not know word order (the gate of language models) decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from attention_priors.checks.language.losses import CLOSE, RECIPE
from attention_priors.claims.finding import Estimate, Finding, Frames, mean, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.sinks import SINK

HEADS, BAND = "sinks_heads", "sinks_band"
COMPOSITE, CODE, WITHOUT = "goat-composite", "goat-code", "goat-no-sink"
ABOUT_ONE, ABOUT_ZERO = 0.9, 0.1
FORMS = {COMPOSITE: "Goat (the paper's form)", CODE: "Goat (authors' code)"}


def models(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The rows of an encoding, or of its form for another training length (goat-code-2048), that passed their gate."""
    own = frame[frame["encoding"].str.fullmatch(rf"{name}(-\d+)?")]
    return own[own["passed"].astype(bool)]


def by_seed(frame: pd.DataFrame, name: str, quantity: Callable[[pd.DataFrame], float]) -> dict[int, float]:
    """A number of each model of an encoding; those in which there is none are left out."""
    found = {int(seed): quantity(own) for seed, own in models(frame, name).groupby("seed")}
    return {seed: float(value) for seed, value in found.items() if pd.notna(value)}


def average(frame: str, name: str, quantity: Callable[[pd.DataFrame], float], why: str = "") -> Callable:
    """The mean of such numbers over seeds."""

    def estimate(frames: Frames) -> Estimate:
        values = by_seed(frames[frame], name, quantity)
        return mean(values) if values else unknown(why or f"{name} not in this profile, or its gate missed")

    return estimate


def difference(frame: str, one: str, other: str, quantity: Callable[[pd.DataFrame], float]) -> Callable:
    """The mean over the seeds of both of what the first has more than the other."""

    def estimate(frames: Frames) -> Estimate:
        first, second = (by_seed(frames[frame], name, quantity) for name in (one, other))
        gaps = {seed: first[seed] - second[seed] for seed in first.keys() & second.keys()}
        lacking = ", ".join(name for name, found in ((one, first), (other, second)) if not found)
        return mean(gaps) if gaps else unknown(f"{lacking} not in this profile, or its gate missed")

    return estimate


def column(name: str) -> Callable[[pd.DataFrame], float]:
    """The mean over heads."""
    return lambda own: own[name].mean()


def end(own: pd.DataFrame) -> float:
    """The mass that is left with the most content."""
    return own.loc[own["factor"].idxmax(), "mass"]


def start(own: pd.DataFrame) -> float:
    """The mass without content."""
    return own.loc[own["factor"].idxmin(), "mass"]


def sinking(own: pd.DataFrame) -> float:
    """The norm of the first key in the heads that sink; NaN where none does."""
    return own.loc[own["mass"] >= SINK, "norm"].mean()


def taken(own: pd.DataFrame) -> float:
    """What the prior adds to the first key's mass in the head that sinks most."""
    top = own.loc[own["mass"].idxmax()]
    return top["mass"] - top["content_mass"]


def heads(text: str, estimate: Callable, relation: str, bound: float, **more: bool | float) -> Finding:
    return Finding(text, estimate, relation, bound, metrics=(HEADS,), **more)


def band(text: str, estimate: Callable, relation: str, bound: float, **more: bool | float) -> Finding:
    return Finding(text, estimate, relation, bound, metrics=(BAND,), **more)


CHECKS = claims(
    claim(
        "GOAT-F2b",
        *(heads(f"{label}: u is higher at key 0 than at the eight after it (mean over heads, a line taken out)",
                average(HEADS, name, column("spike")), ">", 0.0) for name, label in FORMS.items()),
        *(heads(f"{label}: u rises from the middle to the end of the training length (mean over heads)",
                average(HEADS, name, column("rise")), ">", 0.0) for name, label in FORMS.items()),
        recipe=RECIPE,
        practice="The code starts from a rise, ALiBi's slopes, and has a parameter for the peak: read a trained u "
                 "against its start.",
    ),
    claim(
        "GOAT-F2c",
        *(band(f"{label}: without content the head most given to the first key has about 1 there, above {ABOUT_ONE}",
               average(BAND, name, start), ">", ABOUT_ONE, ours=True) for name, label in FORMS.items()),
        *(band(f"{label}: with the most content about 0 is left, below {ABOUT_ZERO}",
               average(BAND, name, end), "<", ABOUT_ZERO, ours=True) for name, label in FORMS.items()),
        band("ALiBi keeps more on its default, the query's own key, than Goat (authors' code) on the first",
             difference(BAND, "alibi", CODE, end), ">", 0.0),
        band("RoPE lets go of the first key less than Goat (authors' code)", difference(BAND, "rope", CODE, end), ">",
             0.0),
        recipe=RECIPE,
    ),
    claim(
        "GOAT-CSINK",
        *(heads(f"{label} forms sinks by a key of larger norm than the others' median (heads with {SINK} of their "
                "attention on it)", average(HEADS, name, sinking, f"no head of {name} sinks, or none passed"), ">", 1.0)
          for name, label in (("rope", "RoPE"), ("nope", "NoPE"))),
        *(heads(f"{label}: the head that sinks most has the first key's mass from its prior, more than from content "
                "alone", average(HEADS, name, taken), ">", 0.0) for name, label in FORMS.items()),
        heads("Adding u lowers the norm of the first key (mean over heads, waves alone less waves and u)",
              difference(HEADS, WITHOUT, COMPOSITE, column("norm")), ">", 0.0),
        recipe=RECIPE,
    ),
    claim(
        "GOAT-C-11",
        heads("Sinks leave the content: alone it gives the first key less where u is learned (waves alone less both)",
              difference(HEADS, WITHOUT, COMPOSITE, column("content_mass")), ">", 0.0),
        heads(f"Modelled explicitly they cost at most {CLOSE} nats (both less waves alone)",
              difference(HEADS, COMPOSITE, WITHOUT, column("loss")), "<=", CLOSE, ours=True),
        recipe=RECIPE,
    ),
)  # fmt: skip
