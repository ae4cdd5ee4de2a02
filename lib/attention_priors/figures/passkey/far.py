"""Out to 500 times the training length: the encodings that still answer at 64 times it, every seed of each."""

from attention_priors.figures import panels
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.methods import UNTRAINED, alone, label
from attention_priors.figures.passkey import lines
from attention_priors.figures.passkey.main import FARTHEST
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, GOOD, times, trained_on

ABREAST = 5  # panels in a row


def _far(frame: Frame) -> Frame:
    """The plain answers of the encodings that were asked beyond 64 times the training length, from that length on."""
    rows = lines.plain(frame)
    rows = rows[(rows["length"] >= rows["trained"]) & (rows["encoding"] != UNTRAINED)]
    asked = set(rows["encoding"][rows["length"] > FARTHEST * rows["trained"]])
    return rivals(rows[rows["encoding"].isin(asked)], "encoding", "passkey_far")


def draw(frame: Frame) -> Figure:
    """A panel an encoding: seeds side by side with their exact intervals, and their mean."""
    rows, made = _far(frame), {}
    for name, own in rows.groupby("encoding", sort=False):
        mean, look = over_seeds(own, "accuracy", shares)["mean"], alone(name)
        made[label(name)] = [
            panels.Line(
                one["length"], one["accuracy"], look | {"linestyle": "", "label": "_seed"}, one["low"], one["high"]
            )
            for _, one in own.groupby("seed")
        ]
        made[label(name)].append(panels.Line(mean.index, mean, look | {"marker": "None"}))
    ticks = {length: times(length, trained_on(rows)) for length in sorted(set(rows["length"]))[::3]}
    axis = {"base": 2, "xticks": ticks, "rotation": 45, "levels": [GOOD], **panels.SHARES}
    return panels.draw(made, panels.multiple(rows), "share of passkeys retrieved", across=ABREAST, **axis)[0]


def caption(frame: Frame) -> str:
    rows = _far(frame)
    last, trained = lines.last_and_trained(rows)
    ends = rows[rows["length"] == last].groupby("encoding")["accuracy"].mean().sort_values(ascending=False)
    each = ", ".join(f"{label(name)} {value:.2f}" for name, value in ends.items())
    return (
        f"Encodings that are asked beyond {FARTHEST} times their training length of {trained} tokens, out to "
        f"{times(last, trained)[:-1]} times. Dots: every seed, side by side, with its exact 95 % binomial interval; "
        f"line: mean over seeds; grey line: {GOOD}. Mean at {last:,} tokens: {each}. Chance is {CHANCE}. "
        f"{lines.counts(rows)}."
    )


FIGURE = FigureSpec(
    "passkey_by_length",
    draw,
    caption,
    notebook=lines.NOTEBOOK,
    paper="BAM, Fig. 3",
    claims=("BAM-C1", "BAM-F3"),
    columns=(*lines.COLUMNS, "low", "high"),
    alt="Panels, one for each encoding that is asked furthest: passkey accuracy of every seed against context length, "
    "as dots with error bars side by side, and their mean as a line.",
)
