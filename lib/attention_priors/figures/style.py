"""The look of every figure: printed size, type, and one colour, dash and marker per method.

Colours are close to Okabe and Ito's, which people with colour-vision deficiencies can tell apart; dashes and markers
carry the same information again, so that a grey copy can be read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D, ScaledTranslation
from scipy.optimize import isotonic_regression

from attention_priors.positions.encodings import encoding as look_up

SINGLE, DOUBLE = 3.25, 6.75  # inches: one column and the page of the ML venues' styles
SMALLEST = 7.0  # points at print size
BLACK, DARK, GREY, PALE = "#000000", "#4D4D4D", "#7F7F7F", "#999999"
PINK, GREEN, SKY, BLUE, ORANGE = "#CC79A7", "#009E73", "#3FA3DB", "#0072B2", "#D55E00"
LIGHTER = 0.3  # share of white in the colour of a form without SSMax
SOLID = (None, None)
LEAD = 10.0  # points between a line's end and the marker before its name

# base: colour, dashes of the form without SSMax, marker
METHODS: dict[str, tuple[str, tuple, str]] = {
    "nope": ("#4D4D4D", (1, 1), "X"),
    "sinusoidal": ("#CC79A7", (2, 1, 1, 1), "D"),
    "rope": ("#009E73", (3, 1), "^"),
    "rope-local": ("#3FA3DB", (3, 1, 1, 1), "v"),
    "alibi": ("#0072B2", (5, 1.5), "s"),
    "bam": ("#D55E00", (5, 1, 1, 1, 1, 1), "o"),
}
# other readings of a base: dashes and marker of their own, the base's colour
VARIANTS: dict[str, tuple[tuple, str]] = {
    "bam-ssmax-content": ((6, 1, 2, 1), "<"),
    "alibi-ssmax-prior": ((6, 1, 2, 1), "p"),
    "bam-laplace-ssmax": ((4, 1, 1, 1), "P"),
    "bam-location-ssmax": ((2, 1), ">"),
    "bam-shared-ssmax": ((1, 1, 3, 1), "h"),
}
# what stands beside the methods without being one
CONTROLS: dict[str, dict[str, Any]] = {
    "chance": {"color": "#7F7F7F", "dashes": (1, 2), "marker": "None", "label": "Chance"},
    "untrained": {"color": "#7F7F7F", "dashes": (2, 2), "marker": "*", "label": "Untrained"},
}

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine draws the same
    "mathtext.fontset": "dejavusans",
    "font.size": 7.5,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": SMALLEST,
    "ytick.labelsize": SMALLEST,
    "legend.fontsize": SMALLEST,
    "figure.titlesize": 8.5,
    "figure.figsize": (SINGLE, 2.2),
    "figure.dpi": 150,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
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
    "axes.prop_cycle": mpl.cycler(color=[color for color, _, _ in METHODS.values()]),
}


def apply() -> None:
    """Set the style for what is drawn from here on, whatever was set before."""
    mpl.rcdefaults()
    mpl.rcParams.update(_SETTINGS)


def figure(width: float = SINGLE, height: float = 2.2, **grid: Any) -> tuple[Figure, Any]:
    """A figure of a printed width with its axes: `plt.subplots` in the project's style."""
    apply()
    return plt.subplots(figsize=(width, height), **grid)


def method_style(encoding: str) -> dict[str, Any]:
    """Colour, dashes, marker and label of an encoding or a control, as keywords of `Axes.plot`.

    With SSMax: the method's colour, solid. Without: lighter and dashed. ValueError for a name without a row here.
    """
    if encoding in CONTROLS:
        return dict(CONTROLS[encoding])
    label = look_up(encoding).label
    if encoding in VARIANTS:
        dashes, marker = VARIANTS[encoding]
        return {"color": METHODS[encoding.split("-")[0]][0], "dashes": dashes, "marker": marker, "label": label}
    base = encoding.removesuffix("-ssmax")
    if base not in METHODS:
        raise ValueError(f"no style for encoding {encoding!r}; add a row to METHODS or VARIANTS in figures/style.py")
    color, dashes, marker = METHODS[base]
    if base == encoding:
        return {"color": lighten(color), "dashes": dashes, "marker": marker, "label": label}
    return {"color": color, "dashes": SOLID, "marker": marker, "label": label}


def lighten(color: str, share: float = LIGHTER) -> str:
    """The colour mixed with a share of white."""
    rgb = np.array(mpl.colors.to_rgb(color))
    return mpl.colors.to_hex(rgb + share * (1 - rgb))


def darken(color: str, share: float = 0.3) -> str:
    """The colour mixed with a share of black: thin strokes of type look paler than lines."""
    return mpl.colors.to_hex((1 - share) * np.array(mpl.colors.to_rgb(color)))


def interval_band(
    ax: Axes,
    x: Sequence,
    low: Sequence,
    high: Sequence,
    *,
    encoding: str | None = None,
    color: str | None = None,
    dashes: tuple = SOLID,
) -> None:
    """An interval as a pale band under its line, its two edges thin and in the dashes of the method.

    Where bands lie over one another, as grey on grey, the edges tell which is whose.
    """
    if encoding:
        look = method_style(encoding)
        color, dashes = look["color"], look["dashes"]
    ax.fill_between(x, low, high, color=color, alpha=0.1, linewidth=0, zorder=1)
    for edge in (low, high):
        ax.plot(x, edge, color=color, dashes=dashes, linewidth=0.5, alpha=0.7, zorder=2, label="_interval")


def seed_dots(
    ax: Axes, x: Sequence, values: Sequence, *, encoding: str | None = None, color: str | None = None
) -> None:
    """One small dot per seed; `x` and `values` have one entry each per dot."""
    color = color or (method_style(encoding)["color"] if encoding else None)
    ax.plot(x, values, "o", markersize=2.2, markeredgewidth=0, color=color, zorder=5, label="_seeds")


def named_seeds(frame: pd.DataFrame) -> str:
    """'seeds 0, 1, 2' of the columns encoding and seed, with the encodings named that have others."""
    groups: dict[str, list[str]] = {}
    for name, rows in frame.groupby("encoding"):
        seeds = ", ".join(str(seed) for seed in sorted(set(rows["seed"])))
        groups.setdefault(seeds, []).append(method_style(name)["label"])
    usual = max(groups, key=lambda seeds: len(groups[seeds]))
    rest = "".join(f" ({', '.join(names)}: {seeds})" for seeds, names in groups.items() if seeds != usual)
    return f"seeds {usual}{rest}"


def length_label(length: float) -> str:
    """128, 256, 1K, 16K for powers of two; other lengths in full: 64,000."""
    whole = round(length)
    return f"{whole // 1024}K" if whole >= 1024 and whole % 1024 == 0 else f"{whole:,}"


def length_axis(ax: Axes, lengths: Iterable[int], trained: int | None = None, *, most: int = 9) -> None:
    """The x axis in log2 with a tick at every length (at most `most`) and a mark at the trained length."""
    ticks = sorted(set(lengths))
    ticks = ticks[:: math.ceil(len(ticks) / most)]
    ax.set_xscale("log", base=2)
    ax.set_xticks(ticks, [length_label(tick) for tick in ticks])
    ax.xaxis.minorticks_off()
    if trained is not None:
        ax.axvline(trained, color="#999999", linewidth=0.7, linestyle=":", zorder=0)


def direct_labels(ax: Axes, *, gap: float = 1.15) -> None:
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
    moves = spread(heights, SMALLEST * gap, bottom, top) - heights
    right = max(x for _, x, _ in ends)
    for (line, _, y), move in zip(ends, moves, strict=True):
        marked = line.get_marker() not in ("None", "", " ", None)
        _lead(ax, line, (right, y), move, marked)
        ax.annotate(
            line.get_label(), (right, y), xytext=(LEAD + (8.5 if marked else 1.5), move), textcoords="offset points",
            color=darken(line.get_color()), fontsize=SMALLEST, va="center", ha="left", annotation_clip=False,
        )  # fmt: skip


def _lead(ax: Axes, line: Line2D, end: tuple[float, float], move: float, marked: bool) -> None:
    """What joins the end of a line to its name, `move` points above it: a thin line if need be, and its marker."""
    # Points from the end of the line, wherever the layout puts that.
    place = Affine2D().scale(1 / 72) + ax.figure.dpi_scale_trans + ScaledTranslation(*end, ax.transData)
    steps = [(3, 0), (LEAD, move), (LEAD + (4 if marked else 0), move)]
    pushed = abs(move) > 1
    lead = Line2D(
        *zip(*steps, strict=True), transform=place, clip_on=False, color=line.get_color(), zorder=line.get_zorder(),
        linewidth=0.5 if pushed else 0, marker=line.get_marker() if marked else "None", markevery=[2], label="_lead",
    )  # fmt: skip
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
