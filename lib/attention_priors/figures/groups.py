"""One-parameter groups: phase portraits with their scores, clock hands and spirals, growing factors, sliding pucks."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors.evaluation import share_interval
from attention_priors.experiments import pucks
from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec
from attention_priors.theory.groups import LARGEST, Block, overflow_position

NOTEBOOK = "02_one_parameter_groups"
BLACK, GREEN, BLUE, ORANGE, GREY = "#000000", "#009E73", "#0072B2", "#D55E00", "#7F7F7F"
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
SERIES = ((ORANGE, style.SOLID), (BLUE, (5, 1.5)), (GREEN, (2, 1)))


def draw_portraits(frame: pd.DataFrame) -> Figure:
    """Columns kind, path, t, x, y: trajectories above (path 1 ..), the score by lag below (path 0)."""
    fig, axes = style.figure(style.DOUBLE, 2.9, nrows=2, ncols=len(PANELS), height_ratios=(1.25, 1))
    for (kind, (title, user)), above, below in zip(PANELS.items(), *axes, strict=True):
        rows = frame[frame["kind"] == kind]
        for path, points in rows[rows["path"] > 0].groupby("path"):
            _trajectory(above, points, BLUE if path % 2 else BLACK)
        above.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), xticks=[], yticks=[], aspect="equal")
        above.set_title(title, fontsize=style.SMALLEST + 0.3)
        score = rows[rows["path"] == 0]
        below.plot(score["x"], score["y"], color=ORANGE)
        below.axhline(0, color=GREY, linewidth=0.6, zorder=1)
        below.set(yticks=[0], xticks=[0, 10, 20], ylim=(-2.6, 2.6), xlabel="lag")
        below.set_title(user, fontsize=style.SMALLEST + 0.3)
        if kind != next(iter(PANELS)):
            below.set_yticklabels([])
    axes[0, 0].set_ylabel("flow $e^{tX}x$")
    axes[1, 0].set_ylabel("score $c^\\top e^{dX} b$")
    return fig


def _trajectory(ax: Axes, points: pd.DataFrame, color: str) -> None:
    """A line that stops at the edge of the panel, with an arrow along it a little after its start."""
    x, y = points["x"].to_numpy(), points["y"].to_numpy()
    outside = np.flatnonzero(np.maximum(np.abs(x), np.abs(y)) > EDGE)
    stop = outside[0] + 1 if len(outside) else len(x)
    ax.plot(x[:stop], y[:stop], color=color, linewidth=0.8)
    ax.plot(x[:1], y[:1], color=color, marker="o", markersize=1.8)
    tip = min(stop - 1, 10)
    if np.hypot(x[tip] - x[tip - 1], y[tip] - y[tip - 1]) > 1e-3:
        arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 0, "mutation_scale": 6}
        ax.annotate("", (x[tip], y[tip]), xytext=(x[tip - 1], y[tip - 1]), arrowprops=arrow)


def caption_portraits(frame: pd.DataFrame) -> str:
    score = frame[frame["path"] == 0]
    peak = score[score["kind"] == "damped shear"].set_index("x")["y"].idxmax()
    return (
        "The one-parameter groups that a real generator X allows, block by block. Above: trajectories of e^{tX} (dots "
        "mark the start; of the doubled pair, the plane that the other one drives). Below: a score c^T e^{dX} b that "
        f"the block gives, by lag, and who uses it. The damped defective block peaks at lag {peak:.2g} without "
        "oscillating; the undamped one is the straight line of ALiBi."
    )


def draw_hands(frame: pd.DataFrame) -> Figure:
    """Columns omega, rate, factor, t, x, y: F(t) q and G(t) k at whole times, a panel for each pair."""
    pairs = list(frame.groupby(["rate", "omega"], sort=False).groups)
    fig, axes = style.figure(style.DOUBLE, 2.2, ncols=len(pairs))
    for ax, (rate, omega) in zip(axes, pairs, strict=True):
        rows = frame[(frame["rate"] == rate) & (frame["omega"] == omega)]
        for (name, points), color, dashes, marker in zip(
            rows.groupby("factor", sort=False), (BLUE, ORANGE), (style.SOLID, (4, 1.5)), ("o", "s"), strict=True
        ):
            whole = np.flatnonzero(points["t"] % 1 == 0).tolist()
            size, face = (5, "none") if marker == "s" else (2.4, color)
            ax.plot(points["x"], points["y"], color=color, dashes=dashes, linewidth=0.8, marker=marker, markevery=whole,
                    markersize=size, markerfacecolor=face, markeredgewidth=0.7, label=f"${name}$")  # fmt: skip
        reach = 1.15 * float(np.hypot(rows["x"], rows["y"]).max())
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        ax.set_title(rf"$\lambda = {rate:g}$, $\omega = {omega:g}$")
        ax.set_xlabel("first coordinate")
    axes[0].set_ylabel("second coordinate")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return fig


def caption_hands(frame: pd.DataFrame) -> str:
    last = frame[(frame["t"] == frame["t"].max()) & (frame["rate"] < 0)]
    lengths = np.hypot(last["x"], last["y"]).groupby(last["factor"]).max()
    return (
        "Where F(t) moves a query and G(t) a key, both (1, 0) at t = 0; a mark for every whole time. Without damping "
        "the two coincide: hands of a clock. With damping the query spirals inwards and the key outwards: at t = "
        f"{frame['t'].max():.0f} their lengths are {lengths['F(t) q']:.2f} and {lengths['G(t) k']:.2f}, and only the "
        "product depends on the lag alone."
    )


def draw_factors(frame: pd.DataFrame) -> Figure:
    """Columns decay, factors, position, log10 size: the keys' factor at absolute positions and by block."""
    fig, ax = style.figure(style.SINGLE, 2.4)
    for (color, dashes), (decay, rows) in zip(SERIES, frame.groupby("decay", sort=False), strict=False):
        exponent = round(-np.log2(1 - decay))
        absolute = rows[rows["factors"] == "absolute"]
        ax.plot(absolute["position"], absolute["log10 size"], color=color, dashes=dashes,
                label=f"decay $1 - 2^{{-{exponent}}}$")  # fmt: skip
    fastest = frame[(frame["decay"] == frame["decay"].min()) & (frame["factors"] == "by block")]
    ax.plot(fastest["position"], fastest["log10 size"], color=BLACK, linewidth=0.6, label="fastest, by block")
    for dtype, largest in (("fp16", LARGEST["fp16"]), ("bf16, fp32", LARGEST["fp32"])):
        ax.axhline(np.log10(largest), color=GREY, linewidth=0.8, linestyle=":")
        ax.text(frame["position"].max(), np.log10(largest) - 0.6, f"largest {dtype}", ha="right", va="top",
                fontsize=style.SMALLEST, color="#555555")  # fmt: skip
    ax.set(xlabel="position of the key", ylabel="$\\log_{10}$ size of $G(s)$", ylim=(-1, 45))
    ax.set_xlim(0, frame["position"].max())
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return fig


def caption_factors(frame: pd.DataFrame) -> str:
    fastest = frame["decay"].min()
    first = {dtype: overflow_position(np.log(fastest), dtype) for dtype in ("fp16", "fp32")}
    rows = frame[(frame["decay"] == fastest) & (frame["factors"] == "by block")]
    within = (-rows["log10 size"] / np.log10(fastest)).round().astype(int)  # place in the block
    block = int(np.gcd.reduce(rows["position"] - within))
    most = math.ceil(10 * fastest ** (1 - block)) / 10  # at the block's last position, drawn or not
    return (
        f"The keys' factor of a damped block grows without bound when positions are counted from 0: with a decay of "
        f"{fastest:.4g} it exceeds fp16 at position {first['fp16']:,} and fp32 at {first['fp32']:,}. Counted from the "
        f"start of a block of {block} it stays below {most:g} (black). The scores are the same."
    )


PUCK_LOOKS = {
    "nope": ("#4D4D4D", "X", (1, 1)),
    "alibi": (BLUE, "s", (5, 1.5)),
    "rope": ("#009E73", "^", (3, 1)),
    "rope-learned": ("#7FC8A9", "v", (3, 1, 1, 1)),
    "group-damped": ("#CC79A7", "D", (2, 1)),
    "group-defective": (ORANGE, "o", (None, None)),
}


def draw_pucks(frame: pd.DataFrame) -> Figure:
    """Columns encoding, seed, multiple, correct, samples: accuracy by longest lag with its interval."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    for name, (color, marker, dashes) in PUCK_LOOKS.items():
        own = frame[frame["encoding"] == name].groupby("multiple")
        shares = own["correct"].sum() / own["samples"].sum()
        ends = np.array([share_interval(rows["correct"], rows["samples"]) for _, rows in own])
        style.interval_band(ax, shares.index, ends[:, 0], ends[:, 1], color=color, dashes=dashes)
        seeds = frame[frame["encoding"] == name]
        style.seed_dots(ax, seeds["multiple"], seeds["correct"] / seeds["samples"], color=color)
        ax.plot(shares.index, shares, color=color, marker=marker, dashes=dashes, label=pucks.ENCODINGS[name][0])
    ax.plot(sorted(set(frame["multiple"])), [pucks.CHANCE] * frame["multiple"].nunique(), **style.CONTROLS["chance"])
    ax.set_xscale("log", base=2)
    ax.set_xticks(sorted(set(frame["multiple"])), [f"{m}×" for m in sorted(set(frame["multiple"]))])
    ax.set(xlabel=f"longest lag (in training: {pucks.TRAINED})", ylabel="furthest puck found", ylim=(0, 1.02))
    style.direct_labels(ax)
    return fig


def caption_pucks(frame: pd.DataFrame) -> str:
    ours = frame[frame["encoding"] == "group-defective"].drop_duplicates("seed")
    asked = int(frame["samples"].iloc[0])
    return (
        f"Sliding pucks: one head, trained on lags up to {pucks.TRAINED}, names the one of {pucks.PUCKS} pucks that is "
        f"furthest along a direction now, each seen once with its place and velocity. Share of {asked:,} questions a "
        f"seed at each longest lag; mean of {frame['seed'].nunique()} seeds with its 95 % interval. The defective "
        f"generator can be exact at every lag; after training its largest coupling over {pucks.TRAINED} steps is "
        f"{ours['coupling'].mean():.2g} (it starts at {pucks.STARTED:.2g}), and its slowest decay takes "
        f"{1 - np.exp(-ours['decay'].mean()):.0%} of a score over the same steps. Dots: seeds. "
        f"Chance is {pucks.CHANCE:.3g}."
    )


def explore(rate: float, omega: float, defect: bool) -> Figure:
    """Phase portrait and score of one block, for sliders."""
    fig, (flow, score) = style.figure(style.DOUBLE, 2.2, ncols=2)
    block, t = Block(rate, omega, 2 if defect else 1), np.linspace(0, 30, 400)
    group = block.group(t)
    if block.width == 1:
        group = np.einsum("t,ij->tij", group[:, 0, 0], np.eye(2))
    for path in range(8):
        angle = 2 * np.pi * (path + 0.5) / 8
        start = np.zeros(group.shape[1])
        start[-2:] = np.cos(angle), np.sin(angle)
        x, y = (group @ start)[:, 0], (group @ start)[:, 1]
        _trajectory(flow, pd.DataFrame({"x": x, "y": y}), BLUE if path % 2 else BLACK)
    flow.set(xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), title="flow", aspect="equal")
    corner = group[:, 0, block.width // 2 if defect else 0]
    score.plot(t, corner, color=ORANGE)
    score.axhline(0, color=GREY, linewidth=0.6)
    score.set(xlabel="lag", title="score" + (" of the corner" if defect else ""))
    plt.close(fig)  # shown once, as the returned value
    return fig


def _spec(name: str, draw, caption, alt: str, paper: str = "") -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper=paper, notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec(
            "groups_pucks", draw_pucks, caption_pucks,
            "Lines of accuracy against the longest lag for six encodings; all fall beyond the lags of training.",
            "the post's pucks",
        ),
        _spec(
            "groups_portraits", draw_portraits, caption_portraits,
            "Six columns. Above, flows: curves into the origin, circles, spirals, horizontal lines, lines that "
            "shear and fall into the origin, arcs that leave the origin and the panel. Below, the scores "
            "by lag: decay, wave, damped wave, straight falling line, a hump, a growing wave.",
            "the post's animations",
        ),
        _spec(
            "groups_hands", draw_hands, caption_hands,
            "Four panels. Undamped: query and key move on the same circle. Damped: the query's path spirals inwards, "
            "the key's outwards.",
            "the post's animations",
        ),
        _spec(
            "groups_factors", draw_factors, caption_factors,
            "Logarithm of the keys' factor by position. Straight lines for three decays rise through the largest "
            "number of fp16, the fastest one also through that of fp32; the factor counted by blocks stays a "
            "low saw-tooth.",
        ),
    ]
)  # fmt: skip
