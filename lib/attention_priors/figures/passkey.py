"""Passkey retrieval: accuracy by length and depth, at the far end, with decoy digits, and every encoding's reach."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors import evaluation
from attention_priors.figures import style
from attention_priors.figures.passkey_tables import GOOD, NOTEBOOK, TABLES, UNTRAINED, prompts, times
from attention_priors.figures.spec import FigureSpec

__all__ = ["FIGURES", "TABLES"]

OURS = "bam-ssmax"
BANDS = 5  # of depth: with 11 lengths (BAM's Table 5) they would make the 55 cells that the paper counts
CONTROLS = "Chance, untrained"  # two lines at zero with one name: nobody could tell their ends apart
MOST = 10  # lengths named on an axis


def over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean accuracy per encoding and length with its interval over seeds and prompts; no interval for one seed."""
    rows = []
    for (name, length), group in frame.groupby(["encoding", "length"], sort=True):
        low, high = evaluation.share_interval(group["correct"], group["samples"])
        mean = group["accuracy"].mean()
        low, high = (low, high) if len(group) > 1 else (np.nan, np.nan)
        rows.append({"encoding": name, "length": length, "mean": mean, "low": low, "high": high})
    return pd.DataFrame(rows)


def shared(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows at lengths that all of a frame's encodings were asked at."""
    lengths = set.intersection(*(set(rows["length"]) for _, rows in frame.groupby("encoding")))
    return frame[frame["length"].isin(lengths)]


def forms(frame: pd.DataFrame, ssmax: bool) -> pd.DataFrame:
    """The plain task's rows of BAM's six encodings, all with or all without SSMax, and of the untrained control."""
    wanted = [f"{base}-ssmax" if ssmax else base for base in style.METHODS]
    return frame[(frame["form"] == "plain") & frame["encoding"].isin([*wanted, UNTRAINED])]


def _curves(frame: pd.DataFrame, height: float = 2.7) -> Figure:
    """Accuracy against length: a line with its interval for each encoding, a dot for each seed, the two controls."""
    fig, ax = style.figure(style.SINGLE, height)
    trained, summary = int(frame["trained"].iloc[0]), over_seeds(frame)
    for name in sorted(set(frame["encoding"]), key=lambda name: (_rank(name), name)):
        rows, mean = frame[frame["encoding"] == name], summary[summary["encoding"] == name]
        style.interval_band(ax, mean["length"], mean["low"], mean["high"], encoding=name)
        style.seed_dots(ax, rows["length"], rows["accuracy"], encoding=name)
        look = style.method_style(name) | ({"label": CONTROLS} if name == UNTRAINED else {})
        ax.plot(mean["length"], mean["mean"], **look, zorder=_rank(name) + 4)
    _chance(ax, frame["length"])
    _axes(ax, frame["length"], trained)
    style.direct_labels(ax)
    return fig


def _rank(name: str) -> int:
    """Drawing order: controls below, BAM on top."""
    bases = list(style.METHODS)
    return -1 if name == UNTRAINED else bases.index(_base(name))


def _base(name: str) -> str:
    return next(base for base in sorted(style.METHODS, key=len, reverse=True) if name.startswith(base))


def _chance(ax: Axes, lengths: Sequence[int]) -> None:
    ends = [min(lengths), max(lengths)]
    ax.plot(ends, [evaluation.CHANCE] * 2, **style.method_style("chance") | {"label": "_chance"}, zorder=0)


def _axes(ax: Axes, lengths: Sequence[int], trained: int) -> None:
    """Tokens below, multiples of the training length above."""
    ticks = sorted(set(lengths))
    style.length_axis(ax, ticks, trained, most=MOST)
    ax.set(ylim=(-0.03, 1.03), ylabel="share with all five digits right", xlabel="context length (tokens)")
    _multiples(ax, ticks, trained)


def _multiples(ax: Axes, ticks: Sequence[int], trained: int, rotation: float = 0) -> None:
    top = ax.secondary_xaxis("top")
    kept = [tick for tick in ticks if tick in set(np.round(ax.get_xticks()).astype(int))]
    top.set_xticks(kept, [times(tick, trained) for tick in kept])
    top.minorticks_off()
    top.tick_params(length=0, pad=1, rotation=rotation)
    top.spines[:].set_visible(False)


def _counts(frame: pd.DataFrame) -> str:
    """How much stands behind a figure: prompts per model and length, and seeds."""
    rows = frame[frame["encoding"] != UNTRAINED]
    return f"{prompts(rows)}; {style.named_seeds(rows)}"


def _share(rows: pd.DataFrame, name: str, length: int) -> str:
    mean = rows[(rows["encoding"] == name) & (rows["length"] == length)]["accuracy"].mean()
    return "nothing" if np.isnan(mean) else f"{mean:.2f}"


READING = (
    "Line: mean over seeds; band: 95 % interval of that mean over seeds and prompts; dots: seeds; dotted vertical "
    f"line: training length. Chance is {evaluation.CHANCE:.0e}; the untrained control is BAM SSMax before its first "
    "step. "
)


def draw_by_length(frame: pd.DataFrame) -> Figure:
    return _curves(shared(forms(frame, True)))


def caption_by_length(frame: pd.DataFrame) -> str:
    rows = shared(forms(frame, True))
    last, trained = int(rows["length"].max()), int(rows["trained"].iloc[0])
    others = rows[~rows["encoding"].isin([OURS, UNTRAINED])].groupby(["encoding", "length"])["accuracy"].mean()
    best = others.xs(last, level="length")
    return (
        f"Share of passkeys retrieved by models trained on {trained} tokens, all with SSMax. At {last:,} tokens "
        f"({times(last, trained)}) BAM SSMax retrieves {_share(rows, OURS, last)}, the best other encoding "
        f"({style.method_style(best.idxmax())['label']}) {best.max():.2f}. {READING}{_counts(rows)}."
    )


def draw_without_ssmax(frame: pd.DataFrame) -> Figure:
    return _curves(shared(forms(frame, False)))


def caption_without_ssmax(frame: pd.DataFrame) -> str:
    rows = shared(forms(frame, False))
    last, trained = int(rows["length"].max()), int(rows["trained"].iloc[0])
    scaled = frame[frame["form"] == "plain"]
    return (
        f"The same task without SSMax, trained on {trained} tokens. At {last:,} tokens ({times(last, trained)}) BAM "
        f"retrieves {_share(rows, 'bam', last)}, with SSMax {_share(scaled, OURS, last)}. {READING}{_counts(rows)}."
    )


def cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of BAM SSMax by depth band (rows, 0 = start of the text) and length, over all seeds and prompts."""
    rows = frame[(frame["form"] == "plain") & (frame["encoding"] == OURS)]
    band = np.minimum((rows["depth"] * BANDS).astype(int), BANDS - 1)
    table = rows.assign(band=band).pivot_table(index="band", columns="length", values="correct", aggfunc="mean")
    return table.reindex(range(BANDS))


def draw_depth(frame: pd.DataFrame) -> Figure:
    """Columns form, encoding, seed, length, depth, correct, trained: a heat map with averages at its edges."""
    table = cells(frame)
    trained = int(frame["trained"].iloc[0])
    columns = len(table.columns)
    fig, ax = style.figure(style.SINGLE, 2.35)
    values = np.full((BANDS + 1, columns + 1), np.nan)
    values[:BANDS, :columns] = table
    values[BANDS, :columns] = table.mean()
    values[:BANDS, columns] = table.mean(axis=1)
    values[BANDS, columns] = np.nanmean(table)
    # A gap of half a cell sets the averages apart.
    x = np.append(np.arange(columns + 1.0), [columns + 0.35, columns + 1.35])
    y = np.append(np.arange(BANDS + 1.0), [BANDS + 0.35, BANDS + 1.35])
    spaced = np.insert(np.insert(values, columns, np.nan, axis=1), BANDS, np.nan, axis=0)
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(spaced), vmin=0, vmax=1, edgecolor="white", linewidth=0.4)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            at = column + 0.5 + 0.35 * (column == columns), row + 0.5 + 0.35 * (row == BANDS)
            ax.text(*at, _cell(value), ha="center", va="center", fontsize=style.SMALLEST, color=_ink(value))
    centres = [*(np.arange(columns) + 0.5), columns + 0.85]
    ax.set_xticks(centres, [*(times(length, trained) for length in table.columns), "mean"], rotation=60)
    edges = [f"{100 * band // BANDS}–{100 * (band + 1) // BANDS} %" for band in range(BANDS)]
    ax.set_yticks([*(np.arange(BANDS) + 0.5), BANDS + 0.85], [*edges, "mean"])
    ax.invert_yaxis()
    ax.set(xlabel=f"context length / training length ({trained})", ylabel="depth of the passkey")
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    bar = fig.colorbar(mesh, ax=ax, ticks=[0, 1], format="%g", aspect=30, pad=0.02)
    bar.set_label("share retrieved", labelpad=-3)
    bar.outline.set_visible(False)
    return fig


def _cell(value: float) -> str:
    """0 is marked by a cross; 1 and two digits for the rest."""
    return "✕" if value == 0 else "1" if value == 1 else f"{value:.2f}"[1:] if value < 0.995 else ".99"


def _ink(value: float) -> str:
    return "black" if value > 0.5 else "white"


def caption_depth(frame: pd.DataFrame) -> str:
    table = cells(frame)
    measured = int(table.notna().sum().sum())
    rows = frame[(frame["form"] == "plain") & (frame["encoding"] == OURS)]
    asked = rows.groupby(["seed", "length"]).size().rename("samples").reset_index()
    trained, last = int(rows["trained"].iloc[0]), int(rows["length"].max())
    seeds = ", ".join(str(seed) for seed in sorted(set(rows["seed"])))
    return (
        f"Share of passkeys retrieved by BAM SSMax by context length and depth (0 %: start of the text), mean over "
        f"seeds {seeds}; {prompts(asked)}; last row and column: averages. "
        f"{int((table == 1).sum().sum())} of {measured} cells are perfect (1), "
        f"{int((table == 0).sum().sum())} are at 0 (crosses). At {last:,} tokens ({times(last, trained)}) the average "
        f"is {table[last].mean():.2f}. Chance is {evaluation.CHANCE:.0e}; passkey_by_length shows an untrained model."
    )


def _far(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["form"] == "plain") & frame["encoding"].isin([OURS, UNTRAINED])]


def draw_far(frame: pd.DataFrame) -> Figure:
    """Every seed of BAM SSMax with the exact binomial interval of each of its accuracies."""
    fig, ax = style.figure(style.DOUBLE, 2.8)
    rows = _far(frame)
    trained = int(rows["trained"].iloc[0])
    ours, look = rows[rows["encoding"] == OURS], style.method_style(OURS)
    seeds = sorted(set(ours["seed"]))
    for place, seed in enumerate(seeds):
        own = ours[ours["seed"] == seed].sort_values("length")
        x = own["length"] * 2 ** (0.09 * (place - (len(seeds) - 1) / 2))  # side by side: intervals would cover another
        errors = np.maximum([own["accuracy"] - own["low"], own["high"] - own["accuracy"]], 0)
        ax.errorbar(
            x, own["accuracy"], errors, fmt=".", markersize=4, color=look["color"], elinewidth=0.9, zorder=4,
            ecolor=style.lighten(look["color"], 0.55), label="_seed" if place else "one seed, exact 95 % interval",
        )  # fmt: skip
    mean = over_seeds(ours)
    line = {**look, "marker": "None", "label": f"{look['label']}, mean over seeds"}
    ax.plot(mean["length"], mean["mean"], **line, zorder=3)
    control = over_seeds(rows[rows["encoding"] == UNTRAINED])
    ax.plot(control["length"], control["mean"], **style.method_style(UNTRAINED) | {"label": CONTROLS}, zorder=1)
    _chance(ax, ours["length"])
    ax.axhline(GOOD, color="#999999", linewidth=0.6, zorder=0)
    _axes(ax, ours["length"], trained)
    fig.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


def caption_far(frame: pd.DataFrame) -> str:
    rows = _far(frame)
    ours = rows[rows["encoding"] == OURS]
    trained, last = int(ours["trained"].iloc[0]), int(ours["length"].max())
    end = ours[ours["length"] == last].sort_values("seed")
    each = ", ".join(f"{row.correct} of {row.samples}" for row in end.itertuples())
    return (
        f"BAM SSMax, trained on {trained} tokens, out to {times(last, trained)[:-1]} times that length. Dots: every "
        f"seed, side by side, with its exact 95 % binomial interval; line: mean over seeds; grey line: {GOOD}. At "
        f"{last:,} tokens the seeds answer {each}. The untrained control is the same model before its first step; "
        f"chance is {evaluation.CHANCE:.0e}. {_counts(ours)}."
    )


def _decoys(frame: pd.DataFrame) -> pd.DataFrame:
    hard = frame[frame["form"] == "hard"]
    control = frame[(frame["encoding"] == UNTRAINED) & frame["length"].isin(set(hard["length"]))]
    return pd.concat([hard, control])


def draw_hard(frame: pd.DataFrame) -> Figure:
    return _curves(_decoys(frame), 2.5)


def caption_hard(frame: pd.DataFrame) -> str:
    rows, plain = _decoys(frame), frame[frame["form"] == "plain"]
    last, trained = int(rows["length"].max()), int(rows["trained"].iloc[0])
    return (
        f"The harder form, trained on {trained} tokens: the key stands among sentences that hold other digits. At "
        f"{last:,} tokens ({times(last, trained)}) BAM SSMax retrieves {_share(rows, OURS, last)}; in the plain form "
        f"{_share(plain, OURS, last)}. {READING}It answers the plain form. {_counts(rows)}."
    )


def _reaches(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["form"] == "plain") & (frame["encoding"] != UNTRAINED)]


def draw_reach(frame: pd.DataFrame) -> Figure:
    """Columns form, encoding, seed, reach, longest_tested, trained: a row for each encoding, a mark for each seed."""
    rows = _reaches(frame)
    trained = int(rows["trained"].iloc[0])
    never = trained / 2  # where a model stands that is below the mark at its training length already
    order = rows.groupby("encoding")["reach"].median().sort_values(kind="stable").index
    fig, ax = style.figure(style.SINGLE, 0.9 + 0.26 * len(order))
    for y, name in enumerate(order):
        own = rows[rows["encoding"] == name].sort_values("seed")
        color = style.METHODS[_base(name)][0]
        x = own["reach"].clip(lower=never).to_numpy()
        ax.plot([never, np.median(x)], [y, y], color=color, alpha=0.3, linewidth=3, solid_capstyle="butt")
        places = y + min(0.2, 0.9 / len(own)) * (np.arange(len(own)) - (len(own) - 1) / 2)
        ended = (own["reach"] == own["longest_tested"]).to_numpy()
        ax.plot(x[~ended], places[~ended], "o", markersize=3, color=color, markeredgewidth=0)
        ax.plot(x[ended], places[ended], linestyle="", marker=">", markersize=3, color=color, markeredgewidth=0)
        ax.plot(own["longest_tested"], [y] * len(own), "|", color="#999999", markersize=5, zorder=1)
    ticks = sorted({*rows["reach"], *rows["longest_tested"], trained} - {0})
    style.length_axis(ax, [never, *ticks], trained)
    ax.set_xticks([never, *ticks], ["never", *(style.length_label(tick) for tick in ticks)])
    ax.tick_params(axis="x", rotation=45)
    _multiples(ax, ticks, trained, rotation=45)
    ax.set_yticks(range(len(order)), [style.method_style(name)["label"] for name in order])
    ax.set(xlabel=f"longest length (tokens)\nat accuracy {GOOD}", xlim=(never / 1.2, max(ticks) * 1.3))
    return fig


def caption_reach(frame: pd.DataFrame) -> str:
    rows = _reaches(frame)
    trained = int(rows["trained"].iloc[0])
    medians = rows.groupby("encoding")["reach"].median()
    others = medians[[not name.startswith("bam") for name in medians.index]]
    best = ", ".join(style.method_style(name)["label"] for name in others.index[others == others.max()])
    ended = medians.get(OURS) == rows[rows["encoding"] == OURS]["longest_tested"].max()
    return (
        f"Longest tested length up to which accuracy never fell below {GOOD}, for every encoding, trained on {trained} "
        f"tokens. A mark for each seed, the bar ends at their median; grey tick: longest tested; triangle: it was "
        f"reached; never: below {GOOD} at the training length already, as any guesser (chance {evaluation.CHANCE:.0e}) "
        f"and the untrained control. Median of BAM SSMax: {'at least ' if ended else ''}"
        f"{_tokens(medians.get(OURS), trained)}; longest of encodings other than BAM's: "
        f"{_tokens(others.max(), trained)} ({best}); {style.named_seeds(rows)}."
    )


def _tokens(length: float | None, trained: int) -> str:
    return "–" if length is None else f"{length:,.0f} tokens ({times(length, trained)})" if length else "none"


FIGURES = {
    "passkey_by_length": FigureSpec(
        metrics="passkey_by_length",
        draw=draw_by_length,
        caption=caption_by_length,
        alt="Lines of passkey accuracy against context length on a log axis for six encodings with SSMax, each with a "
        "band for its interval and dots for its seeds; chance and an untrained model lie at zero.",
        paper="BAM, Fig. 2",
        notebook=NOTEBOOK,
    ),
    "passkey_without_ssmax": FigureSpec(
        metrics="passkey_by_length",
        draw=draw_without_ssmax,
        caption=caption_without_ssmax,
        alt="Lines of passkey accuracy against context length on a log axis for six encodings without SSMax, each with "
        "a band for its interval and dots for its seeds; chance and an untrained model lie at zero.",
        paper="BAM, Fig. 13",
        notebook=NOTEBOOK,
    ),
    "passkey_depth": FigureSpec(
        metrics="passkey_samples",
        draw=draw_depth,
        caption=caption_depth,
        alt="Heat map of passkey accuracy of BAM SSMax: context length from left to right, depth of the passkey from "
        "top to bottom, with averages in the last row and column and crosses in cells without a hit.",
        paper="BAM, Fig. 3",
        notebook=NOTEBOOK,
    ),
    "passkey_far": FigureSpec(
        metrics="passkey_by_length",
        draw=draw_far,
        caption=caption_far,
        alt="Passkey accuracy of every seed of BAM SSMax against context length up to the longest one, as dots with "
        "error bars side by side, and their mean as a line.",
        paper="BAM, Fig. 3",
        notebook=NOTEBOOK,
    ),
    "passkey_hard": FigureSpec(
        metrics="passkey_by_length",
        draw=draw_hard,
        caption=caption_hard,
        alt="Lines of passkey accuracy against context length for the form with decoy digits, with bands for intervals "
        "and dots for seeds.",
        paper="",
        notebook=NOTEBOOK,
    ),
    "passkey_reach": FigureSpec(
        metrics="passkey_reach",
        draw=draw_reach,
        caption=caption_reach,
        alt="A row for each encoding with a mark for each seed at the longest context length where its accuracy is "
        "still 0.8, on a log axis; a triangle instead of a dot where the longest tested length was reached.",
        paper="BAM, abstract (reach)",
        notebook=NOTEBOOK,
    ),
}
