"""The load of associative recall that a model carries at half accuracy, by length."""

from ..experiments.recall import HALF
from . import panels
from .methods import alone, label, named_runs, named_seeds
from .spec import Figure, FigureSpec, Frame, rivals
from .words import tokens, trained_on

ACROSS = 5


def draw(frame: Frame) -> Figure:
    rows, made = rivals(frame, "encoding", "recall_carried"), {}
    grey = panels.behind(rows, "carried")
    for name, own in rows.groupby("encoding", sort=False):
        hollow = {} if own["passed"].any() else {"markerfacecolor": "white"}
        made[label(name)] = [*grey, panels.over(own, "carried", alone(name) | hollow)]
    most = int(rows["most"].max())
    axis = panels.multiples(rows["length"], trained_on(rows))
    axis |= {"ylim": (-0.04 * most, 1.04 * most), "yticks": [0, most / 4, most / 2, most]}
    return panels.draw(made, panels.multiple(rows), "pairs carried at half accuracy", across=ACROSS, **axis)[0]


def caption(frame: Frame) -> str:
    rows = rivals(frame, "encoding", "recall_carried")
    trained, last = trained_on(rows), int(rows["length"].max())
    means = rows[rows["length"] == last].groupby("encoding")["carried"].mean().round()
    best = means.index[means == means.max()]
    who = f"{label(best[0])} carries" if len(best) == 1 else f"{len(best)} of {len(means)} encodings carry"
    all_ = means.max() >= rows["most"].max()
    runs = rows.drop_duplicates(["encoding", "seed"])
    missed = runs[~runs["passed"].astype(bool)]
    below = f"Below the gate, and so deciding nothing: {named_runs(missed)} (hollow: no seed passed). "
    within = rows.loc[rows["length"] <= trained, "most"].max()
    return (
        f"Pairs of key and value that models carry: the load up to which they answer {HALF:g} of the queries or more, "
        f"trained on up to {trained} tokens. At {tokens(last, trained)} {who} "
        f"{'all' if all_ else 'most,'} {means.max():.0f}. {below * bool(len(missed))}The load is read off a line over "
        "its logarithm; 0: under "
        f"{rows['least'].min()} pairs. Up to {rows['most'].max()} are asked; texts of up to {trained} tokens hold "
        f"at most {within}, which is why lines rise there. Line: mean over seeds; bars: 95 % t interval of that mean; "
        f"dots: seeds; dotted vertical line: training length; grey: the other encodings; {named_seeds(rows)}."
    )


CARRIED = FigureSpec(
    "recall_carried",
    draw,
    caption,
    notebook="needles",
    claims=("X-40", "X-41", "X-42"),
    alt="A panel for each encoding: pairs carried at half accuracy against context length as a multiple of the "
    "training length, with bars and seeds, all other encodings in grey.",
)
