"""Perplexity by context length, on text of the kind trained on (BAM, Fig. 6) and on other text (BAM, Fig. 7)."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attention_priors.figures import style
from attention_priors.figures.curves import LENGTH, curve, over_seeds
from attention_priors.figures.methods import METHODS, OURS, label, look, named, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import tokens, trained_on

FLAT = 1.5  # the perplexity axis spans at least this factor: a flat line must look flat
STEPS = ((1, 1.2, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))
FAR = 1.5  # intervals widen the axis at each end by at most this factor


def part(frame: Frame, known: bool) -> Frame:
    """The rows of the domain of training or of the other ones (of all, where a corpus has one domain only)."""
    rows = frame[frame["trained_on"] == known]
    return rows if len(rows) else frame


def draw(frame: Frame, known: bool) -> Figure:
    """Left without SSMax, right with it."""
    rows = part(frame, known)
    fig, axes = style.figure(style.DOUBLE, 2.75, ncols=2, sharey=True)
    unigram = float(rows["unigram"].iloc[0])
    for ax, ssmax in zip(axes, (False, True), strict=True):
        for rank, name in enumerate(named(ssmax)):
            own = rows[rows["encoding"] == name]
            if len(own):
                seeds = own.set_index("length")["perplexity"]
                curve(ax, np.exp(over_seeds(own, "loss")), seeds, look(name), zorder=rank + 4)
        style.length_axis(ax, rows["length"], rows["trained"])
        ax.axhline(unigram, color=style.GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        ax.set(xlabel=LENGTH, title="with SSMax" if ssmax else "without SSMax")
    _perplexities(axes[0], rows)
    axes[0].annotate(
        "token frequencies alone", (rows["length"].min(), unigram), xytext=(0, -2), textcoords="offset points",
        fontsize=style.SMALLEST, color="#555555", va="top",
    )  # fmt: skip
    for ax in axes:
        style.direct_labels(ax)
    return fig


def intervals(rows: Frame) -> Frame:
    """The t intervals of perplexity by encoding and length, for those with several seeds."""
    ends = pd.concat({name: over_seeds(own, "loss") for name, own in rows.groupby("encoding")})
    return np.exp(ends[["low", "high"]].dropna())


def span(rows: Frame) -> tuple[float, float]:
    """The axis of perplexity: all means and the control, and intervals as far as they do not dwarf those."""
    means = np.exp(rows.groupby(["encoding", "length"])["loss"].mean())
    known, ends = [*means, rows["unigram"].iloc[0]], intervals(rows)
    low = max(min([*known, *ends["low"]]), min(known) / FAR)
    high = min(max([*known, *ends["high"]]), max(known) * FAR)
    spare = max(1.05, math.sqrt(FLAT * low / high))
    return low / spare, high * spare


def ticks_between(low: float, high: float, most: int = 9) -> list[float]:
    """Round numbers of a log axis, the densest of STEPS that has at most `most` of them."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in STEPS:
        ticks = [step * 10.0**power for power in decades for step in steps if low <= step * 10.0**power <= high]
        if len(ticks) <= most:
            break
    return ticks


def _perplexities(ax: Axes, rows: Frame) -> None:
    low, high = span(rows)
    ax.set_yscale("log")
    ax.set(ylim=(low, high), ylabel="perplexity (log scale)")
    ticks = ticks_between(low, high)
    ax.set_yticks(ticks, [f"{tick:,.3g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    ax.yaxis.minorticks_off()


def _cut(rows: Frame) -> str:
    """Whose intervals leave the axes."""
    (low, high), ends = span(rows), intervals(rows)
    cut = ends[(ends["low"] < low) | (ends["high"] > high)].index.unique(0)
    return f" (cut at the frame: {', '.join(label(name) for name in cut)})" if len(cut) else ""


def caption(frame: Frame, known: bool) -> str:
    rows = part(frame, known)
    trained, far, first = trained_on(rows), int(rows["length"].max()), rows.iloc[0]
    growth = rows[rows["length"] == far].groupby("encoding")["growth"].mean()
    changes = {name: f"{label(name)} ×{math.exp(growth[name]):.3g}" for name in (*METHODS, OURS) if name in growth}
    plain = ", ".join(text for name, text in changes.items() if name != OURS)
    scaled = f"; {changes[OURS]}" if OURS in changes else ""
    kind = "held-out documents of the kind trained on" if known else "documents of another kind than trained on"
    return (
        f"Perplexity of models trained on {trained} tokens, on the same last {first['scored']} tokens of "
        f"{first['documents']} {kind} ({first['domain']}), whatever the context before them. Change of perplexity from "
        f"{trained} to {tokens(far, trained)}: {plain}{scaled}. Line: mean over seeds; band: 95 % t interval of that "
        f"mean{_cut(rows)}; dots: seeds; dotted vertical line: training length; dotted horizontal line: a model that "
        f"knows the frequencies of tokens alone ({first['unigram']:.0f}); {named_seeds(rows)}."
    )


def _figure(known: bool, alt: str, paper: str, claims: tuple[str, ...]) -> FigureSpec:
    return FigureSpec(
        "language_perplexity", lambda frame: draw(frame, known), lambda frame: caption(frame, known),
        notebook="language_models", paper=paper, claims=claims,
        columns=("trained_on", "domain", "encoding", "seed", "length", "loss", "perplexity", "growth", "trained",
                 "scored", "documents", "unigram"),
        alt=f"Two panels {alt}",
    )  # fmt: skip


FIGURE = _figure(
    True, "of perplexity on a log axis against context length on a log axis, left six encodings without and right with "
    "SSMax, each a line with a band and dots; a dotted line for a model of token frequencies.", "BAM, Fig. 6",
    ("BAM-C7", "BAM-C18", "BAM-C23", "BAM-F6"),
)  # fmt: skip
OTHER = _figure(
    False, "as for the domain of training, now for documents of another kind: perplexity against context length for "
    "six encodings without and with SSMax.", "BAM, Fig. 7", ("BAM-F7",),
)  # fmt: skip
