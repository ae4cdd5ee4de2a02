"""Mass near the query by head dimension (ParallelComp, appendix A.1)."""

import math

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.runtime import seed_for
from attention_priors.theory.parallel import mass_within, noisy_rows

WIDTHS = tuple(2**p for p in range(4, 11))


def rows(size: Size, seed: int, widths=WIDTHS, lag=16) -> Rows:
    """Mass within `lag` under the logits (-d + Z) / sqrt(width), Z ~ N(0, width), by head width.

    Mean and standard error over rows of attention, and the mass without noise.
    """
    keys, repeats, found = 8 * size.length, size.draws // 4000, []
    for width in widths:
        rate = 1 / math.sqrt(width)
        rng = np.random.default_rng(seed_for(seed, f"13/dimension/{width}"))
        near = noisy_rows(rate, keys, repeats, rng)[:, : lag + 1].sum(axis=1)
        found.append({"width": width, "lag": lag, "mass": float(near.mean()),
                      "error": float(near.std(ddof=1) / math.sqrt(repeats)),
                      "quiet": mass_within(rate, lag, keys)})  # fmt: skip
    return found


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.0)
    lag = int(frame["lag"].iloc[0])
    ax.plot(frame["width"], frame["quiet"], color=style.BLUE, dashes=(4, 1.5), marker="s", label="no noise")
    ax.errorbar(frame["width"], frame["mass"], 2 * frame["error"], color=style.ORANGE, marker="o", label="noise")
    ax.set(xlabel="head dimension $d$", ylabel=f"mass within {lag} lags", ylim=(0, 1.05))
    style.length_axis(ax, frame["width"].astype(int))
    ax.legend(loc="lower left")
    return fig


def caption(frame: Frame) -> str:
    first, last = frame.iloc[0], frame.iloc[-1]
    return (
        f"Logits (-d(i, j) + Z)/√d with Z ~ N(0, d): the mass within {int(first['lag'])} lags falls from "
        f"{first['mass']:.3f} at d = {int(first['width'])} to {last['mass']:.3f} at d = {int(last['width'])} (circles, "
        f"two standard errors); without noise (squares) from {first['quiet']:.3f} to {last['quiet']:.3f}. The decay is "
        "divided by √d, the noise is not."
    )


FIGURE = FigureSpec(
    "parallel_dimension", draw, caption, notebook="parallel_attention", paper="ParallelComp, appendix A.1", rows=rows,
    columns=("width", "lag", "mass", "error", "quiet"), claims=("PC-TA.2d",),
    alt="Mass near the query falls as the head dimension grows, with and without noise.",
)  # fmt: skip
