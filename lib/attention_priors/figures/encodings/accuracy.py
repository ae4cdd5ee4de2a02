"""Passkey accuracy of all encodings and extensions by length."""

from attention_priors.figures import heat_maps
from attention_priors.figures.encodings.families import compared, draw_map
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import CHANCE, extremes, prompts, trained_on
from attention_priors.positions.encodings import encoding


def ranked(frame: Frame) -> list[str]:
    """Encodings from the best: by mean accuracy over the lengths of `compared` (undefined counts as 0)."""
    common = frame[frame["length"].isin(compared(frame))]
    order = common.assign(mean=common["mean"].fillna(0)).groupby("encoding", sort=False)["mean"].mean()
    return list(order.sort_values(ascending=False, kind="stable").index)


def starred(name: str) -> str:
    """The label, with an asterisk where no model was trained for it."""
    return f"{label(name)} *" if encoding(name).trained_as else label(name)


def draw(frame: Frame) -> Figure:
    """Rows are encodings, cells means over seeds."""
    labels = {name: starred(name) for name in ranked(frame)}
    mesh = draw_map(
        frame,
        "mean",
        labels,
        {"undefined": "n/a", "given up": "•", "left out": ""},
        _written,
        lambda value: value <= 0.5,
        **heat_maps.SHARES,
    )
    heat_maps.color_bar(mesh, mesh.axes, ticks=[0, 0.5, 1], aspect=40, pad=0.02, label="share of passkeys retrieved")
    return mesh.figure


def _written(share: float) -> str:
    """What the colour does not tell."""
    return "" if (text := f"{share:.2f}") in ("0.00", "1.00") else text


def caption(frame: Frame) -> str:
    trained, wide = trained_on(frame), (frame["high"] - frame["low"]).where(frame["state"] == "asked")
    lengths = compared(frame)
    empty = " empty: not asked, with a hit at the last length that was;" if "left out" in set(frame["state"]) else ""
    return (
        f"One benchmark for {len(ranked(frame))} encodings and extensions: share of passkeys retrieved, mean of "
        f"{extremes(frame['seeds'])} seeds, trained on {trained} tokens by one recipe, ordered by the mean from "
        f"{lengths[0]:,} to {lengths[-1]:,} tokens. {prompts(frame)}. 1.00 and 0.00 are not written. *: evaluated on "
        f"another row's weights (RoPE's). Dot: no seed is asked any more, after too many lengths in a row without a "
        f"hit;{empty} n/a: the encoding ends before. Intervals are in the table; half of the cells' are wider than "
        f"{wide.median():.2f}. Chance is {CHANCE}."
    )


FIGURE = FigureSpec(
    "encodings_by_length",
    draw,
    caption,
    notebook="passkeys",
    claims=("X-11",),
    columns=("encoding", "family", "length", "seeds", "samples", "mean", "low", "high", "state", "trained"),
    alt="Heat map with a row for each encoding and a column for each context length, cells with the share of passkeys "
    "retrieved; a marker at each row tells how position enters.",
)
