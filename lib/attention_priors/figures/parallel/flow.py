"""The data flow of ParallelComp, drawn from a pass of the algorithm over a small model with random weights."""

import numpy as np
import torch
from matplotlib.patches import Rectangle

from attention_priors.config import ModelConfig
from attention_priors.figures import style
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size
from attention_priors.model import Transformer
from attention_priors.parallel import Options, condense
from attention_priors.parallel.chunks import rows as chunked
from attention_priors.parallel.ours import Ours
from attention_priors.parallel.select import Select

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
    """Above: the rows that are read, at shared positions. Below: what is joined, and the question behind it."""
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
        ax.grid(False)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
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


FIGURE = FigureSpec(
    "parallel_flow",
    draw,
    caption,
    notebook=NOTEBOOK,
    rows=rows,
    paper="ParallelComp, Fig. 2",
    columns=("chunk", "information", "stays", "position", "kind", "kept"),
    alt="Rows of cells, one for each chunk, with text, question and free positions; three rows are marked as staying; "
    "below, the cells that are kept of these in one row, followed by the question.",
)
