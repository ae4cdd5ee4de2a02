"""Encodings of the algorithmic tasks in the order in which they are shown, and how many seeds they have."""

from attention_priors.figures.methods import UNTRAINED
from attention_priors.figures.spec import Frame
from attention_priors.figures.words import extremes
from attention_priors.positions.encodings import ENCODINGS, encoding

CHANCE, SAME = (0, (1, 2)), (0, (4, 2))  # dashes of the vertical lines


def plain(name: str) -> str:
    """The form without randomised positions."""
    return name if name == UNTRAINED else encoding(name).base


def listed(frame: Frame) -> list[str]:
    """Encodings by base in the order of ENCODINGS, each randomised form after its plain one, the control last."""
    order = [*ENCODINGS, UNTRAINED]
    return sorted(set(frame["encoding"]), key=lambda name: (order.index(plain(name)), name))


def seeds(frame: Frame, kind: str) -> str:
    """How many seeds each model of a kind has: 3, or 3–5."""
    return extremes(frame.groupby([kind, "encoding"])["seed"].nunique())
