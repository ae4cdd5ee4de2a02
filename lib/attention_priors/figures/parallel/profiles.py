"""Attention of the question along a text, in chunks or not, and after eviction (ParallelComp, Figs. 1, 4 and 5)."""

from attention_priors.evaluation import seed_interval
from attention_priors.experiments.parallel_profiles import (
    APART,
    CALIBRATED,
    CHUNKS,
    FIFTHS,
    GLOBAL,
    KINDS,
    LOCAL,
    PLAIN,
    WHOLE,
)
from attention_priors.figures import panels, style
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, counted, trained_on

# kind: colour, dashes, marker; the two panels
LOOKS = {
    PLAIN: (style.BLUE, (5, 1.5), "s"),
    LOCAL: (style.GREEN, (3, 1), "^"),
    GLOBAL: (style.ORANGE, style.SOLID, "o"),
    WHOLE: (style.SKY, (3, 1, 1, 1), "v"),
    APART: (style.PINK, (2, 1), "D"),
    CALIBRATED: (style.DARK, (1, 1), "X"),
}
TITLES = ("three ways to read", "what eviction changes")
PANELS = ((PLAIN, LOCAL, GLOBAL), (GLOBAL, WHOLE, APART, CALIBRATED))
COLUMNS = ("sink", "recency", "peaks", "repeats", "distance", "largest")


def shown(frame: Frame) -> tuple[Frame, str]:
    return shown_of(frame, "kind", "parallel_profiles")


def shown_of(frame: Frame, by: str, what: str) -> tuple[Frame, str]:
    """The rows of RoPE, where it is there, and the encoding's name; `by` and `what` as `rivals` has them."""
    rivals(frame, by, what)
    name = "rope" if "rope" in set(frame["encoding"]) else frame["encoding"].iloc[0]
    return frame[frame["encoding"] == name], name


def draw(frame: Frame) -> Figure:
    """The same text read in three ways, and what eviction changes. Dotted: borders of chunks."""
    rows, _ = shown(frame)
    made = {}
    for title, kinds in zip(TITLES, PANELS, strict=True):
        looks = {kind: dict(zip(("color", "dashes", "marker"), LOOKS[kind], strict=True)) for kind in kinds}
        made[title] = [
            panels.over(rows[rows["kind"] == kind], "share", drawn | {"label": kind, "markersize": 2.5}, by="fifth")
            for kind, drawn in looks.items()
        ]
    axis = {
        "xticks": {n * FIFTHS + (FIFTHS - 1) / 2: f"chunk {n + 1}" for n in range(CHUNKS)},
        "levels": [1],
        "dotted": [border * FIFTHS - 0.5 for border in range(1, CHUNKS)],
        "ylim": (0, None),
    }
    return panels.draw(made, "place of the key", "attention / uniform share", height=1.8, legend="above", **axis)[0]


def caption(frame: Frame) -> str:
    rows, name = shown(frame)
    ends = rows.groupby(["kind", "fifth"])["share"].mean()
    last = CHUNKS * FIFTHS - 1
    said = ", ".join(f"{kind} {ends[kind, 0]:.2f} and {ends[kind, last]:.2f}" for kind in KINDS if kind in ends)
    passed = rows.drop_duplicates("seed")["passed"].sum()
    return (
        f"Attention of the last question rows along a text that fits into the {trained_on(frame)} tokens of training, "
        f"in fifths of a chunk; {label(name)}, a mean over layers, heads and documents. First and last fifth: {said}. "
        f"Lines: means of {counted(rows['seed'])} with 95 % intervals; {int(passed)} of {rows['seed'].nunique()} "
        "models know word order."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding and way to attend."""
    rivals(frame, "kind", "parallel_biases")
    made = []
    for (name, kind), own in frame.groupby(["encoding", "kind"], sort=False):
        row = {"encoding": label(name), "attention": kind, "seeds": own["seed"].nunique()}
        for column in COLUMNS:
            means = own.groupby("seed")[column].mean()
            row[column] = bounded(means.mean(), *seed_interval(means))
        made.append(row)
    return Frame(made)


def caption_table(frame: Frame) -> str:
    return (
        "Biases of the question's attention along a text, mean over seeds [95 % interval, Student's t]: its first "
        "fifth of a chunk (sink) and its last one (recency) over the uniform share, the number of peaks, the share of "
        "chunks whose ends are both above their middle (repeats), the total variation from the uniform share (distance)"
        ", and the highest fifth."
    )


FIGURE = FigureSpec(
    "parallel_profiles",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="ParallelComp, Figs. 1, 4 and 5",
    claims=("PC-F1", "PC-F4", "PC-F5", "PC-C18", "PC-CQ2", "PC-CQ3i"),
    columns=("encoding", "seed", "kind", "fifth", "share", "passed", "trained"),
    alt="Two panels of lines along a text of four chunks: attention relative to the uniform share, in a read "
    "without cuts, in chunks and joined, on the right after three kinds of eviction.",
)
TABLE = TableSpec("parallel_biases", build, caption_table, NOTEBOOK, ("encoding", "seed", "kind", *COLUMNS))
