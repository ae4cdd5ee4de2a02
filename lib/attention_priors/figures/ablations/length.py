"""Longer training texts (BAM, Fig. 12)."""

from attention_priors.figures.ablations.study import TRAINING, Panels, Study
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame
from attention_priors.figures.style import length_label


def _panels(arms: Frame) -> Panels:
    made: Panels = {}
    for row in arms.sort_values("trained").itertuples():
        made.setdefault(label(row.encoding), {})[row.arm] = length_label(row.trained)
    return made


STUDY = Study("length", "training length", _panels, ("encoding",))
FIGURE = STUDY.figure(
    TRAINING,
    "Trained on texts of several lengths (tokens; the name of a line), with as many texts a step.",
    "training lengths",
    "BAM, Fig. 12",
    ("BAM-F11", "BAM-F12"),
)
