"""Passkeys by length and depth, a map for each way to read further than the training length; and the table of ways."""

import math

import numpy as np

from attention_priors.figures import heat_maps, style
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import HULL, bounded, counted, extremes, times, tokens, trained_on
from attention_priors.parallel.methods import METHODS

NOTEBOOK = "reading_in_parallel"
BANDS, ACROSS = 5, 4  # fifths of depth; panels side by side
MULTIPLES = (1, 4, 16, 64)  # columns of the table


def shown(frame: Frame) -> tuple[Frame, str]:
    """The rows of the encoding that most methods can read, RoPE where it is there, and its name."""
    rivals(frame, "method", "parallel_needles")
    name = "rope" if "rope" in set(frame["encoding"]) else frame["encoding"].iloc[0]
    return frame[frame["encoding"] == name], name


def draw(frame: Frame) -> Figure:
    """Maps in the order of METHODS: lengths from left to right, depth from top to bottom."""
    rows, _ = shown(frame)
    names, lengths, trained = ordered(rows), sorted(set(rows["length"])), trained_on(frame)
    down = math.ceil(len(names) / ACROSS)
    fig, axes = style.figure(
        style.MIDDLE, 0.75 + 0.86 * down, nrows=down, ncols=ACROSS, sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(axes.flat, names, strict=False):
        sums = rows[rows["method"] == name].groupby(["band", "length"])[["correct", "samples"]].sum()
        cells = (sums["correct"] / sums["samples"]).unstack().reindex(index=range(BANDS), columns=lengths)
        mesh = ax.pcolormesh(np.ma.masked_invalid(cells), edgecolor="white", linewidth=0.4, **heat_maps.SHARES)
        for column in np.flatnonzero(cells.isna().all()):
            heat_maps.write(ax, column + 0.5, BANDS / 2, "–", color=style.GREY)
        ax.set_title(METHODS[name].label, fontsize=style.SMALLEST, pad=2)
        heat_maps.bare(ax)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    axes[0, 0].invert_yaxis()
    axes[0, 0].set_yticks([0, BANDS], ["start", "end"])
    ticks = [times(length, trained) if place % 2 == 0 else "" for place, length in enumerate(lengths)]
    for ax in axes.flat[max(0, len(names) - ACROSS) : len(names)]:
        ax.xaxis.set_tick_params(labelbottom=True)
        ax.set_xticks(np.arange(len(lengths)) + 0.5, ticks)
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
    best = shares.idxmax()
    asked = rows.groupby(["method", "seed", "length"])["samples"].sum()
    return (
        f"Share of passkeys retrieved by {label(name)} by prompt length and depth, a map for each way to read more "
        f"than the {trained} tokens of training; {counted(rows['seed'])}, {extremes(asked)} prompts at each length. At "
        f"{tokens(far, trained)} {METHODS[best].label} has {shares[best]:.2f}, {METHODS[shares.idxmin()].label} "
        f"{shares.min():.2f}. Dash: not asked, since its cost is quadratic."
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
            made.append({
                "encoding": label(name), "way to read": METHODS[method].label,
                "passed the gate": f"{int(cells['passed'].max())} of {int(cells['seeds'].max())}",
                **{f"accuracy at {times(length, trained)}": _cell(cells, length) for length in lengths},
                f"keys attended to at {times(memory, trained)}": round(cells.loc[memory, "entries"]),
                f"pairs in reading at {times(memory, trained)}": f"{pairs(method, chunks, memory, trained):.3g}",
            })  # fmt: skip
    return Frame(made)


def _cell(cells: Frame, length: int) -> str:
    if length not in cells.index:
        return "not asked"
    return bounded(*(cells.loc[length, column] for column in ("mean", "low", "high")))


def caption_table(frame: Frame) -> str:
    return (
        f"Passkeys by way to read a prompt: accuracy, {HULL}], by prompt length in multiples of the "
        f"{trained_on(frame)} tokens of training; the keys of the text that the question attends to in each layer and "
        "key head, and the pairs of query and key that reading the text takes, as a share of reading it whole. "
        "Compare rows of equal keys, and rows whose positions stay in the window: last window, first and last half, "
        "StreamingLLM and all that read chunks. Models that miss the gate decide nothing."
    )


FIGURE = FigureSpec(
    "parallel_prompts", draw, caption, notebook=NOTEBOOK, claims=("PC-MINI",),
    columns=("encoding", "method", "seed", "length", "band", "correct", "samples", "trained"),
    alt="A heat map for each way to read: prompt length as a multiple of the training length from left to right, depth "
    "of the passkey from top to bottom, colour for the share retrieved.",
)  # fmt: skip
TABLE = TableSpec(
    "parallel_over_seeds", build, caption_table, NOTEBOOK,
    ("encoding", "method", "length", "seeds", "passed", "mean", "low", "high", "entries", "chunks", "trained"),
)  # fmt: skip
