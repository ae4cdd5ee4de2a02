"""One-parameter groups as pictures: phase portraits with a score of each block, hands of a clock and spirals."""

import math

import numpy as np
from matplotlib.axes import Axes

from ...theory import groups
from ...theory.groups import Block, key_factor, query_factor
from .. import lines, style
from ..spec import Figure, FigureSpec, Frame, Size, stacked

# Phase portraits of the one-parameter groups, block by block, with a score that each block gives
EDGE = 1.35  # of a portrait
# kind: what its generator is, and who uses it or what it looks like
PANELS = {
    "decay": ("real, $\\lambda < 0$", "linear attention"),
    "rotation": ("pair, $\\lambda = 0$", "RoPE"),
    "damped rotation": ("pair, $\\lambda < 0$", "xPos, RetNet"),
    "shear": ("defective, $\\lambda = 0$", "ALiBi"),
    "damped shear": ("defective, $\\lambda < 0$", "a band of lags"),
    "doubled rotation": ("doubled pair", "a growing wave"),
}


def kinds() -> dict[str, tuple[list[Block], list[float], list[float]]]:
    """Each kind's generator and the readout c, b whose score c^T e^{dX} b is drawn."""
    return {
        "decay": ([Block(-0.35), Block(-0.12)], [1.0, 0.0], [1.0, 1.0]),
        "rotation": ([Block(0.0, 0.6)], [1.0, 0.0], [1.0, 0.0]),
        "damped rotation": ([Block(-0.12, 0.6)], [1.0, 0.0], [1.0, 0.0]),
        "shear": ([Block(0.0, size=2)], [-0.1, 0.0], [0.0, 1.0]),
        "damped shear": ([Block(-0.35, size=2)], [1.0, 0.0], [0.0, 1.0]),
        "doubled rotation": ([Block(0.0, 0.6, 2)], [0.1, 0, 0, 0], [0.0, 0, 1, 0]),
    }


def rows(size: Size, seed: int, paths=8, last=24.0, steps=241) -> Frame:
    """Trajectories e^{tX} x of every kind in its first plane, and a score c^T e^{dX} b by lag.

    Paths 1 .. are trajectories, path 0 is the score (x the lag, y the score). The doubled rotation starts in its second
    plane; the picture is the first one, which the second drives.
    """
    parts, t = [], np.linspace(0.0, last, steps)
    for kind, (blocks, readout, start) in kinds().items():
        flow = groups.exponential(groups.direct_sum(blocks), t)
        for path in range(paths):
            angle = 2 * math.pi * (path + 0.5) / paths
            begin = np.zeros(len(start))
            begin[-2:] = (1 if path % 2 else 0.55) * np.array([math.cos(angle), math.sin(angle)])
            x, y = (flow @ begin).T[:2]
            parts.append({"kind": kind, "path": path + 1, "t": t, "x": x, "y": y})
        scores = np.einsum("a,dab,b->d", readout, flow, start)
        parts.append({"kind": kind, "path": 0, "t": t, "x": t, "y": scores})
    return stacked(parts)


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.DOUBLE, 2.9, nrows=2, ncols=len(PANELS), height_ratios=(1.25, 1))
    for (kind, (title, user)), above, below in zip(PANELS.items(), *axes, strict=True):
        part = frame[frame["kind"] == kind]
        for path, points in part[part["path"] > 0].groupby("path"):
            _trajectory(above, points["x"].to_numpy(), points["y"].to_numpy(), style.BLUE if path % 2 else style.BLACK)
        above.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xticks=[], yticks=[], aspect="equal")
        above.set_title(title, fontsize=style.SMALLEST + 0.3)
        score = part[part["path"] == 0]
        below.plot(score["x"], score["y"], color=style.ORANGE)
        below.axhline(0, color=style.GREY, linewidth=0.6, zorder=1)
        below.set(yticks=[0], xticks=[0, 10, 20], ylim=(-2.6, 2.6), xlabel="lag")
        below.set_title(user, fontsize=style.SMALLEST + 0.3)
        if kind != next(iter(PANELS)):
            below.set_yticklabels([])
    axes[0, 0].set_ylabel("flow $e^{tX}x$")
    axes[1, 0].set_ylabel("score $c^\\top e^{dX} b$")
    return fig


def _trajectory(ax: Axes, x: np.ndarray, y: np.ndarray, color: str) -> None:
    """A line that stops at the edge of the panel, with an arrow along it a little after its start."""
    outside = np.flatnonzero(np.maximum(np.abs(x), np.abs(y)) > EDGE)
    stop = outside[0] + 1 if len(outside) else len(x)
    ax.plot(x[:stop], y[:stop], color=color, linewidth=0.8)
    ax.plot(x[:1], y[:1], color=color, marker="o", markersize=1.8)
    tip = min(stop - 1, 10)
    if np.hypot(x[tip] - x[tip - 1], y[tip] - y[tip - 1]) > 1e-3:
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 0, "mutation_scale": 6}
        ax.annotate("", (x[tip], y[tip]), xytext=(x[tip - 1], y[tip - 1]), arrowprops=arrow)


def caption(frame: Frame) -> str:
    score = frame[frame["path"] == 0]
    peak = score[score["kind"] == "damped shear"].set_index("x")["y"].idxmax()
    return (
        "The one-parameter groups that a real generator X allows, block by block. Above: trajectories of e^{tX} (dots "
        "mark the start; of the doubled pair, the plane that the other one drives). Below: a score c^T e^{dX} b that "
        f"the block gives, by lag, and who uses it. The damped defective block peaks at lag {peak:.2g} without "
        "oscillating; the undamped one is the straight line of ALiBi."
    )


def explore(rate: float, omega: float, defect: bool) -> Figure:
    """Phase portrait and score of one block."""
    fig, (flow, score) = style.figure(style.DOUBLE, 2.2, ncols=2)
    block, t = Block(rate, omega, 2 if defect else 1), np.linspace(0, 30, 400)
    group = block.group(t)
    if block.width == 1:
        group = np.einsum("t,ij->tij", group[:, 0, 0], np.eye(2))
    for path in range(8):
        angle = 2 * np.pi * (path + 0.5) / 8
        start = np.zeros(group.shape[1])
        start[-2:] = np.cos(angle), np.sin(angle)
        _trajectory(flow, *(group @ start).T[:2], style.BLUE if path % 2 else style.BLACK)
    flow.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), title="flow", aspect="equal")
    score.plot(t, group[:, 0, block.width // 2 if defect else 0], color=style.ORANGE)
    score.axhline(0, color=style.GREY, linewidth=0.6)
    score.set(xlabel="lag", title="score" + (" of the corner" if defect else ""))
    return lines.once(fig)


PORTRAITS = FigureSpec(
    "groups_portraits",
    draw,
    caption,
    notebook="one_parameter_groups",
    paper="the post's animations",
    rows=rows,
    claims=("OPG-8", "OPG-10", "OPG-12", "OPG-13", "OPG-15", "OPG-16", "OPG-F2", "X-2"),
    alt="Six columns. Above, flows: curves into the origin, circles, spirals, horizontal lines, lines that shear and "
    "fall into the origin, arcs that leave the origin and the panel. Below, the scores by lag: decay, wave, damped "
    "wave, straight falling line, a hump, a growing wave.",
)


# Hands of a clock and spirals
LOOKS = ((style.BLUE, style.SOLID, "o"), (style.ORANGE, (4, 1.5), "s"))


def rows_hands(size: Size, seed: int, omegas=(0.3, 0.9), rates=(0.0, -0.08), last=12) -> Frame:
    """F(t) q and G(t) k from q = k = (1, 0) for every pair, at eighths of whole times."""
    parts, t = [], np.arange(8 * last + 1) / 8
    for rate in rates:
        for omega in omegas:
            generator = Block(rate, omega).generator()
            for name, factor in (("F(t) q", query_factor), ("G(t) k", key_factor)):
                x, y = factor(generator, t)[:, :, 0].T
                parts.append({"omega": omega, "rate": rate, "factor": name, "t": t, "x": x, "y": y})
    return stacked(parts)


def draw_hands(frame: Frame) -> Figure:
    pairs = list(frame.groupby(["rate", "omega"], sort=False))
    fig, axes = style.figure(style.MIDDLE, 2.2, ncols=len(pairs))
    for ax, ((rate, omega), part) in zip(axes, pairs, strict=True):
        for (color, dashes, marker), (name, points) in zip(LOOKS, part.groupby("factor", sort=False), strict=True):
            whole = np.flatnonzero(points["t"] % 1 == 0).tolist()
            size, face = (5, "none") if marker == "s" else (2.4, color)
            look = lines.look(
                color, dashes, marker, f"${name}$", markerfacecolor=face, markersize=size, markeredgewidth=0.7
            )
            ax.plot(points["x"], points["y"], linewidth=0.8, markevery=whole, **look)
        reach = 1.15 * float(np.hypot(part["x"], part["y"]).max())
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="first coordinate")
        ax.set_title(rf"$\lambda = {rate:g}$, $\omega = {omega:g}$")
    axes[0].set_ylabel("second coordinate")
    style.legend(fig, [axes[0]], "lower center", ncols=2)
    return fig


def caption_hands(frame: Frame) -> str:
    last = frame[(frame["t"] == frame["t"].max()) & (frame["rate"] < 0)]
    lengths = np.hypot(last["x"], last["y"]).groupby(last["factor"]).max()
    return (
        "Where F(t) moves a query and G(t) a key, both (1, 0) at t = 0; a mark for every whole time. Without damping "
        "the two coincide: hands of a clock. With damping the query spirals inwards and the key outwards: at t = "
        f"{frame['t'].max():.0f} their lengths are {lengths['F(t) q']:.2f} and {lengths['G(t) k']:.2f}, and only the "
        "product depends on the lag alone."
    )


HANDS = FigureSpec(
    "groups_hands",
    draw_hands,
    caption_hands,
    notebook="one_parameter_groups",
    paper="the post's animations",
    rows=rows_hands,
    claims=("OPG-F1", "OPG-10"),
    alt="Four panels. Undamped: query and key move on the same circle. Damped: the query's path spirals inwards, the "
    "key's outwards.",
)
