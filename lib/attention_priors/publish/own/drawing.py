"""The figure of a report card: a reader's encoding beside the committed ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...figures import curves, style
from ...figures.methods import METHODS, OURS, label, look
from ...figures.spec import Figure, Frame
from ...figures.words import bounded, prompts, tokens, trained_on
from ...positions.encodings import encoding

OWN = {"color": style.BLACK, "marker": "*"}


def draw(counts: Frame, name: str) -> Figure:
    """Accuracy by context length with every committed encoding."""
    fig, ax = style.figure(style.DOUBLE, 2.7)
    counts = counts.assign(accuracy=counts["correct"] / counts["samples"])
    for each in shown(counts, name):
        rows = counts[counts["encoding"] == each]
        mean = curves.over_seeds(rows, "accuracy", curves.shares)
        if each == name:
            errors = np.maximum([mean["mean"] - mean["low"], mean["high"] - mean["mean"]], 0)
            if np.isfinite(errors).all():
                ax.errorbar(mean.index, mean["mean"], errors, fmt="none", ecolor=style.BLACK, elinewidth=0.8, zorder=6)
            style.seed_dots(ax, rows["length"], rows["accuracy"], style.BLACK)
            ax.plot(mean["mean"], **OWN, linewidth=2, markersize=6, zorder=7, label=label(name))
        else:
            ax.plot(mean["mean"], **_look(each) | {"label": label(each)}, linewidth=0.9, markersize=2.8)
    curves.accuracy_axes(ax, counts["length"], trained_on(counts), most=8)
    style.direct_labels(ax)
    return fig


def shown(counts: Frame, name: str) -> list[str]:
    """The encodings of the figure: those of the main comparison, other forms of the reader's own, and that one."""
    there = [each for each in counts["encoding"].unique() if each != name and encoding(each).trained_as is None]
    main = [each for each in there if each in METHODS or each in (OURS, name.removesuffix("-ssmax"), f"{name}-ssmax")]
    return [*main, name]


def _look(name: str) -> dict[str, Any]:
    """As everywhere; another form of the reader's own has its mark in grey."""
    return look(name) if name in METHODS or name == OURS else OWN | {"color": style.GREY, "dashes": (2, 1)}


def caption(counts: Frame, name: str) -> str:
    """What is drawn, from the drawn frames."""
    own = counts[counts["encoding"] == name]
    trained, last, seeds = trained_on(own), int(own["length"].max()), sorted(set(own["seed"]))
    rows = own.assign(accuracy=own["correct"] / own["samples"])
    mean = curves.over_seeds(rows, "accuracy", curves.shares).loc[last]
    others = len(shown(counts, name)) - 1
    behind = f" beside {others} others" if others else ""
    bars = "dots: seeds; bars: 95 % interval of their mean" if len(seeds) > 1 else "one seed, and so no interval"
    return (
        f"Passkeys retrieved by {label(name)} (black star; {bars}){behind} (means over their seeds), all trained at up "
        f"to {trained} tokens. At {tokens(last, trained)} it retrieves {bounded(*mean)}. Dotted: the training length. "
        f"Seeds {', '.join(map(str, seeds))}; {prompts(own)}."
    )


def alt(name: str) -> str:
    """The figure in words, for those who do not see it."""
    return (
        f"Passkey accuracy against context length: {label(name)} as a thick black line with stars, seeds and bars, "
        f"the committed encodings as thin coloured lines with their names at the right."
    )
