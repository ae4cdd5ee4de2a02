"""Perplexity by context length, on text of the kind trained on (BAM, Fig. 6) and on other text (BAM, Fig. 7)."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attention_priors.figures import panels, style
from attention_priors.figures.curves import LENGTH, curve, over_seeds
from attention_priors.figures.language.rows import COLUMNS, MISSED, Row, groups, named_seeds, style_of
from attention_priors.figures.methods import METHODS, named
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import tokens, trained_on

FLAT = 1.5  # the perplexity axis spans at least this factor: a flat line must look flat
STEPS = ((1, 1.2, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))
KINDS = {True: "text as in training", False: "other text"}
FAR = 1.5  # intervals widen the axis at each end by at most this factor


def part(frame: Frame, known: bool) -> Frame:
    """The rows of the domain of training, or of the other ones; none where a corpus has one domain only."""
    return frame[frame["trained_on"] == known]


def draw(frame: Frame) -> Figure:
    """A column for each kind of text, a row without SSMax and one with it; one row where there are not two with it."""
    kinds = {title: rows for known, title in KINDS.items() if len(rows := drawn(part(frame, known)))}
    for rows in kinds.values():
        rivals(rows, "encoding", "perplexity by length")
    scaled = split(drawn(frame))
    grid = {"nrows": len(scaled), "ncols": len(kinds), "sharex": True, "sharey": "col", "squeeze": False}
    fig, axes = style.figure(style.DOUBLE, 0.4 + 2.3 * len(scaled), **grid)
    for column, (kind, rows) in zip(axes.T, kinds.items(), strict=True):
        unigram = float(rows["unigram"].iloc[0])
        for ax, (title, names) in zip(column, scaled.items(), strict=True):
            for rank, (name, own) in enumerate(groups(rows[rows["encoding"].isin(names)])):
                seeds = own.set_index("length")["perplexity"]
                curve(ax, np.exp(over_seeds(own, "loss")), seeds, style_of(name) | _missed(own), zorder=rank + 4)
            style.length_axis(ax, rows["length"], rows["trained"])
            ends = [rows["length"].min(), rows["length"].max()]
            ax.plot(
                ends,
                [unigram] * 2,
                color=style.GREY,
                linewidth=0.8,
                linestyle=(0, (1, 2)),
                zorder=1,
                label="Token frequencies",
            )
            ax.set_title(f"{kind},\n{title}" if title else kind)
        _perplexities(column[0], rows)
        column[-1].set_xlabel(LENGTH)
    for ax in axes[:, 0]:
        ax.set_ylabel("perplexity (log scale)")
    panels.letter(axes.flat)
    for ax in axes.flat:
        style.direct_labels(ax)
    return fig


def drawn(rows: Frame) -> Frame:
    """Those of the methods that have a colour of their own, with SSMax or without."""
    return rows[rows["encoding"].isin([*named(False, METHODS), *named(True, METHODS)])]


def split(rows: Frame) -> dict[str, list[str]]:
    """The encodings of each panel by its title."""
    there = set(rows["encoding"])
    scaled = [name for name in named(True, METHODS) if name in there]
    plain = [name for name in named(False, METHODS) if name in there]
    if len(scaled) < 2 or len(plain) < 2:
        return {"": plain + scaled}
    return {"without SSMax": plain, "with SSMax": scaled}


def _missed(own: Frame) -> dict[str, str]:
    """The mark of a model of which no seed passed its gate."""
    name = own["encoding"].iloc[0], int(own["times"].iloc[0])
    return {} if own["passed"].any() else {"label": style_of(name)["label"] + MISSED}


def intervals(rows: Frame) -> Frame:
    """The t intervals of perplexity by model and length, for those with several seeds."""
    ends = pd.concat({style_of(name)["label"]: over_seeds(own, "loss") for name, own in groups(rows)})
    return np.exp(ends[["low", "high"]].dropna())


def span(rows: Frame) -> tuple[float, float]:
    """The axis of perplexity: all means and the control, and intervals as far as they do not dwarf those."""
    means = np.exp(rows.groupby(["encoding", "times", "length"])["loss"].mean())
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
    ax.set_ylim(low, high)
    ticks = ticks_between(low, high)
    ax.set_yticks(ticks, [f"{tick:,.3g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    ax.yaxis.minorticks_off()


def _cut(rows: Frame) -> str:
    """Whose intervals leave the axes."""
    (low, high), ends = span(rows), intervals(rows)
    cut = ends[(ends["low"] < low) | (ends["high"] > high)].index.unique(0)
    return f" (cut at the frame: {', '.join(cut)})" if len(cut) else ""


def caption(frame: Frame) -> str:
    rows = drawn(frame)
    trained, far, first = trained_on(rows), int(rows["length"].max()), rows.iloc[0]
    changes, kinds = [], []
    for known, title in KINDS.items():
        own = drawn(part(frame, known))
        if len(own):
            changes.append(f"{title}: {', '.join(map(_changed, groups(own[own['length'] == far])))}{_cut(own)}")
            kinds.append(f"{title} ({own['domain'].iloc[0]}, token frequencies alone {own['unigram'].iloc[0]:.0f})")
    missed = any(any(map(_missed, dict(groups(drawn(part(frame, known)))).values())) for known in KINDS)
    return (
        f"Perplexity of models trained on {trained} tokens, on the same last {first['scored']} tokens of "
        f"{first['documents']} held-out documents, whatever the context before them. Texts: {' and '.join(kinds)}. "
        f"Change of perplexity from {trained} to {tokens(far, trained)}: {'; '.join(changes)}."
        f"{f'{MISSED}: no seed passed the gate of word order.' * missed} Line: mean over seeds; bars: 95 % t interval "
        f"of that mean; dots: seeds; dotted vertical line: training length; dotted horizontal line: a model that knows "
        f"the frequencies of tokens alone; {named_seeds(rows)}."
    )


def _changed(model: tuple[Row, Frame]) -> str:
    name, own = model
    return f"{style_of(name)['label']} ×{math.exp(own['growth'].mean()):.3g}"


FIGURE = FigureSpec(
    "language_perplexity",
    draw,
    caption,
    notebook="language_models",
    paper="BAM, Figs. 6 and 7",
    claims=("BAM-C7", "BAM-C18", "BAM-C23", "BAM-F6", "BAM-F7"),
    columns=(
        *COLUMNS,
        "trained_on",
        "domain",
        "passed",
        "length",
        "loss",
        "perplexity",
        "growth",
        "trained",
        "scored",
        "documents",
        "unigram",
    ),
    alt="Perplexity on a log axis against context length on a log axis, for text of the kind trained on and for other "
    "text, encodings without SSMax and, in panels of their own, with it, each a line with bars and dots; a dotted line "
    "for a model of token frequencies.",
)
