"""Instructions that a score costs in the main loop of each kernel, beside the slots that the matrix products leave."""

import numpy as np

from attention_priors.bench import kernel_rows
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size

# kernel: name, issue slots of its matrix products per score
KERNELS = {
    "forward": ("forward", 16),
    "backward_queries": ("backward: dq, dθ", 24),
    "backward_keys": ("backward: dk, dv", 32),
    "backward_table": ("backward: dT", 24),
}
NUMBER = 2.5  # instructions along the axis that a printed number covers


def rows(size: Size, seed: int) -> Rows:
    return kernel_rows.instructions()


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.MIDDLE, 2.6)
    place = np.arange(len(frame))[::-1]
    colors = [style.GREY if variant == "no bias" else style.BLUE for variant in frame["variant"]]
    bars = ax.barh(place, frame["instructions"].fillna(0), color=colors, height=0.62)
    for bar, row in zip(bars, frame.itertuples(), strict=True):
        end, (_, slot) = bar.get_width(), KERNELS[row.kernel]
        if row.variant == "no bias":
            bar.set(hatch="///", edgecolor="white")
        ax.plot([slot] * 2, [bar.get_y() - 0.08, bar.get_y() + 0.7], color=style.ORANGE, linewidth=1.6, zorder=1)
        text = "not compiled here" if np.isnan(row.instructions) else f"{row.instructions:.1f}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        free = slot if 0 < slot - end < NUMBER else end  # a number between the two would hide the slot
        ax.annotate(text, (free, bar.get_y() + 0.31), xytext=(3, 0), textcoords="offset points", va="center",
                    fontsize=style.SMALLEST, bbox=box)  # fmt: skip
    ax.set_xlim(right=np.nanmax([*frame["instructions"], *(slot for _, slot in KERNELS.values())]) + NUMBER)
    ax.set_yticks(place, [f"{KERNELS[row.kernel][0]}; {row.variant}" for row in frame.itertuples()])
    ax.set(xlabel="instructions per score\n(upright strokes: issue slots while the tensor cores are busy)")
    ax.grid(axis="y", visible=False)
    return fig


def caption(frame: Frame) -> str:
    by = frame.set_index(["kernel", "variant"])["instructions"]
    if by.isna().any():
        return "Triton is not installed on the machine that made this figure."
    more = by["forward", "table"] / by["forward", "no bias"] - 1
    return (
        "Instructions that a score costs in the main loop of each kernel, counted in code compiled for an H100 or H200 "
        "(sm_90, bfloat16, width 128). Hatched: the same kernel without a bias. Strokes: the slots in which "
        f"instructions can issue while the matrix products of the score run. The table adds {more:.0%} to the forward "
        "pass."
    )


FIGURE = FigureSpec(
    "kernel_instructions", draw, caption, notebook="fused_kernel", columns=("kernel", "variant", "instructions"),
    rows=rows,
    alt="Bars of instructions per attention score for each kernel with and without a bias table.",
)  # fmt: skip
