"""Factors of a damped block grow with the position: counted from 0 and by block, and what storing them costs."""

import math

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ...theory.groups import LARGEST, Block, key_factor, overflow_position, query_factor
from .. import lines, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, stacked

LOOKS = ((style.ORANGE, style.SOLID, "None"), (style.BLUE, (5, 1.5), "None"), (style.GREEN, (2, 1), "None"))


def rows(size: Size, seed: int, decays=(1 - 2**-5, 1 - 2**-6, 1 - 2**-7), block=64) -> Frame:
    """Size e^{|λ|s} of G(s) by position, e^λ = decay; counted from 0, and from the first position of the key's block.

    ValueError for a decay outside (0, 1).
    """
    parts, positions = [], np.unique(np.linspace(0, 8 * size.length, 513).round())
    for decay in decays:
        if not 0 < decay < 1:
            raise ValueError(f"decay = {decay}: the share that remains per position lies between 0 and 1")
        for factors, ahead in (("absolute", positions), ("by block", positions % block)):
            own = {"decay": decay, "factors": factors, "position": positions.astype(int)}
            parts.append(own | {"log10 size": -ahead * math.log10(decay)})
    return stacked(parts)


def rounded_scores(
    rate: float, omega: float, positions: ArrayLike, lag: int, dtype: torch.dtype, block: int
) -> NDArray[np.float64]:
    """A(lag)'s first entry from factors stored in `dtype`, for queries at the given positions.

    `block` = 0: the factors e^{tX^T} and e^{-sX} at absolute positions. Otherwise at positions relative to the first
    query of the query's block of that many, as chunked implementations keep them. Products accumulate in float64.
    """
    x, t = Block(rate, omega).generator(), np.asarray(positions, dtype=np.float64)
    centre = t - t % block if block else np.zeros_like(t)
    queries, keys = (
        torch.as_tensor(factor(x, when)[:, :, 0]).to(dtype).double()
        for factor, when in ((query_factor, t - centre), (key_factor, t - lag - centre))
    )
    return (queries * keys).sum(-1).numpy()


def rounding(rate: float, omega: float, last: int, lag: int, block: int) -> Rows:
    """Relative error of a damped rotation's score, the largest over positions up to `last` at which no factor
    overflows. Rows {dtype, factors, error, overflows from}, the last empty where nothing overflows."""
    found, positions = [], np.arange(lag, last + 1)
    exact = float(Block(rate, omega).group(lag)[0, 0])
    for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16), ("fp32", torch.float32)):
        for factors, size in (("absolute", 0), (f"by block of {block}", block)):
            with np.errstate(over="ignore", invalid="ignore"):
                scores = rounded_scores(rate, omega, positions, lag, dtype, size)
            finite = np.isfinite(scores)
            broken = "" if finite.all() else int(positions[np.argmin(finite)])
            error = float(np.abs(scores[finite] / exact - 1).max())
            found.append({"dtype": name, "factors": factors, "error": error, "overflows from": broken})
    return found


def _decay(decay: float) -> str:
    return f"decay $1 - 2^{{-{round(-np.log2(1 - decay))}}}$"


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.4)
    stored = frame[frame["factors"] == "absolute"]
    lines.plot(ax, stored, "position", "log10 size", "decay", LOOKS, _decay)
    fastest = _fastest_by_block(frame)
    ax.plot(fastest["position"], fastest["log10 size"], color=style.BLACK, linewidth=0.6, label="fastest, by block")
    for dtype, largest in (("fp16", LARGEST["fp16"]), ("bf16, fp32", LARGEST["fp32"])):
        lines.level(ax, np.log10(largest))
        look = {"ha": "right", "va": "top", "fontsize": style.SMALLEST, "color": style.DARK}
        ax.text(frame["position"].max(), np.log10(largest) - 0.6, f"largest {dtype}", **look)
    ax.set(xlabel="position of the key", ylabel="$\\log_{10}$ size of $G(s)$", ylim=(-1, 45))
    ax.set_xlim(0, frame["position"].max())
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def _fastest_by_block(frame: Frame) -> Frame:
    return frame[(frame["decay"] == frame["decay"].min()) & (frame["factors"] == "by block")]


def caption(frame: Frame) -> str:
    fastest, part = frame["decay"].min(), _fastest_by_block(frame)
    first = {dtype: overflow_position(np.log(fastest), dtype) for dtype in ("fp16", "fp32")}
    within = (-part["log10 size"] / np.log10(fastest)).round().astype(int)  # place in the block
    block = int(np.gcd.reduce(part["position"] - within))
    most = math.ceil(10 * fastest ** (1 - block)) / 10  # at the block's last position, drawn or not
    return (
        f"The keys' factor of a damped block grows without bound when positions are counted from 0: with a decay of "
        f"{fastest:.4g} it exceeds fp16 at position {first['fp16']:,} and fp32 at {first['fp32']:,}. Counted from the "
        f"start of a block of {block} it stays below {most:g} (black). The scores are the same."
    )


FIGURE = FigureSpec(
    "groups_factors",
    draw,
    caption,
    notebook="one_parameter_groups",
    rows=rows,
    claims=("OPG-14",),
    alt="Logarithm of the keys' factor by position. Straight lines for three decays rise through the largest number of "
    "fp16, the fastest one also through that of fp32; the factor counted by blocks stays a low saw-tooth.",
)
