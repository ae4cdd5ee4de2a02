"""Heat maps whose cells have their value written in them."""

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from . import style

SHARES = {"vmin": 0, "vmax": 1}


def cells(
    ax: Axes,
    values: np.ndarray,
    text: Callable[[int, int, float], str],
    white: Callable[[float], bool],
    middle: float = 0.52,
    **colours: Any,
) -> mpl.collections.QuadMesh:
    """Values as colours, each with text(row, column, value) in black, or in white where white(value)."""
    mesh = ax.pcolormesh(np.ma.masked_invalid(values), edgecolor="white", linewidth=0.6, **colours)
    for (row, column), value in np.ndenumerate(values):
        color = "white" if white(value) else "black"
        write(ax, column + 0.5, row + middle, text(row, column, value), color=color)
    return mesh


def write(ax: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Text in a cell, centred unless `look` says otherwise."""
    ax.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": style.SMALLEST} | look)


def bare(ax: Axes) -> None:
    """No grid, frame or tick marks: the cells are enough."""
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def color_bar(mesh: mpl.collections.QuadMesh, ax: Any, **settings: Any) -> mpl.colorbar.Colorbar:
    """A colour bar without a frame beside one or more axes."""
    bar = mesh.figure.colorbar(mesh, ax=ax, **settings)
    bar.outline.set_visible(False)
    return bar
