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

from attention_priors.positions.encodings import encoding as look_up

SINGLE, DOUBLE = 3.25, 6.75  # inches: one column and the page of the ML venues' styles
SMALLEST = 7.0  # points at print size
LIGHTER = 0.3  # share of white in the colour of a form without SSMax
SOLID = (None, None)

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
    ax: Axes, x: Sequence, low: Sequence, high: Sequence, *, encoding: str | None = None, color: str | None = None
) -> None:
    """An interval as a band under its line, in the method's colour."""
    color = color or (method_style(encoding)["color"] if encoding else None)
    ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0, zorder=1)


def seed_dots(
    ax: Axes, x: Sequence, values: Sequence, *, encoding: str | None = None, color: str | None = None
) -> None:
    """One small dot per seed; `x` and `values` have one entry each per dot."""
    color = color or (method_style(encoding)["color"] if encoding else None)
    ax.plot(x, values, ".", markersize=2.6, markeredgewidth=0, color=color, alpha=0.65, zorder=3, label="_seeds")


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
    """Write each labelled line's name at its right end, in its colour, pushed apart so that no two overlap."""
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
    placed = spread(heights, SMALLEST * gap, bottom, top)
    right = max(ax.transData.transform((x, y))[0] / points for _, x, y in ends)
    for (line, x, y), height, place in zip(ends, heights, placed, strict=True):
        offset = right - ax.transData.transform((x, y))[0] / points + 5
        ax.annotate(
            line.get_label(), (x, y), xytext=(offset, place - height), textcoords="offset points",
            color=darken(line.get_color()), fontsize=SMALLEST, va="center", ha="left", annotation_clip=False,
        )  # fmt: skip


def spread(heights: np.ndarray, gap: float, bottom: float, top: float) -> np.ndarray:
    """Move heights as little as a sweep up and a sweep down need so that neighbours are `gap` apart and below `top`."""
    order = np.argsort(heights, kind="stable")
    placed = np.clip(heights[order].astype(float), bottom, None)
    for i in range(1, len(placed)):
        placed[i] = max(placed[i], placed[i - 1] + gap)
    limit = max(top, bottom + gap * (len(placed) - 1))
    for i in range(len(placed) - 1, -1, -1):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    result = np.empty_like(placed)
    result[order] = placed
    return result
