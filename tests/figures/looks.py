"""What a drawn figure shows, artist by artist: its words, its marks, and their contrast with the paper."""

import itertools
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from attention_priors.figures import methods, style
from attention_priors.positions.encodings import ENCODINGS

_NAMED: dict[str, list[str]] = {}
for _name, _row in ENCODINGS.items():
    if {_name, _row.unscaled} & {*methods.METHODS, *methods.VARIANTS, *methods.GOAT}:
        _NAMED.setdefault(_row.label, []).append(_name)
# Fills, the grid and other models' lines behind the one in question may be pale: none is read by itself.
BEHIND = ("_fill", "_other")


def settle(figure: Figure) -> None:
    """Lay the figure out, unless it is."""
    if figure.stale:
        figure.draw_without_rendering()


def words(figure: Figure) -> list[Text]:
    """What can be read: no labels of ticks beyond the ends of their axis."""
    settle(figure)
    beyond = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high or not axis.get_visible():
                    beyond |= {tick.label1, tick.label2}
    every = figure.findobj(Text)
    return [text for text in every if text.get_text().strip() and text.get_visible() and text not in beyond]


def pale(figure: Figure) -> set[str]:
    """Words and marks on paper below style.CONTRAST. Those over a map stand on its colours, and are left out."""
    found = set()
    for text in words(figure):
        if not _over_map(text.axes) or not _inside(text):
            name, ratio = "text " + text.get_text()[:20], style.contrast(text.get_color(), text.get_alpha() or 1.0)
            below = style.contrast(_behind(text))
            if max(ratio, below) / min(ratio, below) < style.CONTRAST - 0.01:
                found.add(name)
    for ax in figure.axes:
        if _over_map(ax) or not ax.get_visible():
            continue
        for line in (each for each in ax.get_lines() if each.get_visible() and each.get_label() not in BEHIND):
            for color in _colours(line):
                found |= _weak(f"line {line.get_label()}", color, line.get_alpha())
        for marks in ax.collections:
            if isinstance(marks, LineCollection | PathCollection) and marks.get_label() not in BEHIND:
                colors = marks.get_edgecolor() if isinstance(marks, LineCollection) else marks.get_facecolor()
                for color in np.unique(colors, axis=0) if len(colors) else ():
                    found |= _weak(f"marks {marks.get_label()}", color, None)
    return found


def _weak(name: str, color: object, alpha: float | None) -> set[str]:
    contrast = style.contrast(color, 1.0 if alpha is None or np.ndim(color) else alpha)
    return {f"{name} {mpl.colors.to_hex(color)} {contrast:.1f}"} if contrast < style.CONTRAST - 0.01 else set()


def _behind(text: Text) -> object:
    """The colour of the bar that a word stands on, or of paper."""
    middle = np.mean(text.get_window_extent().get_points(), axis=0)
    bars = [] if text.axes is None or text.axes.axison is False else text.axes.patches
    under = [bar for bar in bars if bar.get_fill() and bar.get_window_extent().contains(*middle)]
    return under[-1].get_facecolor() if under else "white"


def _colours(line: Line2D) -> Iterator[object]:
    if line.get_linestyle() not in ("None", "", " ") and line.get_linewidth() > 0:
        yield line.get_color()
    if line.get_marker() not in ("None", "", " ", None):
        face = line.get_markerfacecolor()
        if mpl.colors.is_color_like(face) and mpl.colors.to_rgba(face)[3] and mpl.colors.to_rgba(face)[:3] != (1, 1, 1):
            yield face


def _over_map(ax: Axes | None) -> bool:
    return ax is not None and bool(ax.images or [each for each in ax.collections if isinstance(each, QuadMesh)])


def _inside(text: Text) -> bool:
    return bool(text.axes.bbox.overlaps(text.get_window_extent()))


def strange(figure: Figure) -> set[str]:
    """Labelled lines that have an encoding's name and not its look: the colour, or the marker where there is one."""
    found = set()
    for ax in figure.axes:
        for line in (each for each in ax.get_lines() if each.get_label() in _NAMED):
            names = _NAMED[line.get_label()]
            seen = [methods.look(name) for name in names]
            seen += [{"color": color, "marker": marker} for color, marker in map(methods.paint, names)]
            marker = line.get_marker()
            if not any(
                mpl.colors.same_color(line.get_color(), look["color"]) and marker in ("None", "", None, look["marker"])
                for look in seen
            ):
                found.add(line.get_label())
    return found


def cut(figure: Figure) -> set[str]:
    """Words that reach over the figure's edge by more than a point."""
    point, edge = figure.dpi / 72, figure.bbox
    return {
        text.get_text()[:30]
        for text in words(figure)
        for box in [text.get_window_extent()]
        if min(box.x0 - edge.x0, box.y0 - edge.y0, edge.x1 - box.x1, edge.y1 - box.y1) < -point
    }


def touching(figure: Figure) -> set[str]:
    """Labels of neighbouring ticks of an x axis that overlap."""
    settle(figure)
    found = set()
    for ax in figure.axes:
        low, high = ax.get_window_extent().intervalx
        labels = [
            each for each in ax.get_xticklabels(which="both") if each.get_text().strip() and each.get_rotation() == 0
        ]
        boxes = [(each.get_window_extent(), each.get_text()) for each in labels if each.get_visible()]
        shown = sorted((box.x0, box.x1, text) for box, text in boxes if low - 1 <= (box.x0 + box.x1) / 2 <= high + 1)
        found |= {f"{a[2]}|{b[2]}" for a, b in itertools.pairwise(shown) if a[1] > b[0]}
    return found
