"""Algorithmic tasks within the lengths of training and beyond, and what models without positions know (PE-NOPE)."""

import itertools

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..positions.encodings import ENCODINGS, encoding
from . import panels, style
from .curves import seed_row, within_unit
from .methods import UNTRAINED, label, look
from .spec import Figure, FigureSpec, Frame, TableSpec
from .words import bounded, extremes, farthest, trained_on
from .words import listed as enumerated

# Encodings of the algorithmic tasks in the order in which they are shown, and how many seeds they have
CHANCE, SAME = (0, (1, 2)), (0, (4, 2))  # dashes of the vertical lines


def plain(name: str) -> str:
    """The form without randomised positions."""
    return name if name == UNTRAINED else encoding(name).base


def listed(frame: Frame) -> list[str]:
    """Encodings by base in the order of ENCODINGS, each randomised form after its plain one, the control last."""
    order = [*ENCODINGS, UNTRAINED]
    return sorted(set(frame["encoding"]), key=lambda name: (order.index(plain(name)), name))


def seeds(frame: Frame, kind: str) -> str:
    """How many seeds each model of a kind has: 3, or 3–5."""
    return extremes(frame.groupby([kind, "encoding"])["seed"].nunique())


# Algorithmic tasks within the lengths of training and beyond
TRAINED, BEYOND = "trained", "beyond"


def draw_accuracy(frame: Frame) -> Figure:
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
    # The longest position of the randomised ones is in the caption.
    named = [label(plain(name)) + ", randomised" * (plain(name) != name) for name in names]
    axes[0, 0].set_yticks(range(len(names)), named)
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
        Line2D([], [], linestyle=CHANCE, label="string not read", **line),
        Line2D([], [], linestyle=SAME, label="one symbol for all slots", **line),
    ]


def _span(frame: Frame, part: str) -> str:
    rows = frame[frame["part"] == part]
    return f"{rows['shortest'].min()}–{rows['longest'].max()}"


def caption_accuracy(frame: Frame) -> str:
    beyond = frame[(frame["encoding"] != UNTRAINED) & (frame["part"] == BEYOND)]
    means, first = beyond.groupby("encoding")["accuracy"].mean(), beyond.iloc[0]
    drawn = [name for name in listed(beyond) if plain(name) != name]
    gains = ", ".join(f"{label(plain(name))} {means[plain(name)]:.2f}, randomised {means[name]:.2f}" for name in drawn)
    below = enumerated(str(encoding(name).longest) for name in drawn)
    return (
        f"Encoders trained on strings of up to {first['trained']} symbols, asked at {first['lengths']} lengths beyond "
        f"with {first['samples']} strings each: share of right symbols, mean over lengths. Open marker: lengths of "
        f"training; filled: beyond; bar: 95 % t interval over {seeds(beyond, 'task')} seeds (dots). Randomised "
        f"positions are drawn from those below {below}. Dotted: the best "
        "beyond of who knows the slot and has not read the string; dashed: the best that one symbol for all slots "
        "can do there (a model without order; for parity that is 1, and no line). An untrained model may say any "
        f"token. Mean over the tasks beyond: {gains}."
    )


def build_accuracy(frame: Frame) -> Frame:
    """A row for each task and encoding."""
    rows = []
    for task, name in itertools.product(dict.fromkeys(frame["task"]), listed(frame)):
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
                "string not read": f"{far['chance'].iloc[0]:.2f}",
                "one symbol for all slots": f"{far['order_free'].iloc[0]:.2f}",
            }
        )
    return Frame(rows)


def _cell(values: pd.Series) -> str:
    return bounded(values.mean(), *within_unit(values))


def caption_accuracy_table(frame: Frame) -> str:
    first = frame.iloc[0]
    return (
        f"Share of right symbols within the lengths of training (up to {first['trained']}) and beyond, mean over "
        f"lengths and seeds [95 % t interval over seeds, clipped to 0 and 1; none for one seed]; share of strings "
        f"without a wrong symbol beyond; {first['samples']} strings of each length and seed. One symbol for all slots: "
        "the best that a model without order can do at the lengths beyond."
    )


PAPER = "Randomized positional encodings, Table 1"
ACCURACY_FIGURE = FigureSpec(
    "algorithms_accuracy",
    draw_accuracy,
    caption_accuracy,
    notebook="needles",
    paper=PAPER,
    claims=("PE-F5", "PE-RAND-E"),
    alt="A panel for each task with a row for each encoding: an open marker for the accuracy on strings as long as in "
    "training, a filled one for longer strings, bars for intervals; vertical lines at the best of who has not read "
    "the string and at the best that a "
    "model without order can do.",
)
ACCURACY_TABLE = TableSpec("algorithms_accuracy", build_accuracy, caption_accuracy_table, "needles", PAPER)


# What models without an encoding of positions know of them
KINDS = ("causal", "masked")


def draw_position(frame: Frame) -> Figure:
    fig, (left, *right) = style.figure(style.MIDDLE, 2.5, ncols=3, width_ratios=(1.5, 1, 1))
    probes = frame[frame["quantity"] == "probe"]
    for kind, name in _models(probes):
        own = probes[(probes["kind"] == kind) & (probes["encoding"] == name)]
        drawn = look(name)
        if name == UNTRAINED:
            drawn["label"] = "NoPE, untrained"
        else:
            drawn |= {"dashes": style.SOLID} if kind == "causal" else {"dashes": (3, 1), "markerfacecolor": "white"}
            drawn["label"] += f", {kind}"
        panels.add(left, panels.over(own, "value", drawn, by="layer"))
    left.set(xlabel="layer (0: embedding)", ylabel="$R^2$ of the position")
    layers = sorted({int(layer) for layer in probes["layer"]})
    left.set_xticks(layers)
    left.set_xlim(layers[0] - 0.35, layers[-1] + 0.35)  # the models of one layer stand side by side
    style.direct_labels(left)
    for ax, kind in zip(right, KINDS, strict=True):
        _losses(ax, frame[(frame["quantity"] == "loss") & (frame["kind"] == kind)])
        ax.set_title(kind)
    panels.letter(fig.axes)
    return fig


def _losses(ax: Axes, rows: Frame) -> None:
    """A row for each encoding: seeds, interval and mean; a line at the loss of token frequencies."""
    names = listed(rows)
    for y, name in enumerate(names):
        seed_row(ax, rows[rows["encoding"] == name]["value"], y, look(name))
    ax.axvline(rows["reference"].iloc[0], color=style.GREY, linewidth=0.9, linestyle=CHANCE)
    ax.set_yticks(range(len(names)), [label(name) for name in names])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel="loss (nats)")
    ax.margins(x=0.12)
    ax.xaxis.set_major_locator(MaxNLocator(4))


def _models(frame: Frame) -> list[tuple[str, str]]:
    return [(kind, name) for kind in KINDS for name in listed(frame[frame["kind"] == kind])]


def caption_position(frame: Frame) -> str:
    probes = frame[frame["quantity"] == "probe"]
    last = farthest(probes, "layer").groupby(["kind", "encoding"])["value"].mean()
    found = ", ".join(f"{label(name)} {kind} {last[kind, name]:z.2f}" for kind, name in _models(probes))
    losses = frame[frame["quantity"] == "loss"].groupby(["kind", "encoding"])[["value", "reference"]].mean()
    kept = []
    for kind, rows in losses.groupby("kind"):
        gains = (rows["reference"] - rows["value"]).droplevel("kind")
        best = gains.drop("nope").idxmax()
        beside = f"{label(best)} {gains[best]:.2f}"
        kept.append(f"{kind} NoPE gains {gains['nope']:.2f} nats over token frequencies, {beside}")
    return (
        f"Language models trained on windows of {trained_on(frame)} tokens, causal and masked. Panel a: R² of a "
        "linear probe of the position on held-out windows whose tokens stand in random order; in the last layer: "
        f"{found}. Panels b, c: loss on the next token (causal) or on hidden ones (masked) of validation text; dotted: "
        f"token frequencies alone; {'; '.join(kept)}. Bars: 95 % t intervals over {seeds(frame, 'kind')} seeds "
        "(dots and marks)."
    )


POSITION = FigureSpec(
    "nope_models",
    draw_position,
    caption_position,
    notebook="needles",
    claims=("PE-NOPE",),
    alt="Panel a: lines of the R² of a probe of the position by layer, for causal and masked models without and with "
    "an encoding. Panels b, c: two panels with the losses of causal and of masked models, a row for each encoding.",
)
