"""RULER's needle tasks one by one: figure and table (BAM, Tables 3 and 4)."""

import math

import numpy as np
import pandas as pd

from attention_priors.experiments.needles import CONTROL, NEEDLES
from attention_priors.figures import heat_maps, style
from attention_priors.figures.methods import UNTRAINED, label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec
from attention_priors.figures.words import HULL, bounded, extremes, joined, times, trained_on
from attention_priors.positions.encodings import encoding
from attention_priors.tasks.needle_text import TASKS

PAPER = "BAM, Tables 3 and 4"
# As there.
TITLES = {
    "single-1": "Single 1", "single-2": "Single 2", "single-3": "Single 3", "multikey-1": "MultiKey 1",
    "multikey-2": "MultiKey 2", "multikey-3": "MultiKey 3", "multivalue": "MultiValue", "multiquery": "MultiQuery",
    "variable-tracking": "Variable tracking",
}  # fmt: skip
ACROSS = 3  # panels of the heat map
ROOM = 6.6  # inches for the rows of all panels below one another
NOT_ASKED = "•"
MOST_NAMED = 4


def listed(frame: Frame) -> tuple[list[str], list[str], list[int], int]:
    """(tasks, encodings, lengths, training length) of a frame, in the order in which they are shown."""
    tasks = [task for task in TASKS if task in set(frame["task"])]
    return tasks, list(dict.fromkeys(frame["encoding"])), sorted(set(frame["length"])), trained_on(frame)


def columns(frame: Frame) -> tuple[Frame, Frame]:
    """(scores, asked) of one task by encoding and column: the worst length up to T under T, then the longer ones."""
    trained = trained_on(frame)
    made = []
    for value in ("mean", "asked"):
        wide = frame.pivot(index="encoding", columns="length", values=value)
        wide[trained] = wide[[length for length in wide if length <= trained]].min(axis=1)
        made.append(wide[[length for length in wide if length >= trained]])
    return made[0], made[1]


def draw(frame: Frame) -> Figure:
    """A heat map for each task, encodings by lengths, and beside each row how many of its seeds passed the gate."""
    tasks, names, lengths, trained = listed(frame)
    lengths = [length for length in lengths if length >= trained]
    across = min(ACROSS, len(tasks))
    down = math.ceil(len(tasks) / across)
    size = {"nrows": down, "ncols": across, "sharex": True, "sharey": True, "squeeze": False}
    rows = down * len(names)
    fig, axes = style.figure(style.DOUBLE, 0.6 + 0.25 * down + style.pitch(rows, ROOM) * rows, **size)
    for ax, task in zip(style.panels(axes, len(tasks)), tasks, strict=True):
        rows = frame[frame["task"] == task]
        scores, asked = (each.loc[names] for each in columns(rows))
        gate = rows.drop_duplicates("encoding").set_index("encoding").loc[names]

        def text(row: int, column: int, value: float, asked: Frame = asked) -> str:
            return f"{value:.2f}".removeprefix("0") if asked.iloc[row, column] else NOT_ASKED

        mesh = heat_maps.cells(ax, scores.to_numpy(), text, lambda value: value <= 0.5, 0.53, **heat_maps.SHARES)
        for row, name in enumerate(names):
            if name != UNTRAINED:
                said = f"{int(gate.loc[name, 'passed'])}/{int(gate.loc[name, 'seeds'])}"
                heat_maps.write(ax, len(lengths) + 0.08, row + 0.53, said, ha="left")
        heat_maps.bare(ax)
        ax.set(xlim=(0, len(lengths) + 0.75), title=TITLES[task])
    axes[0, 0].set_yticks(np.arange(len(names)) + 0.5, [label(name) for name in names])
    ticks = ["≤ 1×", *(times(length, trained) for length in lengths[1:])]
    axes[0, 0].set_xticks(np.arange(len(lengths)) + 0.5, ticks)
    axes[0, 0].invert_yaxis()
    fig.supxlabel(f"context length / training length ({trained} tokens)")
    heat_maps.color_bar(mesh, axes, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="score")
    return fig


def guesses(tasks: list[str]) -> str:
    """What a model scores that answers with any of the needles that its keys or values make, in words."""
    shares = {task: 1 / (TASKS[task].keys * TASKS[task].values) for task in tasks if task in NEEDLES}
    several = [TITLES[task] for task, share in shares.items() if share < 1]
    alone = [TITLES[task] for task in shares if TASKS[task].haystack == "needles"]
    said = [
        f"{min(shares.values()):g} on {' and '.join([', '.join(several[:-1])] * (len(several) > 1) + several[-1:])}"
    ]
    said = said * bool(several) + [f"less among needles alone ({' and '.join(alone)})"] * bool(alone)
    return ", and ".join(said) or "1, whatever the key"


def caption(frame: Frame) -> str:
    tasks, _, lengths, trained = listed(frame)
    models = frame[frame["encoding"] != UNTRAINED]
    passed = models.groupby("task")["passed"].max()
    failed = [TITLES[task] for task in tasks if not passed.get(task, 0)]
    said = f"No run passed the gate on {', '.join(failed)}. " if failed else ""
    return (
        f"Score on {len(tasks)} of RULER's tasks, trained on up to {trained} tokens: the share of the required answers "
        f"of which every token is right, mean of {extremes(frame['seeds'])} seeds. "
        f"{extremes(frame['samples'])} prompts at each task, length and seed. The first column is the worst length up "
        f"to {trained}, of {sum(length <= trained for length in lengths)}; at the end of each row, how many seeds "
        f"passed the gate (0.95 pooled up to {trained} tokens, 0.90 at each length): the others decide nothing. {said}"
        f"{leaders(models, tasks, trained)}Numbers and uuids cannot be guessed; the value of any needle at random "
        f"scores {guesses(tasks)}. Dot: no seed was asked, after too many lengths without a hit; it counts as 0. "
        f"Untrained: {label(CONTROL)} before its first step. {_read_as(models)}Intervals are in the table ruler; half "
        f"of them are wider than {(frame['high'] - frame['low']).median():.2f}."
    )


def _read_as(models: Frame) -> str:
    """Of rows that are the weights of another encoding, which."""
    rows = [encoding(name) for name in dict.fromkeys(models["encoding"]) if encoding(name).local]
    return "".join(f"{row.label}: the weights of {label(row.trained_as)}, read through a window. " for row in rows)


def leaders(models: Frame, tasks: list[str], trained: int) -> str:
    """The best and the worst of the encodings that passed with every seed, at the longest length, task by task."""
    rows = models[(models["passed"] == models["seeds"]) & (models["length"] == models["length"].max())]
    said = []
    for task in tasks:
        at = rows[rows["task"] == task].set_index("encoding")["mean"]
        if len(at) > 1:
            far = times(models["length"].max(), trained)
            best, worst = (f"{_all(at, value)} ({value:.2f})" for value in (at.max(), at.min()))
            said.append(f"On {TITLES[task]}, of the encodings that passed with every seed, the best at {far} is "
                        f"{best}, the worst {worst}. ")  # fmt: skip
    return "".join(said)


def _all(at: pd.Series, value: float) -> str:
    """The encodings with this value to two digits, as printed: 'BAM, KERPLE log and Sandwich', '12 of them'."""
    names = [label(name) for name in at.index[at.round(2) == round(value, 2)]]
    if len(names) > MOST_NAMED:
        return f"{len(names)} of them"
    return joined(names)


def build(frame: Frame) -> Frame:
    """A row for each task and encoding, a column for each length."""
    tasks, names, lengths, trained = listed(frame)
    cells = {pair: rows.set_index("length") for pair, rows in frame.groupby(["task", "encoding"])}
    heads = {length: f"{style.length_label(length)} ({times(length, trained)})" for length in lengths}
    rows = []
    for task in tasks:
        for name in names:
            own = cells[task, name]
            first = own.iloc[0]
            row = {"task": TITLES[task], "encoding": label(name), "seeds": int(first["seeds"])}
            row["passed the gate"] = "" if name == UNTRAINED else int(first["passed"])
            row |= {heads[length]: _cell(own.loc[length]) for length in lengths}
            partly = own.index[(own["asked"] > 0) & (own["asked"] < own["seeds"])]
            rows.append(row | {"not all seeds asked at": ", ".join(map(style.length_label, partly))})
    return Frame(rows)


def _cell(row: pd.Series) -> str:
    return bounded(row["mean"], row["low"], row["high"]) if row["asked"] else "0, not asked"


def caption_table(frame: Frame) -> str:
    return (
        f"Score on RULER's needle tasks and variable tracking, {HULL}, a prompt with several answers being one trial], "
        f"by context length in tokens (multiples of the training length of {trained_on(frame)}). "
        f"{extremes(frame['samples'])} prompts at each task, length and seed; a length that no seed was asked, after "
        "too many without a hit, counts as 0, and so does a seed that was not asked where others were: the last column "
        "has these lengths. One seed has no interval over seeds: [0, 1]."
    )


FIGURE = FigureSpec(
    "ruler_over_seeds", draw, caption, notebook="needles", paper=PAPER, claims=("BAM-D8",),
    columns=("task", "encoding", "seeds", "samples", "length", "mean", "low", "high", "asked", "passed", "trained"),
    alt="A heat map for each task, with a row for each encoding and a column for each multiple of the training length; "
    "cells show the score, dots where nothing was asked; beside each row the number of seeds that passed the gate.",
)  # fmt: skip
TABLE = TableSpec("ruler_over_seeds", build, caption_table, "needles", FIGURE.columns, PAPER)
