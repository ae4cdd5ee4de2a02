"""Genomes: bits per base, what models write after a beginning, and what a training step costs."""

import math
from typing import Any

import numpy as np
import pandas as pd

from ..experiments.genomes import ALL, FEW, GATE, NEW, RUN, correlations
from . import forest, lines, panels, style
from .curves import t_interval
from .methods import label, look, numbered
from .spec import Figure, FigureSpec, Frame, TableSpec, rivals
from .words import bounded, counted, listed

# What the figures of genomes share
NOTEBOOK = "genomes_and_images"
BEGINNING = "beginning"  # the row of correlations that needs no model


def drawn(name: str) -> dict[str, Any]:
    if name == BEGINNING:
        return {"color": style.DARK, "marker": "|", "label": "the beginning's own"}
    return {part: look(name)[part] for part in ("color", "marker", "label")}


# Bits per base of language models beside those of Markov chains
TITLES = {ALL: "all validation windows", NEW: "new to the training text"}


def models(frame: Frame) -> Frame:
    """The rows that are models."""
    return frame[frame["encoding"].notna()]


def chained(frame: Frame) -> Frame:
    """The rows that are Markov chains."""
    return frame[frame["encoding"].isna()]


def draw_bits(frame: Frame) -> Figure:
    names = list(dict.fromkeys(rivals(models(frame), "encoding", "genomes_bits")["encoding"]))
    rows = []
    for name in names:
        own, seen = frame[frame["encoding"] == name], drawn(name)
        bits = {title: own.loc[own["windows"] == part, "bits"] for part, title in TITLES.items()}
        cells = {title: forest.Cell(list(each), each.mean(), *t_interval(each)) for title, each in bits.items()}
        rows.append(forest.Row(seen["label"], cells, seen["color"], seen["marker"]))
    fig, axes = forest.draw(rows, list(TITLES.values()), "bits per base", width=style.MIDDLE, xlim=None)
    for ax, part in zip(axes, TITLES, strict=True):
        chains = chained(frame[frame["windows"] == part]).set_index("order")["bits"]
        for order in (GATE, chains.index.max()):
            lines.place(ax, chains[order])
            style.note(ax, f"{order:.0f}", (chains[order], ax.get_ylim()[0]), (2, 3))
    panels.letter(axes)
    return fig


def caption_bits(frame: Frame) -> str:
    parts = {part: frame[frame["windows"] == part] for part in TITLES}
    chains, rows = ({part: pick(own) for part, own in parts.items()} for pick in (chained, models))
    said = {part: numbered(own.groupby("encoding", sort=False)["bits"].mean(), ".3f") for part, own in rows.items()}
    best = {part: f"the best Markov chain {own['bits'].min():.3f}" for part, own in chains.items()}
    counts = {part: int(own["count"].iloc[0]) for part, own in chains.items()}
    floor = float(chains[NEW].loc[chains[NEW]["order"] == GATE, "bits"].iloc[0])
    passed = int(rows[NEW]["passed"].astype(bool).sum())
    return (
        f"Bits per base, a, on all {counts[ALL]} validation windows and, b, on the {counts[NEW]} that share no run of "
        f"{RUN} bases with the training text. Panel a: {said[ALL]}; {best[ALL]}. Panel b: {said[NEW]}; {best[NEW]}. "
        "Dotted: Markov "
        f"chains, by their orders; a model has to beat order {GATE} in b ({floor:.3f}; {passed} of {len(rows[NEW])} "
        f"do). Mean over seeds {listed(rows[NEW]['seed'].astype(int))}, t interval, and the seeds above it."
    )


def build_bits(frame: Frame) -> Frame:
    """A row for each encoding."""
    rivals(frame, "encoding", "genomes_models")
    return pd.DataFrame(
        {
            "encoding": label(row.encoding),
            "seeds": row.seeds,
            f"pass (below order {GATE})": row.passed,
            "bits per base, all windows": bounded(row.all, row.all_low, row.all_high, 4),
            "new windows": bounded(row.new, row.new_low, row.new_high, 4),
            "lowest order as good": "none" if math.isnan(row.below) else int(row.below),
        }
        for row in frame.itertuples()
    )


def caption_bits_table(frame: Frame) -> str:
    return (
        f"Language models of a genome: bits per base, mean over {counted(range(int(frame['seeds'].max())))} [95 % t "
        f"interval]. A Markov chain of order {GATE} takes {frame['floor'].iloc[0]:.4f} on the new windows, which share "
        f"no run of {RUN} bases with the training text; last column, on these: the lowest order whose chain takes no "
        "more than the model."
    )


BITS_FIGURE = FigureSpec(
    "genomes_bits",
    draw_bits,
    caption_bits,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 4",
    claims=("GOAT-F4", "GOAT-C-8"),
    alt="Two panels of bits per base: Markov chains as dotted lines, a row for each encoding with its seeds; a, all "
    "windows, b, windows new to the training text.",
)
BITS_TABLE = TableSpec(
    "genomes_models",
    build_bits,
    caption_bits_table,
    NOTEBOOK,
    paper="Goat, Fig. 4",
)


# G and C of what models write, beside what follows in the genome
SHOWN = 3  # texts: the first, the middle one and the last
ROW = 0.6  # of a row's height between the seeds of an encoding, all together


def draw_texts(frame: Frame) -> Figure:
    rivals(frame, "encoding", "genomes_gc")
    found = correlations(frame)
    names = [*dict.fromkeys(frame["encoding"]), BEGINNING]
    height = 2.1 + 0.12 * len(names)
    fig, axes = style.figure(style.MIDDLE, height, ncols=SHOWN + 1, width_ratios=[1] * SHOWN + [1.6])
    texts = np.unique(frame["text"])
    first = axes[0]
    for ax, text in zip(axes[:SHOWN], texts[[0, len(texts) // 2, -1]], strict=True):
        _trajectory(ax, frame[frame["text"] == text])
        ax.set(ylim=(-0.03, 1.03), title=f"text {int(text) + 1}")
        if ax is not first:
            ax.set_yticklabels([])
    first.set_ylabel("share of G and C")
    axes[SHOWN // 2].set_xlabel("bases after the beginning")
    _all(axes[SHOWN], found, names)
    panels.letter(axes)
    style.legend(fig, [first], "upper center", ncols=3)
    return fig


def _trajectory(ax: style.Axes, rows: Frame) -> None:
    """What follows in the genome, thick, and what models write: mean over seeds as a line, seeds as dots.

    One encoding for each colour, so that Goat is drawn once, beside its rivals.
    """
    bases = int(rows["bases"].iloc[0])
    true = rows.drop_duplicates("piece").sort_values("piece")
    x = bases * (true["piece"] + 0.5)
    ax.plot(x, true["true"], color=style.BLACK, linewidth=2, label="the genome")
    lines.level(ax, true["before"].iloc[0], label="the beginning")
    names = reversed(dict.fromkeys(rows["encoding"]))
    for name in list({drawn(name)["color"]: name for name in names}.values())[::-1]:
        own, look = rows[rows["encoding"] == name], drawn(name)
        ax.plot(x, own.groupby("piece")["written"].mean(), linewidth=1, **look)
        style.seed_dots(ax, bases * (own["piece"] + 0.5), own["written"], look["color"])


def _all(ax: style.Axes, found: Frame, names: list[str]) -> None:
    """r of every seed with its interval over texts; behind it, pale, where r of FEW texts lies."""
    for place, name in enumerate(names):
        own, look = found[found["encoding"] == name], drawn(name)
        shifts = (np.arange(len(own)) - (len(own) - 1) / 2) * ROW / max(len(own), 1)
        for shift, row in zip(shifts, own.itertuples(), strict=True):
            y = place + shift
            ax.plot([row.few_low, row.few_high], [y, y], color=look["color"], alpha=0.3, linewidth=3, label="_fill")
            ax.plot([row.low, row.high], [y, y], color=look["color"], linewidth=0.9)
            ax.plot(row.r, y, look["marker"], color=look["color"], markersize=3.5, markeredgewidth=0.8)
    lines.place(ax, 0)
    ax.set_yticks(range(len(names)), [drawn(name)["label"] for name in names])
    ax.yaxis.tick_right()
    ax.set(ylim=(len(names) - 0.4, -0.6), xlim=(-1, 1), xlabel="r", title="all texts")


def caption_texts(frame: Frame) -> str:
    found = correlations(frame)
    models = found[found["encoding"] != BEGINNING]
    copied = found[found["encoding"] == BEGINNING].iloc[0]
    means = models.groupby("encoding", sort=False)["r"].mean()
    said = ", ".join(f"{drawn(name)['label']} {r:.2f}" for name, r in means.items())
    few = models[["few_low", "few_high"]].mean()
    return (
        f"G and C in pieces of {int(frame['bases'].iloc[0])} bases, written against true, over "
        f"{frame['text'].nunique()} texts. Panels a to c: the first, the middle and the last text, an encoding of each "
        f"kind, means and seeds. Panel d: their correlation r: {said} (means of seeds {listed(models['seed'])}); "
        f"{copied['r']:.2f} for the beginning's own. Bars: 95 % over texts; of {FEW} texts alone (pale) "
        f"{few['few_low']:.2f} to {few['few_high']:.2f} in the mean over models."
    )


TEXTS = FigureSpec(
    "genomes_texts",
    draw_texts,
    caption_texts,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 4",
    claims=("GOAT-F4",),
    alt="Three panels with the share of G and C along a text, of the genome and of what each model writes, and one "
    "with the correlation of both over all texts for every encoding and seed, with its interval.",
)


# Memory and time of a training step, with the same attention kernel and with others
# way of experiments.cost: encoding, dashes, what it is called
WAYS = {
    "rope": ("rope", style.SOLID, "RoPE"),
    "goat": ("goat-composite", (1, 1), "Goat, coordinates"),
    "rope, math": ("rope", (5, 1.5), "RoPE, unfused kernel"),
    "goat, math": ("goat-composite", (3, 1, 1, 1), "Goat, unfused kernel"),
    "goat, stored bias": ("goat-composite", style.SOLID, "Goat, stored bias"),
}


def draw_cost(frame: Frame) -> Figure:
    fig, (memory, times) = style.figure(style.SINGLE, 3.9, nrows=2, sharex=True)
    for way, own in frame.groupby("way", sort=False):
        name, dashes, called = WAYS[way]
        look = drawn(name) | {"dashes": dashes, "label": called} | ({"marker": "s"} if "stored" in way else {})
        rounds = own.groupby("length")
        taken = rounds["milliseconds"].agg(["median", "min", "max"])
        panels.add(memory, panels.Line(taken.index, rounds["memory"].median(), look))
        panels.add(times, panels.Line(taken.index, taken["median"], look, taken["min"], taken["max"]))
    memory.set(yscale="log", ylabel="peak memory (MB)")
    times.set(yscale="log", ylabel="ms a step", xlabel="bases")
    for ax in (memory, times):
        style.length_axis(ax, sorted(frame["length"].unique()))
    panels.letter((memory, times))
    style.legend(fig, [memory], "upper center", ncols=2)
    return fig


def caption_cost(frame: Frame) -> str:
    longest, shortest = frame["length"].max(), frame["length"].min()
    middle = frame.groupby(["length", "way"])[["milliseconds", "memory"]].median()
    memory, time = middle["memory"][longest], middle["milliseconds"]
    slower = {length: time[length, "goat"] / time[length, "rope"] for length in (shortest, longest)}
    return (
        f"A training step of the language model on one text, rounds in turn (a: memory; b: median time, range). At "
        f"{longest:,} bases and with the same fused kernel Goat takes {memory['goat'] / memory['rope']:.2f} times "
        f"RoPE's memory and {slower[longest]:.2f} times its time ({slower[shortest]:.2f} times at {shortest:,} bases); "
        f"RoPE with the unfused one "
        f"{memory['rope, math'] / memory['goat']:.1f} times Goat's memory, a stored bias "
        f"{memory['goat, stored bias'] / memory['goat']:.1f} times."
    )


COST = FigureSpec(
    "genomes_cost",
    draw_cost,
    caption_cost,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 4",
    claims=("GOAT-F4", "GOAT-C-1", "GOAT-C-8"),
    alt="Memory and time of a training step by length of the text: with the same kernel RoPE and Goat take the "
    "same memory and Goat takes longer on short texts; the lines of unfused kernels and of a stored bias rise faster.",
)
