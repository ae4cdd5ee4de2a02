"""Where eviction of the top of three keys flattens the row."""

import math

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.theory.parallel import after_eviction
from attention_priors.theory.transport import entropy


def rows(size: Size, seed: int, steps=60) -> Rows:
    """Three keys, p_1 >= p_2 >= p_3, the heaviest evicted: what becomes of the largest weight and of the entropy.

    Differences after - before, the entropy relative to ln(keys).
    """
    found = []
    for first in np.linspace(1 / 3, 0.99, steps):
        for second in np.linspace((1 - first) / 2, min(first, 1 - first), steps):
            p = np.array([first, second, max(1 - first - second, 0.0)])
            left = after_eviction(p, [1, 2])
            found.append({"first": float(first), "second": float(second), "largest": float(left.max() - first),
                          "entropy": entropy(left) / math.log(2) - entropy(p) / math.log(3)})  # fmt: skip
    return found


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.5)
    x, y = frame["first"].to_numpy(), frame["second"].to_numpy()
    limit = max(abs(frame["largest"].min()), frame["largest"].max())
    filled = ax.tricontourf(x, y, frame["largest"], levels=np.linspace(-limit, limit, 13), cmap="cividis")
    ax.tricontour(x, y, frame["largest"], levels=[0.0], colors="white", linewidths=1.6)
    ax.tricontour(x, y, frame["entropy"], levels=[0.0], colors="black", linewidths=1.2, linestyles="--")
    bar = fig.colorbar(filled, ax=ax, ticks=[-0.6, -0.3, 0, 0.3, 0.6])
    bar.set_label("change of the largest weight")
    bar.outline.set_visible(False)
    ax.plot(0.5, 0.49, "o", color="white", markeredgecolor="black", markersize=4)
    ax.annotate("(0.50, 0.49, 0.01)", (0.5, 0.49), xytext=(5, -1), textcoords="offset points", fontsize=style.SMALLEST)
    ax.set(xlabel="largest weight $p_1$, evicted", ylabel="second weight $p_2$", xlim=(0.32, 1), ylim=(0, 0.52))
    ax.grid(False)
    return fig


def caption(frame: Frame) -> str:
    share = (frame["largest"] > 0).mean()
    return (
        "Three keys, the heaviest evicted. Colour: the largest weight after less before; on the white line, p₂ = p₁ "
        "(1 - p₁), it stays. Black, dashed: the entropy over ln(keys) stays; above it, it falls. Eviction flattens "
        "rows whose top key stands alone (lower right) and sharpens rows in which two keys compete (upper left): "
        f"{100 * share:.0f} % of this grid. The marked row goes from a largest weight of 0.50 to 0.98."
    )


FIGURE = FigureSpec(
    "parallel_calibration", draw, caption, notebook="parallel_attention", rows=rows,
    columns=("first", "second", "largest", "entropy"), claims=("PC-EQ8g",),
    alt="A triangle of weights of three keys, coloured by the change of the largest weight after eviction; it rises in "
    "the upper left, where two keys compete, and falls in the lower right.",
)  # fmt: skip
