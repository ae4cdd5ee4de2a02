"""The benchmark of all encodings: accuracy by length, reach, and the table (notebook 10)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from attention_priors import evaluation
from attention_priors.experiments.benchmark import MULTIPLES, OWN
from attention_priors.experiments.tails import correlation
from attention_priors.figures import style
from attention_priors.figures.passkey_tables import GOOD, prompts, times
from attention_priors.figures.spec import FigureSpec, TableSpec
from attention_priors.positions.encodings import encoding

NOTEBOOK = "10_passkeys"
# family: name, colour, marker
FAMILIES = {
    "none": ("no position", "#4D4D4D", "X"),
    "absolute": ("absolute embedding", "#CC79A7", "D"),
    "rotation": ("rotation", "#009E73", "^"),
    "prior": ("log-prior", "#D55E00", "o"),
}


def ranked(frame: pd.DataFrame) -> list[str]:
    """Encodings from the best: by mean accuracy over all lengths above the training length (undefined counts as 0)."""
    beyond = frame[frame["length"] > frame["trained"]]
    order = beyond.assign(mean=beyond["mean"].fillna(0)).groupby("encoding", sort=False)["mean"].mean()
    return list(order.sort_values(ascending=False, kind="stable").index)


def draw_accuracy(frame: pd.DataFrame) -> Figure:
    """Columns encoding, family, borrows, length, trained, mean, state: rows are encodings, cells means over seeds."""
    names, lengths = ranked(frame), sorted(set(frame["length"]))
    trained = int(frame["trained"].iloc[0])
    cells = frame.pivot(index="encoding", columns="length", values="mean").loc[names, lengths]
    states = frame.pivot(index="encoding", columns="length", values="state").loc[names, lengths]
    fig, ax = style.figure(style.DOUBLE, 0.8 + 0.155 * len(names))
    mesh = ax.pcolormesh(np.ma.masked_invalid(cells), vmin=0, vmax=1, edgecolor="white", linewidth=0.6)
    for (row, column), value in np.ndenumerate(cells.to_numpy()):
        text = {"undefined": "n/a", "given up": "•"}.get(states.iloc[row, column], f"{value:.2f}")
        color = "black" if np.isnan(value) or value > 0.5 else "white"
        ax.text(column + 0.5, row + 0.52, text, ha="center", va="center", fontsize=style.SMALLEST, color=color)
    families = frame.drop_duplicates("encoding").set_index("encoding")["family"]
    for row, name in enumerate(names):
        _, color, marker = FAMILIES[families[name]]
        ax.plot(-0.12, row + 0.5, marker, color=color, markersize=4, clip_on=False)
    label_map(ax, [_label(name) for name in names], lengths, trained)
    bar = fig.colorbar(mesh, ax=ax, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="share of passkeys retrieved")
    bar.outline.set_visible(False)
    return fig


def label_map(ax: Axes, rows: Sequence[str], lengths: Sequence[int], trained: int) -> None:
    """Ticks and legend of a map with a row for each encoding, the first on top, and a column for each length."""
    ax.set_yticks(np.arange(len(rows)) + 0.5, rows)
    ax.set_xticks(np.arange(len(lengths)) + 0.5, [f"{style.length_label(n)}\n{times(n, trained)}" for n in lengths])
    ax.tick_params(length=0)
    ax.tick_params(axis="y", pad=9)
    ax.invert_yaxis()
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.set_xlabel(f"context length (tokens) and its multiple of the training length ({trained})")
    handles = [Line2D([], [], linestyle="", marker=m, color=c, label=label) for label, c, m in FAMILIES.values()]
    ax.figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), handletextpad=0.2)


def _label(name: str) -> str:
    """The label, with an asterisk where no model was trained for it."""
    row = encoding(name)
    return f"{row.label} *" if row.trained_as else row.label


def caption_accuracy(frame: pd.DataFrame) -> str:
    trained, seeds = int(frame["trained"].iloc[0]), sorted(set(frame["seeds"]))
    names, wide = ranked(frame), (frame["high"] - frame["low"]).where(frame["state"] == "asked")
    return (
        f"One benchmark for {len(names)} encodings and extensions: share of passkeys retrieved, mean of "
        f"{'–'.join(map(str, sorted({seeds[0], seeds[-1]})))} seeds, trained on {trained} tokens by one recipe, "
        f"ordered by the mean above {trained} tokens. {prompts(frame)}. *: evaluated on another row's weights "
        f"(RoPE's). Dot: no seed is asked any more, after too many lengths in a row without a hit; n/a: the encoding "
        f"ends before. Intervals are in the table; half of the cells' are wider than {wide.median():.2f}. Chance is "
        f"{evaluation.CHANCE:.0e}."
    )


def draw_reach(frame: pd.DataFrame) -> Figure:
    """Columns encoding, family, seed, reach, longest_tested, trained: a row for each encoding, a mark for each seed."""
    trained = int(frame["trained"].iloc[0])
    never = trained / 2
    middle = frame.groupby("encoding")["reach"].agg(["median", "mean"])
    names = list(middle.sort_values(["median", "mean"], kind="stable").index)
    fig, ax = style.figure(style.SINGLE, 0.7 + 0.15 * len(names))
    for y, name in enumerate(names):
        own = frame[frame["encoding"] == name].sort_values("seed")
        _, color, marker = FAMILIES[own["family"].iloc[0]]
        x = own["reach"].clip(lower=never).to_numpy()
        ax.plot([never, np.median(x)], [y, y], color=color, alpha=0.3, linewidth=3, solid_capstyle="butt")
        places = y + min(0.18, 0.7 / len(own)) * (np.arange(len(own)) - (len(own) - 1) / 2)
        ax.plot(x, places, marker, color=color, markersize=3, markeredgewidth=0)
        ax.plot(own["longest_tested"], [y] * len(own), "|", color="#999999", markersize=5, zorder=1)
    ticks = sorted({*frame["longest_tested"], *(frame["reach"]), trained} - {0})
    style.length_axis(ax, [never, *ticks], trained)
    ax.set_xticks([never, *ticks], ["never", *(style.length_label(tick) for tick in ticks)], rotation=45)
    ax.set_yticks(range(len(names)), [_label(name) for name in names])
    ax.set(xlabel=f"longest length (tokens)\nat accuracy {GOOD}", xlim=(never / 1.2, max(ticks) * 1.3))
    ax.set_ylim(-0.8, len(names) - 0.2)
    return fig


def caption_reach(frame: pd.DataFrame) -> str:
    trained = int(frame["trained"].iloc[0])
    medians = frame.groupby("encoding")["reach"].median()
    best = ", ".join(encoding(name).label for name in medians.index[medians == medians.max()])
    return (
        f"Longest tested length up to which accuracy never fell below {GOOD}, trained on {trained} tokens: a mark for "
        f"each seed (shape and colour as in encodings_accuracy: cross without position, diamond absolute, triangle "
        f"rotation, disc log-prior), the bar ends at their median; grey tick: longest tested. never: below {GOOD} at "
        f"the training length already. *: RoPE's weights. Longest median, {medians.max():,.0f} tokens: {best}. Chance "
        f"is {evaluation.CHANCE:.0e}."
    )


def draw_tails(frame: pd.DataFrame) -> Figure:
    """Columns encoding, seed, length, trained, tail, accuracy: a mark for each encoding, bars to its extremes."""
    fig, ax = style.figure(style.SINGLE, max(2.9, 0.15 * frame["encoding"].nunique() + 0.6))
    _, color, marker = FAMILIES["prior"]
    ax.set(xlim=(-0.05, 1.05), ylim=(-0.06, 1.06))
    ax.set_xlabel(f"prior mass beyond {int(frame['trained'].iloc[0])} tokens,\nwidest head")
    ax.set_ylabel(f"accuracy at {int(frame['length'].iloc[0]):,} tokens")
    means = frame.groupby("encoding", sort=False)[["tail", "accuracy"]].mean().sort_values(["accuracy", "tail"])
    for name, (x, y) in means.iterrows():
        own = frame[frame["encoding"] == name]
        look = {"color": color, "alpha": 0.4, "linewidth": 0.8}
        ax.plot([own["tail"].min(), own["tail"].max()], [y, y], **look)
        ax.plot([x, x], [own["accuracy"].min(), own["accuracy"].max()], **look)
        filled = color if name.endswith("-ssmax") else "white"
        ax.plot(x, y, marker, color=color, markerfacecolor=filled, markersize=4, zorder=4)
    ax.figure.draw_without_rendering()
    box, points = ax.bbox, fig.dpi / 72
    heights = ax.transData.transform(means)[:, 1] / points
    places = style.spread(heights, 1.15 * style.SMALLEST, box.y0 / points, box.y1 / points) * points
    for (name, at), place in zip(means.iterrows(), places, strict=True):
        ax.annotate(encoding(name).label, tuple(at), xytext=(1.08, (place - box.y0) / box.height),
                    textcoords="axes fraction", va="center", fontsize=style.SMALLEST, annotation_clip=False,
                    arrowprops={"arrowstyle": "-", "linewidth": 0.3, "color": "#999999", "relpos": (0, 0.5),
                                "shrinkA": 0})  # fmt: skip
    return fig


def caption_tails(frame: pd.DataFrame) -> str:
    trained, length = int(frame["trained"].iloc[0]), int(frame["length"].iloc[0])
    rho, low, high, n = correlation(frame, "accuracy")
    said = "is not defined here" if np.isnan(rho) else f"is {rho:.2f} [{low:.2f}, {high:.2f}]"
    return (
        f"What a prior allows and what its model does: the largest mass that a head's prior alone puts on lags above "
        f"the training length of {trained}, at a query that sees {length:,} keys, and the share of passkeys retrieved "
        f"there. Marks: means over seeds, filled with SSMax; thin bars: extremes over seeds. Spearman's correlation "
        f"over {n} encodings {said} (95 % interval of Bonett and Wright). Rotations and embeddings have no prior."
    )


def table_encodings(frame: pd.DataFrame) -> pd.DataFrame:
    """From encodings_summary: a row for each encoding, the best reach first."""
    rows = []
    for row in frame.sort_values(["reach", "mean_16", "mean_4", "mean_1"], ascending=False, kind="stable").itertuples():
        ended = ">" if row.reach >= row.longest_tested else ""
        accuracies = {}
        for multiple in MULTIPLES:
            mean, low, high = (getattr(row, f"{part}_{multiple}") for part in ("mean", "low", "high"))
            interval = "not asked" if np.isnan(low) else f"{mean:.2f} [{low:.2f}, {high:.2f}]"
            accuracies[f"accuracy at {multiple}×"] = "–" if np.isnan(mean) else interval
        borrowed = "" if row.borrows == OWN else f" (weights of {encoding(row.borrows).label})"
        rows.append({"encoding": encoding(row.encoding).label + borrowed, "position": FAMILIES[row.family][0],
                     "seeds": row.seeds, **accuracies,
                     "reach, median (tokens)": f"{ended}{row.reach:,.0f}",
                     "reach, extremes (tokens)": f"{row.reach_low:,} – {row.reach_high:,}",
                     "parameters beyond NoPE": f"{row.parameters:,}",
                     "steps, median": f"{row.steps:,.0f}"})  # fmt: skip
    return pd.DataFrame(rows)


def caption_table(frame: pd.DataFrame) -> str:
    trained = int(frame["trained"].iloc[0])
    return (
        f"{len(frame)} encodings and extensions, one recipe, {trained} tokens of training: share of passkeys retrieved "
        f"(mean over seeds [95 % interval: hull of Student's t over seeds and of the exact binomial one over all "
        f"prompts]) at multiples of the training length; reach, the longest tested length up to which accuracy never "
        f"fell below {GOOD} (>: as far as was tested); parameters beyond NoPE's; steps until training stopped. –: not "
        f"tested at that length, or the encoding ends before; not asked: too many shorter lengths without a hit. A "
        f"seed that was not asked counts as 0."
    )


FIGURES = {
    "encodings_accuracy": FigureSpec(
        metrics="encodings_by_length",
        draw=draw_accuracy,
        caption=caption_accuracy,
        alt="Heat map with a row for each encoding and a column for each context length, cells with the share of "
        "passkeys retrieved; a marker at each row tells how position enters.",
        paper="",
        notebook=NOTEBOOK,
    ),
    "encodings_reach": FigureSpec(
        metrics="encodings_reach",
        draw=draw_reach,
        caption=caption_reach,
        alt="A row for each encoding with a mark for each seed at the longest context length where its accuracy is "
        "still 0.8, on a log axis; marks differ by the way in which position enters.",
        paper="",
        notebook=NOTEBOOK,
    ),
}
FIGURES["encodings_tails"] = FigureSpec(
    metrics="encodings_tails",
    draw=draw_tails,
    caption=caption_tails,
    alt="Scatter plot with a named mark for each encoding that has a log-prior or none: the prior's mass at lags above "
    "the training length against the share of passkeys retrieved.",
    paper="",
    notebook=NOTEBOOK,
)
TABLES = {"encodings": TableSpec("encodings_summary", table_encodings, caption_table, "", NOTEBOOK)}
