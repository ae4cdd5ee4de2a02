"""Small panels, one for each encoding, as the figures of Goat and its rivals share them."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attention_priors.figures import style
from attention_priors.figures.methods import label, paint
from attention_priors.figures.spec import Figure, Frame
from attention_priors.figures.words import times

NOTEBOOK = "learned_spectra"
ACROSS = 6  # panels in a row
GOAT = "goat"  # begins the names of Goat's forms


def ordered(names: Iterable[str]) -> list[str]:
    """Goat's forms first, each group in its own order."""
    names = list(dict.fromkeys(names))
    return [*filter(_ours, names), *(name for name in names if not _ours(name))]


def _ours(name: str) -> bool:
    return name.startswith(GOAT)


def grid(names: Sequence[str], height: float = 1.2, across: int = ACROSS) -> tuple[Figure, list[Axes]]:
    """A panel each, titled with the encoding's label."""
    across = min(across, len(names))
    down = -(-len(names) // across)
    shape = {"nrows": down, "ncols": across, "sharex": True, "sharey": True, "squeeze": False}
    width = style.SINGLE if across < 3 else style.MIDDLE if across < 5 else style.DOUBLE
    fig, axes = style.figure(width, 0.75 + height * down, **shape)
    panels = style.panels(axes, len(names))
    for ax, name in zip(panels, names, strict=True):
        title = style.broken(label(name), width / across)
        ax.set_title(title, color=style.darken(paint(name)[0], 0.25), fontsize=style.SMALLEST)
    return fig, panels


def multiples(ax: Axes, lengths: Iterable[int], trained: int) -> None:
    """Lengths in log2 as multiples of the training length, which is dotted."""
    ticks = [n for n in sorted(set(lengths)) if n >= trained and np.log2(n / trained) % 2 == 0]
    ax.axvline(trained, color=style.DARK, linewidth=0.6, linestyle=":")
    ax.set_xscale("log", base=2)
    ax.set_xticks(ticks, [times(n, trained) for n in ticks])
    ax.minorticks_off()


def shares(ax: Axes) -> None:
    ax.set_ylim(-0.04, 1.04)
    ax.set_yticks([0, 0.5, 1])


def legend(fig: Figure, ax: Axes, colored: str) -> None:
    """The labels of a panel, that of the line in each panel's own colour as a dark one."""
    handles, labels = ax.get_legend_handles_labels()
    dark = Line2D([], [], color=style.DARK, marker="o", markersize=2.5, linewidth=1.0)
    handles = [dark if name == colored else handle for handle, name in zip(handles, labels, strict=True)]
    fig.legend(handles, labels, loc="outside upper center", ncols=3)


def bars(ax: Axes, mean: Frame, color: str, marker: str | None = None, **line: object) -> None:
    """A line through a frame of `curves.over_seeds` with its intervals as bars."""
    errors = np.maximum([mean["mean"] - mean["low"], mean["high"] - mean["mean"]], 0)
    ax.errorbar(mean.index, mean["mean"], errors, color=color, marker=marker, markersize=2.5, elinewidth=0.6,
                **{"linewidth": 1.0} | line)  # fmt: skip
