"""Reading in chunks: the data flow of ParallelComp, its cost, and the loss by way to read."""

import numpy as np
import torch
from matplotlib.patches import Rectangle

from ...config import ModelConfig
from ...experiments.parallel_cost import HALF, WHOLE
from ...experiments.parallel_language import BY_TARGETS
from ...model import Transformer
from ...parallel import Options, condense
from ...parallel.chunks import rows as chunked
from ...parallel.methods import METHODS
from ...parallel.ours import Ours
from ...parallel.select import Select
from .. import heat_maps, lines, panels, style
from ..methods import label
from ..spec import Figure, FigureSpec, Frame, Rows, Size, rivals
from ..words import counted, extremes, tokens, trained_on
from .needles import NOTEBOOK

# The data flow of ParallelComp, drawn from a pass of the algorithm over a small model with random weights
TEXT, QUESTION, RESERVE, WINDOW, KEEP = 92, 6, 2, 28, 3
COLORS = {"text": "#C9D6E3", "kept": style.BLUE, "question": style.ORANGE, "reserved": "#F0F0F0"}
SAYS = {"text": "evicted", "kept": "kept (darker: by more heads)", "question": "question", "reserved": "for the answer"}


def rows(size: Size, seed: int) -> Rows:
    """A row for each place of each chunk: its position, what stands there, and the share of key heads that keep it."""
    torch.manual_seed(seed)
    config = ModelConfig(vocabulary=32, width=32, layers=2, heads=4, hidden=32, encoding="rope")
    model = Transformer(config).eval()
    for block in model.blocks:
        block.attention.query.weight.data *= 6
    generator = torch.Generator().manual_seed(seed)
    text, question = (torch.randint(32, (count,), generator=generator) for count in (TEXT, QUESTION))
    how = Options(window=WINDOW, reserve=RESERVE, keep=KEEP, budget=10, pool=3)
    found = condense(Ours(model), text, question, how)
    n, made = WINDOW - QUESTION - RESERVE, []
    batch = chunked([text[start:stop] for start, stop in found.spans], question, n, None)
    with torch.inference_mode():
        read = Ours(model).read(batch, Select(how, config.layers), how.last, gathered=False)
    kept = torch.stack([layer.valid.float().mean(1) for layer in read.layers]).mean(0)
    for chunk, (start, stop) in enumerate(found.spans):
        said = {
            "chunk": chunk + 1,
            "information": round(float(found.information[chunk]), 3),
            "stays": int(chunk in found.kept),
        }
        for position in range(WINDOW):
            kind = "text" if position < n else "question" if position < n + QUESTION else "reserved"
            if position >= n - (stop - start):
                share = round(float(kept[chunk, position]), 4) if kind == "text" and chunk in found.kept else 0.0
                made.append(said | {"position": position, "kind": kind, "kept": share})
    return made


def draw(frame: Frame) -> Figure:
    chunks = sorted(set(frame["chunk"]))
    fig, (above, below) = style.figure(
        style.DOUBLE, 0.95 + 0.27 * len(chunks), nrows=2, height_ratios=[len(chunks) + 0.8, 1.6]
    )
    for row in frame.itertuples():
        _cell(above, row.position, row.chunk - 1, row.kind, row.kept)
    for chunk, own in frame.groupby("chunk"):
        first, wide = own.iloc[0], frame["position"].max() + 1.6
        weight = "bold" if first["stays"] else "normal"
        said = f"$I_{chunk}$ = {first['information']:.1f}" + (", stays" if first["stays"] else "")
        above.text(wide, chunk - 0.5, said, va="center", fontsize=style.SMALLEST, weight=weight)
    above.set(xlim=(-0.2, frame["position"].max() + 8), ylim=(len(chunks), -0.1), xlabel="position, shared by all rows")
    above.set_xticks(range(0, frame["position"].max() + 1, 5))
    above.set_yticks(np.arange(len(chunks)) + 0.5, [f"chunk {chunk}" for chunk in chunks])
    x = 0.0
    for chunk, own in frame[frame["stays"] == 1].groupby("chunk"):
        text = own[(own["kind"] == "text") & (own["kept"] > 0)]
        below.text(x + len(text) / 2, -0.25, f"of chunk {chunk}", ha="center", fontsize=style.SMALLEST)
        for row in text.itertuples():
            _cell(below, x, 0, row.kind, row.kept)
            x += 1
        x += 0.8
    question = frame[(frame["chunk"] == 1) & (frame["kind"] == "question")]
    below.text(x + len(question) / 2, -0.25, "question, once", ha="center", fontsize=style.SMALLEST)
    for _ in question.itertuples():
        _cell(below, x, 0, "question", 0)
        x += 1
    below.set(xlim=(-0.2, max(x, 40)), ylim=(1.1, -0.9))
    below.set_yticks([0.5], ["joined"])
    below.set_xticks([])
    for ax in (above, below):
        heat_maps.bare(ax)
    handles = [Rectangle((0, 0), 1, 1, color=COLORS[kind]) for kind in SAYS]
    fig.legend(handles, SAYS.values(), loc="outside lower center", ncols=4, handlelength=1)
    return fig


def _cell(ax, x: float, y: float, kind: str, kept: float) -> None:
    color = COLORS["kept"] if kept > 0 else COLORS[kind]
    alpha = 0.35 + 0.65 * kept if kept > 0 else 1.0
    ax.add_patch(Rectangle((x + 0.06, y + 0.1), 0.88, 0.8, facecolor=color, alpha=alpha, linewidth=0))


def caption(frame: Frame) -> str:
    chunks, stays = frame["chunk"].nunique(), frame[frame["stays"] == 1]["chunk"].nunique()
    text = frame[(frame["kind"] == "text") & (frame["stays"] == 1)]
    share = text["kept"].mean()
    return (
        f"How a text is read in {chunks} chunks: each beside a copy of the question, at the same positions. The "
        f"{stays} chunks in which the question is least surprising stay, and of these {share:.2f} of the keys in each "
        "layer and key head. They are joined, and the question is read once more, behind all of them. From a pass over "
        "a model with random weights."
    )


FLOW = FigureSpec(
    "parallel_flow",
    draw,
    caption,
    notebook=NOTEBOOK,
    rows=rows,
    paper="ParallelComp, Fig. 2",
    alt="Rows of cells, one for each chunk, with text, question and free positions; three rows are marked as staying; "
    "below, the cells that are kept of these in one row, followed by the question.",
)


# Time and memory of reading in chunks, by how many are read at once
LOOKS = dict(zip((WHOLE, HALF), lines.SERIES, strict=False))
PANELS = {
    "prefill": "reading (s)",
    "token": "later token (ms)",
    "memory": "peak memory (MB)",
    "cache": "cache (MB)",
}


def draw_cost(frame: Frame) -> Figure:
    rivals(frame, "kept", "parallel_cost")
    made = {}
    for cost, called in PANELS.items():
        made[called] = []
        for kept, own in frame.groupby("kept", sort=False):
            found, look = own.groupby("at_once")[cost].agg(["median", "min", "max"]), lines.look(*LOOKS[kept], kept)
            made[called].append(panels.Line(found.index, found["median"], look, found["min"], found["max"]))
    axis = {"base": 2, "xticks": {n: f"{n}" for n in sorted(frame["at_once"].unique())}, "ylim": (0, None)}
    return panels.draw(made, "chunks at once", "cost", width=style.DOUBLE, sharey=False, legend="above", **axis)[0]


def caption_cost(frame: Frame) -> str:
    median = frame.groupby(["kept", "at_once"])[list(PANELS)].median()
    one, most = frame["at_once"].min(), frame["at_once"].max()
    prefill, memory = (median.loc[WHOLE, name] for name in ("prefill", "memory"))
    token = median["token"].unstack("kept").loc[most]
    rounds = frame.pivot(index=["at_once", "round"], columns="kept", values="prefill")
    slower = (rounds[HALF] / rounds[WHOLE]).groupby("at_once").agg(["min", "max"])
    said = [
        f"{ends['min']:.2f} to {ends['max']:.2f} ({at_once})" for at_once, ends in slower.loc[[one, most]].iterrows()
    ]
    return (
        f"Reading {frame['length'].max():,} tokens in windows of {frame['window'].max()}: {most} chunks at once take "
        f"{prefill[most] / prefill[one]:.2f} times the seconds of {one} and {memory[most] / memory[one]:.1f} times its "
        f"memory. Half of the keys: later tokens {token[HALF] / token[WHOLE]:.2f} times, reading {', '.join(said)}."
    )


COST = FigureSpec(
    "parallel_cost",
    draw_cost,
    caption_cost,
    notebook=NOTEBOOK,
    paper="ParallelComp, Table 7 (by proxy)",
    claims=("PC-TAB7", "PC-C2"),
    alt="Four panels of cost against the number of chunks that are read at once, a line with all keys and one with "
    "half of them: time of reading, time of a later token, memory while reading, memory that stays.",
)


# Loss of the same last tokens against context length, by way to read what stands before
# colour, dashes, marker; what is not here is in the table of metrics alone
DRAWN = {
    "plain": (style.DARK, (1, 1), "X"),
    "last-window": (style.GREY, (3, 1), "v"),
    "rerope": (style.BLUE, (5, 1.5), "s"),
    "dynamic-ntk": (style.SKY, (3, 1, 1, 1), "P"),
    "all": (style.PINK, (2, 1), "D"),
    "lexical": (style.GREEN, (5, 1, 1, 1), "^"),
    "k3": (style.ORANGE, style.SOLID, "o"),
    BY_TARGETS: (style.BROWN, (1, 2), "h"),
}


def name(method: str) -> str:
    """What a method is called in print."""
    return "K = 3 by the targets" if method == BY_TARGETS else METHODS[method].label


def draw_losses(frame: Frame) -> Figure:
    rivals(frame, "method", "parallel_losses")
    made = {}
    for encoding, own in frame.groupby("encoding", sort=False):
        there = set(own["method"])
        made[label(encoding)] = [
            panels.over(own[own["method"] == method], "growth", lines.look(*drawn, name(method)))
            for method, drawn in DRAWN.items()
            if method in there
        ]
    axis = panels.lengths(frame["length"], trained_on(frame), most=5) | {"levels": [0], "legend": "above"}
    return panels.draw(made, "context (tokens)", "loss above that at T (nats)", height=1.9, ncols=4, **axis)[0]


def caption_losses(frame: Frame) -> str:
    rivals(frame, "method", "parallel_losses")
    encoding = "rope" if "rope" in set(frame["encoding"]) else frame["encoding"].iloc[0]
    rows = frame[(frame["encoding"] == encoding) & frame["method"].isin(DRAWN)]
    asked = rows.groupby("length")["method"].nunique()
    far = int(asked[asked == asked.max()].index.max())
    growth = rows[rows["length"] == far].groupby("method")["growth"].mean()
    said = ", ".join(f"{name(method)} {growth[method]:+.2f}" for method in DRAWN if method in growth)
    passed = frame.drop_duplicates(["encoding", "seed"])["passed"].sum()
    return (
        f"Loss of the last {int(frame['scored'].iloc[0])} tokens of {extremes(frame['documents'])} documents less that "
        f"at the training length, by way to read what stands before. {label(encoding)} at "
        f"{tokens(far, trained_on(frame))}: {said} nats. Lines: means of {counted(frame['seed'])} with 95 % intervals; "
        f"dots: seeds. {int(passed)} of {len(frame.drop_duplicates(['encoding', 'seed']))} models know word order."
    )


LOSSES = FigureSpec(
    "parallel_losses_by_seed",
    draw_losses,
    caption_losses,
    notebook=NOTEBOOK,
    paper="ParallelComp, Table 3",
    claims=("PC-TAB3",),
    alt="Lines of loss against context length, one for each way to read, in a panel for each encoding; dots for seeds "
    "and bars for intervals.",
)
