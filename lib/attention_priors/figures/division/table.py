"""Retrieval and addresses for every composition, as a table."""

import numpy as np

from attention_priors.evaluation import share_interval
from attention_priors.figures.division.kinds import NOTEBOOK, kind
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, extremes, listed, times, trained_on


def build(frame: Frame) -> Frame:
    """A row for each encoding."""
    rows = []
    for name, own in rivals(frame, "encoding", "division").groupby("encoding", sort=False):
        trained = trained_on(own)

        def share(column: str, own: Frame = own) -> str:
            if column.startswith("at"):
                own = own[own["passed"].astype(bool)]
            right, asked = own[f"{column}_correct"], own[f"{column}_samples"]
            ends = share_interval(right, asked) if len(own) > 1 else (np.nan, np.nan)
            return bounded(own[column].mean(), *ends) if len(own) else "–"

        columns = ("far", "longest", "longest_address")
        far, longest, address = (times(own[column].iloc[0], trained) for column in columns)
        rows.append(
            {
                "encoding": label(name),
                "rotates": kind(name),
                "seeds": listed(own["seed"]),
                "passed": f"{int(own['passed'].sum())} of {len(own)}",
                "steps": extremes(own["steps"]),
                "passkeys at 1×": share("at"),
                f"at {far}": share("at_far"),
                f"at {longest}": share("at_longest"),
                "near addresses at 1×": share("near"),
                f"near at {address}": share("near_longest"),
                "far addresses at 1×": share("beyond"),
                f"far at {address}": share("beyond_longest"),
                "copied through rotated heads": f"{own['rotated'].mean():.2f}",
                "exceptions": f"{int(own['exception'].sum())} of {int(own['passed'].sum())}",
            }
        )
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        f"Compositions on both tasks, lengths in multiples of {trained_on(frame)} tokens: share answered, mean over "
        "seeds [95 % interval]; of passkeys over the models that passed, which learned them up to the training length. "
        "Copied: share of the "
        "copying attention that rotated heads have. An exception passes, and does not do as the hypothesis says."
    )


TABLE = TableSpec(
    "division_models",
    build,
    caption,
    NOTEBOOK,
    (
        "encoding",
        "seed",
        "passed",
        "steps",
        "trained",
        "far",
        "longest",
        "longest_address",
        "rotated",
        "exception",
        *(
            f"{name}{part}"
            for name in ("at", "at_far", "at_longest", "near", "near_longest", "beyond", "beyond_longest")
            for part in ("", "_correct", "_samples")
        ),
    ),
)
