"""Heat maps whose cells have their value written in them."""

from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes

from . import style

SHARES = {"vmin": 0, "vmax": 1}


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
