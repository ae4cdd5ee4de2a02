"""Passkey accuracy of trained models whose exponents are edited."""

import numpy as np
import pandas as pd

from attention_priors.figures import forest, style
from attention_priors.figures.curves import ACCURACY, t_interval
from attention_priors.figures.spec import Figure, FigureSpec, Frame
from attention_priors.figures.words import counted, times, trained_on

EDITS = ("as trained", "negative to uniform", "random to uniform", "positive to uniform", "all uniform")
MULTIPLES = (1, 2, 4, 16)  # of the training length: the panels
KEPT = 0.1  # accuracy at T: an edit that costs more has broken the task, not shortened its reach


def draw(frame: Frame) -> Figure:
    """A row for each edit, a panel for each of some lengths, with intervals and seeds."""
    trained, there = trained_on(frame), set(frame["length"])
    lengths = {m * trained: f"{m * trained:,} tokens ({m}×)" for m in MULTIPLES if m * trained in there}
    made = []
    for edit in EDITS:
        own = frame[frame["edit"] == edit].groupby("length")["accuracy"]
        cells = {title: _cell(own.get_group(length)) for length, title in lengths.items() if length in own.groups}
        if cells:
            made.append(forest.Row(edit, cells, style.ORANGE if edit == EDITS[0] else style.DARK))
    return forest.draw(made, list(lengths.values()), ACCURACY)[0]


def _cell(seeds: pd.Series) -> forest.Cell:
    low, high = np.clip(t_interval(seeds), 0, 1)
    return forest.Cell(list(seeds), seeds.mean(), low, high)


def caption(frame: Frame) -> str:
    return (
        "Passkey accuracy when the exponents of trained BAM SSMax models are edited at test time. An edited head gets "
        "the uniform prior, its content weights stay; as many random heads as have β < 0 are the control. "
        f"{at_training_length(frame)} Mark: mean over {counted(frame['seed'])}, "
        f"{int(frame['samples'].iloc[0])} prompts each; bar: t interval over seeds, cut at 0 and 1; dots above: seeds."
    )


def at_training_length(frame: Frame) -> str:
    """What the edit of the negative heads, and its control, do where the model was trained, and at the farthest."""
    means = frame.groupby(["length", "edit"])["accuracy"].mean()
    trained, last = trained_on(frame), int(frame["length"].max())
    edit, control = "negative to uniform", "random to uniform"
    if any(name not in means[trained].index for name in ("as trained", edit, control)):
        return ""
    said = ", ".join(f"{name} {means[trained][name]:.2f}" for name in ("as trained", edit, control))
    lost = means[trained]["as trained"] - means[trained][edit]
    broken = "; the edit fails at the training length itself, so that it breaks the task and does not set its reach"
    kept = "; the edit leaves the task as it was at the training length"
    far = f" At {times(last, trained)}: {means[last][edit]:.2f} edited, {means[last][control]:.2f} the control."
    return f"At {trained} tokens: {said}{broken if lost > KEPT else kept}." + far * (last > trained)


FIGURE = FigureSpec(
    "learned_edits",
    draw,
    caption,
    notebook="learned_priors",
    claims=("BAM-C21",),
    columns=("edit", "seed", "length", "accuracy", "samples", "trained"),
    alt="Rows of passkey accuracy for the trained model, three edits of its exponents and the same edit of random "
    "heads, a panel for each of some context lengths.",
)
