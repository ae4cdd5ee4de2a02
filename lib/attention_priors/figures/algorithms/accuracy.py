"""Algorithmic tasks within the lengths of training and beyond: figure and table."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attention_priors.figures import style
from attention_priors.figures.algorithms.models import CHANCE, SAME, listed, plain, seeds
from attention_priors.figures.curves import t_interval
from attention_priors.figures.methods import UNTRAINED, label, look
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec
from attention_priors.figures.words import bounded
from attention_priors.figures.words import listed as enumerated
from attention_priors.positions.encodings import encoding

TRAINED, BEYOND = "trained", "beyond"


def _named(name: str) -> str:
    """The label of an encoding, short for the randomised ones: their longest position is in the caption."""
    return label(name) if plain(name) == name else f"{label(plain(name))}, randomised"


def within_unit(values: pd.Series) -> tuple[float, ...]:
    """The t interval of shares, clipped to 0 and 1."""
    return tuple(pd.Series(t_interval(values)).clip(0, 1))


def draw(frame: Frame) -> Figure:
    """A panel for each task."""
    names, tasks = listed(frame), list(dict.fromkeys(frame["task"]))
    fig, axes = style.figure(style.MIDDLE, 1.0 + 0.25 * len(names), ncols=len(tasks), sharey=True, squeeze=False)
    for ax, task in zip(axes[0], tasks, strict=True):
        rows = frame[frame["task"] == task]
        for y, name in enumerate(names):
            for part, shift in ((TRAINED, -0.17), (BEYOND, 0.17)):
                own = rows[(rows["encoding"] == name) & (rows["part"] == part)]
                _mark(ax, own["accuracy"], y + shift, name, part == BEYOND)
        beyond = rows[rows["part"] == BEYOND].iloc[0]
        for place, dashes in ((beyond["chance"], CHANCE), (beyond["order_free"], SAME)):
            if place < 1:
                ax.axvline(place, color=style.GREY, linewidth=0.9, linestyle=dashes, zorder=1)
        ax.set(title=task, xlim=(-0.04, 1.04))
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes[0, 0].set_yticks(range(len(names)), [_named(name) for name in names])
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    fig.supxlabel("share of right symbols")
    fig.legend(handles=_legend(frame), loc="outside upper center", ncols=4, handletextpad=0.4, columnspacing=1.2)
    return fig


def _mark(ax: Axes, values: pd.Series, y: float, name: str, filled: bool) -> None:
    """Seeds as dots, their interval as a bar, their mean as the marker: filled beyond the lengths of training.

    Randomised positions have the look of the plain form, darker.
    """
    drawn = look(plain(name))
    color = drawn["color"] if plain(name) == name else style.darken(drawn["color"], 0.45)
    style.interval_row(ax, within_unit(values), y, color, up=-2)
    style.seed_dots(ax, values, [y] * len(values), color, up=2)
    face = color if filled else "white"
    ax.plot(values.mean(), y, drawn["marker"], color=color, markerfacecolor=face, markersize=4.2, markeredgewidth=0.8)


def _legend(frame: Frame) -> list[Line2D]:
    mark = {"linestyle": "", "marker": "o", "color": style.DARK, "markersize": 4.2}
    line = {"color": style.GREY, "linewidth": 0.9}
    return [
        Line2D([], [], markerfacecolor="white", label=f"trained, {_span(frame, TRAINED)} symbols", **mark),
        Line2D([], [], label=f"beyond, {_span(frame, BEYOND)} symbols", **mark),
        Line2D([], [], linestyle=CHANCE, label="chance", **line),
        Line2D([], [], linestyle=SAME, label="one symbol for all slots", **line),
    ]


def _span(frame: Frame, part: str) -> str:
    rows = frame[frame["part"] == part]
    return f"{rows['shortest'].min()}–{rows['longest'].max()}"


def caption(frame: Frame) -> str:
    beyond = frame[(frame["encoding"] != UNTRAINED) & (frame["part"] == BEYOND)]
    means, first = beyond.groupby("encoding")["accuracy"].mean(), beyond.iloc[0]
    drawn = [name for name in listed(beyond) if plain(name) != name]
    gains = ", ".join(f"{label(plain(name))} {means[plain(name)]:.2f}, randomised {means[name]:.2f}" for name in drawn)
    below = enumerated(str(encoding(name).longest) for name in drawn)
    return (
        f"Encoders trained on strings of up to {first['trained']} symbols, asked at {first['lengths']} lengths beyond "
        f"with {first['samples']} strings each: share of right symbols, mean over lengths. Open marker: lengths of "
        f"training; filled: beyond; bar: 95 % t interval over {seeds(beyond, 'task')} seeds (dots). Randomised "
        f"positions are drawn from those below {below}. Dotted: chance; dashed: the best that one symbol for all slots "
        "can do beyond (a model without order; for parity that is 1, and no line). An untrained model may say any "
        f"token. Mean over the tasks beyond: {gains}."
    )


def build(frame: Frame) -> Frame:
    """A row for each task and encoding."""
    rows = []
    for task in dict.fromkeys(frame["task"]):
        for name in listed(frame):
            own = frame[(frame["task"] == task) & (frame["encoding"] == name)]
            near, far = (own[own["part"] == part] for part in (TRAINED, BEYOND))
            rows.append(
                {
                    "task": task,
                    "encoding": label(name),
                    "seeds": len(far),
                    f"{_span(frame, TRAINED)} symbols": _cell(near["accuracy"]),
                    f"{_span(frame, BEYOND)} symbols": _cell(far["accuracy"]),
                    "whole strings beyond": _cell(far["whole"]),
                    "chance": f"{far['chance'].iloc[0]:.2f}",
                    "one symbol for all slots": f"{far['order_free'].iloc[0]:.2f}",
                }
            )
    return Frame(rows)


def _cell(values: pd.Series) -> str:
    return bounded(values.mean(), *within_unit(values))


def caption_table(frame: Frame) -> str:
    first = frame.iloc[0]
    return (
        f"Share of right symbols within the lengths of training (up to {first['trained']}) and beyond, mean over "
        f"lengths and seeds [95 % t interval over seeds, clipped to 0 and 1; none for one seed]; share of strings "
        f"without a wrong symbol beyond; {first['samples']} strings of each length and seed. One symbol for all slots: "
        "the best that a model without order can do at the lengths beyond."
    )


PAPER = "Randomized positional encodings, Table 1"
COLUMNS = ("task", "encoding", "part", "accuracy", "chance", "order_free", "shortest", "longest", "samples", "trained")
FIGURE = FigureSpec(
    "algorithms_accuracy",
    draw,
    caption,
    notebook="needles",
    paper=PAPER,
    claims=("PE-F5", "PE-RAND-E"),
    columns=(*COLUMNS, "seed", "lengths"),
    alt="A panel for each task with a row for each encoding: an open marker for the accuracy on strings as long as in "
    "training, a filled one for longer strings, bars for intervals; vertical lines at chance and at the best that a "
    "model without order can do.",
)
TABLE = TableSpec("algorithms_accuracy", build, caption_table, "needles", (*COLUMNS, "whole"), PAPER)
