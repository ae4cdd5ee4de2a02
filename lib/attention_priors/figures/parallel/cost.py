"""Time and memory of reading in chunks, by how many are read at once (ParallelComp, Table 7, by proxy)."""

from attention_priors.experiments.parallel_cost import HALF, WHOLE
from attention_priors.figures import lines, style
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
    fig, axes = style.figure(style.DOUBLE, 1.9, ncols=len(PANELS))
    found = frame.groupby(["kept", "at_once"], sort=False)[list(PANELS)]
    medians, low, high = found.median().reset_index(), found.min(), found.max()
    counts = sorted(frame["at_once"].unique())
    for ax, (cost, called) in zip(axes, PANELS.items(), strict=True):
        lines.plot(ax, medians, "at_once", cost, "kept", looks=LOOKS)
        for kept, (color, *_) in LOOKS.items():
            ax.vlines(counts, low.loc[kept, cost].loc[counts], high.loc[kept, cost].loc[counts], color=color)
        ax.set(xscale="log", ylim=(0, None), ylabel=called, xlabel="chunks at once")
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


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
    "parallel_cost", draw, caption, notebook=NOTEBOOK, paper="ParallelComp, Table 7 (by proxy)",
    claims=("PC-TAB7", "PC-C2"),
    columns=("at_once", "kept", "length", "window", "round", "prefill", "token", "cache", "memory"),
    alt="Four panels of cost against the number of chunks that are read at once, a line with all keys and one with "
    "half of them: time of reading, time of a later token, memory while reading, memory that stays.",
)  # fmt: skip
