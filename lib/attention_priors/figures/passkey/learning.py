"""How fast the task is learned: held-out accuracy while each encoding of the main comparison is trained."""

from attention_priors.figures import style
from attention_priors.figures.methods import label, paint
from attention_priors.figures.passkey.lines import NOTEBOOK
from attention_priors.figures.passkey.main import ACROSS
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import bounded, extremes, listed


def _plain(frame: Frame) -> Frame:
    return frame[frame["form"] == "plain"]


def _ranked(frame: Frame) -> list[str]:
    return list(frame.groupby("encoding")["steps"].mean().sort_values(kind="stable").index)


def draw(frame: Frame) -> Figure:
    """A panel an encoding, the fastest first; a line a seed, ending where its training ended."""
    frame = _plain(frame)
    names = _ranked(rivals(frame, "encoding", "passkey_learning"))
    down = -(-len(names) // ACROSS)
    fig, axes = style.figure(
        style.DOUBLE, 0.55 + 1.2 * down, nrows=down, ncols=ACROSS, sharex=True, sharey=True, squeeze=False
    )
    for ax, name in zip(style.panels(axes, len(names)), names, strict=True):
        color, marker = paint(name)
        for _, own in frame[frame["encoding"] == name].groupby("seed"):
            ax.plot(own["step"], own["accuracy"], color=color, linewidth=0.9)
            face = "white" if own["steps"].iloc[0] >= own["most"].iloc[0] else color
            ax.plot(
                own["step"].iloc[-1], own["accuracy"].iloc[-1], marker, color=color, markerfacecolor=face, markersize=3
            )
        title = style.broken(label(name), style.DOUBLE / ACROSS)
        ax.set_title(title, color=style.darken(color, 0.25), fontsize=style.SMALLEST)
        ax.set_ylim(-0.04, 1.04)
        ax.set_yticks([0, 0.5, 1])
    fig.supxlabel("training step")
    fig.supylabel("held-out prompts answered")
    return fig


def caption(frame: Frame) -> str:
    frame = _plain(frame)
    steps = frame.groupby(["encoding", "seed"])["steps"].first()
    most = int(frame["most"].iloc[0])
    spent = int((steps >= most).sum())
    return (
        "Share of held-out prompts that a model answers while it is trained, from the fastest encoding to the slowest. "
        f"A line for each of seeds {listed(frame['seed'])} ends at a mark where the gate is met. Then the rate falls "
        f"and training ends. Hollow: {spent} of {len(steps)} models took all {most} steps. The prompts have lengths "
        "from three quarters of the training length to all of it."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding: how long it took, and whether its models learned the task."""
    rows = []
    for (form, name), own in frame.sort_values("form", ascending=False, kind="stable").groupby(
        ["form", "encoding"], sort=False
    ):
        rows.append({"form": form, "encoding": label(name), "seeds": len(own),
                     "passed the gate": f"{int(own['passed'].sum())} of {len(own)}",
                     "steps": extremes(own["steps"]), "steps at most": int(own["most"].iloc[0]),
                     "accuracy up to the training length": bounded(*own["pooled"].agg(["mean", "min", "max"])),
                     "worst length": f"{own['worst'].min():.2f}"})  # fmt: skip
    return Frame(rows)


def caption_gate(frame: Frame) -> str:
    return (
        "The gate: a model has learned to retrieve when it answers 0.95 of all prompts at the tested lengths up to the "
        "training length, and 0.90 at each of them. Accuracy: mean over seeds [lowest, highest seed]; worst: the "
        "lowest of any seed and length. A model that misses the gate is shown and decides nothing."
    )


FIGURE = FigureSpec(
    "passkey_training", draw, caption, notebook=NOTEBOOK,
    columns=("form", "encoding", "seed", "step", "accuracy", "steps", "most"),
    alt="Small panels, one for each encoding from the fastest to the slowest: share of held-out prompts answered "
    "against training step, a line for each seed.",
)  # fmt: skip
GATE = TableSpec(
    "passkey_gate", build, caption_gate, NOTEBOOK,
    ("form", "encoding", "seed", "steps", "most", "pooled", "worst", "passed"),
)  # fmt: skip
