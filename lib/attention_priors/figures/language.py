"""Language models: perplexity of the same tokens at every context length, loss while training, the scaled Table 2."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors.evaluation import seed_interval
from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec, TableSpec

NOTEBOOK = "09_language_models"
TABLE_2 = ("sinusoidal", "alibi", "nope", "bam", "rope")  # the order of the paper; RoPE Local is RoPE at that length
FLAT = 1.5  # the perplexity axis spans at least this factor: a flat line must look flat
STEPS = ((1, 1.2, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))
FAR = 1.5  # intervals widen the axis at each end by at most this factor
MARKED = 5  # markers on each curve of the training loss
LAST = 0.1  # share of the steps whose mean loss counts as the final one


def part(frame: pd.DataFrame, trained_on: bool) -> pd.DataFrame:
    """The rows of the domain of training or of the other ones (of all, where a corpus has one domain only)."""
    rows = frame[frame["trained_on"] == trained_on]
    return rows if len(rows) else frame


def over_seeds(frame: pd.DataFrame, column: str, by: str) -> pd.DataFrame:
    """Mean of a column for each value of `by` with its t interval; no interval for one seed."""
    rows = []
    for place, values in frame.groupby(by)[column]:
        low, high = seed_interval(values) if len(values) > 1 else (np.nan, np.nan)
        rows.append({by: place, "mean": values.mean(), "low": low, "high": high})
    return pd.DataFrame(rows)


def _curves(rows: pd.DataFrame) -> Figure:
    """Perplexity against context length, left without SSMax, right with it."""
    fig, axes = style.figure(style.DOUBLE, 2.75, ncols=2, sharey=True)
    lengths, trained = sorted(set(rows["length"])), int(rows["trained"].iloc[0])
    unigram = float(rows["unigram"].iloc[0])
    for ax, ending in zip(axes, ("", "-ssmax"), strict=True):
        for rank, base in enumerate(style.METHODS):
            own = rows[rows["encoding"] == base + ending]
            if own.empty:
                continue
            name, summary = base + ending, over_seeds(own, "loss", "length")
            style.interval_band(ax, summary["length"], np.exp(summary["low"]), np.exp(summary["high"]), encoding=name)
            style.seed_dots(ax, own["length"], own["perplexity"], encoding=name)
            ax.plot(summary["length"], np.exp(summary["mean"]), **style.method_style(name), zorder=rank + 4)
        style.length_axis(ax, lengths, trained)
        ax.axhline(unigram, color="#7F7F7F", linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
        ax.set(xlabel="context length (tokens)", title="with SSMax" if ending else "without SSMax")
    _perplexities(axes[0], rows)
    axes[0].set_ylabel("perplexity (log scale)")
    axes[0].annotate(
        "token frequencies alone", (lengths[0], unigram), xytext=(0, -2), textcoords="offset points",
        fontsize=style.SMALLEST, color="#555555", va="top",
    )  # fmt: skip
    for ax in axes:
        style.direct_labels(ax)
    return fig


def _intervals(rows: pd.DataFrame) -> pd.DataFrame:
    """The t intervals of perplexity by encoding and length, for those with several seeds."""
    groups = [over_seeds(own, "loss", "length").assign(encoding=name) for name, own in rows.groupby("encoding")]
    ends = pd.concat(groups)[["encoding", "low", "high"]].dropna()
    return ends.assign(low=np.exp(ends["low"]), high=np.exp(ends["high"]))


def _span(rows: pd.DataFrame) -> tuple[float, float]:
    """The axis of perplexity: all means and the control, and intervals as far as they do not dwarf those."""
    means = np.exp(rows.groupby(["encoding", "length"])["loss"].mean())
    known, ends = [*means, rows["unigram"].iloc[0]], _intervals(rows)
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


def _perplexities(ax: Axes, rows: pd.DataFrame) -> None:
    low, high = _span(rows)
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    ticks = ticks_between(low, high)
    ax.set_yticks(ticks, [f"{tick:,.3g}" if tick < 1000 else f"{tick:,.0f}" for tick in ticks])
    ax.yaxis.minorticks_off()


def _cut(rows: pd.DataFrame) -> str:
    """Whose intervals leave the axes, for the caption."""
    (low, high), ends = _span(rows), _intervals(rows)
    names = ends["encoding"][(ends["low"] < low) | (ends["high"] > high)].unique()
    listed = ", ".join(style.method_style(name)["label"] for name in names)
    return f" (cut at the frame: {listed})" if listed else ""


def _caption(frame: pd.DataFrame, trained_on: bool) -> str:
    rows = part(frame, trained_on)
    trained, far, first = int(rows["trained"].iloc[0]), int(rows["length"].max()), rows.iloc[0]
    growth = rows[rows["length"] == far].groupby("encoding")["growth"].mean()
    named = ", ".join(f"{style.method_style(n)['label']} {_factor(growth[n])}" for n in style.METHODS if n in growth)
    scaled = "" if "bam-ssmax" not in growth else f"; BAM SSMax {_factor(growth['bam-ssmax'])}"
    kind = "held-out documents of the kind trained on" if trained_on else "documents of another kind than trained on"
    return (
        f"Perplexity of models trained on {trained} tokens, on the same last {first['scored']} tokens of "
        f"{first['documents']} {kind} ({first['domain']}), whatever the context before them. Change of perplexity from "
        f"{trained} to {far:,} tokens ({far / trained:.3g}×): {named}{scaled}. Line: mean over seeds; band: 95 % t "
        f"interval of that mean{_cut(rows)}; dots: seeds; dotted vertical line: training length; dotted horizontal "
        f"line: a model that knows the frequencies of tokens alone ({first['unigram']:.0f}); {style.named_seeds(rows)}."
    )


def _factor(nats: float) -> str:
    return f"×{math.exp(nats):.3g}"


def draw_by_length(frame: pd.DataFrame) -> Figure:
    """Needs trained_on, encoding, seed, length, loss, perplexity, growth, trained, scored, documents, unigram."""
    return _curves(part(frame, True))


def draw_other_domain(frame: pd.DataFrame) -> Figure:
    return _curves(part(frame, False))


def _last(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean training loss over the last tenth of the steps of each run."""
    end = frame[frame["step"] > (1 - LAST) * frame["step"].max()]
    return end.groupby(["encoding", "seed"], as_index=False)["loss"].mean()


def draw_training(frame: pd.DataFrame) -> Figure:
    """Columns encoding, seed, step, loss, window: left the mean loss over seeds, right every run's final loss."""
    fig, (left, right) = style.figure(style.DOUBLE, 2.6, ncols=2, width_ratios=(1.25, 1))
    last = _last(frame)
    order = last.groupby("encoding")["loss"].mean().sort_values(kind="stable").index
    ends = []
    for y, name in enumerate(order):
        look = style.method_style(name)
        curve = frame[frame["encoding"] == name].groupby("step")["loss"].mean()
        # One marker in a stretch of the line, elsewhere on each line.
        every = (y * len(curve) // MARKED // len(order), max(len(curve) // MARKED, 1))
        left.plot(curve.index, curve, **look, linewidth=0.8, markevery=every)
        own = last[last["encoding"] == name]
        low, high = seed_interval(own["loss"]) if len(own) > 1 else (np.nan, np.nan)
        ends += [low, high]
        right.plot([low, high], [y, y], color=look["color"], alpha=0.3, linewidth=4, solid_capstyle="butt")
        right.plot(own["loss"], [y] * len(own), marker=look["marker"], linestyle="", color=look["color"], alpha=0.8)
    left.set(xlabel="step", ylabel="training loss (nats)")
    right.set_yticks(range(len(order)), [style.method_style(name)["label"] for name in order])
    for tick, name in zip(right.get_yticklabels(), order, strict=True):
        tick.set_color(style.darken(style.method_style(name)["color"]))
    right.margins(y=0.06)
    right.set_xlabel("loss over the last tenth of the steps (nats)")
    spare = 0.02 * last["loss"].mean()  # at least: a small difference must look small
    right.set_xlim(
        np.nanmin([last["loss"].min() - spare, *ends]), np.nanmax([last["loss"].max() + spare, *ends])
    )  # fmt: skip
    return fig


def caption_training(frame: pd.DataFrame) -> str:
    last = _last(frame).groupby("encoding")["loss"].mean()
    best, worst = (style.method_style(name)["label"] for name in (last.idxmin(), last.idxmax()))
    return (
        f"Loss on the training windows. Left: mean over seeds, each point a mean of {int(frame['window'].iloc[0])} "
        "steps, colours and markers as on the right. Right: mean of the last tenth of the steps, a mark for each seed, "
        f"bar: 95 % t interval of their mean; lowest is {best} ({last.min():.3f}), highest {worst} ({last.max():.3f}). "
        f"RoPE Local is RoPE, read through a window after training; {style.named_seeds(frame)}."
    )


def table_2(frame: pd.DataFrame) -> pd.DataFrame:
    """From language_over_seeds: the rows of the paper's Table 2, perplexity at the training length by domain."""
    rows = frame[frame["length"] == frame["trained"]]
    built = []
    for name in [*TABLE_2, *(f"{base}-ssmax" for base in TABLE_2)]:
        own = rows[rows["encoding"] == name].set_index("domain")
        if own.empty:
            continue
        cells = {f"{domain}, perplexity": _cell(own.loc[domain]) for domain in dict.fromkeys(rows["domain"])}
        built.append({"encoding": style.method_style(name)["label"], "seeds": int(own["seeds"].max()), **cells})
    return pd.DataFrame(built)


def _cell(row: pd.Series) -> str:
    known = math.isfinite(row["high"])
    return f"{row['perplexity']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" if known else f"{row['perplexity']:.2f}"


def caption_table_2(frame: pd.DataFrame) -> str:
    counts = ", ".join(f"{rows['documents'].iloc[0]} of {name}" for name, rows in frame.groupby("domain"))
    first = frame.iloc[0]
    return (
        f"Perplexity at the training length ({first['trained']} tokens), exp of the mean loss over seeds [95 % t "
        f"interval over seeds; none for one seed], on the last {first['scored']} tokens of documents: {counts}. Tokens "
        "are those of this project's tokenizer: compare the order of rows with the paper's, not the numbers."
    )


def table_corpus(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns split, domain, documents, tokens, over N, and the same hash in every row, which goes into the caption."""
    longer = [name for name in frame.columns if name.startswith("over ")]
    table = frame[["split", "domain", "documents", "tokens", *longer]].copy()
    table["tokens"] = table["tokens"].map("{:,}".format)
    return table.rename(columns={name: f"longer than {int(name.split()[1]):,} tokens" for name in longer})


def caption_corpus(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    known = {"True": "the pinned text", "False": "not the pinned text: numbers may differ from the committed ones"}
    text = known.get(str(first["same"]), "nothing is pinned")
    return (
        f"Documents and tokens of the corpus `{first['corpus']}` ({text}; SHA-256 {first['sha256'][:16]}), byte-level "
        f"BPE of {first['vocabulary']:,} ids. The splits share no document."
    )


FIGURES = {
    "language_by_length": FigureSpec(
        metrics="language_perplexity",
        draw=draw_by_length,
        caption=lambda frame: _caption(frame, True),
        alt="Two panels of perplexity on a log axis against context length on a log axis, left six encodings without "
        "and right with SSMax, each a line with a band and dots; a dotted line for a model of token frequencies.",
        paper="BAM, Fig. 6",
        notebook=NOTEBOOK,
    ),
    "language_other_domain": FigureSpec(
        metrics="language_perplexity",
        draw=draw_other_domain,
        caption=lambda frame: _caption(frame, False),
        alt="Two panels as for the domain of training, now for documents of another kind: perplexity against context "
        "length for six encodings without and with SSMax.",
        paper="BAM, Fig. 7",
        notebook=NOTEBOOK,
    ),
    "language_training": FigureSpec(
        metrics="language_training",
        draw=draw_training,
        caption=caption_training,
        alt="Left: training loss falling with the step for ten encodings. Right: a row for each encoding with a mark "
        "for every seed at its final loss.",
        paper="",
        notebook=NOTEBOOK,
    ),
}
TABLES = {
    "language_table2": TableSpec("language_over_seeds", table_2, caption_table_2, "BAM, Table 2", NOTEBOOK),
    "language_corpus": TableSpec("language_corpus", table_corpus, caption_corpus, "", NOTEBOOK),
}
