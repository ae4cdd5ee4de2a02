"""Algorithmic tasks within the lengths of training and beyond, and what models without positions know (notebook 11)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attention_priors.evaluation import seed_interval
from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec, TableSpec
from attention_priors.positions.encodings import ENCODINGS, encoding

NOTEBOOK = "11_needles"
UNTRAINED = "untrained"
TRAINED, BEYOND = "trained", "beyond"
CHANCE, SAME = (0, (1, 2)), (0, (4, 2))  # dashes of the vertical lines


def named(name: str) -> str:
    """The label of an encoding, short for the randomised ones: their longest position is in the caption."""
    base, drawn, _ = name.partition("-randomised")
    return f"{style.method_style(base)['label']}, randomised" if drawn else style.method_style(name)["label"]


def looks(name: str) -> tuple[str, str]:
    """Colour and marker; randomised positions have those of the plain form, darker."""
    base, drawn, _ = name.partition("-randomised")
    look = style.method_style(base)
    return style.darken(look["color"], 0.45) if drawn else look["color"], look["marker"]


def listed(frame: pd.DataFrame) -> list[str]:
    """Encodings by base in the order of ENCODINGS, each randomised form after its plain one, the control last."""
    order = list(ENCODINGS)
    names = [name for name in dict.fromkeys(frame["encoding"]) if name != UNTRAINED]
    names.sort(key=lambda name: (order.index(name.partition("-randomised")[0]), name))
    return names + [UNTRAINED] * (UNTRAINED in set(frame["encoding"]))


def interval(values: pd.Series) -> tuple[float, float]:
    """The t interval over seeds; nothing for one seed."""
    return seed_interval(values) if len(values) > 1 else (math.nan, math.nan)


def within_unit(values: pd.Series) -> tuple[float, float]:
    """The t interval of shares, clipped to 0 and 1."""
    low, high = interval(values)
    return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))


def draw_accuracy(frame: pd.DataFrame) -> Figure:
    """Columns task, encoding, seed, part, accuracy, chance, order_free, shortest, longest: a panel for each task."""
    names, tasks = listed(frame), list(dict.fromkeys(frame["task"]))
    fig, axes = style.figure(style.DOUBLE, 1.0 + 0.25 * len(names), ncols=len(tasks), sharey=True, squeeze=False)
    for ax, task in zip(axes[0], tasks, strict=True):
        rows = frame[frame["task"] == task]
        for y, name in enumerate(names):
            for part, shift in ((TRAINED, -0.17), (BEYOND, 0.17)):
                own = rows[(rows["encoding"] == name) & (rows["part"] == part)]
                _mark(ax, own["accuracy"], y + shift, name, part == BEYOND)
        beyond = rows[rows["part"] == BEYOND].iloc[0]
        ax.axvline(beyond["chance"], color="#7F7F7F", linewidth=0.9, linestyle=CHANCE, zorder=1)
        if beyond["order_free"] < 1:
            ax.axvline(beyond["order_free"], color="#7F7F7F", linewidth=0.9, linestyle=SAME, zorder=1)
        ax.set(title=task, xlim=(0, 1.04))
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes[0, 0].set_yticks(range(len(names)), [named(name) for name in names])
    axes[0, 0].set_ylim(len(names) - 0.5, -0.5)
    fig.supxlabel("share of right symbols", fontsize=8)
    fig.legend(handles=_legend(frame), loc="outside upper center", ncols=4, handletextpad=0.4, columnspacing=1.2)
    return fig


def _mark(ax: Axes, values: pd.Series, y: float, name: str, filled: bool) -> None:
    """Seeds as dots, their interval as a bar, their mean as the marker: filled beyond the lengths of training."""
    color, marker = looks(name)
    ax.plot(within_unit(values), [y, y], color=color, alpha=0.3, linewidth=3.5, solid_capstyle="butt")
    ax.plot(values, [y] * len(values), ".", color=color, markersize=2.5, markeredgewidth=0)
    face = color if filled else "white"
    ax.plot(values.mean(), y, marker, color=color, markerfacecolor=face, markersize=4.2, markeredgewidth=0.8)


def _legend(frame: pd.DataFrame) -> list[Line2D]:
    parts = {part: _span(frame, part) for part in (TRAINED, BEYOND)}
    mark = {"linestyle": "", "marker": "o", "color": "#4D4D4D", "markersize": 4.2}
    line = {"color": "#7F7F7F", "linewidth": 0.9}
    return [
        Line2D([], [], markerfacecolor="white", label=f"trained, {parts[TRAINED]} symbols", **mark),
        Line2D([], [], label=f"beyond, {parts[BEYOND]} symbols", **mark),
        Line2D([], [], linestyle=CHANCE, label="chance", **line),
        Line2D([], [], linestyle=SAME, label="one symbol for all slots", **line),
    ]


def _span(frame: pd.DataFrame, part: str) -> str:
    rows = frame[frame["part"] == part]
    return f"{rows['shortest'].min()}–{rows['longest'].max()}"


def caption_accuracy(frame: pd.DataFrame) -> str:
    rows = frame[frame["encoding"] != UNTRAINED]
    beyond = rows[rows["part"] == BEYOND]
    means, first = beyond.groupby("encoding")["accuracy"].mean(), beyond.iloc[0]
    names = [name for name in listed(rows) if "-randomised" in name]
    pairs = [(name, name.partition("-randomised")[0]) for name in names]
    gains = ", ".join(f"{named(plain)} {means[plain]:.2f}, randomised {means[name]:.2f}" for name, plain in pairs)
    below = ", ".join(sorted({str(encoding(name).longest) for name in names}))
    return (
        f"Encoders trained on strings of up to {first['trained']} symbols, asked at {first['lengths']} lengths beyond "
        f"with {first['samples']} strings each: share of right symbols, mean over lengths. Open marker: lengths of "
        f"training; filled: beyond; bar: 95 % t interval over {_seeds(beyond, 'task')} seeds (dots). Randomised "
        f"positions are drawn from those below {below}. Dotted: chance; dashed: the best that one symbol for all slots "
        "can do beyond (a model without order; for parity that is 1). Mean over the tasks beyond: "
        f"{gains}."
    )


def _seeds(frame: pd.DataFrame, kind: str) -> str:
    """How many seeds each model of a kind has: 3, or 3–5."""
    counts = frame.groupby([kind, "encoding"])["seed"].nunique()
    return "–".join(map(str, sorted({int(counts.min()), int(counts.max())})))


def table_algorithms(frame: pd.DataFrame) -> pd.DataFrame:
    """From algorithms_accuracy: a row for each task and encoding."""
    rows = []
    for task in dict.fromkeys(frame["task"]):
        for name in listed(frame):
            own = frame[(frame["task"] == task) & (frame["encoding"] == name)]
            parts = {part: own[own["part"] == part] for part in (TRAINED, BEYOND)}
            far = parts[BEYOND].iloc[0]
            label = "Untrained" if name == UNTRAINED else ENCODINGS[name].label
            rows.append({"task": task, "encoding": label, "seeds": len(parts[BEYOND]),
                         f"{_span(frame, TRAINED)} symbols": _cell(parts[TRAINED]["accuracy"]),
                         f"{_span(frame, BEYOND)} symbols": _cell(parts[BEYOND]["accuracy"]),
                         "whole strings beyond": _cell(parts[BEYOND]["whole"]), "chance": f"{far['chance']:.2f}",
                         "one symbol for all slots": f"{far['order_free']:.2f}"})  # fmt: skip
    return pd.DataFrame(rows)


def _cell(values: pd.Series) -> str:
    low, high = within_unit(values)
    return f"{values.mean():.2f}" if math.isnan(low) else f"{values.mean():.2f} [{low:.2f}, {high:.2f}]"


def caption_table(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    return (
        f"Share of right symbols within the lengths of training (up to {first['trained']}) and beyond, mean over "
        f"lengths and seeds [95 % t interval over seeds, clipped to 0 and 1; none for one seed]; share of strings "
        f"without a wrong symbol beyond; {first['samples']} strings of each length and seed. One symbol for all slots: "
        "the best that a model without order can do at the lengths beyond."
    )


def draw_position(frame: pd.DataFrame) -> Figure:
    """Columns kind, encoding, seed, quantity, layer, value, reference: R² by layer, and the losses of both kinds."""
    fig, (left, *right) = style.figure(style.DOUBLE, 2.5, ncols=3, width_ratios=(1.5, 1, 1))
    probes = frame[frame["quantity"] == "probe"]
    for kind, name in _kinds(probes):
        own = probes[(probes["kind"] == kind) & (probes["encoding"] == name)]
        look = style.method_style(name)
        if name == UNTRAINED:
            look["label"] = "NoPE, untrained"
        else:
            look |= {"dashes": style.SOLID} if kind == "causal" else {"dashes": (3, 1), "markerfacecolor": "white"}
            look["label"] += f", {kind}"
        ends = pd.DataFrame([(layer, *interval(g["value"])) for layer, g in own.groupby("layer")])
        style.interval_band(left, ends[0], ends[1], ends[2], color=look["color"], dashes=look["dashes"])
        style.seed_dots(left, own["layer"], own["value"], color=look["color"])
        means = own.groupby("layer")["value"].mean()
        left.plot(means.index, means, **look)
    left.set(xlabel="layer (0: embedding)", ylabel="$R^2$ of the position")
    left.set_xticks(sorted({int(layer) for layer in probes["layer"]}))
    style.direct_labels(left)
    for ax, kind in zip(right, ("causal", "masked"), strict=True):
        _losses(ax, frame[(frame["quantity"] == "loss") & (frame["kind"] == kind)])
        ax.set_title(kind)
    return fig


def _losses(ax: Axes, rows: pd.DataFrame) -> None:
    """A row for each encoding: seeds, interval and mean; a line at the loss of token frequencies."""
    names = listed(rows)
    for y, name in enumerate(names):
        values, look = rows[rows["encoding"] == name]["value"], style.method_style(name)
        ax.plot(interval(values), [y, y], color=look["color"], alpha=0.3, linewidth=5, solid_capstyle="butt")
        ax.plot(values, [y] * len(values), marker=look["marker"], linestyle="", color=look["color"], alpha=0.8)
    ax.axvline(rows["reference"].iloc[0], color="#7F7F7F", linewidth=0.9, linestyle=CHANCE)
    ax.set_yticks(range(len(names)), [style.method_style(name)["label"] for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.margins(x=0.12)
    ax.set_xlabel("loss (nats)")
    ax.xaxis.set_major_locator(MaxNLocator(4))


def _kinds(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return [(kind, name) for kind in ("causal", "masked") for name in listed(frame)
            if len(frame[(frame["kind"] == kind) & (frame["encoding"] == name)])]  # fmt: skip


def caption_position(frame: pd.DataFrame) -> str:
    labels = {name: style.method_style(name)["label"] for name in set(frame["encoding"])}
    probes = frame[frame["quantity"] == "probe"]
    last = probes[probes["layer"] == probes["layer"].max()].groupby(["kind", "encoding"])["value"].mean()
    found = ", ".join(f"{labels[name]} {kind} {last[kind, name]:z.2f}" for kind, name in _kinds(probes))
    losses = frame[frame["quantity"] == "loss"].groupby(["kind", "encoding"])[["value", "reference"]].mean()
    kept = []
    for kind, rows in losses.groupby("kind"):
        gains = (rows["reference"] - rows["value"]).droplevel("kind")
        best = gains.drop("nope").idxmax()
        beside = f"{labels[best]} {gains[best]:.2f}"
        kept.append(f"{kind} NoPE gains {gains['nope']:.2f} nats over token frequencies, {beside}")
    return (
        f"Language models trained on windows of {frame['trained'].iloc[0]} tokens, causal and masked. Left: R² of a "
        "linear probe of the position on held-out windows whose tokens stand in random order; in the last layer: "
        f"{found}. Right: loss on the next token (causal) or on hidden ones (masked) of validation text; dotted: token "
        f"frequencies alone; {'; '.join(kept)}. Bands and bars: "
        f"95 % t intervals over {_seeds(frame, 'kind')} seeds (dots and marks)."
    )


FIGURES = {
    "algorithm_accuracy": FigureSpec(
        metrics="algorithms_accuracy",
        draw=draw_accuracy,
        caption=caption_accuracy,
        alt="A panel for each task with a row for each encoding: an open marker for the accuracy on strings as long as "
        "in training, a filled one for longer strings, bars for intervals; vertical lines at chance and at the best "
        "that a model without order can do.",
        paper="Randomized positional encodings, Table 1",
        notebook=NOTEBOOK,
    ),
    "nope_position": FigureSpec(
        metrics="nope_models",
        draw=draw_position,
        caption=caption_position,
        alt="Left: lines of the R² of a probe of the position by layer, for causal and masked models without and with "
        "an encoding. Right: two panels with the losses of causal and of masked models, a row for each encoding.",
        paper="",
        notebook=NOTEBOOK,
    ),
}
TABLES = {
    "algorithms": TableSpec(
        "algorithms_accuracy", table_algorithms, caption_table, "Randomized positional encodings, Table 1", NOTEBOOK
    )
}
