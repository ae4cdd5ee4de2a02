"""Sandwich's bias: the sum of cosines, its means over octaves, and the logarithm that they follow."""

import numpy as np
import pandas as pd

from ...positions.priors import Sandwich
from .. import style
from ..spec import Figure, FigureSpec, Frame, Size, stacked
from .page import table

# colour, dashes, width, label
LOOKS = {
    "sum": (style.PALE, style.SOLID, 0.7, r"$\sum_i \cos \omega_i d$"),
    "octave mean": (style.BLUE, style.SOLID, 1.4, "mean over an octave"),
    "logarithm": (style.ORANGE, (5, 1.5), 1.2, "logarithm"),
}


def rows(size: Size, seed: int, keys=8192, points=400) -> Frame:
    """The sum at width 128, its means over octaves [d, 2d) at their mean logarithm, and the logarithm."""
    total = 8 * table(Sandwich(8, 128), 7, 2 * keys).numpy()[0]  # the eighth of eight heads is divided by 8
    lags = np.unique(np.geomspace(2, keys, points).round().astype(int))
    running = np.concatenate([[0.0], np.cumsum(total)])
    means = (running[2 * lags] - running[lags]) / lags
    centres = np.exp([np.log(np.arange(d, 2 * d)).mean() for d in lags])
    curves = {"sum": (lags, total[lags]), "octave mean": (centres, means), "logarithm": (lags, _logarithm(lags))}
    return stacked({"curve": name, "lag": d, "value": values} for name, (d, values) in curves.items())


def _logarithm(lags: np.ndarray | pd.Series) -> np.ndarray | pd.Series:
    """width/2 (1 - (ln d + γ) / ln 10⁴) at width 128."""
    return 64 * (1 - (np.log(lags) + np.euler_gamma) / np.log(1e4))


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.3)
    for name, part in frame.groupby("curve", sort=False):
        color, dashes, width, label = LOOKS[name]
        ax.plot(part["lag"], part["value"], color=color, dashes=dashes, linewidth=width, label=label)
    ax.set(xscale="log", xlabel="lag $d$", ylabel="bias of a head with ratio 1")
    ax.legend(loc="upper right")
    return fig


def caption(frame: Frame) -> str:
    inside = frame[(frame["lag"] >= 16) & (frame["lag"] <= 1024)]
    worst = (inside["value"] - _logarithm(inside["lag"])).abs().groupby(inside["curve"]).max()
    return (
        "Sandwich's bias at width 128: the sum of cosines, its mean over an octave (drawn at the octave's mean "
        "logarithm), and width/2 (1 - (ln d + γ) / ln 10⁴). At the drawn lags from 16 to 1,024 the sum strays from "
        f"the logarithm by up to {worst['sum']:.1f}, between them by more; its octave means by at "
        f"most {worst['octave mean']:.2f}."
    )


FIGURE = FigureSpec(
    "guide_sandwich",
    draw,
    caption,
    notebook="field_guide",
    rows=rows,
    claims=("PE-SAND", "PE-SAND2"),
    alt="A ragged curve falling with the logarithm of the lag, and a straight line that its means follow.",
)
