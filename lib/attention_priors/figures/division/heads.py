"""Who copies, rotated heads or others, and what a window after training repairs."""

from attention_priors.experiments.division import AS_TRAINED, LATE
from attention_priors.figures.division.kinds import NOTEBOOK
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame, TableSpec, rivals
from attention_priors.figures.words import listed, tokens, trained_on

COPIES = 0.2  # attention on the digit to be said above which we say that a head copies


def build(frame: Frame) -> Frame:
    """A row an encoding: of its rotated heads and of the others, how many copy, and the most that one is needed."""
    rivals(frame, "encoding", "division_heads")
    frame = frame.assign(lost=(frame["whole"] - frame["without"]) / frame["samples"])
    rows = []
    for name, own in frame.groupby("encoding", sort=False):
        row = {"encoding": label(name)}
        for turned, heads in ((1, "rotated"), (0, "other")):
            part = own[own["rotated"] == turned]
            row[f"{heads} heads that copy"] = f"{int((part['copied'] > COPIES).sum())} of {len(part)}"
            row[f"most prompts lost without one, {heads}"] = f"{part['lost'].max():.2f}" if len(part) else "–"
        rows.append(row)
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        f"Heads of passkey models in prompts of {trained_on(frame)} tokens, seeds {listed(frame['seed'])}. A head "
        f"copies if the answering rows give more than {COPIES} of their attention to the digit that they are about to "
        "say. Lost: share of prompts that the model answers, and not without that head."
    )


def edited(frame: Frame) -> Frame:
    """The models that were read both ways, at the longest length."""
    rivals(frame, "edit", "division_edits")
    both = frame.groupby("encoding")["edit"].transform("nunique") == 2
    return frame[both & (frame["length"] == frame["length"].max())]


def build_edits(frame: Frame) -> Frame:
    """A row a model: the passkeys that it answers as trained and with the window."""
    rows = edited(frame)
    shares = rows.assign(share=rows["correct"] / rows["samples"], encoding=rows["encoding"].map(label))
    table = shares.pivot_table("share", ["encoding", "seed"], "edit", sort=False)
    return table[[AS_TRAINED, LATE]].map("{:.2f}".format).reset_index().rename_axis(columns=None)


def caption_edits(frame: Frame) -> str:
    rows, trained = edited(frame), trained_on(frame)
    return (
        f"Passkeys answered at {tokens(rows['length'].iloc[0], trained)} by models trained without windows: as "
        f"trained, and with a window of {trained} tokens on the heads that rotate, so that no angle is new; no weight "
        f"is changed. {int(rows['samples'].iloc[0])} prompts each, others than in the table of all models."
    )


HEADS = TableSpec(
    "division_heads",
    build,
    caption,
    NOTEBOOK,
    ("encoding", "seed", "rotated", "copied", "whole", "without", "samples", "trained"),
)
EDITS = TableSpec(
    "division_edits",
    build_edits,
    caption_edits,
    NOTEBOOK,
    ("encoding", "seed", "edit", "length", "correct", "samples", "trained"),
)
