"""Output error of a cache by its budget, of the heaviest keys and of random ones (ParallelComp, section 3.1)."""

import math

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.runtime import seed_for
from attention_priors.theory import parallel
from attention_priors.theory.inference import softmax

RULES = {"heaviest": (style.ORANGE, "o"), "random": (style.BLUE, "s")}


def rows(size: Size, seed: int, width=16, queries=32, sharpness=2.0) -> Rows:
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


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.6)
    shown = frame[frame["budget"] < frame["keys"]]
    for rule, (color, marker) in RULES.items():
        part = shown[shown["rule"] == rule].sort_values("budget")
        ax.plot(part["budget"], part["error"], color=color, marker=marker, label=f"{rule} keys")
        ax.plot(
            part["budget"],
            part["evicted"],
            color=color,
            dashes=(1, 1),
            linewidth=0.9,
            marker=marker,
            markerfacecolor="white",
            label=f"{rule}, evicted mass",
        )
        if rule == "heaviest":
            ax.plot(part["budget"], part["bound"], color=style.GREY, dashes=(4, 1.5), label=f"{rule}, bound")
    ax.set(yscale="log", xlabel=f"budget (of {int(frame['keys'].iloc[0])} keys)", ylabel="relative error, evicted mass")
    style.length_axis(ax, shown["budget"].unique().astype(int))
    ax.legend(loc="upper center", bbox_to_anchor=(0.45, -0.2), ncols=2, columnspacing=1.0)
    return fig


def caption(frame: Frame) -> str:
    keys = int(frame["keys"].iloc[0])
    at = frame[frame["budget"] == keys // 4].set_index("rule")
    return (
        f"Output error of a cache cut from {keys} keys (random logits and values), last 8 queries: keys of highest "
        "cumulative score (circles) against random keys (squares). Dotted, with open marks: the evicted mass; "
        "dashed: evicted mass times the diameter of the values, which the error cannot exceed. With a quarter of the "
        f"keys the evicted mass is {at.loc['heaviest', 'evicted']:.2f} by score and {at.loc['random', 'evicted']:.2f} "
        f"at random, the error {at.loc['heaviest', 'error']:.2f} and {at.loc['random', 'error']:.2f}."
    )


FIGURE = FigureSpec(
    "parallel_budget",
    draw,
    caption,
    notebook="parallel_attention",
    paper="ParallelComp, section 3.1",
    rows=rows,
    columns=("rule", "keys", "budget", "error", "evicted", "bound"),
    claims=("PC-EQ6",),
    alt="Output error falls with the budget, faster for keys of high score than for random keys, below a dashed bound; "
    "the evicted mass falls likewise.",
)
