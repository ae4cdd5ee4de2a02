"""BAM on training lengths, model sizes and a short extension (appendix F; Figs. 11 and 12, Table 5).

T is the shortest training length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import pandas as pd

from attention_priors.checks.ablation.study import TRAINING, asked, study
from attention_priors.checks.measured import measuring
from attention_priors.checks.passkey.runs import HIGH, LONG, MARGIN, PERFECT, RECIPE, Runs
from attention_priors.claims.finding import LEVEL, Estimate, Finding, Frames, largest, smallest, unknown
from attention_priors.claims.law import claim, claims

ONE, TWO, FOUR = (f"bam-ssmax-{multiple}T" for multiple in (1, 2, 4))
EXTENDED = "-extended"
of_size = measuring(TRAINING)
COMPETITIVE = 0.2  # of mean accuracy: how far behind is still competitive
LARGEST = 0.7  # Table 5: the largest model after its extension
COMPETES = 586  # 300,000 / 512
NEAR, MIDDLE, END = 32, 293, 500  # Fig. 11: 32 x 1024 tokens, 300,000 and 512,000


def doubled(text: str, relation: str, bound: float, least: float, most: float, **more) -> Finding:
    """Accuracy of the arm trained on 2T at every length asked between `least` and `most` times that.

    What was not asked at `most` times it, or beyond, is open.
    """

    def estimate(data: Runs) -> Estimate:
        lengths = data.lengths(TWO, least=2 * least, most=2 * most)
        cells = {f"{length / data.trained / 2:.3g} x 2T": data.at(TWO, length) for length in lengths}
        if not data.lengths(TWO, least=2 * most):
            cells["further"] = unknown(data.why(TWO) or f"not asked at {most:g} x 2T")
        return smallest(cells)

    asking = asked("length", estimate)
    return of_size(f"BAM SSMax, trained on 2T, {text}", asking, relation, bound, **more)


def behind(data: Runs) -> Estimate:
    """How far the arm trained on T is behind the better of the others, in the mean over the lengths up to COMPETES."""
    gaps = {}
    for name in (TWO, FOUR):
        lengths = data.lengths(ONE, name, least=2, most=COMPETES)
        lengths = [length for length in lengths if length > data.lengths_trained.get(name, math.inf)]
        gaps[f"{name} over {ONE}"] = data.lead(name, ONE, lengths)
        if max(lengths, default=0) < COMPETES * data.trained and not data.why(name, ONE):
            gaps["further"] = unknown(f"not asked at {COMPETES}T")
    return largest(gaps)


def nearer(frames: Frames) -> str:
    """Why a lead says nothing in a profile that does not ask as far as the paper."""
    frame = frames[TRAINING]
    own = frame[frame["study"] == "length"]
    far = (own["length"] / own["trained"].min()).max()
    return (
        "" if far >= COMPETES else f"the paper finds this lead from {COMPETES}T on; these models were asked to {far:g}T"
    )


def sizes(rows: pd.DataFrame) -> list[str]:
    """The arms before their extension, the smallest first."""
    rows = rows[rows["study"] == "size"]
    parameters = rows.groupby("arm")["parameters"].first().sort_values()
    return [name for name in parameters.index if not name.endswith(EXTENDED)]


def of_sizes(estimate: Callable[[Runs, list[str]], Estimate]) -> Callable[[pd.DataFrame], Estimate]:
    """`estimate` of the study of size and its arms before their extension, the smallest first; at least two."""

    def of(rows: pd.DataFrame) -> Estimate:
        data, names = study(rows, "size"), sizes(rows)
        return estimate(data, names) if len(names) > 1 else unknown("fewer than two sizes in this profile")

    return of


def keeps(names: Callable[[list[str]], list[str]], most: float) -> Callable[[pd.DataFrame], Estimate]:
    """The lowest accuracy of some arms at any length up to `most` times T; open where 64T was not asked."""

    def estimate(data: Runs, arms: list[str]) -> Estimate:
        cells = {}
        for name in names(arms):
            lengths = data.lengths(name, most=most)
            cells |= {f"{name} at {n / data.trained:.3g}T": data.at(name, n) for n in lengths}
            if not data.lengths(name, least=LONG):
                cells[name] = unknown(data.why(name) or f"{name} not asked at {LONG}T")
        return smallest(cells)

    return of_sizes(estimate)


def at_the_end(data: Runs, names: list[str]) -> Estimate:
    small, large = names[0], names[-1]
    return data.lead(small, large, data.lengths(*data.present([small, large]))[-1:])


def restored(data: Runs, names: list[str]) -> Estimate:
    """The lowest mean accuracy from 2T on of any size after its extension."""
    return smallest({name: data.at(name, data.beyond(name)) for name in extended(names)})


def unharmed(frames: Frames) -> str:
    """Why an extension restores nothing: without it every size has what is asked of it."""
    data, names = study(frames[TRAINING], "size"), sizes(frames[TRAINING])
    low, _ = smallest({name: data.at(name, data.beyond(name)) for name in names}).interval(LEVEL)
    return f"before the extension every size has {HIGH} already" if low >= HIGH else ""


def profits(data: Runs, names: list[str]) -> Estimate:
    """The smallest lead of the largest model's gain over that of another size."""
    *others, large = names
    gains = {name: data.lead(f"{name}{EXTENDED}", name, data.beyond(f"{name}{EXTENDED}", name)) for name in names}
    return smallest(
        {
            f"{large} over {name}": unknown(data.why(large, name, f"{large}{EXTENDED}", f"{name}{EXTENDED}"))
            if math.isnan(gains[large].value - gains[name].value)
            else gains[large] - gains[name]
            for name in others
        }
    )


def extended(names: list[str]) -> list[str]:
    return [f"{name}{EXTENDED}" for name in names]


claim = partial(claim, recipe=RECIPE)

CHECKS = claims(
    claim(
        "BAM-F11",
        doubled(f"is perfect up to {NEAR} times that: at least {PERFECT}", ">=", PERFECT, 0, NEAR, ours=True),
        doubled(f"stays above {HIGH} up to {MIDDLE} times that", ">", HIGH, NEAR * 1.001, MIDDLE),
        doubled(f"is above zero at {END} times that", ">", 0.0, END, END),
    ),
    claim(
        "BAM-F12",
        *(
            of_size(
                f"{text} from {COMPETES}T on (the paper's 300,000), in mean accuracy",
                asked("length", lambda data, name=name: data.lead(name, ONE, data.lengths(name, ONE, least=COMPETES))),
                margin=MARGIN,
                beyond=nearer,
            )
            for text, name in (
                ("Trained on 4T, BAM SSMax leads the one trained on T", FOUR),
                ("Trained on 2T, it leads the one trained on T", TWO),
            )
        ),
        of_size(
            f"Trained on T, it is at most {COMPETITIVE} behind the others in mean accuracy at the lengths above their "
            f"own T, up to {COMPETES}T (the paper's 300,000)",
            asked("length", behind),
            "<=",
            COMPETITIVE,
            ours=True,
        ),
    ),
    claim(
        "BAM-TAB5",
        of_size(f"The smallest keeps {HIGH} up to {LONG}T", keeps(lambda arms: arms[:1], LONG), ">=", HIGH, ours=True),
        of_size("At the longest length it leads the largest", of_sizes(at_the_end), margin=MARGIN),
        of_size(
            f"Extended, all but the largest are perfect at every length: at least {PERFECT}",
            keeps(lambda arms: extended(arms[:-1]), math.inf),
            ">=",
            PERFECT,
            ours=True,
        ),
        of_size(
            f"Extended, the largest keeps {LARGEST} at every length",
            keeps(lambda arms: extended(arms[-1:]), math.inf),
            ">=",
            LARGEST,
        ),
    ),
    claim(
        "BAM-C14",
        of_size(
            "The larger, the worse: the smallest leads the largest in mean accuracy from 2T on",
            of_sizes(lambda data, names: data.ahead(names[:1], names[-1:])),
            margin=MARGIN,
        ),
        of_size(
            f"The extension restores every size: at least {HIGH} in mean accuracy from 2T on",
            of_sizes(restored),
            ">=",
            HIGH,
            ours=True,
            beyond=unharmed,
        ),
        of_size("The largest gains most, in mean accuracy from 2T on", of_sizes(profits), margin=MARGIN),
    ),
)
