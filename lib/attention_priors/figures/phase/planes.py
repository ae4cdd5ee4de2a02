"""Tail mass over two planes of parameters, with the members of the field in them."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.positions.priors import alibi_slopes


def rows(size: Size, seed: int, window=64, length=None, steps=41) -> Rows:
    """P(lag > window) over `length` keys, else 16 lengths, on a grid of parameters of the two families with two."""
    lags, found = np.arange(length or 16 * size.length, dtype=np.float64), []
    log_lags = np.log(np.maximum(lags, 1e-5))  # BAM's epsilon at lag 0

    def add(name: str, x: float, y: float, table: np.ndarray) -> None:
        weights = np.exp(table - table.max())
        known = {"family": name, "x": float(x), "y": float(y), "tail": weights[window + 1 :].sum() / weights.sum()}
        found.append(known | {"window": window, "length": len(table)})

    for shape in np.linspace(-1.0, 1.5, steps):
        for scale in np.geomspace(0.1, 1e4, steps):
            add("GGD", shape, scale, -np.exp(np.clip(shape * (log_lags - np.log(scale)), None, 20)))
    for r1 in np.linspace(0.05, 2.5, steps):
        for r2 in np.geomspace(1e-3, 1e2, steps):
            add("KERPLE-log", r1, r2, -r1 * np.log1p(r2 * lags))
    return found


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.MIDDLE, 2.9, ncols=2)
    for ax, (name, part) in zip(axes, frame.groupby("family", sort=False), strict=True):
        grid = part.pivot(index="y", columns="x", values="tail")
        plane = (grid.columns, grid.index, grid.to_numpy())
        image = ax.pcolormesh(*plane, vmin=0, vmax=1, shading="nearest", rasterized=True)
        levels = ax.contour(*plane, levels=[0.1, 0.5, 0.9], colors="white", linewidths=0.7)
        ax.set(yscale="log", title=name)
        ax.grid(False)
        ax.axvline(0 if name == "GGD" else 1, color=style.BLACK, linewidth=1.0, linestyle=":")
    ggd, kerple = axes
    look = {"color": "white", "markeredgecolor": style.BLACK}
    word = {"xytext": (6, -2), "textcoords": "offset points", "color": "white", "fontsize": style.SMALLEST}
    ggd.plot(np.ones(8), 1 / np.array(alibi_slopes(8)), "s", **look)
    ggd.annotate("ALiBi", (1, 4), **word)
    ggd.set(xlabel=r"shape $\beta$", ylabel=r"scale $\alpha$")
    heads, r2 = np.arange(6, 13), np.exp(np.euler_gamma)
    kerple.plot(128 / (2 * 8 * heads / 12 * np.log(1e4)), np.full(len(heads), r2), "D", **look)
    kerple.annotate("Sandwich", (1.74, r2), **word)
    kerple.set(xlabel="$r_1$", ylabel="$r_2$")
    bar = fig.colorbar(image, ax=axes, label=f"tail mass beyond lag {int(frame['window'].iloc[0])}", shrink=0.9)
    bar.add_lines(levels)
    return fig


def caption(frame: Frame) -> str:
    window, length = int(frame["window"].iloc[0]), int(frame["length"].iloc[0])
    return (
        f"Tail mass P(lag > {window}) over {length:,} keys, equal content, in the parameters of the two families. "
        "Dotted: where the limit tail mass becomes 1, β = 0 and r₁ = 1. The border of the limit is not the border of "
        "a finite context: to its right the tail may still be nearly whole. White lines: 0.1, 0.5 and 0.9. Squares: "
        "ALiBi's slopes of 8 heads. Diamonds: the power laws that Sandwich's heads 12 to 6 of 12 follow on average."
    )


FIGURE = FigureSpec(
    "phase_planes",
    draw,
    caption,
    notebook="phase_diagram",
    rows=rows,
    columns=("family", "x", "y", "tail", "window", "length"),
    claims=("X-10",),
    alt="Two maps of tail mass over parameters, shape and scale of the generalised Gaussian and both parameters of "
    "KERPLE's logarithm, with contours and the place of ALiBi's and Sandwich's heads.",
)
