"""Hands of a clock and spirals: where the factors of a pair move queries and keys."""

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Size, stacked
from attention_priors.theory.groups import Block, key_factor, query_factor

LOOKS = ((style.BLUE, style.SOLID, "o"), (style.ORANGE, (4, 1.5), "s"))


def rows(size: Size, seed: int, omegas=(0.3, 0.9), rates=(0.0, -0.08), last=12) -> Frame:
    """F(t) q and G(t) k from q = k = (1, 0) for every pair, at eighths of whole times."""
    parts, t = [], np.arange(8 * last + 1) / 8
    for rate in rates:
        for omega in omegas:
            generator = Block(rate, omega).generator()
            for name, factor in (("F(t) q", query_factor), ("G(t) k", key_factor)):
                x, y = factor(generator, t)[:, :, 0].T
                parts.append({"omega": omega, "rate": rate, "factor": name, "t": t, "x": x, "y": y})
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    pairs = list(frame.groupby(["rate", "omega"], sort=False))
    fig, axes = style.figure(style.MIDDLE, 2.2, ncols=len(pairs))
    for ax, ((rate, omega), part) in zip(axes, pairs, strict=True):
        for (color, dashes, marker), (name, points) in zip(LOOKS, part.groupby("factor", sort=False), strict=True):
            whole = np.flatnonzero(points["t"] % 1 == 0).tolist()
            size, face = (5, "none") if marker == "s" else (2.4, color)
            ax.plot(
                points["x"],
                points["y"],
                color=color,
                dashes=dashes,
                linewidth=0.8,
                marker=marker,
                markevery=whole,
                markersize=size,
                markerfacecolor=face,
                markeredgewidth=0.7,
                label=f"${name}$",
            )
        reach = 1.15 * float(np.hypot(part["x"], part["y"]).max())
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="first coordinate")
        ax.set_title(rf"$\lambda = {rate:g}$, $\omega = {omega:g}$")
    axes[0].set_ylabel("second coordinate")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    last = frame[(frame["t"] == frame["t"].max()) & (frame["rate"] < 0)]
    lengths = np.hypot(last["x"], last["y"]).groupby(last["factor"]).max()
    return (
        "Where F(t) moves a query and G(t) a key, both (1, 0) at t = 0; a mark for every whole time. Without damping "
        "the two coincide: hands of a clock. With damping the query spirals inwards and the key outwards: at t = "
        f"{frame['t'].max():.0f} their lengths are {lengths['F(t) q']:.2f} and {lengths['G(t) k']:.2f}, and only the "
        "product depends on the lag alone."
    )


FIGURE = FigureSpec(
    "groups_hands",
    draw,
    caption,
    notebook="one_parameter_groups",
    paper="the post's animations",
    rows=rows,
    columns=("omega", "rate", "factor", "t", "x", "y"),
    claims=("OPG-F1", "OPG-10"),
    alt="Four panels. Undamped: query and key move on the same circle. Damped: the query's path spirals inwards, the "
    "key's outwards.",
)
