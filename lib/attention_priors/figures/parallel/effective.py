"""Entries above a threshold in a row of attention, by window (ParallelComp, section 3.2)."""

from attention_priors.experiments.parallel_profiles import THRESHOLD
from attention_priors.figures import panels
from attention_priors.figures.methods import label, look
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import counted, trained_on


def by_seed(frame: Frame) -> Frame:
    """A mean over documents."""
    return frame.groupby(["encoding", "seed", "window"], sort=False)["entries"].mean().reset_index()


def draw(frame: Frame) -> Figure:
    """A line for each encoding."""
    rows = by_seed(rivals(frame, "window", "parallel_effective"))
    made = [panels.over(own, "entries", look(name), by="window") for name, own in rows.groupby("encoding", sort=False)]
    axis = panels.lengths(rows["window"], trained_on(frame)) | {"ylim": (0, None), "legend": "lower left"}
    return panels.draw({"": made}, "window (tokens)", f"entries above {THRESHOLD}", height=1.5, **axis)[0]


def caption(frame: Frame) -> str:
    rivals(frame, "window", "parallel_effective")
    rows = by_seed(frame)
    windows = sorted(set(rows["window"]))
    means = rows.groupby(["encoding", "window"], sort=False)["entries"].mean()
    said = "; ".join(
        f"{label(name)} {means[name, windows[0]]:.2f} and {means[name, windows[-1]]:.2f}"
        for name in dict.fromkeys(rows["encoding"])
    )
    return (
        f"Keys of a chunk whose weight exceeds {THRESHOLD} in a row of the question (its own 16 keys left out), a "
        f"mean over layers, heads and the last question rows. In windows of {windows[0]} and {windows[-1]} tokens: "
        f"{said}. No row of any attention has {round(1 / THRESHOLD)}, since weights sum to one. Lines: means of "
        f"{counted(rows['seed'])}, 95 % intervals."
    )


FIGURE = FigureSpec(
    "parallel_effective",
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=("PC-DISC",),
    columns=("encoding", "seed", "window", "document", "entries", "trained"),
    alt="Lines of the number of keys above a threshold against the window, one for each encoding, with seeds as dots.",
)
