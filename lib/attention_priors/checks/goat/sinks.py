"""Goat on the sinks of language models (Fig. 2b and 2c, sections 5 and 6).

"Goat" is the paper's form from a uniform start, and the authors' code, whose first key has a parameter of its own and
whose slopes start at ALiBi's. Models that do not know word order (the gate of language models) decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd

from attention_priors.checks.language.losses import CLOSE, RECIPE
from attention_priors.checks.measured import measuring
from attention_priors.claims.finding import ANY, SHARE, Estimate, Finding, mean, unknown
from attention_priors.claims.law import claim, claims
from attention_priors.experiments.sinks import SINK

HEADS, BAND = "sinks_heads", "sinks_band"
LANGUAGE, COPYING = "language", "copying"
COMPOSITE, CODE, WITHOUT = "goat-composite", "goat-code", "goat-no-sink"
LEARNED = "goat-eight"  # on the mixture of copies, whose first key is asked for
ABOUT_ONE, ABOUT_ZERO, MARGIN = 0.9, 0.1, 0.05
SINKLESS = "no head of text models of this size and data rests on the first key; in larger ones one may"
NEEDED = "on copies content offers no better key than the first, so that nothing asks a head to let go of it"
FORMS = {COMPOSITE: "Goat (the paper's form)", CODE: "Goat (authors' code)"}


def by_seed(frame: pd.DataFrame, name: str, quantity: Callable[[pd.DataFrame], float], task: str) -> dict[int, float]:
    """A number of each model of an encoding, or of its form for another training length (goat-code-2048), that passed
    its gate; those in which there is none are left out."""
    own = frame[(frame["task"] == task) & frame["encoding"].str.fullmatch(rf"{name}(-\d+)?")]
    found = {int(seed): quantity(rows) for seed, rows in own[own["passed"].astype(bool)].groupby("seed")}
    return {seed: float(value) for seed, value in found.items() if pd.notna(value)}


def finding(
    metric: str,
    text: str,
    quantity: Callable[[pd.DataFrame], float],
    name: str,
    *bound: object,
    less: str = "",
    why: str = "",
    task: str = LANGUAGE,
    **more: object,
) -> Finding:
    """A number of an encoding, the mean over seeds, or what it has more than `less` over the seeds of both."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        found = {each: by_seed(frame, each, quantity, task) for each in (name, less) if each}
        seeds = set.intersection(*map(set, found.values()))
        values = {seed: found[name][seed] - (found[less][seed] if less else 0.0) for seed in seeds}
        if not values:
            lacking = ", ".join(each for each, own in found.items() if not own)
            return unknown(why or f"{lacking} not in this profile, or its gate missed")
        return mean(values, SHARE if metric == BAND and not less else ANY)  # those of BAND are masses

    return measuring(metric)(text, estimate, *bound, **more)


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
    """What the prior adds to the first key's mass in the head that sinks most; NaN where none does."""
    top = own.loc[own["mass"].idxmax()]
    return top["mass"] - top["content_mass"] if top["mass"] >= SINK else float("nan")


heads, band = partial(finding, HEADS), partial(finding, BAND)

claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "GOAT-F2b",
        *(
            heads(
                f"Text, {label}: u is higher at key 0 than at the eight after it (mean over heads, a line taken out)",
                column("spike"),
                name,
                beyond=SINKLESS,
            )
            for name, label in FORMS.items()
        ),
        heads(
            f"Text, {FORMS[COMPOSITE]}: u rises from the middle to the end of the training length (mean over heads; a "
            "line of u can be traded with κ)",
            column("rise"),
            COMPOSITE,
            decides=False,
        ),
        practice="The authors' code starts from a rise, ALiBi's slopes, and has a parameter for the peak: read a "
        "trained u against its start. A peak grows without either where the first key helps at every place.",
    ),
    claim(
        "GOAT-F2c",
        *(
            band(
                f"Text, {label}: without content some head has about 1 on the first key, above {ABOUT_ONE}",
                start,
                name,
                ">",
                ABOUT_ONE,
                ours=True,
                beyond=SINKLESS,
            )
            for name, label in FORMS.items()
        ),
        band(
            f"Copies, where Goat has learned a sink: with the most content about 0 is left on it, below {ABOUT_ZERO}",
            end,
            LEARNED,
            "<",
            ABOUT_ZERO,
            task=COPYING,
            ours=True,
            beyond=NEEDED,
        ),
        band(
            "Text: ALiBi keeps more on its default, the query's own key, than Goat (authors' code) on the first",
            end,
            "alibi",
            less=CODE,
            margin=MARGIN,
            beyond=SINKLESS,
        ),
        band(
            "Text: RoPE lets go of the first key less than Goat (authors' code)",
            end,
            "rope",
            less=CODE,
            margin=MARGIN,
            beyond=SINKLESS,
        ),
        practice="A peak of K nats lets go only of content whose range exceeds K (GOAT-T5.1t): a sink that is needed "
        "at every query grows until nothing moves it.",
    ),
    claim(
        "GOAT-CSINK",
        *(
            heads(
                f"Text: {label} forms sinks by a first key of larger norm than the others' median (heads with at least "
                f"{SINK} of their attention on it)",
                sinking,
                name,
                ">",
                1.0,
                why=f"no head of {name} sinks",
                beyond=SINKLESS,
            )
            for name, label in (("rope", "RoPE"), ("alibi", "ALiBi"))
        ),
        heads(
            "Copies: the head that sinks most has the first key's mass from its prior, beyond content's own",
            taken,
            LEARNED,
            why=f"no head of {LEARNED} sinks",
            task=COPYING,
        ),
        heads(
            "Text: adding u lowers the norm of the first key (mean over heads, waves alone less waves and u)",
            column("norm"),
            WITHOUT,
            less=COMPOSITE,
            beyond=SINKLESS,
        ),
        recipe=f"{RECIPE}, copying",
    ),
    claim(
        "GOAT-C-11",
        heads(
            "Text: content alone gives the first key less where u is learned (waves alone less waves and u)",
            column("content_mass"),
            WITHOUT,
            less=COMPOSITE,
            beyond=SINKLESS,
        ),
        heads(
            f"Text: to model u explicitly costs at most {CLOSE} nats (waves and u less waves alone)",
            column("loss"),
            COMPOSITE,
            "<=",
            CLOSE,
            less=WITHOUT,
            ours=True,
        ),
        missing="other kinds of data: DNA and images (GOAT-F4, GOAT-F5)",
    ),
)
