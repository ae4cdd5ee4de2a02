"""Perplexity against retrieval, a dot for each encoding (BAM's argument that perplexity misleads)."""

import math

from attention_priors.experiments.correlation import spearman_permutation
from attention_priors.experiments.findings import LEVEL
from attention_priors.figures import panels, style
from attention_priors.figures.methods import label, look
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import bounded, extremes, listed

PANELS = 3
LEGEND = 0.165  # inches for each name in it


def multiples(frame: Frame) -> list[float]:
    """At most three, from the shortest to the longest, evenly spread."""
    every = sorted(set(frame["multiple"]))
    few = min(PANELS, len(every))
    return [every[round((rank + 1) * len(every) / few) - 1] for rank in range(few)]


def draw(frame: Frame) -> Figure:
    """A panel for each of a few multiples of the training length; open: a gate was missed."""
    rivals(frame, "encoding", "perplexity against retrieval")
    shown = multiples(frame)
    height = max(2.6, LEGEND * frame["encoding"].nunique())
    fig, axes = style.figure(style.MIDDLE, height, ncols=len(shown), sharey=True, squeeze=False)
    for ax, multiple in zip(axes[0], shown, strict=True):
        for row in frame[frame["multiple"] == multiple].itertuples():
            own = look(row.encoding)
            bars = {"color": own["color"], "linewidth": 0.6, "label": "_bars"}
            if math.isfinite(row.high):
                ax.plot([row.low, row.high], [row.accuracy] * 2, **bars)
            ax.plot([row.perplexity] * 2, [row.accuracy_low, row.accuracy_high], **bars)
            ax.plot(
                row.perplexity,
                row.accuracy,
                own["marker"],
                color=own["color"],
                markersize=5,
                label=own["label"],
                **({} if row.decides else {"markerfacecolor": "white"}),
                zorder=4,
            )
        ax.set(xscale="log", ylim=(-0.04, 1.04), title=f"at {multiple:.3g}×")
        ax.set_xlim(_span(frame))
        ax.set_xticks(ticks := _ticks(*_span(frame)), [f"{tick:g}" for tick in ticks])
        ax.xaxis.minorticks_off()
    panels.letter(axes[0])
    axes[0, 0].set_ylabel("share of passkeys retrieved")
    axes[0, len(shown) // 2].set_xlabel("perplexity of text (log scale), at multiples of the training length")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return fig


def _span(frame: Frame) -> tuple[float, float]:
    """All means with a little room; wide intervals leave the axes."""
    return frame["perplexity"].min() / 1.15, frame["perplexity"].max() * 1.15


def _ticks(low: float, high: float) -> list[float]:
    every = [step * 10.0**power for power in range(-1, 6) for step in (1, 2, 3, 5, 7)]
    return [tick for tick in every if low <= tick <= high]


def caption(frame: Frame) -> str:
    first, gone = frame.iloc[0], sorted(set(frame.loc[~frame["decides"].astype(bool), "encoding"]))
    missed = f" Open: a gate was missed ({listed(map(label, gone))}), not in ρ." if gone else ""
    said = "; ".join(f"{multiple:.3g}×: {_told(frame, multiple)}" for multiple in multiples(frame))
    return (
        f"Perplexity of language models and passkeys retrieved, at the same multiple of the training length of either "
        f"task. A mark for each encoding, mean over {extremes([*frame['seeds'], *frame['prompt_seeds']])} seeds with "
        f"bars for 95 % intervals.{missed} Spearman's ρ over encodings, with a bootstrap interval over them and the p "
        f"of a permutation test, not corrected for the panels: {said}. Near: within {LEVEL:g} times the best "
        f"perplexity. Retrieval is asked with {first['prompts']} prompts a seed at the shortest of "
        "these lengths."
    )


def _told(frame: Frame, multiple: float) -> str:
    """ρ of what passed both gates at one multiple, and of those among them whose perplexity is near the best."""
    every = frame[(frame["multiple"] == multiple) & frame["decides"].astype(bool)]
    near = every[every["perplexity"] <= LEVEL * every["perplexity"].min()]
    found, level = (spearman_permutation(rows, "encoding", "perplexity", "accuracy") for rows in (every, near))
    if math.isnan(found.rho):
        return f"undefined ({found.n} encodings)"
    told = f"{bounded(found.rho, found.low, found.high)}, p = {found.p:.2g} ({found.n} encodings)"
    if math.isnan(level.rho) or level.n == found.n:
        return told
    return f"{told}, of the {level.n} near the best {bounded(level.rho, level.low, level.high)}"


FIGURE = FigureSpec(
    "perplexity_and_retrieval",
    draw,
    caption,
    notebook="language_models",
    claims=("BAM-C7",),
    columns=(
        "encoding",
        "multiple",
        "seeds",
        "prompt_seeds",
        "perplexity",
        "low",
        "high",
        "accuracy",
        "accuracy_low",
        "accuracy_high",
        "prompts",
        "decides",
    ),
    alt="Scatter plots at a few context lengths: perplexity on a log axis against the share of passkeys retrieved, a "
    "marker with two thin bars for each encoding, open where a gate was missed.",
)
