"""ParallelComp's tables on one page: averages that do not follow, gains task by task, and what chunks cost."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from attention_priors.figures import style
from attention_priors.figures.spec import FigureSpec

NOTEBOOK = "13_parallel_attention"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#7F7F7F"
ROUNDING = 0.0051
MODELS = {"Llama3.1": (BLUE, "o"), "Qwen2.5": (ORANGE, "s")}
SLOPES = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"))


def _short(row: str) -> str:
    return row.replace("ParallelComp", "PC").replace("calibration", "cal.").replace("compression", "comp.")


def draw_averages(frame: pd.DataFrame) -> Figure:
    """Columns table, row, printed, recomputed: printed less recomputed, one dot per average."""
    fig, ax = style.figure(style.SINGLE, 2.6)
    numbers = sorted(frame["table"].unique())
    frame = frame.assign(gap=frame["printed"] - frame["recomputed"])
    for height, number in enumerate(numbers):
        rows = frame[frame["table"] == number]
        good, bad = rows[rows["gap"].abs() <= ROUNDING], rows[rows["gap"].abs() > ROUNDING]
        ax.plot(good["gap"], [height] * len(good), "o", color=GREY, markersize=3, alpha=0.6)
        ax.plot(bad["gap"], [height] * len(bad), "D", color=ORANGE, markersize=4)
        for place, (_, row) in enumerate(bad.sort_values("gap").iterrows()):
            side = -1 if number == 1 and not place else 1  # Table 1's two lie close together
            ax.annotate(_short(row["row"]), (row["gap"], height), xytext=(6 * side, 0), textcoords="offset points",
                        ha="left" if side > 0 else "right", va="center", fontsize=style.SMALLEST)  # fmt: skip
    ax.set_yticks(range(len(numbers)), [f"Table {n}" for n in numbers])
    ax.invert_yaxis()
    ax.axvline(0, color=GREY, linewidth=0.7, zorder=0)
    ax.set(xlabel="printed average $-$ mean of the row (points)", xlim=(-9, 9.5), xticks=range(-8, 9, 2))
    ax.grid(axis="y", visible=False)
    return fig


def caption_averages(frame: pd.DataFrame) -> str:
    gap = frame["printed"] - frame["recomputed"]
    bad = frame[gap.abs() > ROUNDING]
    listed = "; ".join(
        f"Table {r.table}, {r.row}: {r.printed:.2f} printed, {r.recomputed:.2f} recomputed" for r in bad.itertuples()
    )
    return (
        f"All {len(frame)} averages printed in ParallelComp's tables against the means of their rows (< 5 counted as "
        f"2.5, as the paper does). {len(frame) - len(bad)} follow to the rounding (grey); {len(bad)} do not: {listed}."
    )


def draw_gains(frame: pd.DataFrame) -> Figure:
    """Columns model, table, task, gain: one dot per task and model, one panel per benchmark."""
    fig, axes = style.figure(style.DOUBLE, 2.9, ncols=2, width_ratios=(1, 1))
    for ax, (number, title) in zip(axes, ((4, "LongBench"), (5, "InfiniteBench")), strict=True):
        part = frame[frame["table"] == number]
        tasks = list(dict.fromkeys(part["task"]))
        for model, (color, marker) in MODELS.items():
            gains = part[part["model"] == model].set_index("task")["gain"]
            shift = 0.15 if model == "Qwen2.5" else -0.15
            ax.plot(gains[tasks], [k + shift for k in range(len(tasks))], marker, color=color, label=model)
        ax.axvline(0, color=GREY, linewidth=0.7, zorder=0)
        ax.set_yticks(range(len(tasks)), tasks)
        ax.set_ylim(len(tasks) - 0.5, -0.5)
        ax.set(xlabel="points gained", title=f"{title} (Table {number})")
    axes[1].legend(loc="lower right")
    return fig


def caption_gains(frame: pd.DataFrame) -> str:
    words = []
    for number, bench in ((4, "LongBench"), (5, "InfiniteBench")):
        for model in MODELS:
            gains = frame[(frame["table"] == number) & (frame["model"] == model)]["gain"]
            words.append(f"{bench}, {model}: {gains.mean():+.2f} in the mean, {(gains < 0).sum()} of {len(gains)} lost")
    return "Score with ParallelComp less the score of the model alone, by task. " + "; ".join(words) + "."


def _lines(slope: float) -> tuple[str, ...]:
    """Layouts drawn for a slope: between chunks, reused positions are the uniform prior, where both are one line."""
    return ("reused positions",) if slope == 0 else ("reused positions", "one line")


def draw_margin(frame: pd.DataFrame) -> Figure:
    """Columns layout, slope, chunks, margin: the lead that gives one far key half of the weight."""
    fig, ax = style.figure(style.SINGLE, 2.5)
    for (color, marker), (slope, rows) in zip(SLOPES, frame.groupby("slope"), strict=False):
        for layout, dashes in zip(_lines(slope), (style.SOLID, (2, 1)), strict=False):
            line = rows[rows["layout"] == layout]
            name = "uniform" if slope == 0 else f"slope {slope:g}"
            ax.plot(line["chunks"], line["margin"], color=color, dashes=dashes, marker=marker,
                    label=name + (", one line" if layout == "one line" else ", reused"))  # fmt: skip
    chunks = sorted(frame["chunks"].unique())
    ax.set_xscale("log", base=2)
    ax.set_xticks(chunks[::2], [str(c) for c in chunks[::2]])
    ax.set(yscale="log", xlabel="chunks $C$", ylabel="lead for half of the weight (nats)")
    ax.set_yticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
    ax.minorticks_off()
    ax.legend(loc="upper left")
    return fig


def caption_margin(frame: pd.DataFrame) -> str:
    first, last = frame["chunks"].min(), frame["chunks"].max()
    table = frame.set_index(["layout", "slope", "chunks"])["margin"]
    words = []
    for slope in sorted(frame["slope"].unique()):
        for layout in _lines(slope):
            rise = table[layout, slope, last] - table[layout, slope, first]
            words.append(f"{layout}, slope {slope:g}: {rise:+.2f}")
    return (
        "Lead in content that gives the middle key of the farthest chunk half of the weight against equal others, "
        f"under ALiBi priors, from {first} to {last} chunks. Chunks that reuse positions (solid) pay ln C; one line of "
        "all keys (dashed) pays the slope times the distance. Added lead: " + "; ".join(words) + "."
    )


def _spec(name: str, draw, caption, alt: str, paper: str) -> tuple[str, FigureSpec]:
    return name, FigureSpec(metrics=name, draw=draw, caption=caption, alt=alt, paper=paper, notebook=NOTEBOOK)


FIGURES = dict(
    [
        _spec(
            "parallel_averages", draw_averages, caption_averages,
            "Printed less recomputed average, one row of dots per table: all at zero but two in Table 1, a little off, "
            "and two in Table 5, by three points up and seven down.",
            "ParallelComp, Tables 1 to 12",
        ),
        _spec(
            "parallel_gains", draw_gains, caption_gains,
            "Points gained by task for two models. LongBench: dots on both sides of zero. InfiniteBench: three "
            "retrieval tasks gain 18 to 94 points, EN.MC 34 on one model and 5 on the other, MATH 6 and 7, CODE nearly "
            "nothing.",
            "ParallelComp, Tables 4 and 5",
        ),
        _spec(
            "parallel_margin", draw_margin, caption_margin,
            "Lead by number of chunks, both logarithmic. Solid lines of reused positions rise slowly and in parallel; "
            "dashed lines of one long row rise in proportion to the number of chunks.",
            "ParallelComp, section 3.1",
        ),
    ]
)  # fmt: skip
