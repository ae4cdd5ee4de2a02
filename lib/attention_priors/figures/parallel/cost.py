"""Time and memory of reading in chunks, by how many are read at once (ParallelComp, Table 7, by proxy)."""

from attention_priors.experiments.parallel_cost import HALF, WHOLE
from attention_priors.figures import lines, panels, style
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals

LOOKS = dict(zip((WHOLE, HALF), lines.SERIES, strict=False))
PANELS = {
    "prefill": "reading (s)",
    "token": "later token (ms)",
    "memory": "peak memory (MB)",
    "cache": "cache (MB)",
}


def draw(frame: Frame) -> Figure:
    """A panel for each cost: medians of the rounds, with their range."""
    rivals(frame, "kept", "parallel_cost")
    made = {}
    for cost, called in PANELS.items():
        made[called] = []
        for kept, own in frame.groupby("kept", sort=False):
            found, (color, dashes, marker) = own.groupby("at_once")[cost].agg(["median", "min", "max"]), LOOKS[kept]
            look = {"color": color, "dashes": dashes, "marker": marker, "label": kept}
            made[called].append(panels.Line(found.index, found["median"], look, found["min"], found["max"]))
    axis = {"base": 2, "xticks": {n: f"{n}" for n in sorted(frame["at_once"].unique())}, "ylim": (0, None)}
    return panels.draw(made, "chunks at once", "cost", width=style.DOUBLE, sharey=False, legend="above", **axis)[0]


def caption(frame: Frame) -> str:
    median = frame.groupby(["kept", "at_once"])[list(PANELS)].median()
    one, most = frame["at_once"].min(), frame["at_once"].max()
    prefill, memory = (median.loc[WHOLE, name] for name in ("prefill", "memory"))
    token = median["token"].unstack("kept").loc[most]
    return (
        f"Reading {frame['length'].max():,} tokens in windows of {frame['window'].max()}: {most} chunks at once take "
        f"{prefill[most] / prefill[one]:.2f} times the seconds of {one} and {memory[most] / memory[one]:.1f} times its "
        f"memory; with half of the keys a later token takes {token[HALF] / token[WHOLE]:.2f} times as long."
    )


FIGURE = FigureSpec(
    "parallel_cost",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="ParallelComp, Table 7 (by proxy)",
    claims=("PC-TAB7", "PC-C2"),
    columns=("at_once", "kept", "length", "window", "round", "prefill", "token", "cache", "memory"),
    alt="Four panels of cost against the number of chunks that are read at once, a line with all keys and one with "
    "half of them: time of reading, time of a later token, memory while reading, memory that stays.",
)
