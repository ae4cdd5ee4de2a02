"""Accuracy by length where the key stands among decoy digits."""

import pandas as pd

from attention_priors.figures.methods import UNTRAINED
from attention_priors.figures.passkey import lines
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals


def _decoys(frame: Frame) -> Frame:
    """The harder form, and the control, which answers the plain one."""
    hard = rivals(frame[frame["form"] == "hard"], "encoding", "passkey_hard")
    control = frame[(frame["encoding"] == UNTRAINED) & frame["length"].isin(set(hard["length"]))]
    return pd.concat([hard, control])


def draw(frame: Frame) -> Figure:
    return lines.draw(_decoys(frame), 2.5)


def caption(frame: Frame) -> str:
    rows = _decoys(frame)
    last, trained = lines.last_and_trained(rows)
    said = f"The harder form, trained on {trained} tokens: the key stands among sentences that hold other digits."
    easy = lines.share(lines.plain(frame), last)
    found = f"BAM SSMax retrieves {lines.share(rows, last)}; in the plain form {easy}"
    return lines.caption(rows, said, found, "It answers the plain form. ")


FIGURE = FigureSpec(
    "passkey_by_length", draw, caption, notebook=lines.NOTEBOOK, columns=lines.COLUMNS,
    alt=f"{lines.ALT}for the form with decoy digits, with bands for intervals and dots for seeds.",
)  # fmt: skip
