"""The survey's heat map of the sinusoidal table."""

import numpy as np
import torch

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.positions.absolute import Sinusoidal


def rows(size: Size, seed: int, width=64) -> Rows:
    """The table PE(pos, column)."""
    positions = size.length // 4
    table = Sinusoidal(width)(torch.arange(positions)).numpy()
    places = np.ndindex(positions, width)
    return [{"position": p, "column": c, "value": round(float(table[p, c]), 4)} for p, c in places]


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    table = frame.pivot(index="position", columns="column", values="value").to_numpy()
    image = ax.imshow(table, aspect="auto", interpolation="nearest", vmin=-1, vmax=1)
    ax.grid(False)
    ax.set(xlabel="column $c$ (even: sine, odd: cosine)", ylabel="position")
    fig.colorbar(image, ax=ax, ticks=(-1, 0, 1), label="PE(pos, c)")
    return fig


def caption(frame: Frame) -> str:
    positions, width = frame["position"].nunique(), frame["column"].nunique()
    slow = frame.groupby("column")["value"].agg(lambda x: np.sign(x[np.abs(x) > 1e-9]).nunique() == 1).sum()
    return (
        f"The sinusoidal table for {positions} positions and {width} columns. Wavelengths grow from 2π on the left to "
        f"2π · 10000^(1 - 2/{width}) on the right; {int(slow)} of the columns never change sign within these "
        "positions and tell them apart only by small amounts."
    )


FIGURE = FigureSpec(
    "rotation_sinusoids",
    draw,
    caption,
    notebook="field_guide",
    rows=rows,
    columns=("position", "column", "value"),
    claims=("PE-F1",),
    alt="Heat map of sines and cosines by position and column: curved waves on the left; on the right vertical "
    "stripes, sines near zero beside cosines near one, that hardly change with the position.",
)
