"""Reading passkeys in parallel: maps by length and depth, tables of ways to read, differences, ranks of chunks."""

import math
from functools import partial

import numpy as np

from ...experiments.findings import joined
from ...parallel.methods import METHODS
from .. import curves, forest, heat_maps, lines, panels, style
from ..methods import label
from ..spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from ..words import HULL, bounded, counted, extremes, farthest, times, tokens, trained_on

# Passkeys by length and depth, a map for each way to read further than the training length
NOTEBOOK = "reading_in_parallel"
BANDS, ACROSS = 5, 4  # fifths of depth; panels side by side
MULTIPLES = (1, 4, 16, 64)  # columns of the table
ALIKE = 1.25  # memory: as many keys up to this factor
DASH = " Dash: not asked, its cost is quadratic."
INSIDE = ("last-window", "halves", "streaming")  # ways without chunks whose positions stay in the window


def shown(frame: Frame, by: str = "method", what: str = "parallel_needles") -> tuple[Frame, str]:
    """The rows of the encoding that most methods can read, RoPE where it is there, and its name. NotCompared where the
    column `by` has one value; `what` is compared."""
    rivals(frame, by, what)
    name = "rope" if "rope" in set(frame["encoding"]) else frame["encoding"].iloc[0]
    return frame[frame["encoding"] == name], name


def draw(frame: Frame) -> Figure:
    rows, _ = shown(frame)
    names, lengths, trained = ordered(rows), sorted(set(rows["length"])), trained_on(frame)
    down = math.ceil(len(names) / ACROSS)
    fig, axes = style.figure(
        style.MIDDLE, 0.75 + 0.86 * down, nrows=down, ncols=ACROSS, sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(style.panels(axes, len(names)), names, strict=True):
        sums = rows[rows["method"] == name].groupby(["band", "length"])[["correct", "samples"]].sum()
        cells = (sums["correct"] / sums["samples"]).unstack().reindex(index=range(BANDS), columns=lengths)
        mesh = ax.pcolormesh(np.ma.masked_invalid(cells), edgecolor="white", linewidth=0.4, **heat_maps.SHARES)
        for column in np.flatnonzero(cells.isna().all()):
            heat_maps.write(ax, column + 0.5, BANDS / 2, "–", color=style.GREY)
        ax.set_title(METHODS[name].label, fontsize=style.SMALLEST, pad=2)
        heat_maps.bare(ax)
    axes[0, 0].invert_yaxis()
    axes[0, 0].set_yticks([0, BANDS], ["start", "end"])
    ticks = [times(length, trained) if place % 2 == 0 else "" for place, length in enumerate(lengths)]
    axes[0, 0].set_xticks(np.arange(len(lengths)) + 0.5, ticks)
    fig.supxlabel("prompt / training length")
    fig.supylabel("where the key stands")
    heat_maps.color_bar(mesh, axes, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="share retrieved")
    return fig


def ordered(rows: Frame) -> list[str]:
    """The methods of a frame in the order of METHODS."""
    return [name for name in METHODS if name in set(rows["method"])]


def caption(frame: Frame) -> str:
    rows, name = shown(frame)
    trained = trained_on(frame)
    far = max(length for length in set(rows["length"]) if rows[rows["length"] == length]["method"].nunique() > 1)
    sums = rows[rows["length"] == far].groupby("method")[["correct", "samples"]].sum()
    shares = (sums["correct"] / sums["samples"]).loc[lambda each: [m for m in METHODS if m in each.index]]
    best = shares.drop("oracle", errors="ignore").idxmax()
    worst = [METHODS[method].label for method in shares.index[shares == shares.min()]]
    dash = any(rows[rows["method"] == method]["length"].max() < rows["length"].max() for method in shares.index)
    asked = rows.groupby(["method", "seed", "length"])["samples"].sum()
    oracle = (
        f" (the oracle, which is given the chunks of the key, {shares['oracle']:.2f})" if "oracle" in shares else ""
    )
    return (
        f"Share of passkeys retrieved by {label(name)} by prompt length and depth, a map for each way to read more "
        f"than the {trained} tokens of training; {counted(rows['seed'])}, {extremes(asked)} prompts at each length. At "
        f"{tokens(far, trained)} {METHODS[best].label} has {shares[best]:.2f}{oracle}, {joined(worst)} "
        f"{shares.min():.2f}. Keys stand at the same depths whatever the seed, and borders of chunks cut the same "
        f"ones: bands that maps in chunks share come from there.{DASH if dash else ''}"
    )


def pairs(method: str, chunks: float, length: int, window: int) -> float:
    """Pairs of query and key in reading a text, as a multiple of those of reading it whole: the order of its cost.

    Chunks that are read: rows of w, w² / 2 each; a window: one row; StreamingLLM: w a token.
    """
    whole = length**2 / 2
    if METHODS[method].chunks:
        return min(1.0, chunks * window**2 / 2 / whole)
    if method in ("last-window", "halves"):
        return min(length, window) ** 2 / 2 / whole
    return min(1.0, length * window / whole) if method == "streaming" else 1.0


def build(frame: Frame) -> Frame:
    """A row for each encoding and method."""
    rivals(frame, "method", "parallel_over_seeds")
    trained = trained_on(frame)
    lengths = [m * trained for m in MULTIPLES if m * trained in set(frame["length"])]
    asked = frame.groupby("length")["method"].nunique()
    memory = max(length for length in lengths if length <= 16 * trained and asked[length] == asked.max())
    made = []
    for name, own in frame.groupby("encoding", sort=False):
        for method in ordered(own):
            cells = own[own["method"] == method].set_index("length")
            chunks = cells.loc[memory, "chunks"]
            made.append(
                {
                    "encoding": label(name),
                    "way to read": METHODS[method].label,
                    "passed the gate": f"{int(cells['passed'].max())} of {int(cells['seeds'].max())}",
                    **{f"accuracy at {times(length, trained)}": _cell(cells, length) for length in lengths},
                    f"keys attended to at {times(memory, trained)}": round(cells.loc[memory, "entries"]),
                    f"pairs in reading at {times(memory, trained)}": f"{pairs(method, chunks, memory, trained):.3g}",
                }
            )
    return Frame(made)


def equal_keys(frame: Frame) -> Frame:
    """Groups of methods whose question attends to as many keys at 16T, those that stand alone left out."""
    rows, length = _at_memory(frame)
    rows = rows.sort_values("entries", kind="stable")
    first, groups = 0.0, []
    for entries in rows["entries"]:
        first = entries if entries > ALIKE * first else first
        groups.append(first)
    rows = rows.assign(group=groups)
    rows = rows[rows.groupby("group")["method"].transform("size") > 1]
    if rows.empty:
        _none(frame, "as many keys")
    table, about = _fair(rows, frame, length), rows["group"].round().astype(int)
    table.insert(0, "from so many keys on", about.astype(str).mask(about.duplicated(), "").to_list())
    return table


def equal_window(frame: Frame) -> Frame:
    """The methods none of whose positions leave the window of training, by the FLOPs of reading at 16T."""
    rows, length = _at_memory(frame)
    rows = rows[[METHODS[name].chunks or name in INSIDE for name in rows["method"]]]
    rows = rows.sort_values("flops", kind="stable")
    return _fair(rows, frame, length) if rows["method"].nunique() > 1 else _none(frame, "positions in the window")


def _none(frame: Frame, what: str) -> Frame:
    raise NotCompared(f"parallel_needles: no two ways to read have {what} under this profile")


def _at_memory(frame: Frame) -> tuple[Frame, int]:
    """The rows that `shown` picks at 16T or the longest below that all methods were asked, and that length."""
    rows, _ = shown(frame)
    asked = rows.groupby("length")["method"].nunique()
    length = max(length for length in asked.index if length <= 16 * trained_on(frame) and asked[length] == asked.max())
    return rows[rows["length"] == length], int(length)


def _fair(rows: Frame, frame: Frame, length: int) -> Frame:
    """A row for each method: keys, FLOPs, accuracy at `length` and at 64T."""
    trained, every = trained_on(frame), frame.set_index(["encoding", "method", "length"])
    lengths = sorted({length, *({64 * trained} & set(frame["length"]))})
    return Frame(
        [
            {
                f"keys attended to at {times(length, trained)}": round(row.entries),
                "way to read": METHODS[row.method].label,
                f"MFLOPs of reading at {times(length, trained)}": round(row.flops / 1e6),
                **{
                    f"accuracy at {times(each, trained)}": _cell(every.loc[row.encoding].loc[row.method], each)
                    for each in lengths
                },
            }
            for row in rows.itertuples()
        ]
    )


def caption_fair(frame: Frame, compared: str) -> str:
    _, name = shown(frame)
    return (
        f"Passkeys read by {label(name)}, {compared}: the keys of the text that the question attends to in each layer "
        "and key head; the FLOPs that reading a text and the copies of its question takes (2 for each weight of the "
        f"layers and token, 4 for each width of a head and pair of query and key); accuracy, {HULL}]."
    )


def _cell(cells: Frame, length: int) -> str:
    if length not in cells.index:
        return "not asked"
    return bounded(*(cells.loc[length, column] for column in ("mean", "low", "high")))


def caption_table(frame: Frame) -> str:
    return (
        f"Passkeys by way to read a prompt: accuracy, {HULL}], by prompt length in multiples of the "
        f"{trained_on(frame)} tokens of training; the keys of the text that the question attends to in each layer and "
        "key head, and the pairs of query and key that reading the text takes, as a share of reading it whole. "
        "Models that miss the gate decide nothing."
    )


NEEDLES = FigureSpec(
    "parallel_prompts",
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=("PC-MINI",),
    alt="A heat map for each way to read: prompt length as a multiple of the training length from left to right, depth "
    "of the passkey from top to bottom, colour for the share retrieved.",
)
TABLE = TableSpec(
    "parallel_over_seeds",
    build,
    caption_table,
    NOTEBOOK,
)
EQUAL_KEYS = TableSpec(
    "parallel_over_seeds",
    equal_keys,
    partial(caption_fair, compared="ways that attend to as many keys beside each other"),
    NOTEBOOK,
)
EQUAL_WINDOW = TableSpec(
    "parallel_over_seeds",
    equal_window,
    partial(caption_fair, compared="ways whose positions stay in the window of training, the cheapest first"),
    NOTEBOOK,
)


# What each part of reading in chunks contributes
DIFFERENCES_MULTIPLES = (4, 16, 64)  # panels
PAIR = ["question", "ours", "theirs"]


def at(frame: Frame) -> tuple[Frame, str]:
    """The rows of RoPE, or of the one encoding that is there, at MULTIPLES, and its name. NotCompared without any."""
    frame = frame[frame["seeds"] > 0]
    if frame.empty:
        raise NotCompared("parallel_differences: no pair of ways to read passed the gate under this profile")
    rows, name = shown(frame, "ours")
    rows = rows[rows["length"].isin([multiple * trained_on(frame) for multiple in DIFFERENCES_MULTIPLES])]
    if rows.empty:
        raise NotCompared("parallel_differences: no length of this profile is 4, 16 or 64 times that of training")
    return rows, name


def draw_differences(frame: Frame) -> Figure:
    rows, _ = at(frame)
    trained = trained_on(rows)
    panels = [times(length, trained) for length in sorted(set(rows["length"]))]
    drawn = []
    for (question, ours, theirs), own in rows.groupby(PAIR, sort=False):
        cells = {
            times(row.length, trained): forest.Cell((), row.difference, row.low, row.high) for row in own.itertuples()
        }
        drawn.append(forest.Row(f"{METHODS[ours].label} − {METHODS[theirs].label}", cells, group=question))
    return forest.differences(drawn, panels)


def caption_differences(frame: Frame) -> str:
    rows, name = at(frame)
    last = farthest(rows, "length")
    sure = last[(last["low"] > 0) | (last["high"] < 0)]
    said = "; ".join(
        f"{METHODS[row.ours].label} − {METHODS[row.theirs].label} {bounded(row.difference, row.low, row.high)}"
        for row in sure.itertuples()
    )
    return (
        f"What each part of reading in chunks contributes: {label(name)}, differences within models between two ways "
        f"to read the same prompts, at multiples of the {trained_on(rows)} tokens of training. Bars: 95 % intervals "
        f"over seeds and prompts, each for itself; {extremes(rows['seeds'])} seeds that passed the gate. At "
        f"{tokens(last['length'].iloc[0], trained_on(rows))} 0 is excluded for: {said or 'none'}."
    )


DIFFERENCES = FigureSpec(
    "parallel_differences",
    draw_differences,
    caption_differences,
    notebook=NOTEBOOK,
    claims=("PC-MINI",),
    alt="A forest plot: one row for each pair of ways to read, grouped by the part in which they differ, with the "
    "difference in accuracy and its interval at several multiples of the training length.",
)


# Does the question find its chunk? The rank of the chunk with the key by the question's self-information
KEEP = 3
CHANCE = {"color": style.GREY, "dashes": (1, 2), "label": "3 at random"}
# first so many, cutting: colour, dashes, marker, name
LINES = {
    (1, "no overlap"): (style.BLUE, (3, 1), "s", "is first"),
    (KEEP, "no overlap"): (style.ORANGE, style.SOLID, "o", "is among 3"),
    (KEEP, "overlap"): (style.GREEN, (5, 1, 1, 1), "^", "among 3, overlap"),
}


def shares(rows: Frame, first: int) -> Frame:
    """By length and seed: how many prompts have their key's chunk among the first so many, and as a share."""
    hits = rows.assign(hit=rows["rank"] <= first).groupby(["length", "seed"])["hit"]
    found = hits.agg(correct="sum", samples="size").reset_index()
    return found.assign(share=found["correct"] / found["samples"])


def draw_ranks(frame: Frame) -> Figure:
    rivals(frame, "cutting", "parallel_ranks")
    made = {}
    for name, own in frame.groupby("encoding", sort=False):
        made[label(name)] = drawn = []
        for (first, cutting), look in LINES.items():
            rows = shares(own[own["cutting"] == cutting], first)
            drawn.append(panels.over(rows, "share", lines.look(*look), curves.shares))
        chance = (KEEP / own[own["cutting"] == "no overlap"].groupby("length")["chunks"].mean()).clip(upper=1)
        drawn.append(panels.Line(chance.index, chance, CHANCE))
    axis = panels.lengths(frame["length"], trained_on(frame), most=5) | panels.SHARES | {"legend": "above"}
    return panels.draw(made, "prompt (tokens)", "share whose chunk ...", height=1.7, ncols=4, **axis)[0]


def caption_ranks(frame: Frame) -> str:
    rivals(frame, "cutting", "parallel_ranks")
    last, trained = int(frame["length"].max()), trained_on(frame)
    rows = frame[frame["length"] == last]
    said = []
    for name, own in rows.groupby("encoding", sort=False):
        kept = {cutting: (each["rank"] <= KEEP).mean() for cutting, each in own.groupby("cutting")}
        said.append(f"{label(name)} {kept['no overlap']:.2f} and {kept['overlap']:.2f}")
    plain = rows[rows["cutting"] == "no overlap"]
    missed = plain[plain["rank"] > KEEP]
    if len(missed):
        why = (
            f"; of those whose chunk is missed a border cuts {missed['cut'].mean():.2f}, and the first chunk, with "
            f"the description, is first in {missed['first'].mean():.2f}"
        )
    else:
        why = ""
    return (
        f"How often the chunk with the key has one of the {KEEP} lowest self-informations of the question. At "
        f"{tokens(last, trained)}, without overlap of chunks and with one by a key sentence: {'; '.join(said)}. "
        f"Without overlap a border cuts {plain['cut'].mean():.2f} of all keys{why}. Lines: means of "
        f"{counted(rows['seed'])} with 95 % intervals; dots: seeds."
    )


RANKS = FigureSpec(
    "parallel_ranks",
    draw_ranks,
    caption_ranks,
    notebook=NOTEBOOK,
    claims=("PC-MINI",),
    alt="Lines against prompt length: share of prompts whose key's chunk is ranked first, or among the first three, "
    "by self-information, with and without overlap of chunks, and the share of a choice at random.",
)
