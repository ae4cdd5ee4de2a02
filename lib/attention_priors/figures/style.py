"""The look of every figure: printed size, type, colours, intervals, seeds, and names at the ends of lines.

Colours are close to Okabe and Ito's, which people with colour-vision deficiencies can tell apart; dashes and markers
carry the same information again, so that a grey copy can be read. Which method has which stands in methods.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D, ScaledTranslation, Transform
from scipy.optimize import isotonic_regression

# Inches: a column of two, the text of a page with one column, and that of a page with two, in the ML venues' styles.
# A figure is made for the width where it stands, so that nothing is scaled: its type has there the size it has here.
SINGLE, MIDDLE, DOUBLE = WIDTHS = 3.25, 5.5, 6.75
SMALLEST = 6.5  # points
CONTRAST = 3.0  # of a mark or a word with the paper, at least; fills and the grid may be paler
BLACK, DARK, GREY, PALE = "#000000", "#4D4D4D", "#757575", "#8C8C8C"
PINK, GREEN, SKY, BLUE, ORANGE = "#B85C92", "#0A8A3C", "#2E8BC0", "#005F99", "#C85200"
INDIGO, TEAL, BROWN, PURPLE, RED, OCHRE = "#2A1A99", "#008080", "#6E4A00", "#B000CE", "#B0122B", "#946400"
SOLID = (None, None)
APART = 1.6  # ratio of two lengths whose labels stand side by side
EDGED = {"markeredgecolor": "white", "markeredgewidth": 0.3}  # marks that lie over one another
ROW, PAGE = 0.155, 8.0  # inches from row to row of a list, and the most that all take, so that a page holds them
WIDE = 14  # letters of small type to an inch
LEAD = 10.0  # points between a line's end and the marker before its name
ASIDE = 1.4  # points from the bars of one line to those of the next

# what stands beside the methods without being one
CONTROLS: dict[str, dict[str, Any]] = {
    "chance": {"color": GREY, "dashes": (1, 2), "marker": "None", "label": "Chance"},
    "untrained": {"color": GREY, "dashes": (2, 2), "marker": "*", "label": "Untrained"},
}

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "mathtext.fontset": "dejavusans",
    "font.size": 7,
    "axes.labelsize": 7.5,
    "axes.titlesize": 7.5,
    "xtick.labelsize": SMALLEST,
    "ytick.labelsize": SMALLEST,
    "legend.fontsize": SMALLEST,
    "figure.titlesize": 8,
    "figure.labelsize": 7.5,
    "figure.figsize": (SINGLE, 2.2),
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 300,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "image.cmap": "cividis",
    "pdf.fonttype": 42,  # TrueType: submission systems refuse Type 3
    "svg.fonttype": "path",  # letters as outlines: looks the same where the font is missing
    "svg.hashsalt": "attention-priors",  # the same bytes every time
    "axes.prop_cycle": mpl.cycler(color=[DARK, PINK, GREEN, SKY, BLUE, ORANGE]),
}


def apply() -> None:
    """Set the style for what is drawn from here on, whatever was set before."""
    mpl.rcdefaults()
    mpl.rcParams.update(_SETTINGS)


def figure(width: float = SINGLE, height: float = 2.2, **grid: Any) -> tuple[Figure, Any]:
    """A figure of a printed width with its axes: `plt.subplots` in the project's style."""
    apply()
    return plt.subplots(figsize=(width, height), **grid)


def panels(axes: np.ndarray, count: int) -> list[Axes]:
    """The first `count` panels of a grid; others are hidden, and the lowest of each column has tick labels."""
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for column in np.atleast_2d(axes).T:
        for ax in [ax for ax in column if ax.get_visible()][-1:]:
            ax.xaxis.set_tick_params(labelbottom=True)
    return list(axes.flat[:count])


def legend(fig: Figure, axes: Iterable[Axes], place: str, **look: Any) -> None:
    """The names of all lines, each once, outside the axes: "upper center" or "lower center"."""
    handles = {name: line for ax in axes for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles, loc=f"outside {place}", **look)


def pitch(rows: int) -> float:
    """Inches from row to row of a list: less where all would take more than a page."""
    return min(ROW, PAGE / rows)


def contrast(color: Any, alpha: float = 1.0) -> float:
    """The contrast of a colour on white paper, from 1 to 21, as WCAG 2 defines it."""
    rgba = np.array(mpl.colors.to_rgba(color))
    share = alpha * rgba[3]
    rgb = share * rgba[:3] + 1 - share
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 1.05 / (float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)


def lighten(color: str, share: float = 0.3) -> str:
    """The colour mixed with a share of white, or with less so that its contrast with the paper stays CONTRAST."""
    rgb = np.array(mpl.colors.to_rgb(color))
    mixed = (mpl.colors.to_hex(rgb + part * (1 - rgb)) for part in np.linspace(share, 0, 31))
    return next((each for each in mixed if contrast(each) >= CONTRAST), mpl.colors.to_hex(rgb))


def darken(color: str, share: float = 0.3) -> str:
    """The colour mixed with a share of black: thin strokes of type look paler than lines."""
    return mpl.colors.to_hex((1 - share) * np.array(mpl.colors.to_rgb(color)))


def interval_band(ax: Axes, x: Sequence, low: Sequence, high: Sequence, color: str, dashes: tuple = SOLID) -> None:
    """An interval as a pale band under its line, its two edges thin and in the dashes of the line: for a line or two.

    Where bands lie over one another, as grey on grey, the edges tell which is whose.
    """
    ax.fill_between(x, low, high, color=color, alpha=0.1, linewidth=0, zorder=1)
    for edge in (low, high):
        ax.plot(x, edge, color=color, dashes=dashes, linewidth=0.5, zorder=2, label="_interval")


def aside(ax: Axes) -> float:
    """Points by which the next line's bars stand beside their places, so that no two lines' cover one another."""
    before = sum(drawn.get_label() == "_bars" for drawn in ax.collections)
    return ASIDE * ((before + 1) // 2) * (-1 if before % 2 else 1)


def shifted(ax: Axes, right: float = 0, up: float = 0) -> Transform:
    """Data coordinates of the axes, moved by points."""
    return ax.transData + ScaledTranslation(right / 72, up / 72, ax.figure.dpi_scale_trans)


def interval_bars(
    ax: Axes, x: Sequence, low: Sequence, high: Sequence, color: str, *, right: float = 0, **more: Any
) -> None:
    """An interval at each place as a thin bar, moved by points; nothing where it is missing."""
    x, low, high = (np.asarray(part, dtype=float) for part in (x, low, high))
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return
    look = {"color": color, "linewidth": 0.7, "zorder": 3, "label": "_bars"} | more
    ax.vlines(x[known], low[known], high[known], **look).set_transform(shifted(ax, right))


def seed_dots(ax: Axes, x: Sequence, values: Sequence, color: str, *, right: float = 0, up: float = 0) -> None:
    """One small dot per seed, moved by points; `x` and `values` have one entry each per dot."""
    look = {"markersize": 2, "markeredgewidth": 0, "color": color, "zorder": 5, "label": "_seeds"}
    (dots,) = ax.plot(x, values, "o", **look)
    dots.set_transform(shifted(ax, right, up))


def interval_row(ax: Axes, ends: Sequence, y: float, color: str, *, up: float = 0) -> None:
    """An interval as a thin bar with caps along its row, moved by points."""
    if not np.isfinite(np.asarray(ends, dtype=float)).all():
        return
    look = {"color": color, "linewidth": 0.9, "marker": "|", "markersize": 3.5, "markeredgewidth": 0.9}
    (drawn,) = ax.plot(ends, [y, y], **look, label="_bars")
    drawn.set_transform(shifted(ax, 0, up))


def length_label(length: float) -> str:
    """128, 256, 1K, 16K for powers of two; other lengths in full: 64,000."""
    whole = round(length)
    return f"{whole // 1024}K" if whole >= 1024 and whole % 1024 == 0 else f"{whole:,}"


def spaced(lengths: Iterable[int], kept: Iterable[int] = ()) -> list[int]:
    """Those of the lengths whose labels do not touch on a log axis: `kept` first, then from the shortest."""
    lengths = sorted(set(lengths))
    chosen = [length for length in lengths if length in set(kept)]
    for length in lengths:
        if all(max(length / other, other / length) >= APART for other in chosen):
            chosen.append(length)
    return sorted(chosen)


def length_ticks(lengths: Iterable[int], trained: Iterable[int], most: int) -> list[int]:
    """Lengths that lie apart, at most so many."""
    ticks = spaced(lengths, trained)
    return ticks[:: math.ceil(len(ticks) / most)]


def length_axis(ax: Axes, lengths: Iterable[int], trained: int | Iterable[int] = (), *, most: int = 9) -> None:
    """The x axis in log2 with ticks at lengths that lie apart (at most `most`) and a mark at every trained length."""
    ticks = length_ticks(lengths, np.unique(trained).tolist(), most)
    ax.set_xscale("log", base=2)
    ax.set_xticks(ticks, [length_label(tick) for tick in ticks])
    ax.xaxis.minorticks_off()
    for length in np.unique(trained):
        ax.axvline(length, color=PALE, linewidth=0.7, linestyle=":", zorder=0)


def note(ax: Axes, text: str, at: tuple[float, float], offset: tuple[float, float] = (3, 0), **look: Any) -> None:
    """Small type, some points from a place."""
    ax.annotate(text, at, xytext=offset, textcoords="offset points", **{"fontsize": SMALLEST} | look)


def direct_labels(ax: Axes) -> None:
    """Write each labelled line's name at its right end, in its colour, pushed apart so that no two overlap.

    The line's marker stands before its name, and a thin line leads from its end to a name that was pushed away.
    """
    ends = []
    for line in ax.get_lines():
        x, y = (np.asarray(part, dtype=float) for part in line.get_data())
        shown = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        if not line.get_label().startswith("_") and len(shown):
            ends.append((line, x[shown[-1]], y[shown[-1]]))
    if not ends:
        return
    ax.figure.draw_without_rendering()
    points = ax.figure.dpi / 72
    heights = np.array([ax.transData.transform((x, y))[1] / points for _, x, y in ends])
    bottom, top = (ax.bbox.y0 / points, ax.bbox.y1 / points)
    moves = spread(heights, 1.15 * SMALLEST, bottom, top) - heights
    right = max(x for _, x, _ in ends)
    for (line, _, y), move in zip(ends, moves, strict=True):
        marked = line.get_marker() not in ("None", "", " ", None)
        _lead(ax, line, (right, y), move, marked)
        look = {"color": darken(line.get_color()), "va": "center", "ha": "left", "annotation_clip": False}
        note(ax, line.get_label(), (right, y), (LEAD + (8.5 if marked else 1.5), move), **look)


def _lead(ax: Axes, line: Line2D, end: tuple[float, float], move: float, marked: bool) -> None:
    """What joins the end of a line to its name, `move` points above it: a thin line if need be, and its marker."""
    # Points from the end of the line, wherever the layout puts that.
    place = Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + ScaledTranslation(*end, ax.transData)
    steps = [(3, 0), (LEAD, move), (LEAD + (4 if marked else 0), move)]
    pushed = abs(move) > 1
    lead = Line2D(
        *zip(*steps, strict=True),
        transform=place,
        clip_on=False,
        color=line.get_color(),
        zorder=line.get_zorder(),
        linewidth=0.5 if pushed else 0,
        marker=line.get_marker() if marked else "None",
        markevery=[2],
        label="_lead",
        markerfacecolor=line.get_markerfacecolor(),
    )
    ax.add_artist(lead)


def spread(heights: np.ndarray, gap: float, bottom: float, top: float) -> np.ndarray:
    """Heights moved as little as it takes (least squares) to be `gap` apart, in order, between `bottom` and `top`.

    Equal heights keep their order. If there is no room for all, the topmost stand above `top`.
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    # Apart by a gap is in ascending order once the gaps are taken away.
    level = isotonic_regression(heights[order] - steps).x
    result = np.empty(len(heights))
    result[order] = np.clip(level, bottom, max(bottom, top - gap * (len(heights) - 1))) + steps
    return result
