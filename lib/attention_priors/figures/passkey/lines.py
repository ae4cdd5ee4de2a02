"""Accuracy against length: what the line figures of passkeys share."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from attention_priors import evaluation
from attention_priors.figures import style
from attention_priors.figures.curves import accuracy_axes, curve, over_seeds, shares
from attention_priors.figures.methods import METHODS, OURS, UNTRAINED, look, method, named, named_seeds
from attention_priors.figures.spec import Figure, Frame, rivals
from attention_priors.figures.words import CHANCE, LINES, prompts, times, tokens, trained_on

NOTEBOOK = "passkeys"
CONTROLS = {"label": "Chance, untrained"}  # two lines at zero with one name: nobody could tell their ends apart
COLUMNS = ("form", "encoding", "seed", "length", "accuracy", "correct", "samples", "trained")
ALT = "Lines of passkey accuracy against context length "


def shared(frame: Frame) -> Frame:
    """BAM's six encodings with SSMax, and the control: plain, at lengths that all were asked at."""
    rows = plain(frame)
    rows = rivals(rows[rows["encoding"].isin([*named(True), UNTRAINED])], "encoding", "passkeys", but=[UNTRAINED])
    lengths = set.intersection(*(set(own["length"]) for _, own in rows.groupby("encoding")))
    return rows[rows["length"].isin(lengths)]


def plain(frame: Frame) -> Frame:
    return frame[frame["form"] == "plain"]


def draw(frame: Frame, height: float = 2.7) -> Figure:
    """A line with its interval for each encoding, a dot for each seed, the two controls."""
    fig, ax = style.figure(style.SINGLE, height)
    for name in sorted(set(frame["encoding"]), key=lambda name: (_rank(name), name)):
        rows = frame[frame["encoding"] == name]
        drawn = look(name) | (CONTROLS if name == UNTRAINED else {})
        mean = over_seeds(rows, "accuracy", shares)
        curve(ax, mean, rows.set_index("length")["accuracy"], drawn, zorder=_rank(name) + 4)
    axes(ax, frame)
    style.direct_labels(ax)
    return fig


def _rank(name: str) -> int:
    """Drawing order: the control below, BAM on top."""
    return -1 if name == UNTRAINED else list(METHODS).index(method(name))


def axes(ax: Axes, frame: Frame) -> None:
    """Chance; tokens below, multiples of the training length above."""
    lengths, trained = sorted(set(frame["length"])), trained_on(frame)
    ax.plot([lengths[0], lengths[-1]], [evaluation.CHANCE] * 2, **look("chance") | {"label": "_chance"}, zorder=0)
    accuracy_axes(ax, lengths, trained, most=10)
    multiples(ax, lengths, trained)


def multiples(ax: Axes, ticks: Sequence[int], trained: int, rotation: float = 0) -> None:
    """The labelled lengths as multiples of the training length, above the axes."""
    top = ax.secondary_xaxis("top")
    kept = [tick for tick in ticks if tick in set(np.round(ax.get_xticks()).astype(int))]
    top.set_xticks(kept, [times(tick, trained) for tick in kept])
    top.minorticks_off()
    top.tick_params(length=0, pad=1, rotation=rotation)
    top.spines[:].set_visible(False)


def caption(rows: Frame, said: str, found: str, control: str = "") -> str:
    """What `found` says of the longest length, and what stands behind the lines."""
    last, trained = last_and_trained(rows)
    return (
        f"{said} At {tokens(last, trained)} {found}. {LINES} Chance is {CHANCE}; the untrained control is BAM SSMax "
        f"before its first step. {control}{counts(rows)}."
    )


def last_and_trained(rows: Frame) -> tuple[int, int]:
    return int(rows["length"].max()), trained_on(rows)


def counts(frame: Frame) -> str:
    """How much stands behind a figure: prompts per model and length, and seeds."""
    rows = frame[frame["encoding"] != UNTRAINED]
    return f"{prompts(rows)}; {named_seeds(rows)}"


def share(rows: Frame, length: int, name: str = OURS) -> str:
    """The mean accuracy of an encoding at a length, in words."""
    mean = rows[(rows["encoding"] == name) & (rows["length"] == length)]["accuracy"].mean()
    return "nothing" if np.isnan(mean) else f"{mean:.2f}"
