"""Loss of the same last tokens against context length, by way to read what stands before (ParallelComp, Table 3)."""

from attention_priors.experiments.parallel_language import BY_TARGETS
from attention_priors.figures import panels, style
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import counted, extremes, tokens, trained_on
from attention_priors.parallel.methods import METHODS

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


def draw(frame: Frame) -> Figure:
    """A panel for each encoding: loss minus that of the model as trained at the training length."""
    rivals(frame, "method", "parallel_losses")
    made = {}
    for encoding, own in frame.groupby("encoding", sort=False):
        looks = {
            method: dict(zip(("color", "dashes", "marker"), drawn, strict=True)) | {"label": name(method)}
            for method, drawn in DRAWN.items()
            if method in set(own["method"])
        }
        made[label(encoding)] = [
            panels.over(own[own["method"] == method], "growth", drawn) for method, drawn in looks.items()
        ]
    axis = panels.lengths(frame["length"], trained_on(frame), most=5) | {"levels": [0], "legend": "above"}
    return panels.draw(made, "context (tokens)", "loss above that at T (nats)", height=1.9, ncols=4, **axis)[0]


def caption(frame: Frame) -> str:
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


FIGURE = FigureSpec(
    "parallel_losses_by_seed",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="ParallelComp, Table 3",
    claims=("PC-TAB3",),
    columns=("encoding", "method", "seed", "length", "growth", "passed", "documents", "trained", "scored"),
    alt="Lines of loss against context length, one for each way to read, in a panel for each encoding; dots for seeds "
    "and bars for intervals.",
)
