"""Language models: perplexity by context length and domain (BAM, Figs. 6, 7, Table 2), and what word order is worth."""

import math
from typing import Any

import numpy as np
import pandas as pd

from .. import methods, panels, style
from ..curves import LENGTH, over_seeds, seed_row
from ..methods import METHODS, named
from ..spec import Figure, FigureSpec, Frame, TableSpec, rivals
from ..words import bounded, listed, tokens, trained_on

# The rows of figures on language models
MISSED = " †"  # behind the name of a model that missed its gate and decides nothing
Row = tuple[str, int]  # encoding, times as many tokens as the others


def groups(frame: Frame) -> list[tuple[Row, Frame]]:
    """The rows of each model, over seeds, in the order of the methods and otherwise of the frame."""
    ranks = {name: rank for rank, name in enumerate(methods.METHODS)}
    found = [((name, int(times)), own) for (name, times), own in frame.groupby(["encoding", "times"], sort=False)]
    return sorted(found, key=lambda each: (ranks.get(each[0][0], len(ranks)), each[0][1]))


def style_of(row: Row) -> dict[str, Any]:
    """`methods.look`; a model that saw more tokens is drawn dotted and says so."""
    name, times = row
    look = methods.look(name)
    if times == 1:
        return look
    return look | {"dashes": (1, 2), "label": f"{look['label']}, {times} × tokens"}


def named_seeds(frame: Frame) -> str:
    """`methods.named_seeds`, of the models at equal tokens."""
    return methods.named_seeds(frame[frame["times"] == 1])


# Perplexity by context length, on text of the kind trained on
FLAT = 1.5  # the perplexity axis spans at least this factor: a flat line must look flat
STEPS = ((1, 1.2, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))
KINDS = {True: "text as in training", False: "other text"}
FAR = 1.5  # intervals widen the axis at each end by at most this factor


def part(frame: Frame, known: bool) -> Frame:
    """The rows of the domain of training, or of the other ones; none where a corpus has one domain only."""
    return frame[frame["trained_on"] == known]


def draw(frame: Frame) -> Figure:
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
                mean, look = np.exp(over_seeds(own, "loss")), style_of(name) | _missed(own) | {"zorder": rank + 4}
                seeds = own.set_index("length")["perplexity"]
                panels.add(ax, panels.Line(mean.index, mean["mean"], look, mean["low"], mean["high"], seeds))
            style.length_axis(ax, rows["length"], rows["trained"])
            look = {"color": style.GREY, "linewidth": 0.8, "linestyle": (0, (1, 2)), "zorder": 1}
            ax.plot(rows["length"].agg(["min", "max"]), [unigram] * 2, label="Token frequencies", **look)
            ax.set_title(f"{kind},\n{title}" if title else kind)
        ends = span(rows)
        ticks = ticks_between(*ends)
        column[0].set(yscale="log", ylim=ends)
        column[0].set_yticks(ticks, [f"{tick:,.3g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
        column[0].yaxis.minorticks_off()
        column[-1].set_xlabel(LENGTH)
    for ax in axes[:, 0]:
        ax.set_ylabel("perplexity (log scale)")
    panels.letter(axes.flat)
    for ax in axes.flat:
        style.direct_labels(ax)
    return fig


def drawn(rows: Frame) -> Frame:
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
            ends = groups(own[own["length"] == far])
            said = (f"{style_of(name)['label']} ×{math.exp(rows['growth'].mean()):.3g}" for name, rows in ends)
            changes.append(f"{title}: {', '.join(said)}{_cut(own)}")
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


BY_LENGTH = FigureSpec(
    "language_perplexity",
    draw,
    caption,
    notebook="language_models",
    paper="BAM, Figs. 6 and 7",
    claims=("BAM-C7", "BAM-C18", "BAM-C23", "BAM-F6", "BAM-F7"),
    alt="Perplexity on a log axis against context length on a log axis, for text of the kind trained on and for other "
    "text, encodings without SSMax and, in panels of their own, with it, each a line with bars and dots; a dotted line "
    "for a model of token frequencies.",
)


# Perplexity at the training length by domain, in the rows of BAM's Table 2
LOCAL = ("rope-local", "rope-local-ssmax")  # RoPE, at that length


def build_table2(frame: Frame) -> Frame:
    rows = frame[(frame["length"] == frame["trained"]) & ~frame["encoding"].isin(LOCAL)]
    rivals(rows, "encoding", "perplexity at the training length")
    built = []
    for name, own in groups(rows):
        own = own.set_index("domain")
        cells = {
            f"{domain}, perplexity": bounded(*own.loc[domain, ["perplexity", "low", "high"]])
            for domain in dict.fromkeys(rows["domain"])
        }
        seeds, passed = int(own["seeds"].max()), int(own["passed"].max())
        built.append({"encoding": style_of(name)["label"], "seeds": seeds, "that know order": passed, **cells})
    return Frame(built)


def caption_table2(frame: Frame) -> str:
    counts = ", ".join(f"{rows['documents'].iloc[0]} of {name}" for name, rows in frame.groupby("domain"))
    first = frame.iloc[0]
    return (
        f"Perplexity at the training length ({first['trained']} tokens), exp of the mean loss over seeds [95 % t "
        f"interval over seeds; none for one seed], on the last {first['scored']} tokens of documents: {counts}. "
        "Seeds that know order passed the gate; the others decide nothing. Tokens are those of this project's "
        "tokenizer: compare the order of rows with the paper's, not the numbers."
    )


TABLE2 = TableSpec(
    "language_over_seeds",
    build_table2,
    caption_table2,
    "language_models",
    "BAM, Table 2",
)


# What word order is worth to every language model
def draw_order(frame: Frame) -> Figure:
    rivals(frame, "encoding", "the sense of order")
    order = sorted(groups(frame), key=lambda each: each[1]["swap"].mean())
    fig, axes = style.figure(style.MIDDLE, 0.9 + 0.17 * len(order), ncols=2, sharey=True)
    axes[0].axvline(frame["gate"].iloc[0], color=style.GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    for ax, column, text in zip(
        axes, ("swap", "bag"), ("two neighbours exchanged", "all but the last shuffled"), strict=True
    ):
        for y, (name, own) in enumerate(order):
            seed_row(ax, own[column], y, style_of(name))
        ax.set(xlabel="cost on the next token (nats)", title=text)
        ax.set_xlim(left=min(0.0, frame[column].min()) - 0.03)
    axes[0].set_yticks(range(len(order)), [style_of(name)["label"] for name, _ in order])
    for tick, (name, _) in zip(axes[0].get_yticklabels(), order, strict=True):
        tick.set_color(style.darken(style_of(name)["color"]))
    axes[0].margins(y=0.06)
    panels.letter(fig.axes)
    return fig


def caption_order(frame: Frame) -> str:
    first, missed = frame.iloc[0], frame[~frame["passed"].astype(bool)]
    gone = listed(
        f"{style_of(name)['label']} ({len(own)} of {len(every)} seeds)"
        for name, every in groups(frame)
        if len(own := every[~every["passed"].astype(bool)])
    )
    verdict = f"Missed by {gone}; these runs are shown below and decide nothing" if len(missed) else "All runs pass"
    return (
        f"What order is worth to models trained on {first['trained']} tokens: cost on the next token where the two "
        f"tokens before the last one read are exchanged (a), or all but the last are shuffled (b). Means of "
        f"{first['pairs']} held-out texts of 32 tokens. A mark for each seed, bar: 95 % t interval of their mean; "
        f"dotted line: the gate of {first['gate']:g} nats. {verdict}; {named_seeds(frame)}."
    )


ORDER = FigureSpec(
    "language_order",
    draw_order,
    caption_order,
    notebook="language_models",
    alt="Two panels with a row for each encoding and a mark for every seed: the cost of exchanging two neighbours "
    "beside a dotted line at the gate, and the cost of shuffling all tokens but the last.",
)
