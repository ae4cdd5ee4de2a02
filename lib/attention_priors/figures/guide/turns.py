"""How RoPE turns the pairs of coordinates of a head of width 8."""

import math

import matplotlib as mpl
import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.positions.rotary import rope


def rows(size: Size, seed: int, positions=8) -> Rows:
    """Where RoPE puts the unit vector (1, 0) of each pair at positions 0, 1, ..: angle position x omega."""
    return [
        {"pair": pair, "omega": omega, "position": m, "x": math.cos(m * omega), "y": math.sin(m * omega)}
        for pair, omega in enumerate(rope(8).omega)
        for m in range(positions)
    ]


def draw(frame: Frame) -> Figure:
    pairs = list(frame.groupby("pair", sort=True))
    fig, axes = style.figure(style.MIDDLE, 1.95, ncols=len(pairs))
    last = frame["position"].max()
    for ax, (pair, part) in zip(axes, pairs, strict=True):
        omega = part["omega"].iloc[0]
        ax.add_patch(mpl.patches.Circle((0, 0), 1, fill=False, color="#CCCCCC", linewidth=0.7))
        for position, x, y in part[["position", "x", "y"]].to_numpy():
            color = mpl.colormaps["cividis"](0.6 * position / last)
            ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 1.0,
                                                       "shrinkA": 0, "shrinkB": 0, "mutation_scale": 7})  # fmt: skip
            if position in (0, 1, last) and (position == 0 or omega * position > 0.25):
                ax.text(1.17 * x, 1.17 * y, f"{position:.0f}", ha="center", va="center", fontsize=style.SMALLEST)
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), xticks=[], yticks=[], aspect="equal")
        ax.set_title(rf"pair {pair}: $\omega = {omega:g}$")
        ax.grid(False)
        ax.spines[["left", "bottom"]].set_visible(False)
    return fig


def caption(frame: Frame) -> str:
    last = int(frame["position"].max())
    turned = (last * frame.groupby("pair")["omega"].first() / (2 * np.pi)).map("{:.3g}".format)
    return (
        f"RoPE on a head of width {2 * frame['pair'].nunique()}: each pair of coordinates, here the unit vector, at "
        f"positions 0 to {last} (dark to light). Lengths stay; pair i turns by m ω_i, by position {last} in turns: "
        f"{', '.join(turned)}."
    )


FIGURE = FigureSpec(
    "guide_turns", draw, caption, notebook="field_guide", paper="survey, RoPE figure", rows=rows,
    columns=("pair", "omega", "position", "x", "y"), claims=("PE-F2",),
    alt="Four circles with arrows at successive positions: the first pair turns fast, the last hardly moves.",
)  # fmt: skip
