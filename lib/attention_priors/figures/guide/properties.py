"""The table of properties of the encodings, each found by a test on a small model."""

from attention_priors.experiments import properties
from attention_priors.figures.spec import Frame, Size, TableSpec
from attention_priors.positions.encodings import ENCODINGS

NAMED = {"relative": "relative", "trainable": "trainable", "each_layer": "in each layer"}


def rows(size: Size, seed: int) -> Frame:
    """A row for each encoding that is trained as itself and without SSMax."""
    names = [k for k, row in ENCODINGS.items() if row.trained_as is None and not row.ssmax]
    return properties.properties([k for k in names if ENCODINGS[k].family != "composition"])


def build(frame: Frame) -> Frame:
    """A row for each encoding, yes or no."""
    answers = frame[list(NAMED)].replace({True: "yes", False: "no"}).rename(columns=NAMED)
    return answers.assign(encoding=frame["label"])[["encoding", *NAMED.values()]]


def caption(frame: Frame) -> str:
    return (
        f"Properties of {len(frame)} encodings, each found by a test on a small model with moved parameters: relative, "
        "the scores of one token everywhere depend on i - j alone, up to a constant of the row; trainable, positions "
        "have parameters that a gradient moves; in each layer, and not added to the input alone."
    )


TABLE = TableSpec("guide_properties", build, caption, notebook="field_guide", columns=("label", *NAMED), rows=rows)
