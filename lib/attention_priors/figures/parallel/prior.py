"""Theory of parallel attention: the prior of shared positions, margins, entries above a threshold, eviction."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ...runtime import seed_for
from ...theory import parallel
from ...theory.inference import softmax, truncated_geometric
from ...theory.margins import chunk_prior
from ...theory.parallel import reused_lags
from .. import lines, panels, style
from ..spec import Figure, FigureSpec, Frame, Rows, Size, stacked
from ..words import farthest

# The prior of shared positions
POSITIONS = {
    "true": (style.BLUE, (4, 1.5), "None", "true positions"),
    "shared": (style.ORANGE, style.SOLID, "None", "shared positions"),
}


def weights(chunks: int, size: int, slope: float) -> Frame:
    """Weight without content of each key for the first query token, relative to the uniform share, by true distance.

    Bias -slope * lag: with the true positions, and with positions that the chunks share. Columns positions, distance,
    chunk, share; chunk counts from the oldest, 0 is the query itself.
    """
    distance = chunks * size - np.arange(chunks * size + 1)
    places = {"distance": distance, "chunk": np.append(np.repeat(np.arange(1, chunks + 1), size), 0)}
    return stacked(
        {"positions": name, **places, "share": softmax(-slope * lags) * len(lags)}
        for name, lags in (("true", distance), ("shared", reused_lags(chunks, size)))
    )


def rows(size: Size, seed: int, chunks=6, slope=0.05) -> Frame:
    """Chunks of an eighth of the length."""
    return weights(chunks, size.length // 8, slope)


def _curves(ax: Axes, frame: Frame) -> None:
    """Weight by true distance; chunks are separated by dotted lines."""
    lines.plot(ax, frame.sort_values("distance", kind="stable"), "distance", "share", "positions", POSITIONS)
    for distance in frame[frame["chunk"] > 0].groupby("chunk")["distance"].min():
        lines.place(ax, distance, zorder=0)
    ax.set(xlabel="true distance to the query", ylabel="weight / uniform share", yscale="log")
    ax.set_ylim(max(1e-4, frame["share"].min() / 2), 2 * frame["share"].max())


def _masses(frame: Frame) -> pd.Series:
    """Mass by positions and chunk."""
    return frame.groupby(["positions", "chunk"])["share"].sum() / frame.groupby("positions")["share"].sum()


def draw(frame: Frame) -> Figure:
    fig, (curves, masses) = style.figure(style.MIDDLE, 2.2, ncols=2, width_ratios=(3, 2))
    _curves(curves, frame)
    curves.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    mass, chunks = _masses(frame), sorted(set(frame["chunk"]) - {0})
    for shift, (positions, (color, dashes, *_)) in zip((-0.2, 0.2), POSITIONS.items(), strict=True):
        hatch = "" if dashes is style.SOLID else "////"
        heights = [mass[positions, chunk] for chunk in (*chunks, 0)]
        masses.bar(np.arange(len(heights)) + shift, heights, 0.38, color=color, hatch=hatch, ec="white", lw=0)
    masses.axhline(1 / len(chunks), color=style.GREY, linewidth=0.8, linestyle="--")
    style.note(masses, "$1/C$", (-0.5, 1 / len(chunks)), (0, 2))
    masses.set_xticks(range(len(chunks) + 1), [*map(str, chunks), "q"])
    masses.set(xlabel="chunk, oldest first (q: own key)", ylabel="mass without content")
    masses.grid(axis="x", visible=False)
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    mass, chunks = _masses(frame), int(frame["chunk"].max())
    size = int((frame[frame["positions"] == "true"]["chunk"] == 1).sum())
    return (
        f"ALiBi without content over {chunks} chunks of {size} keys. Panel a: with true positions (dashed) weight "
        "decays over the whole context; where chunks share their positions (solid) the same decay starts again in "
        f"every chunk. Panel b: the oldest chunk holds {mass['true', 1]:.1e} of the mass with true positions and "
        f"{mass['shared', 1]:.3f} with shared ones, as much as any other; 1/C is {1 / chunks:.3f}. q: the query's own "
        "key."
    )


def explore(size: int, chunks: int, slope: float) -> Figure:
    """Both priors of one setting, by distance to the query."""
    fig, ax = style.figure(style.SINGLE, 2.0)
    frame = weights(chunks, size, slope)
    _curves(ax, frame)
    recent = frame[frame["distance"] <= size].groupby("positions")["share"].sum()
    total = frame.groupby("positions")["share"].sum()
    shown = ", ".join(f"{recent[name] / total[name]:.2f} ({name})" for name in POSITIONS)
    ax.set_title(f"last {size} keys hold {shown}")
    return lines.once(fig)


PRIOR = FigureSpec(
    "parallel_prior",
    draw,
    caption,
    notebook="parallel_attention",
    paper="ParallelComp, Fig. 4",
    rows=rows,
    claims=("PC-PRIOR",),
    alt="Panel a: a line that falls over the whole context and a saw-tooth that restarts in each chunk. Panel b: bars "
    "of chunk mass, concentrated on the newest chunk with true positions, equal with shared ones.",
)


# The lead that gives one far key half of the weight, in chunks that reuse positions and on one line
SLOPES = ((style.BLUE, "o"), (style.ORANGE, "s"), (style.GREEN, "^"))
CHUNKS = tuple(2**k for k in range(8))


def rows_margin(size: Size, seed: int, width=64, chunks=CHUNKS, slopes=(0.0, 0.03, 0.1)) -> Rows:
    """Margin for weight 1/2 of the oldest chunk's middle key by number of chunks of `width`.

    Chunks that reuse positions, or one line of all keys, under ALiBi with this slope (0 is the uniform prior). On one
    line the prior is kept as a logarithm: e^-2000 is no float64.
    """
    found, lag = [], width // 2
    for slope in slopes:
        for c in chunks:
            total = c * width if slope == 0 else np.expm1(-slope * c * width) / np.expm1(-slope)
            reused = np.log(chunk_prior(truncated_geometric(slope, width), c)[lag])
            line = -slope * ((c - 1) * width + lag) - np.log(total)
            for layout, log_pi in (("reused positions", reused), ("one line", line)):
                value = float(np.log1p(-np.exp(log_pi)) - log_pi)
                found.append({"layout": layout, "slope": slope, "chunks": c, "margin": value})
    return found


def _lines(slope: float) -> tuple[str, ...]:
    """Layouts drawn for a slope: between chunks, reused positions are the uniform prior, where both are one line."""
    return ("reused positions",) if slope == 0 else ("reused positions", "one line")


def draw_margin(frame: Frame) -> Figure:
    looks = {}
    for (color, marker), slope in zip(SLOPES, sorted(frame["slope"].unique()), strict=False):
        said = "uniform" if slope == 0 else f"slope {slope:g}"
        for layout, dashes in zip(_lines(slope), (style.SOLID, (2, 1)), strict=False):
            looks[slope, layout] = color, dashes, marker, f"{said}, {layout.removesuffix(' positions')}"
    shown = frame.assign(series=list(zip(frame["slope"], frame["layout"], strict=True)))
    made = panels.series(shown[shown["series"].isin(looks)], "chunks", "margin", "series", looks)
    axis = {"base": 2, "xticks": {n: f"{n}" for n in sorted(frame["chunks"].unique())[::2]}, "yscale": "log"}
    fig, (ax,) = panels.draw(
        {"": made}, "chunks $C$", "lead for half of the weight (nats)", height=1.75, legend="upper left", **axis
    )
    ax.set_yticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
    return fig


def caption_margin(frame: Frame) -> str:
    first, last = frame["chunks"].min(), frame["chunks"].max()
    table = frame.set_index(["layout", "slope", "chunks"])["margin"]
    words = [
        f"{layout}, slope {slope:g}: {table[layout, slope, last] - table[layout, slope, first]:+.2f}"
        for slope in sorted(frame["slope"].unique())
        for layout in _lines(slope)
    ]
    return (
        "Lead in content that gives the middle key of the farthest chunk half of the weight against equal others, "
        f"under ALiBi priors, from {first} to {last} chunks. Chunks that reuse positions (solid) pay ln C; one line of "
        "all keys (dashed) pays the slope times the distance. Added lead: " + "; ".join(words) + "."
    )


MARGIN = FigureSpec(
    "parallel_margin",
    draw_margin,
    caption_margin,
    notebook="parallel_attention",
    paper="ParallelComp, section 3.1",
    rows=rows_margin,
    claims=("X-15",),
    alt="Lead by number of chunks, both logarithmic. Solid lines of reused positions rise slowly and in parallel; "
    "dashed lines of one long row rise in proportion to the number of chunks.",
)


# Entries above a threshold by the width of the row
RATES = (0.0, 0.05, 0.2, 1.0)
LOOKS = ((style.DARK, "X"), (style.BLUE, "s"), (style.GREEN, "^"), (style.ORANGE, "o"))


def rows_counts(size: Size, seed: int, epsilon=0.001, delta=0.05) -> Rows:
    """#{j : A_j > eps} in rows with logits -R d + N(0, 1): mean, least and most over rows, and the bounds.

    `share` is the part of the row above 1 / w, a threshold that moves with the width. R = 0 has no decay and no bound
    but 1 / eps.
    """
    found = []
    for rate in RATES:
        for keys in (size.length * 2**p // 8 for p in range(7)):
            rng = np.random.default_rng(seed_for(seed, f"13/counts/{rate}/{keys}"))
            weights = parallel.noisy_rows(rate, keys, size.draws // 2000, rng)
            above = (weights > epsilon).sum(axis=1)
            t = parallel.noise_level(keys, delta)
            bound = parallel.count_bound(rate, epsilon, t) if rate else 1 / epsilon
            found.append(
                {
                    "rate": rate,
                    "keys": keys,
                    "epsilon": epsilon,
                    "mean": float(above.mean()),
                    "least": int(above.min()),
                    "most": int(above.max()),
                    "bound": bound,
                    "share": float((weights > 1 / keys).mean()),
                }
            )
    return found


def draw_counts(frame: Frame) -> Figure:
    fig, (counts, shares) = style.figure(style.MIDDLE, 2.5, ncols=2)
    widths = np.array(sorted(frame["keys"].unique()))
    epsilon = frame["epsilon"].iloc[0]
    counts.plot(widths, widths, color=style.GREY, dashes=(1, 1))
    right = {"ha": "right", "va": "bottom"}
    style.note(counts, "as printed, $w - o(w)$", (widths[-1], widths[-1]), (-8, 3), **right)
    counts.axhline(1 / epsilon, color=style.BLACK, linewidth=0.9)
    style.note(counts, r"$1/\epsilon$", (widths[-1], 1 / epsilon), (-2, 2), **right)
    for rate, (color, marker) in zip(RATES, LOOKS, strict=True):
        part = frame[frame["rate"] == rate].sort_values("keys")
        counts.fill_between(part["keys"], part["least"], part["most"], color=color, alpha=0.18, linewidth=0)
        counts.plot(part["keys"], part["mean"], color=color, marker=marker)
        if rate:
            counts.plot(part["keys"], part["bound"], color=color, dashes=(4, 1.5), linewidth=0.8)
        shares.plot(part["keys"], part["share"], color=color, marker=marker, label=f"$R = {rate:g}$")
    counts.set(yscale="log", xlabel="width $w$", ylabel=rf"entries above $\epsilon = {epsilon:g}$")
    counts.set_ylim(0.5, 4 * widths[-1])
    shares.set(yscale="log", xlabel="width $w$", ylabel="share of entries above $1/w$")
    for ax in (counts, shares):
        style.length_axis(ax, [int(w) for w in widths], most=6)
    style.direct_labels(shares)
    panels.letter(fig.axes)
    return fig


def caption_counts(frame: Frame) -> str:
    epsilon, final = frame["epsilon"].iloc[0], farthest(frame).set_index("rate")
    decaying = final[final.index > 0].iterrows()
    flat = frame[frame["rate"] == 0]["share"]
    most = "; ".join(f"up to {row['most']:.0f}, bound {row['bound']:.0f} (R = {rate:g})" for rate, row in decaying)
    return (
        f"Rows of logits -R d + N(0, 1). Panel a: entries above {epsilon:g}, mean (markers) and range (band) over "
        f"simulated rows, and the corrected bound (dashed). The count stays below 1/ε = {1 / epsilon:.0f} for every "
        f"width, where the printed theorem has nearly all w entries (dotted); at w = {frame['keys'].max()}: {most}. "
        "Without decay (R = 0) the count first grows and then falls, as that of uniform attention does. Panel b: "
        f"measured against 1/w, the row without decay keeps {flat.min():.3f} to {flat.max():.3f} of its entries above; "
        "with decay the share falls."
    )


COUNTS = FigureSpec(
    "parallel_counts",
    draw_counts,
    caption_counts,
    notebook="parallel_attention",
    paper="ParallelComp, Theorem 3.1",
    rows=rows_counts,
    claims=("PC-TA.3", "PC-TA.3x", "PC-TA.2x"),
    alt="Panel a: counts above a constant threshold, flat or falling with the width, below dashed bounds and a line at "
    "one over the threshold. Panel b: the share above 1/w is nearly constant without decay and falls with it.",
)


# Output error of a cache by its budget, of the heaviest keys and of random ones
RULES = {"heaviest": (style.ORANGE, "o"), "random": (style.BLUE, "s")}


def rows_budget(size: Size, seed: int, width=16, queries=32, sharpness=2.0) -> Rows:
    """Output error of a cache of the heaviest keys, against its budget, next to a random cache of that size.

    Logits N(0, sharpness^2), values N(0, 1); the error is |o' - o| / |o| in the mean over the last 8 queries. Evicted
    mass m, bound: m times the diameter of the values over |o|.
    """
    keys, rng = size.length, np.random.default_rng(seed_for(seed, "13/budget"))
    common = rng.standard_normal(keys)  # what all queries agree on, so that a score over queries means something
    logits = sharpness * (common + rng.standard_normal((queries, keys))) / math.sqrt(2)
    weights = np.apply_along_axis(softmax, 1, logits)
    v = rng.standard_normal((keys, width))
    diameter = max(float(np.linalg.norm(v - row, axis=1).max()) for row in v)
    scores, shuffled, found = parallel.cumulative_scores(weights), rng.permutation(keys), []
    for budget in sorted({max(1, keys >> power) for power in range(8)}):
        for rule, kept in (("heaviest", parallel.heaviest(scores, budget)), ("random", np.sort(shuffled[:budget]))):
            moved = [(*parallel.eviction_shift(row, v, kept), np.linalg.norm(row @ v)) for row in weights[-8:]]
            found.append(
                {
                    "rule": rule,
                    "keys": keys,
                    "budget": budget,
                    "error": float(np.mean([np.linalg.norm(shift) / norm for shift, _, norm in moved])),
                    "evicted": float(np.mean([mass for _, mass, _ in moved])),
                    "bound": float(np.mean([mass * diameter / norm for _, mass, norm in moved])),
                }
            )
    return found


def draw_budget(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.6)
    shown = frame[frame["budget"] < frame["keys"]]
    for rule, (color, marker) in RULES.items():
        part = shown[shown["rule"] == rule].sort_values("budget")
        ax.plot(part["budget"], part["error"], color=color, marker=marker, label=f"{rule} keys")
        look = lines.look(color, (1, 1), marker, f"{rule}, evicted mass", linewidth=0.9, markerfacecolor="white")
        ax.plot(part["budget"], part["evicted"], **look)
        if rule == "heaviest":
            ax.plot(part["budget"], part["bound"], color=style.GREY, dashes=(4, 1.5), label=f"{rule}, bound")
    ax.set(yscale="log", xlabel=f"budget (of {int(frame['keys'].iloc[0])} keys)", ylabel="relative error, evicted mass")
    style.length_axis(ax, shown["budget"].unique().astype(int))
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2, columnspacing=1.0)
    return fig


def caption_budget(frame: Frame) -> str:
    keys = int(frame["keys"].iloc[0])
    at = frame[frame["budget"] == keys // 4].set_index("rule")
    return (
        f"Output error of a cache cut from {keys} keys (random logits and values), last 8 queries: keys of highest "
        "cumulative score (circles) against random keys (squares). Dotted, with open marks: the evicted mass; "
        "dashed, for the heaviest keys: evicted mass times the diameter of the values, which their error cannot "
        "exceed. Errors and bound are relative to the norm of the whole cache's output. With a quarter of the "
        f"keys the evicted mass is {at.loc['heaviest', 'evicted']:.2f} by score and {at.loc['random', 'evicted']:.2f} "
        f"at random, the error {at.loc['heaviest', 'error']:.2f} and {at.loc['random', 'error']:.2f}."
    )


BUDGET = FigureSpec(
    "parallel_budget",
    draw_budget,
    caption_budget,
    notebook="parallel_attention",
    paper="ParallelComp, section 3.1",
    rows=rows_budget,
    claims=("PC-EQ6",),
    alt="Output error falls with the budget, faster for keys of high score than for random keys, below a dashed bound; "
    "the evicted mass falls likewise.",
)
