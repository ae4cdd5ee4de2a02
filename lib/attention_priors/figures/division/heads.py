"""Which heads copy the passkey: each head of every model, those that rotate apart from the rest."""

from matplotlib.lines import Line2D

from attention_priors.figures import style
from attention_priors.figures.division.kinds import NOTEBOOK
from attention_priors.figures.methods import label, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import tokens, trained_on

TURNED, PLAIN = (style.GREEN, "^", "rotates"), (style.ORANGE, "o", "does not")
COPIES = 0.2  # attention on the digit to be said above which we say that a head copies


def draw(frame: Frame) -> Figure:
    """A row an encoding; left the attention on the digit to be said, right the prompts lost without the head."""
    names = list(rivals(frame, "encoding", "division_heads")["encoding"].unique())
    fig, axes = style.figure(style.MIDDLE, 0.8 + 0.24 * len(names), ncols=2, sharey=True)
    for place, name in enumerate(names):
        own = frame[frame["encoding"] == name]
        for turned, (color, marker, _) in ((1, TURNED), (0, PLAIN)):
            rows = own[own["rotated"] == turned]
            y = place + (0.15 if turned else -0.15)
            lost = (rows["whole"] - rows["without"]) / rows["samples"]
            for ax, values in zip(axes, (rows["copied"], lost), strict=True):
                ax.plot(values, [y] * len(rows), marker, color=color, markersize=3, markeredgewidth=0)
    axes[0].set_yticks(range(len(names)), [label(name) for name in names])
    axes[0].invert_yaxis()
    trained = trained_on(frame)
    axes[0].set(xlabel=f"attention on the digit\nto be said, at {trained}", xlim=(-0.03, 1.03))
    axes[1].set(xlabel="share of prompts lost\nwithout the head")
    handles = [Line2D([], [], linestyle="", marker=marker, color=color, label=f"head that {what}" if what == "rotates"
                      else f"head that {what} rotate") for color, marker, what in (TURNED, PLAIN)]  # fmt: skip
    fig.legend(handles=handles, loc="outside upper center", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    copying = frame[frame["copied"] >= COPIES]
    turned = int((copying["rotated"] == 1).sum())
    trained = trained_on(frame)
    return (
        f"All heads of all passkey models ({named_seeds(frame)}). Left: attention of the answering rows on the digit "
        f"that they are about to say, at both mentions of the key, in prompts of {tokens(trained, trained)}. Right: "
        f"share of {int(frame['samples'].iloc[0])} prompts that are lost when nothing comes out of the head. "
        f"{len(copying)} of {len(frame)} heads give the digit {COPIES} or more; {turned} of these rotate."
    )


FIGURE = FigureSpec(
    "division_heads", draw, caption, notebook=NOTEBOOK,
    columns=("encoding", "seed", "rotated", "copied", "whole", "without", "samples", "trained"),
    alt="Two strips of points with a row for each encoding, one point a head: attention on the digit to be said, and "
    "prompts lost without the head; heads that rotate are green triangles, the others orange discs.",
)  # fmt: skip
