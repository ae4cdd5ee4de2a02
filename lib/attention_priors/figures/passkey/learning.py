"""Who learned the task, and how fast."""

from attention_priors.figures.methods import label
from attention_priors.figures.passkey.lines import NOTEBOOK
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import bounded, extremes


def build(frame: Frame) -> Frame:
    """A row for each encoding: how long it took, and whether its models learned the task."""
    rows = []
    for (form, name), own in frame.sort_values("form", ascending=False, kind="stable").groupby(
        ["form", "encoding"], sort=False
    ):
        rows.append(
            {
                "form": form,
                "encoding": label(name),
                "seeds": len(own),
                "passed the gate": f"{int(own['passed'].sum())} of {len(own)}",
                "steps": extremes(own["steps"]),
                "steps at most": int(own["most"].iloc[0]),
                "accuracy up to the training length": bounded(*own["pooled"].agg(["mean", "min", "max"])),
                "worst length": f"{own['worst'].min():.2f}",
            }
        )
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        "The gate: a model has learned to retrieve when it answers 0.95 of all prompts at the tested lengths up to the "
        "training length, and 0.90 at each of them. Accuracy: mean over seeds [lowest, highest seed]; worst: the "
        "lowest of any seed and length. A model that misses the gate is shown and decides nothing."
    )


GATE = TableSpec(
    "passkey_gate",
    build,
    caption,
    NOTEBOOK,
    ("form", "encoding", "seed", "steps", "most", "pooled", "worst", "passed"),
)
