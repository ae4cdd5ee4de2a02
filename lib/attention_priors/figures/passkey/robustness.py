"""Whether the order of encodings on passkeys survives another recipe, arm by arm."""

from ...experiments.robustness import FAR
from ..spec import Frame, TableSpec
from ..words import bounded
from .lines import NOTEBOOK


def build(frame: Frame) -> Frame:
    """A row for each arm."""
    return Frame(
        {
            "arm": row.arm,
            "encodings": row.encodings,
            "Kendall's τ with the benchmark": bounded(row.tau, row.low, row.high),
            "pairs that differ": row.pairs,
            "kept": row.kept,
            "turned": row.turned,
            "undecided": row.pairs - row.kept - row.turned,
        }
        for row in frame.itertuples()
    )


def caption(frame: Frame) -> str:
    return (
        f"The order of encodings by passkeys answered, mean over {', '.join(f'{times} T' for times in FAR[:-1])} and "
        f"{FAR[-1]} T and over seeds, in arms that change one thing, against the benchmark; encodings with models that "
        "passed the gate in both. τ [95 % bootstrap interval over encodings]. Of the pairs that differ in the "
        "benchmark (interval over seeds without 0), those that differ the same way in the arm, and the other way."
    )


TABLE = TableSpec(
    "robustness_order",
    build,
    caption,
    NOTEBOOK,
)
