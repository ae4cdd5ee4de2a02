"""All encodings and extensions in one benchmark: passkeys and language models, as maps and tables."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.collections import QuadMesh
from matplotlib.lines import Line2D

from ...experiments.arms import OWN
from ...experiments.benchmark import MULTIPLES
from ...experiments.findings import GOOD, Far, far, standing
from ...experiments.gate import POOLED
from ...positions.encodings import encoding
from .. import forest, heat_maps, lines, style
from ..language.by_length import MISSED
from ..methods import label
from ..spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from ..words import CHANCE, HULL, REACH, bounded, extremes, prompts, times, tokens, trained_on

# How position enters an encoding, as colour and marker, and the map of encodings by lengths that shows it
NARROW = 12  # columns; with more, their names are turned
MANY = 40  # rows from which on a figure is wider, for the longer names among them
# family: name, colour, marker
FAMILIES = {
    "none": ("no position", style.DARK, "X"),
    "absolute": ("absolute embedding", style.PINK, "D"),
    "rotation": ("rotation", style.GREEN, "^"),
    "prior": ("log-prior", style.ORANGE, "o"),
    "composition": ("rotation in part, or with a log-prior", style.BLUE, "s"),
}


def draw_map(
    frame: Frame,
    value: str,
    labels: Mapping[str, str],
    states: Mapping[str, str],
    text: Callable[[float], str],
    white: Callable[[float], bool],
    **colours: Any,
) -> QuadMesh:
    """A map of a column with a row for each encoding of `labels`, the first on top, and a column for each length.

    A cell says its state if that is undefined, left out or one of `states`. A legend tells of the rows' markers.
    """
    names, lengths, trained = list(labels), sorted(set(frame["length"])), trained_on(frame)
    shape = {"index": "encoding", "columns": "length"}
    values, state = (frame.pivot(**shape, values=column).loc[names, lengths] for column in (value, "state"))
    width = style.MIDDLE if len(lengths) < 10 and len(names) < MANY else style.DOUBLE
    _, ax = style.figure(width, 0.8 + style.pitch(len(names)) * len(names))
    mesh = ax.pcolormesh(np.ma.masked_invalid(values), edgecolor="white", linewidth=0.6, **colours)
    for (row, column), cell in np.ndenumerate(values):
        said = ({"undefined": "n/a", "left out": ""} | states).get(state.iloc[row, column], text(cell))
        heat_maps.write(ax, column + 0.5, row + 0.52, said, color="white" if white(cell) else "black")
    families = frame.drop_duplicates("encoding").set_index("encoding")["family"]
    for row, name in enumerate(names):
        _, color, marker = FAMILIES[families[name]]
        ax.plot(-0.12, row + 0.5, marker, color=color, markersize=4, clip_on=False)
    ax.set_yticks(np.arange(len(names)) + 0.5, labels.values())
    narrow = len(lengths) > NARROW
    ticks = [
        style.length_label(n) + (" ({})" if narrow else "\n{}").format(times(n, trained)) * (n >= trained)
        for n in lengths
    ]
    ax.set_xticks(np.arange(len(lengths)) + 0.5, ticks, rotation=90 * narrow)
    heat_maps.bare(ax)
    ax.tick_params(axis="y", pad=9)
    ax.invert_yaxis()
    ax.set_xlabel(f"context length (tokens) and its multiple of the training length ({trained})")
    drawn = [look for family, look in FAMILIES.items() if family in set(families[list(names)])]
    _name_families(ax.figure, drawn, len(drawn))
    return mesh


def compared(frame: Frame) -> list[int]:
    """The lengths above the training length at which no encoding is left out."""
    beyond = frame[frame["length"] > frame["trained"]]
    known = beyond.groupby("length")["state"].agg(lambda states: (states != "left out").all())
    return list(known[known].index)


def whose(name: str, borrows: str) -> str:
    """The label, with that of the encoding whose weights it is evaluated on."""
    return label(name) if borrows == OWN else f"{label(name)} (weights of {label(borrows)})"


# Passkey accuracy of all encodings and extensions by length
def most_retrieving(frame: Frame) -> list[str]:
    """Encodings from the best: by mean accuracy over the lengths of `compared` (undefined counts as 0)."""
    return _ordered(frame.assign(mean=frame["mean"].fillna(0)), "mean", ascending=False)


def _ordered(frame: Frame, column: str, ascending: bool = True) -> list[str]:
    """Encodings by the mean of a column over the lengths of `compared`; those without a number last."""
    means = frame[frame["length"].isin(compared(frame))].groupby("encoding", sort=False)[column].mean()
    return list(means.fillna(math.inf).sort_values(ascending=ascending, kind="stable").index)


def unlearned(frame: Frame) -> set[str]:
    """Encodings that answer less than the gate asks for, on the mean over seeds and lengths up to the training length.

    Not every seed has learned the task, or what extends them has cost it.
    """
    near = frame[frame["length"] <= frame["trained"]].groupby("encoding")["mean"].mean()
    return set(near.index[near < POOLED])


def draw_accuracy(frame: Frame) -> Figure:
    names, states, gone = most_retrieving(frame), {"given up": "•"}, unlearned(frame)
    labels = {
        name: f"{label(name)}{' *' if encoding(name).trained_as else ''}{MISSED if name in gone else ''}"
        for name in names
    }
    mesh = draw_map(_pooled(frame), "mean", labels, states, _written, lambda value: value <= 0.5, **heat_maps.SHARES)
    heat_maps.color_bar(mesh, mesh.axes, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="share of passkeys retrieved")
    return mesh.figure


def _pooled(frame: Frame) -> Frame:
    """The lengths up to the training length as one, the worst of them."""
    near = frame["length"] <= frame["trained"]
    worst = frame[near].sort_values("mean", kind="stable").drop_duplicates("encoding")
    return pd.concat([worst.assign(length=worst["trained"]), frame[~near]])


def _written(share: float) -> str:
    """What the colour does not tell."""
    return "" if (text := f"{share:.2f}") in ("0.00", "1.00") else text


def caption_accuracy(frame: Frame) -> str:
    trained, wide = trained_on(frame), (frame["high"] - frame["low"]).where(frame["state"] == "asked")
    lengths, count = compared(frame), frame["encoding"].nunique()
    empty = " empty: not asked, with a hit at the last length that was;" if "left out" in set(frame["state"]) else ""
    return (
        f"One benchmark for {count} encodings and extensions: share of passkeys retrieved, mean of "
        f"{extremes(frame['seeds'])} seeds, trained on {trained} tokens by one recipe, ordered by the mean from "
        f"{lengths[0]:,} to {lengths[-1]:,} tokens. First column: the worst length up to {trained}. {prompts(frame)}. "
        f"1.00 and 0.00 are not written. *: evaluated on another row's weights (RoPE's).{MISSED}: retrieves less than "
        f"{POOLED:g} up to {trained} tokens. Dot: no seed is asked any more, after too many lengths in a row without "
        f"a hit;{empty} n/a: the encoding ends before. "
        f"Intervals are in the table; half of the cells' are wider than {wide.median():.2f}. Chance is {CHANCE}."
    )


ACCURACY = FigureSpec(
    "encodings_by_length",
    draw_accuracy,
    caption_accuracy,
    notebook="passkeys",
    claims=("X-11",),
    alt="Heat map with a row for each encoding and a column for each context length, cells with the share of passkeys "
    "retrieved; a marker at each row tells how position enters.",
)


# Passkeys far beyond the training length, with intervals
def unscaled(found: Far) -> list[str]:
    """The encodings without SSMax, the best first."""
    return [name for name in found.means.index if not encoding(name).ssmax]


def draw_far(frame: Frame) -> Figure:
    rivals(frame, "encoding", "encodings_far")
    found = far(frame)
    if not unscaled(found):
        raise NotCompared("encodings_far: no encoding passed its gate under this profile")
    title = f"at {tokens(found.length, trained_on(frame))}"
    rows = [
        forest.Row(
            label(name),
            {title: forest.Cell(found.hits[name] / found.samples, found.means[name], *found.bounds(name))},
            *FAMILIES[encoding(name).family][1:],
        )
        for name in unscaled(found)
    ]
    fig, (ax,) = forest.draw(rows, [title], "share of passkeys retrieved", width=style.MIDDLE)
    lines.place(ax, GOOD)
    families = {encoding(name).family for name in unscaled(found)}
    _name_families(fig, [look for family, look in FAMILIES.items() if family in families], 2)
    return fig


def _name_families(fig: Figure, drawn: list[tuple[str, str, str]], ncols: int) -> None:
    """A legend of the rows' markers."""
    handles = [Line2D([], [], linestyle="", marker=m, color=c, label=family) for family, c, m in drawn]
    fig.legend(handles=handles, loc="outside upper center", ncols=ncols, handletextpad=0.2)


def caption_far(frame: Frame) -> str:
    found = far(frame)
    names, trained = unscaled(found), trained_on(frame)
    reach, fewer, undecided = standing(found.means[names], {name: found.bounds(name) for name in names})
    return (
        f"Passkeys at {tokens(found.length, trained)} of the {len(names)} encodings without SSMax that learned the "
        f"task at up to {trained} tokens. Mean over the seeds that did, its 95 % interval over prompts and seeds, and "
        f"the seeds above it. Dotted, {GOOD:g}: {len(reach)} have their whole interval from there on, {len(fewer)} "
        "below, "
        f"{len(undecided)} are undecided. {found.samples} prompts a seed; one that was not asked counts as 0."
    )


FAR_FIGURE = FigureSpec(
    "encodings_counts",
    draw_far,
    caption_far,
    notebook="passkeys",
    alt="A row for each encoding: the share of passkeys retrieved far beyond the training length, with its interval "
    "and seeds, beside a line at 0.8.",
)


# The table of the benchmark
PARTS = ("mean", "low", "high")


def build_summary(frame: Frame) -> Frame:
    """A row for each encoding, the best reach first."""
    rows = []
    for row in frame.sort_values(["reach", "mean_16", "mean_4", "mean_1"], ascending=False, kind="stable").itertuples():
        ended = ">" if row.reach >= row.longest_tested else ""
        accuracies = {}
        for multiple in MULTIPLES:
            mean, low, high = (getattr(row, f"{part}_{multiple}") for part in PARTS)
            interval = "not asked" if np.isnan(low) else bounded(mean, low, high)
            accuracies[f"accuracy at {multiple}×"] = "–" if np.isnan(mean) else interval
        rows.append(
            {
                "encoding": whose(row.encoding, row.borrows),
                "position": FAMILIES[row.family][0],
                "seeds": row.seeds,
                **accuracies,
                "reach, median (tokens)": f"{ended}{row.reach:,.0f}",
                "reach, extremes (tokens)": f"{row.reach_low:,} – {row.reach_high:,}",
                "parameters beyond NoPE": f"{row.parameters:,}",
                "steps, median": f"{row.steps:,.0f}",
            }
        )
    return Frame(rows)


def caption_summary(frame: Frame) -> str:
    return (
        f"{len(frame)} encodings and extensions, one recipe, {trained_on(frame)} tokens of training: share of passkeys "
        f"retrieved ({HULL}]) at multiples of the training length; reach, the longest {REACH} (>: as far as was "
        "tested); parameters beyond NoPE's; steps until training stopped. –: not tested at that length, or the "
        "encoding ends before; not asked: too many shorter lengths without a hit. A seed that was not asked counts as "
        "0."
    )


SUMMARY = TableSpec(
    "encodings_summary",
    build_summary,
    caption_summary,
    "passkeys",
)


# Growth of the loss with the context, of all encodings as language models
NOTEBOOK = "language_models"
TOP = 0.5  # nats at which the colours end: 65 % more perplexity


def most_level(frame: Frame) -> list[str]:
    """Encodings from the most level: by mean growth over the lengths above the training length that all are read at."""
    return _ordered(frame, "growth")


def missed(frame: Frame) -> set[str]:
    """Encodings of which no seed passed the gate of word order."""
    return set(frame.loc[frame["passed"] == 0, "encoding"])


def draw_perplexity(frame: Frame) -> Figure:
    rivals(frame, "encoding", "growth of the loss")
    labels = {name: label(name) + MISSED * (name in missed(frame)) for name in most_level(frame)}
    colours = {"vmin": 0, "vmax": TOP, "cmap": "cividis_r"}
    mesh = draw_map(frame, "growth", labels, {}, "{:z.2f}".format, lambda value: value >= TOP / 2, **colours)
    ax, right = mesh.axes, frame["length"].nunique() + 0.12
    first = frame.drop_duplicates("encoding").set_index("encoding").loc[list(labels)]
    for row, found in enumerate(first.itertuples()):
        own = f"{math.exp(found.loss_at):.1f}" if found.borrows == OWN else "*"
        heat_maps.write(ax, right, row + 0.52, own, ha="left")
    heat_maps.write(ax, right, -0.15, "perplexity\nat 1×", ha="left", va="bottom")
    heat_maps.color_bar(
        mesh, ax, ticks=[0, 0.1, 0.3, TOP], aspect=40, pad=0.1, extend="max", label="growth of the loss (nats)"
    )
    return mesh.figure


def caption_perplexity(frame: Frame) -> str:
    trained = trained_on(frame)
    wide = (frame["high"] - frame["low"])[(frame["state"] == "read") & (frame["length"] > trained)]
    half = f" Intervals are in the table; half of them are wider than {wide.median():.2f}."
    spread = "" if np.isinf(wide).any() else half
    first, count = frame.iloc[0], frame["encoding"].nunique()
    told = f"{MISSED}: no seed passed the gate of word order." if missed(frame) else ""
    return (
        f"{count} encodings and extensions as language models: loss on the last {first['scored']} tokens "
        f"of {first['documents']} held-out documents above that at the training length ({trained} tokens). Mean of "
        f"{extremes(frame['seeds'])} seeds; 0.1 nats are 10 % more perplexity. Right: "
        "perplexity at the training length; *: the weights of another row (RoPE's, SSMax or not), which was not "
        "trained for this reading, and the growth is over that row's loss. Ordered by the mean growth over the lengths "
        f"that all are read at. Empty: not read; n/a: the encoding ends before.{told}{spread} Colours end at "
        f"{TOP} nats."
    )


def build_perplexity(frame: Frame) -> Frame:
    """A row for each encoding, the most level first."""
    trained, made = trained_on(frame), []
    for name in most_level(frame):
        own = frame[frame["encoding"] == name].set_index("length")
        first = own.iloc[0]
        cells = {f"growth at {n}× (nats)": _cell(own, n * trained) for n in (4, 16, 64)}
        at = np.exp(first[["loss_at", "low_at", "high_at"]].astype(float))
        row = {"encoding": whose(name, first["borrows"]), "position": FAMILIES[first["family"]][0]}
        row |= {"seeds": first["seeds"], "that know order": first["passed"]}
        made.append(row | {"perplexity at 1×": bounded(*at, digits=1)} | cells)
    return Frame(made)


def _cell(own: Frame, length: int) -> str:
    read = length in own.index and own.loc[length, "state"] == "read"
    return bounded(*own.loc[length, ["growth", "low", "high"]]) if read else "–"


def caption_perplexity_table(frame: Frame) -> str:
    first = frame.iloc[0]
    return (
        f"{frame['encoding'].nunique()} encodings and extensions as language models, one recipe, "
        f"{first['trained']} tokens of training: perplexity at the training length, and the growth of the loss from "
        f"there to multiples of it, on the same {first['scored']} tokens of {first['documents']} held-out documents "
        "(mean over seeds [95 % t interval over seeds; none for one seed]). For weights of another row the growth is "
        "over that row's loss at the training length. –: not read at that length, or the encoding ends before."
    )


PERPLEXITY_FIGURE = FigureSpec(
    "encodings_perplexity",
    draw_perplexity,
    caption_perplexity,
    notebook=NOTEBOOK,
    claims=("BAM-C5", "OPG-18", "PE-BIAS", "PE-C2", "PE-C3", "PE-C4", "PE-C5", "PE-F3", "PE-F6", "PE-KERPLE-E"),
    alt="Heat map with a row for each encoding and a column for each context length, cells with the growth of the loss "
    "in nats; a marker at each row tells how position enters, a number on the right the perplexity at the training "
    "length.",
)
PERPLEXITY_TABLE = TableSpec(
    "encodings_perplexity",
    build_perplexity,
    caption_perplexity_table,
    NOTEBOOK,
)
