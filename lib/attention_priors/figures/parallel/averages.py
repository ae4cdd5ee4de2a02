"""ParallelComp's printed averages against the means of their rows."""

from attention_priors.checks.parallel.rows import average_rows
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, Rows, Size

ROUNDING = 0.0051


def rows(size: Size, seed: int) -> Rows:
    """Every printed average beside the mean of its row."""
    return average_rows()


def _short(row: str) -> str:
    return row.replace("ParallelComp", "PC").replace("calibration", "cal.").replace("compression", "comp.")


def draw(frame: Frame) -> Figure:
    fig, ax = style.figure(style.SINGLE, 2.6)
    numbers = sorted(frame["table"].unique())
    frame = frame.assign(gap=frame["printed"] - frame["recomputed"])
    for height, number in enumerate(numbers):
        part = frame[frame["table"] == number]
        good, bad = part[part["gap"].abs() <= ROUNDING], part[part["gap"].abs() > ROUNDING]
        ax.plot(good["gap"], [height] * len(good), "o", color=style.GREY, markersize=3)
        ax.plot(bad["gap"], [height] * len(bad), "D", color=style.ORANGE, markersize=4)
        for place, (_, row) in enumerate(bad.sort_values("gap").iterrows()):
            side = -1 if number == 1 and not place else 1  # Table 1's two lie close together
            ax.annotate(_short(row["row"]), (row["gap"], height), xytext=(6 * side, 0), textcoords="offset points",
                        ha="left" if side > 0 else "right", va="center", fontsize=style.SMALLEST)  # fmt: skip
    ax.set_yticks(range(len(numbers)), [f"Table {n}" for n in numbers])
    ax.invert_yaxis()
    ax.axvline(0, color=style.GREY, linewidth=0.7, zorder=0)
    ax.set(xlabel="printed average $-$ mean of the row (points)", xlim=(-9, 9.5), xticks=range(-8, 9, 2))
    ax.grid(axis="y", visible=False)
    return fig


def caption(frame: Frame) -> str:
    bad = frame[(frame["printed"] - frame["recomputed"]).abs() > ROUNDING]
    listed = "; ".join(
        f"Table {r.table}, {r.row}: {r.printed:.2f} printed, {r.recomputed:.2f} recomputed" for r in bad.itertuples()
    )
    return (
        f"All {len(frame)} averages printed in ParallelComp's tables against the means of their rows (< 5 counted as "
        f"2.5, as the paper does). {len(frame) - len(bad)} follow to the rounding (grey); {len(bad)} do not: {listed}."
    )


FIGURE = FigureSpec(
    "parallel_averages", draw, caption, notebook="parallel_attention", paper="ParallelComp, Tables 1 to 12", rows=rows,
    columns=("table", "row", "printed", "recomputed"), claims=("PC-TAB5",),
    alt="Printed less recomputed average, one row of dots per table: all at zero but two in Table 1, a little off, and "
    "two in Table 5, by three points up and seven down.",
)  # fmt: skip
