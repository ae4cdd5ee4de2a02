"""Answers at an offset that the query names, with a rotation inside Goat's content and without."""

from attention_priors.figures import panels, style
from attention_priors.figures.curves import shares as share
from attention_priors.figures.goat.order import NOTEBOOK, ordered
from attention_priors.figures.methods import alone, label, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import times, trained_on
from attention_priors.tasks import addressing


def asked(frame: Frame) -> list[int]:
    """The training length and the longest."""
    return sorted({trained_on(frame), int(frame["length"].max())})


def draw(frame: Frame) -> Figure:
    """A panel an encoding: the share answered by address, at T and at the longest length."""
    rivals(frame, "encoding", "offsets named in the text")
    rows, trained, made = frame.assign(accuracy=frame["correct"] / frame["samples"]), trained_on(frame), {}
    for name in ordered(rows["encoding"]):
        at = {length: rows[(rows["encoding"] == name) & (rows["length"] == length)] for length in asked(rows)}
        looks = (alone(name), {"color": style.GREY, "dashes": (3, 1)})
        made[label(name)] = [
            panels.over(own, "accuracy", look | {"label": f"texts of {times(length, trained)}"}, share, by="address")
            for (length, own), look in zip(at.items(), looks, strict=False)
        ]
    axis = {"base": 2, "xticks": {place: f"{place}" for place in sorted(set(rows["address"]))[::2]}, **panels.SHARES}
    labels = ("address: which symbol from the end (octaves, by their first)", "share answered")
    return panels.draw(made, *labels, across=5, levels={addressing.CHANCE: "chance"}, legend="above", **axis)[0]


def caption(frame: Frame) -> str:
    trained = trained_on(frame)
    at = frame[frame["length"] == trained].groupby("encoding")[["correct", "samples"]].sum()
    means = (at["correct"] / at["samples"]).reindex(ordered(frame["encoding"]))
    each = ", ".join(f"{label(name)} {value:.2f}" for name, value in means.items())
    return (
        f"The k-th last symbol of a text, k named by the query, after training up to {trained} tokens. Answered in "
        f"texts of that length: {each}. By address (in octaves), at the training length and at the longest; means "
        f"over seeds; bars: 95 % intervals over seeds and questions; dots: seeds. Chance is {addressing.CHANCE:.3f}. "
        f"{named_seeds(frame).capitalize()}."
    )


FIGURE = FigureSpec(
    "goat_offset_answers",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, App. E.3",
    claims=("GOAT-E.3",),
    columns=("encoding", "seed", "length", "address", "correct", "samples", "trained"),
    alt="Panels for encodings with and without a rotation: the share of queries answered against the address "
    "that they name, at the training length and at a longer one.",
)
