"""RULER's needle tasks: score per task, encoding and length, the average over tasks, and the table (notebook 11)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors.experiments.needles import CONTROL, NEEDLES, UNTRAINED, score_interval
from attention_priors.figures import style
from attention_priors.figures.passkey_tables import times
from attention_priors.figures.spec import FigureSpec, TableSpec
from attention_priors.positions.encodings import encoding
from attention_priors.tasks.needle_text import TASKS

NOTEBOOK = "11_needles"
# As in BAM's Tables 3 and 4.
TITLES = {
    "single-1": "Single 1", "single-2": "Single 2", "single-3": "Single 3", "multikey-1": "MultiKey 1",
    "multikey-2": "MultiKey 2", "multikey-3": "MultiKey 3", "multivalue": "MultiValue", "multiquery": "MultiQuery",
    "variable-tracking": "Variable tracking",
}  # fmt: skip
ACROSS = 3  # panels of the heat map
NOT_ASKED = "•"


def label(name: str) -> str:
    return style.CONTROLS[name]["label"] if name == UNTRAINED else encoding(name).label


def listed(frame: pd.DataFrame) -> tuple[list[str], list[str], list[int], int]:
    """(tasks, encodings, lengths, training length) of a frame, in the order in which they are shown."""
    tasks = [task for task in TASKS if task in set(frame["task"])]
    return tasks, list(dict.fromkeys(frame["encoding"])), sorted(set(frame["length"])), int(frame["trained"].iloc[0])


def draw_tasks(frame: pd.DataFrame) -> Figure:
    """Columns task, encoding, length, trained, mean, asked: a heat map for each task, encodings by lengths."""
    tasks, names, lengths, trained = listed(frame)
    down = math.ceil(len(tasks) / ACROSS)
    size = {"nrows": down, "ncols": ACROSS, "sharex": True, "sharey": True, "squeeze": False}
    fig, axes = style.figure(style.DOUBLE, 0.6 + down * (0.25 + 0.155 * len(names)), **size)
    for ax, task in zip(axes.flat, tasks, strict=False):
        mesh = _panel(ax, frame[frame["task"] == task], names, lengths)
        ax.set_title(TITLES[task])
    for ax in axes.flat[len(tasks) :]:
        ax.set_visible(False)
    axes[0, 0].set_yticks(np.arange(len(names)) + 0.5, [label(name) for name in names])
    axes[0, 0].set_xticks(np.arange(len(lengths)) + 0.5, [times(length, trained) for length in lengths])
    axes[0, 0].invert_yaxis()
    fig.supxlabel(f"context length / training length ({trained} tokens)", fontsize=8)
    bar = fig.colorbar(mesh, ax=axes, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="score")
    bar.outline.set_visible(False)
    return fig


def _panel(ax: Axes, rows: pd.DataFrame, names: list[str], lengths: list[int]):
    shape = {"index": "encoding", "columns": "length"}
    cells, asked = (rows.pivot(**shape, values=value).loc[names, lengths] for value in ("mean", "asked"))
    mesh = ax.pcolormesh(cells.to_numpy(), vmin=0, vmax=1, edgecolor="white", linewidth=0.6)
    for (row, column), value in np.ndenumerate(cells.to_numpy()):
        text = f"{value:.2f}".removeprefix("0") if asked.iloc[row, column] else NOT_ASKED
        color = "black" if value > 0.5 else "white"
        ax.text(column + 0.5, row + 0.53, text, ha="center", va="center", fontsize=style.SMALLEST, color=color)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return mesh


def guesses(tasks: list[str]) -> str:
    """What a model scores that answers with any of the needles that its keys or values make, in words."""
    shares = {task: 1 / (TASKS[task].keys * TASKS[task].values) for task in tasks if task in NEEDLES}
    several = [TITLES[task] for task, share in shares.items() if share < 1]
    lowest = min(shares.values())
    return f"{lowest:g} on {', '.join(several[:-1])} and {several[-1]}" if len(several) > 1 else "nothing"


def caption_tasks(frame: pd.DataFrame) -> str:
    tasks, _, lengths, trained = listed(frame)
    at = frame[(frame["task"] == tasks[0]) & (frame["encoding"] != UNTRAINED)].set_index(["length", "encoding"])["mean"]
    leaders = ", ".join(f"{label(at[n].idxmax())} {at[n].max():.2f} at {times(n, trained)}" for n in lengths[1:])
    learned = frame[(frame["length"] == trained) & (frame["encoding"] != UNTRAINED)].groupby("task")["mean"].max()
    failed = [TITLES[task] for task in tasks if learned.get(task, 0.0) < 0.5]
    said = f"No encoding scores 0.5 at {trained} tokens on {', '.join(failed)}. " if failed else ""
    wide = (frame["high"] - frame["low"]).median()
    return (
        f"RULER's needle tasks and variable tracking, trained on {trained} tokens: score (share of the required "
        f"answers of which every token is right), mean of {_range(frame['seeds'])} seeds, {_range(frame['samples'])} "
        f"prompts at each task, length and seed. Best on {TITLES[tasks[0]]}: {leaders}. {said}Numbers and uuids cannot "
        f"be guessed; the value of any needle at random scores {guesses(tasks)}, and less among needles alone "
        f"(MultiKey 2 and 3). Dot: no seed was asked, after too many lengths without a hit; it counts as 0. Untrained: "
        f"{label(CONTROL)} before its first step. Intervals are in the table ruler; half of them are wider "
        f"than {wide:.2f}."
    )


def _range(values: pd.Series) -> str:
    return "–".join(str(value) for value in sorted({int(values.min()), int(values.max())}))


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Per encoding and length: the mean average with its interval; none for one seed."""
    rows = []
    for (name, length), group in frame.groupby(["encoding", "length"], sort=True):
        low, high = score_interval(group["score"], group["prompts"]) if len(group) > 1 else (np.nan, np.nan)
        rows.append({"encoding": name, "length": length, "mean": group["score"].mean(), "low": low, "high": high})
    return pd.DataFrame(rows)


def _drawn(frame: pd.DataFrame, ssmax: bool) -> list[str]:
    """The encodings of a panel that have a style of their own, BAM last, and the control."""
    bases = [f"{base}-ssmax" if ssmax else base for base in style.METHODS]
    return [name for name in (UNTRAINED, *bases) if name in set(frame["encoding"])]


def draw_average(frame: pd.DataFrame) -> Figure:
    """Columns encoding, seed, length, score, prompts, tasks, trained: left without SSMax, right with it.

    A form that nothing was trained in has no panel.
    """
    forms = [ssmax for ssmax in (False, True) if set(_drawn(frame, ssmax)) - {UNTRAINED}]
    fig, axes = style.figure(style.DOUBLE if len(forms) > 1 else style.SINGLE, 2.6, ncols=len(forms), sharey=True)
    axes = np.atleast_1d(axes)
    lengths, trained = sorted(set(frame["length"])), int(frame["trained"].iloc[0])
    for ax, ssmax in zip(axes, forms, strict=True):
        for rank, name in enumerate(_drawn(frame, ssmax)):
            own = frame[frame["encoding"] == name]
            mean = summary(own)
            style.interval_band(ax, mean["length"], mean["low"], mean["high"], encoding=name)
            style.seed_dots(ax, own["length"], own["score"], encoding=name)
            ax.plot(mean["length"], mean["mean"], **style.method_style(name), zorder=rank + 4)
        style.length_axis(ax, lengths, trained)
        ax.set_xticks(lengths, [f"{style.length_label(n)}\n{times(n, trained)}" for n in lengths])
        ax.set(ylim=(-0.03, 1.03), xlabel=f"context length (tokens, × {trained})",
               title="with SSMax" if ssmax else "without SSMax")  # fmt: skip
    axes[0].set_ylabel(f"mean score over {int(frame['tasks'].max())} tasks")
    for ax in axes:
        style.direct_labels(ax)
    return fig


def caption_average(frame: pd.DataFrame) -> str:
    trained, last = int(frame["trained"].iloc[0]), int(frame["length"].max())
    models = frame[frame["encoding"] != UNTRAINED]
    means = models.groupby(["length", "encoding"])["score"].mean()
    first, far = means[trained].idxmax(), means[last].idxmax()
    return (
        f"Mean score over RULER's {int(frame['tasks'].max())} needle tasks, trained on {trained} tokens. Best at "
        f"{trained} tokens: {label(first)} ({means[trained].max():.2f}); at {last:,} ({times(last, trained)}): "
        f"{label(far)} ({means[last].max():.2f}). Line: mean over seeds; band: 95 % interval of that mean over seeds "
        f"and prompts; dots: seeds; dotted vertical line: training length. {_range(frame['prompts'])} prompts at each "
        f"length and seed, over all tasks; {style.named_seeds(models)}. The untrained control is {label(CONTROL)} "
        "before its first step; chance is below 1e-6."
    )


def table_ruler(frame: pd.DataFrame) -> pd.DataFrame:
    """From ruler_over_seeds: a row for each task and encoding, a column for each length."""
    tasks, names, lengths, trained = listed(frame)
    cells = {pair: rows.set_index("length") for pair, rows in frame.groupby(["task", "encoding"])}
    heads = {length: f"{style.length_label(length)} ({times(length, trained)})" for length in lengths}
    rows = []
    for task in tasks:
        for name in names:
            own = cells[task, name]
            row = {"task": TITLES[task], "encoding": label(name), "seeds": int(own.loc[trained, "seeds"])}
            rows.append(row | {heads[length]: _cell(own.loc[length]) for length in lengths})
    return pd.DataFrame(rows)


def _cell(row: pd.Series) -> str:
    return f"{row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" if row["asked"] else "0, not asked"


def caption_table(frame: pd.DataFrame) -> str:
    trained = int(frame["trained"].iloc[0])
    return (
        f"Score on RULER's needle tasks and variable tracking, mean over seeds [95 % interval: hull of Student's t "
        f"over seeds and of the exact binomial one over all prompts, a prompt with several answers being one trial], "
        f"by context length in tokens (multiples of the training length of {trained}). {_range(frame['samples'])} "
        f"prompts at each task, length and seed; a length that no seed was asked, after too many without a hit, counts "
        f"as 0. One seed has no interval over seeds: [0, 1]."
    )


FIGURES = {
    "ruler_tasks": FigureSpec(
        metrics="ruler_over_seeds",
        draw=draw_tasks,
        caption=caption_tasks,
        alt="Nine heat maps, one for each task, with a row for each encoding and a column for each multiple of the "
        "training length; cells show the score, dots where nothing was asked.",
        paper="BAM, Tables 3 and 4",
        notebook=NOTEBOOK,
    ),
    "ruler_average": FigureSpec(
        metrics="ruler_average",
        draw=draw_average,
        caption=caption_average,
        alt="A panel without SSMax, one with it, as far as trained: lines of the mean score over eight needle tasks "
        "against context length on a log axis, each with a band for its interval and dots for its seeds; an "
        "untrained model lies at zero.",
        paper="BAM, Tables 3 and 4",
        notebook=NOTEBOOK,
    ),
}
TABLES = {"ruler": TableSpec("ruler_over_seeds", table_ruler, caption_table, "BAM, Tables 3 and 4", NOTEBOOK)}
