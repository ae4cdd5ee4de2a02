"""Parallel attention: the prior of shared positions, effective entries against the width, what eviction leaves."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec
from attention_priors.theory.parallel_rows import prior_rows

NOTEBOOK = "13_parallel_attention"
POSITIONS = {"true": ("#0072B2", (4, 1.5), "true positions"), "shared": ("#D55E00", style.SOLID, "shared positions")}
RATES = {0.0: ("#4D4D4D", "X"), 0.05: ("#0072B2", "s"), 0.2: ("#009E73", "^"), 1.0: ("#D55E00", "o")}
RULES = {"heaviest": ("#D55E00", "o"), "random": ("#0072B2", "s")}
GREY = "#7F7F7F"


def _curves(ax: Axes, frame: pd.DataFrame) -> None:
    """Weight by true distance; chunks are separated by dotted lines."""
    for positions, (color, dashes, label) in POSITIONS.items():
        rows = frame[frame["positions"] == positions].sort_values("distance")
        ax.plot(rows["distance"], rows["share"], color=color, dashes=dashes, label=label)
    ends = frame[frame["chunk"] > 0].groupby("chunk")["distance"].min()
    for distance in ends:
        ax.axvline(distance, color="#BBBBBB", linewidth=0.6, linestyle=":", zorder=0)
    ax.set(xlabel="true distance to the query", ylabel="weight / uniform share", yscale="log")
    ax.set_ylim(max(1e-4, frame["share"].min() / 2), 2 * frame["share"].max())


def draw_prior(frame: pd.DataFrame) -> Figure:
    """Columns positions, distance, chunk, share: weights by distance, and the mass of each chunk."""
    fig, (curves, masses) = style.figure(style.DOUBLE, 2.2, ncols=2, width_ratios=(3, 2))
    _curves(curves, frame)
    curves.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    mass = frame.groupby(["positions", "chunk"])["share"].sum() / frame.groupby("positions")["share"].sum()
    chunks = sorted(set(frame["chunk"]) - {0})
    for shift, (positions, (color, dashes, _)) in zip((-0.2, 0.2), POSITIONS.items(), strict=True):
        hatch = "" if dashes is style.SOLID else "////"
        heights = [mass[positions, chunk] for chunk in (*chunks, 0)]
        masses.bar(np.arange(len(heights)) + shift, heights, 0.38, color=color, hatch=hatch, ec="white", lw=0)
    masses.axhline(1 / len(chunks), color=GREY, linewidth=0.8, linestyle="--")
    masses.annotate("$1/C$", (-0.5, 1 / len(chunks)), xytext=(0, 2), textcoords="offset points",
                    fontsize=style.SMALLEST)  # fmt: skip
    masses.set_xticks(range(len(chunks) + 1), [*map(str, chunks), "q"])
    masses.set(xlabel="chunk, oldest first (q: own key)", ylabel="mass without content")
    masses.grid(axis="x", visible=False)
    return fig


def caption_prior(frame: pd.DataFrame) -> str:
    mass = frame.groupby(["positions", "chunk"])["share"].sum() / frame.groupby("positions")["share"].sum()
    chunks = int(frame["chunk"].max())
    size = int((frame[frame["positions"] == "true"]["chunk"] == 1).sum())
    return (
        f"ALiBi without content over {chunks} chunks of {size} keys. Left: with true positions (dashed) weight decays "
        "over the whole context; where chunks share their positions (solid) the same decay starts again in every "
        f"chunk. Right: the oldest chunk holds {mass['true', 1]:.1e} of the mass with true positions and "
        f"{mass['shared', 1]:.3f} with shared ones, as much as any other; 1/C is {1 / chunks:.3f}. q: the query's own "
        "key."
    )


def explore(size: int, chunks: int, slope: float) -> Figure:
    """Both priors of one setting, for sliders."""
    fig, ax = style.figure(style.SINGLE, 2.0)
    frame = pd.DataFrame(prior_rows(chunks, size, slope))
    _curves(ax, frame)
    recent = frame[frame["distance"] <= size].groupby("positions")["share"].sum()
    total = frame.groupby("positions")["share"].sum()
    shown = ", ".join(f"{recent[name] / total[name]:.2f} ({name})" for name in POSITIONS)
    ax.set_title(f"mass of the last {size} keys: {shown}")
    plt.close(fig)  # shown once, as the returned value
    return fig


def draw_counts(frame: pd.DataFrame) -> Figure:
    """Columns rate, keys, epsilon, mean, least, most, bound, share: counts above eps, shares above 1 / w."""
    fig, (counts, shares) = style.figure(style.DOUBLE, 2.5, ncols=2)
    widths = np.array(sorted(frame["keys"].unique()))
    epsilon = frame["epsilon"].iloc[0]
    counts.plot(widths, widths, color=GREY, dashes=(1, 1))
    counts.annotate("as printed, $w - o(w)$", (widths[-1], widths[-1]), xytext=(-8, 3), textcoords="offset points",
                    fontsize=style.SMALLEST, ha="right", va="bottom")  # fmt: skip
    counts.axhline(1 / epsilon, color="#000000", linewidth=0.9)
    counts.annotate(r"$1/\epsilon$", (widths[-1], 1 / epsilon), xytext=(-2, 2), textcoords="offset points",
                    fontsize=style.SMALLEST, ha="right", va="bottom")  # fmt: skip
    for rate, (color, marker) in RATES.items():
        rows = frame[frame["rate"] == rate].sort_values("keys")
        counts.fill_between(rows["keys"], rows["least"], rows["most"], color=color, alpha=0.18, linewidth=0)
        counts.plot(rows["keys"], rows["mean"], color=color, marker=marker)
        if rate:
            counts.plot(rows["keys"], rows["bound"], color=color, dashes=(4, 1.5), linewidth=0.8)
        shares.plot(rows["keys"], rows["share"], color=color, marker=marker, label=f"$R = {rate:g}$")
    counts.set(yscale="log", xlabel="width $w$", ylabel=rf"entries above $\epsilon = {epsilon:g}$")
    counts.set_ylim(0.5, 4 * widths[-1])
    shares.set(yscale="log", xlabel="width $w$", ylabel="share of entries above $1/w$")
    for ax in (counts, shares):
        style.length_axis(ax, [int(w) for w in widths], most=6)
    style.direct_labels(shares)
    return fig


def caption_counts(frame: pd.DataFrame) -> str:
    epsilon, widest = frame["epsilon"].iloc[0], frame["keys"].max()
    last = frame[frame["keys"] == widest].set_index("rate")
    decaying = last[last.index > 0].iterrows()
    flat = frame[frame["rate"] == 0]["share"]
    most = "; ".join(f"up to {row['most']:.0f}, bound {row['bound']:.0f} (R = {rate:g})" for rate, row in decaying)
    return (
        f"Rows of logits -R d + N(0, 1). Left: entries above {epsilon:g}, mean (markers) and range (band) over "
        f"simulated rows, and the corrected bound (dashed). The count stays below 1/ε = {1 / epsilon:.0f} for every "
        f"width, where the printed theorem has nearly all w entries (dotted); at w = {widest}: {most}. Without decay "
        "(R = 0) the count first grows and then falls, as that of uniform attention does. Right: measured against 1/w, "
        f"the row without decay keeps {flat.min():.3f} to {flat.max():.3f} of its entries above; with decay the share "
        "falls."
    )


def draw_dimension(frame: pd.DataFrame) -> Figure:
    """Columns width, lag, mass, error, quiet: mass near the query by head dimension."""
    fig, ax = style.figure(style.SINGLE, 2.0)
    lag = int(frame["lag"].iloc[0])
    ax.plot(frame["width"], frame["quiet"], color="#0072B2", dashes=(4, 1.5), marker="s", label="no noise")
    ax.errorbar(frame["width"], frame["mass"], 2 * frame["error"], color="#D55E00", marker="o", label="noise")
    ax.set(xlabel="head dimension $d$", ylabel=f"mass within {lag} lags", ylim=(0, 1.05))
    style.length_axis(ax, frame["width"].astype(int))
    ax.legend(loc="lower left")
    return fig


def caption_dimension(frame: pd.DataFrame) -> str:
    first, last = frame.iloc[0], frame.iloc[-1]
    return (
        f"Logits (-d(i, j) + Z)/√d with Z ~ N(0, d): the mass within {int(first['lag'])} lags falls from "
        f"{first['mass']:.3f} at d = {int(first['width'])} to {last['mass']:.3f} at d = {int(last['width'])} (circles, "
        f"two standard errors); without noise (squares) from {first['quiet']:.3f} to {last['quiet']:.3f}. The decay is "
        "divided by √d, the noise is not."
    )


def draw_calibration(frame: pd.DataFrame) -> Figure:
    """Columns first, second, largest, entropy: where eviction of the top of three keys flattens the row."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    x, y = frame["first"].to_numpy(), frame["second"].to_numpy()
    limit = max(abs(frame["largest"].min()), frame["largest"].max())
    levels = np.linspace(-limit, limit, 13)
    filled = ax.tricontourf(x, y, frame["largest"], levels=levels, cmap="cividis")
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


def caption_calibration(frame: pd.DataFrame) -> str:
    share = (frame["largest"] > 0).mean()
    return (
        "Three keys, the heaviest evicted. Colour: the largest weight after less before; on the white line, p₂ = p₁ "
        "(1 - p₁), it stays. Black, dashed: the entropy over ln(keys) stays; above it, it falls. Eviction flattens "
        "rows whose top key stands alone (lower right) and sharpens rows in which two keys compete (upper left): "
        f"{100 * share:.0f} % of this grid. The marked row goes from a largest weight of 0.50 to 0.98."
    )


def draw_budget(frame: pd.DataFrame) -> Figure:
    """Columns rule, keys, budget, error, evicted, bound: output error of a cache by its budget."""
    fig, ax = style.figure(style.SINGLE, 2.6)
    shown = frame[frame["budget"] < frame["keys"]]
    for rule, (color, marker) in RULES.items():
        rows = shown[shown["rule"] == rule].sort_values("budget")
        ax.plot(rows["budget"], rows["error"], color=color, marker=marker, label=f"{rule} keys")
        ax.plot(rows["budget"], rows["evicted"], color=color, dashes=(1, 1), linewidth=0.9, marker=marker,
                markerfacecolor="white", label=f"{rule}, evicted mass")  # fmt: skip
        if rule == "heaviest":
            ax.plot(rows["budget"], rows["bound"], color=GREY, dashes=(4, 1.5), label=f"{rule}, bound")
    ax.set(yscale="log", xlabel=f"budget (of {int(frame['keys'].iloc[0])} keys)", ylabel="relative error, evicted mass")
    style.length_axis(ax, shown["budget"].unique().astype(int))
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2, columnspacing=1.0)
    return fig


def caption_budget(frame: pd.DataFrame) -> str:
    keys = int(frame["keys"].iloc[0])
    at = frame[frame["budget"] == keys // 4].set_index("rule")
    return (
        f"Output error of a cache cut from {keys} keys (random logits and values), last 8 queries: keys of highest "
        "cumulative score (circles) against random keys (squares). Dotted, with open marks: the evicted mass; "
        "dashed: evicted mass times the diameter of the values, which the error cannot exceed. With a quarter of the "
        f"keys the evicted mass is {at.loc['heaviest', 'evicted']:.2f} by score and {at.loc['random', 'evicted']:.2f} "
        f"at random, the error {at.loc['heaviest', 'error']:.2f} and {at.loc['random', 'error']:.2f}."
    )


FIGURES = {
    "parallel_prior": FigureSpec(
        metrics="parallel_prior",
        draw=draw_prior,
        caption=caption_prior,
        alt="Left: a line that falls over the whole context and a saw-tooth that restarts in each chunk. Right: bars "
        "of chunk mass, concentrated on the newest chunk with true positions, equal with shared ones.",
        paper="ParallelComp, Fig. 4",
        notebook=NOTEBOOK,
    ),
    "parallel_counts": FigureSpec(
        metrics="parallel_counts",
        draw=draw_counts,
        caption=caption_counts,
        alt="Left: counts above a constant threshold, flat or falling with the width, below dashed bounds and a line "
        "at one over the threshold. Right: the share above 1/w is nearly constant without decay and falls with it.",
        paper="ParallelComp, Theorem 3.1",
        notebook=NOTEBOOK,
    ),
    "parallel_dimension": FigureSpec(
        metrics="parallel_dimension",
        draw=draw_dimension,
        caption=caption_dimension,
        alt="Mass near the query falls as the head dimension grows, with and without noise.",
        paper="ParallelComp, appendix A.1",
        notebook=NOTEBOOK,
    ),
    "parallel_calibration": FigureSpec(
        metrics="parallel_calibration",
        draw=draw_calibration,
        caption=caption_calibration,
        alt="A triangle of weights of three keys, coloured by the change of the largest weight after eviction; it "
        "rises in the upper left, where two keys compete, and falls in the lower right.",
        paper="",
        notebook=NOTEBOOK,
    ),
    "parallel_budget": FigureSpec(
        metrics="parallel_budget",
        draw=draw_budget,
        caption=caption_budget,
        alt="Output error falls with the budget, faster for keys of high score than for random keys, below a "
        "dashed bound; the evicted mass falls likewise.",
        paper="ParallelComp, section 3.1",
        notebook=NOTEBOOK,
    ),
}
