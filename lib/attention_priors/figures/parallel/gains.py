"""ParallelComp less the model alone, task by task (its Tables 4 and 5)."""

from attention_priors.checks.parallel.rows import gain_rows
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size

MODELS = {"Llama3.1": (style.BLUE, "o", -0.15), "Qwen2.5": (style.ORANGE, "s", 0.15)}
BENCHMARKS = {4: "LongBench", 5: "InfiniteBench"}  # by table


def rows(size: Size, seed: int) -> Rows:
    """Points gained by model, table and task."""
    return gain_rows()


def draw(frame: Frame) -> Figure:
    fig, axes = style.figure(style.MIDDLE, 2.9, ncols=2, width_ratios=(1, 1))
    for ax, (number, title) in zip(axes, BENCHMARKS.items(), strict=True):
        part = frame[frame["table"] == number]
        tasks = list(dict.fromkeys(part["task"]))
        for model, (color, marker, shift) in MODELS.items():
            gains = part[part["model"] == model].set_index("task")["gain"]
            ax.plot(gains[tasks], [k + shift for k in range(len(tasks))], marker, color=color, label=model)
        ax.axvline(0, color=style.GREY, linewidth=0.7, zorder=0)
        ax.set_yticks(range(len(tasks)), tasks)
        ax.set_ylim(len(tasks) - 0.5, -0.5)
        ax.set(xlabel="points gained", title=f"{title} (Table {number})")
    axes[1].legend(loc="lower right")
    return fig


def caption(frame: Frame) -> str:
    by = frame.groupby(["table", "model"])["gain"]
    words = [
        f"{BENCHMARKS[number]}, {model}: {gains.mean():+.2f} in the mean, {(gains < 0).sum()} of {len(gains)} lost"
        for (number, model), gains in by
    ]
    return "Score with ParallelComp less the score of the model alone, by task. " + "; ".join(words) + "."


FIGURE = FigureSpec(
    "parallel_gains", draw, caption, notebook="parallel_attention", paper="ParallelComp, Tables 4 and 5", rows=rows,
    columns=("model", "table", "task", "gain"), claims=("PC-C10",),
    alt="Points gained by task for two models. LongBench: dots on both sides of zero. InfiniteBench: three retrieval "
    "tasks gain 18 to 94 points, EN.MC 34 on one model and 5 on the other, MATH 6 and 7, CODE nearly nothing.",
)  # fmt: skip
