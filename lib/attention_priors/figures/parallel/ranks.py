"""Does the question find its chunk? The rank of the chunk with the key by the question's self-information."""

import numpy as np

from attention_priors.evaluation import share_interval
from attention_priors.figures import panels, style
from attention_priors.figures.methods import label
from attention_priors.figures.parallel.needles import NOTEBOOK
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import counted, tokens, trained_on

KEEP = 3
CHANCE = {"color": style.GREY, "dashes": (1, 2), "label": "3 at random"}
# first so many, cutting: colour, dashes, marker, name
LINES = {
    (1, "no overlap"): (style.BLUE, (3, 1), "s", "is first"),
    (KEEP, "no overlap"): (style.ORANGE, style.SOLID, "o", "is among 3"),
    (KEEP, "overlap"): (style.GREEN, (5, 1, 1, 1), "^", "among 3, overlap"),
}


def shares(rows: Frame, first: int) -> tuple[Frame, Frame]:
    """By length: the share of prompts whose key's chunk is among the first so many, with its interval, and by seed."""
    found = rows.assign(hit=rows["rank"] <= first).groupby(["length", "seed"])["hit"].agg(["sum", "size"]).reset_index()
    found["share"] = found["sum"] / found["size"]
    mean = {}
    for length, each in found.groupby("length"):
        ends = share_interval(each["sum"], each["size"]) if len(each) > 1 else (np.nan, np.nan)
        mean[length] = each["share"].mean(), *ends
    return Frame.from_dict(mean, orient="index", columns=["mean", "low", "high"]), found.set_index("length")


def draw(frame: Frame) -> Figure:
    """A panel for each encoding: three shares against length, and what a choice at random has."""
    rivals(frame, "cutting", "parallel_ranks")
    made = {}
    for name, own in frame.groupby("encoding", sort=False):
        made[label(name)] = drawn = []
        for (first, cutting), (color, dashes, marker, said) in LINES.items():
            mean, seeds = shares(own[own["cutting"] == cutting], first)
            look = {"color": color, "dashes": dashes, "marker": marker, "label": said}
            drawn.append(panels.Line(mean.index, mean["mean"], look, mean["low"], mean["high"], seeds["share"]))
        chance = (KEEP / own[own["cutting"] == "no overlap"].groupby("length")["chunks"].mean()).clip(upper=1)
        drawn.append(panels.Line(chance.index, chance, CHANCE))
    axis = panels.lengths(frame["length"], trained_on(frame), most=5) | panels.SHARES | {"legend": "above"}
    return panels.draw(made, "prompt (tokens)", "share whose chunk ...", height=1.7, ncols=4, **axis)[0]


def caption(frame: Frame) -> str:
    rivals(frame, "cutting", "parallel_ranks")
    last, trained = int(frame["length"].max()), trained_on(frame)
    rows = frame[frame["length"] == last]
    said = []
    for name, own in rows.groupby("encoding", sort=False):
        kept = {cutting: (each["rank"] <= KEEP).mean() for cutting, each in own.groupby("cutting")}
        said.append(f"{label(name)} {kept['no overlap']:.2f} and {kept['overlap']:.2f}")
    plain = rows[rows["cutting"] == "no overlap"]
    missed = plain[plain["rank"] > KEEP]
    if len(missed):
        why = (
            f"; of those whose chunk is missed a border cuts {missed['cut'].mean():.2f}, and the first chunk, with "
            f"the description, is first in {missed['first'].mean():.2f}"
        )
    else:
        why = ""
    return (
        f"How often the chunk with the key has one of the {KEEP} lowest self-informations of the question. At "
        f"{tokens(last, trained)}, without overlap of chunks and with one by a key sentence: {'; '.join(said)}. "
        f"Without overlap a border cuts {plain['cut'].mean():.2f} of all keys{why}. Lines: means of "
        f"{counted(rows['seed'])} with 95 % intervals; dots: seeds."
    )


FIGURE = FigureSpec(
    "parallel_ranks",
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=("PC-MINI",),
    columns=("encoding", "seed", "length", "cutting", "rank", "chunks", "first", "cut", "trained"),
    alt="Lines against prompt length: share of prompts whose key's chunk is ranked first, or among the first three, "
    "by self-information, with and without overlap of chunks, and the share of a choice at random.",
)
