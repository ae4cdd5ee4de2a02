"""RULER's needle tasks one by one: figure and table (BAM, Tables 3 and 4)."""

import math

import numpy as np
import pandas as pd

from attention_priors.experiments.needles import CONTROL, NEEDLES
from attention_priors.figures import heat_maps, style
from attention_priors.figures.methods import UNTRAINED, label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec
from attention_priors.figures.words import HULL, bounded, extremes, times, trained_on
from attention_priors.tasks.needle_text import TASKS

PAPER = "BAM, Tables 3 and 4"
# As there.
TITLES = {
    "single-1": "Single 1", "single-2": "Single 2", "single-3": "Single 3", "multikey-1": "MultiKey 1",
    "multikey-2": "MultiKey 2", "multikey-3": "MultiKey 3", "multivalue": "MultiValue", "multiquery": "MultiQuery",
    "variable-tracking": "Variable tracking",
}  # fmt: skip
ACROSS = 3  # panels of the heat map
NOT_ASKED = "•"


def listed(frame: Frame) -> tuple[list[str], list[str], list[int], int]:
    """(tasks, encodings, lengths, training length) of a frame, in the order in which they are shown."""
    tasks = [task for task in TASKS if task in set(frame["task"])]
    return tasks, list(dict.fromkeys(frame["encoding"])), sorted(set(frame["length"])), trained_on(frame)


def draw(frame: Frame) -> Figure:
    """A heat map for each task, encodings by lengths."""
    tasks, names, lengths, trained = listed(frame)
    down = math.ceil(len(tasks) / ACROSS)
    size = {"nrows": down, "ncols": ACROSS, "sharex": True, "sharey": True, "squeeze": False}
    fig, axes = style.figure(style.DOUBLE, 0.6 + down * (0.25 + 0.155 * len(names)), **size)
    for ax, task in zip(axes.flat, tasks, strict=False):
        rows, shape = frame[frame["task"] == task], {"index": "encoding", "columns": "length"}
        scores, asked = (rows.pivot(**shape, values=value).loc[names, lengths] for value in ("mean", "asked"))

        def text(row: int, column: int, value: float, asked: Frame = asked) -> str:
            return f"{value:.2f}".removeprefix("0") if asked.iloc[row, column] else NOT_ASKED

        mesh = heat_maps.cells(ax, scores.to_numpy(), text, lambda value: value <= 0.5, 0.53, **heat_maps.SHARES)
        heat_maps.bare(ax)
        ax.set_title(TITLES[task])
    for ax in axes.flat[len(tasks) :]:
        ax.set_visible(False)
    axes[0, 0].set_yticks(np.arange(len(names)) + 0.5, [label(name) for name in names])
    axes[0, 0].set_xticks(np.arange(len(lengths)) + 0.5, [times(length, trained) for length in lengths])
    axes[0, 0].invert_yaxis()
    fig.supxlabel(f"context length / training length ({trained} tokens)", fontsize=8)
    heat_maps.color_bar(mesh, axes, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="score")
    return fig


def guesses(tasks: list[str]) -> str:
    """What a model scores that answers with any of the needles that its keys or values make, in words."""
    shares = {task: 1 / (TASKS[task].keys * TASKS[task].values) for task in tasks if task in NEEDLES}
    several = [TITLES[task] for task, share in shares.items() if share < 1]
    lowest = min(shares.values())
    return f"{lowest:g} on {', '.join(several[:-1])} and {several[-1]}" if len(several) > 1 else "nothing"


def caption(frame: Frame) -> str:
    tasks, _, lengths, trained = listed(frame)
    models = frame[frame["encoding"] != UNTRAINED]
    at = models[models["task"] == tasks[0]].set_index(["length", "encoding"])["mean"]
    leaders = ", ".join(f"{label(at[n].idxmax())} {at[n].max():.2f} at {times(n, trained)}" for n in lengths[1:])
    learned = models[models["length"] == trained].groupby("task")["mean"].max()
    failed = [TITLES[task] for task in tasks if learned.get(task, 0.0) < 0.5]
    said = f"No encoding scores 0.5 at {trained} tokens on {', '.join(failed)}. " if failed else ""
    return (
        f"RULER's needle tasks and variable tracking, trained on {trained} tokens: score (share of the required "
        f"answers of which every token is right), mean of {extremes(frame['seeds'])} seeds, "
        f"{extremes(frame['samples'])} prompts at each task, length and seed. Best on {TITLES[tasks[0]]}: {leaders}. "
        f"{said}Numbers and uuids cannot be guessed; the value of any needle at random scores {guesses(tasks)}, and "
        "less among needles alone (MultiKey 2 and 3). Dot: no seed was asked, after too many lengths without a hit; it "
        f"counts as 0. Untrained: {label(CONTROL)} before its first step. Intervals are in the table ruler; half of "
        f"them are wider than {(frame['high'] - frame['low']).median():.2f}."
    )


def build(frame: Frame) -> Frame:
    """A row for each task and encoding, a column for each length."""
    tasks, names, lengths, trained = listed(frame)
    cells = {pair: rows.set_index("length") for pair, rows in frame.groupby(["task", "encoding"])}
    heads = {length: f"{style.length_label(length)} ({times(length, trained)})" for length in lengths}
    rows = []
    for task in tasks:
        for name in names:
            own = cells[task, name]
            row = {"task": TITLES[task], "encoding": label(name), "seeds": int(own.loc[trained, "seeds"])}
            rows.append(row | {heads[length]: _cell(own.loc[length]) for length in lengths})
    return Frame(rows)


def _cell(row: pd.Series) -> str:
    return bounded(row["mean"], row["low"], row["high"]) if row["asked"] else "0, not asked"


def caption_table(frame: Frame) -> str:
    return (
        f"Score on RULER's needle tasks and variable tracking, {HULL}, a prompt with several answers being one trial], "
        f"by context length in tokens (multiples of the training length of {trained_on(frame)}). "
        f"{extremes(frame['samples'])} prompts at each task, length and seed; a length that no seed was asked, after "
        "too many without a hit, counts as 0. One seed has no interval over seeds: [0, 1]."
    )


FIGURE = FigureSpec(
    "ruler_over_seeds", draw, caption, notebook="needles", paper=PAPER, claims=("BAM-D8",),
    columns=("task", "encoding", "seeds", "samples", "length", "mean", "low", "high", "asked", "trained"),
    alt="Nine heat maps, one for each task, with a row for each encoding and a column for each multiple of the "
    "training length; cells show the score, dots where nothing was asked.",
)  # fmt: skip
TABLE = TableSpec("ruler_over_seeds", build, caption_table, "needles", FIGURE.columns, PAPER)
