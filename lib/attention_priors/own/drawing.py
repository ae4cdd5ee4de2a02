"""The figure of a report card: a reader's encoding beside the committed ones, and the priors that it learned."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..figures import curves, style
from ..figures.methods import METHODS, OURS, label, look
from ..figures.spec import Figure, Frame
from ..figures.words import bounded, prompts, tokens, trained_on
from ..positions.encodings import encoding

LOWEST = -15.0  # of a drawn log-prior: a weight of 3e-7
OWN = {"color": style.BLACK, "marker": "*"}


def draw(counts: Frame, priors: Frame, name: str) -> Figure:
    """Accuracy by context length with every committed encoding, and beside it the trained log-priors by lag."""
    panels = 2 if len(priors) else 1
    fig, axes = style.figure(style.DOUBLE, 2.7, ncols=panels, squeeze=False,
                             gridspec_kw={"width_ratios": [2.2, 1][:panels]})  # fmt: skip
    _accuracy(axes[0, 0], counts, name)
    if panels == 2:
        _priors(axes[0, 1], priors)
    return fig


def shown(counts: Frame, name: str) -> list[str]:
    """The encodings of the figure: those of the main comparison, other forms of the reader's own, and that one."""
    there = [each for each in counts["encoding"].unique() if each != name and encoding(each).trained_as is None]
    main = [each for each in there if each in METHODS or each in (OURS, name.removesuffix("-ssmax"), f"{name}-ssmax")]
    return [*main, name]


def _look(name: str) -> dict[str, Any]:
    """As everywhere; another form of the reader's own has its mark in grey."""
    return look(name) if name in METHODS or name == OURS else OWN | {"color": style.GREY, "dashes": (2, 1)}


def _accuracy(ax: Axes, counts: Frame, name: str) -> None:
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
            drawn = _look(each)
            ax.plot(mean["mean"], color=drawn["color"], marker=drawn["marker"], dashes=drawn["dashes"], linewidth=0.9,
                    markersize=2.8, label=label(each))  # fmt: skip
    curves.accuracy_axes(ax, counts["length"], trained_on(counts), most=8)
    style.direct_labels(ax)


def _priors(ax: Axes, priors: Frame) -> None:
    trained = int(priors["trained"].iloc[0])
    for _, head in priors.groupby(["seed", "layer", "head"]):
        head = head[head["lag"] > 0]
        ax.plot(head["lag"], head["log_prior"].clip(lower=LOWEST - 1), color=style.BLACK, linewidth=0.5, alpha=0.6)
    ax.axvline(trained, color=style.PALE, linewidth=0.7, linestyle=":", zorder=0)
    ax.set(xscale="log", ylim=(LOWEST, 0.5), xlabel="lag (tokens)", ylabel="log-prior less its peak (nats)")


def caption(counts: Frame, priors: Frame, name: str) -> str:
    """What is drawn, from the drawn frames."""
    own = counts[counts["encoding"] == name]
    trained, last, seeds = trained_on(own), int(own["length"].max()), sorted(set(own["seed"]))
    rows = own.assign(accuracy=own["correct"] / own["samples"])
    mean = curves.over_seeds(rows, "accuracy", curves.shares).loc[last]
    others = len(shown(counts, name)) - 1
    behind = f" beside {others} others" if others else ""
    right = ""
    if len(priors):
        heads = len(priors.drop_duplicates(["seed", "layer", "head"]))
        right = f" Right: the log-priors of all {heads} trained heads."
    bars = "dots: seeds; bars: 95 % interval of their mean" if len(seeds) > 1 else "one seed, and so no interval"
    return (
        f"Passkeys retrieved by {label(name)} (black star; {bars}){behind} (means over their seeds), all trained at up "
        f"to {trained} tokens. At {tokens(last, trained)} it retrieves {bounded(*mean)}. Dotted: the training length. "
        f"Seeds {', '.join(map(str, seeds))}; {prompts(own)}.{right}"
    )


def alt(name: str, priors: Frame) -> str:
    """The figure in words, for those who do not see it."""
    more = ", and beside it the learned log-priors against the lag, one thin line a head" if len(priors) else ""
    return (f"Passkey accuracy against context length: {label(name)} as a thick black line with stars, seeds and bars, "
            f"the committed encodings as thin coloured lines with their names at the right{more}.")  # fmt: skip
