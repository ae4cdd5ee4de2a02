"""Where the trained priors of Goat's heads put their mass: ahead without a mask, near the diagonal with one."""

from attention_priors.figures import style
from attention_priors.figures.goat import panels
from attention_priors.figures.goat.panels import NOTEBOOK
from attention_priors.figures.methods import label, named_seeds, paint
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals


def draw(frame: Frame) -> Figure:
    """A panel a form of Goat, a dot a head; lines: the uniform prior."""
    rivals(frame, "encoding", "the priors of Goat's heads")
    names = list(frame["encoding"].unique())
    fig, axes = panels.grid(names, height=1.6, across=5)
    for ax, name in zip(axes, names, strict=True):
        own = frame[frame["encoding"] == name]
        color, marker = paint(name)
        ax.axvline(own["ahead_uniform"].iloc[0], color=style.GREY, linewidth=0.7, linestyle=":")
        ax.axhline(own["recent_uniform"].iloc[0], color=style.GREY, linewidth=0.7, linestyle=":")
        ax.plot(own["ahead"], own["recent"], marker, color=color, markersize=4.5, markeredgewidth=0)
        panels.shares(ax)
        ax.set_xlim(-0.04, 1.04)
        ax.set_xticks([0, 0.5, 1])
    fig.supxlabel("mass on later keys, without a mask")
    fig.supylabel("mass on the nearest\nkeys, with a mask")
    return fig


def caption(frame: Frame) -> str:
    both = (frame["ahead"] > frame["ahead_uniform"]) & (frame["recent"] > frame["recent_uniform"])
    each = ", ".join(f"{label(name)} {int(own.sum())} of {len(own)}" for name, own in both.groupby(frame["encoding"]))
    return (
        f"Trained priors of passkey models over {int(frame['length'].iloc[0])} keys, a mark for each head: mass on "
        f"later keys without a mask, and on the nearest eighth of the lags with one. Heads that exceed the uniform "
        f"prior (dotted) in both: {each}. Means over queries; {named_seeds(frame)}."
    )


FIGURE = FigureSpec(
    "goat_passkey_heads", draw, caption, notebook=NOTEBOOK, paper="Goat, Fig. 3b", claims=("GOAT-F3b",),
    columns=("encoding", "seed", "length", "ahead", "ahead_uniform", "recent", "recent_uniform"),
    alt="Scatter plots, one for each form of Goat, with a mark for each head: prior mass on later keys without a mask "
    "against mass on the nearest keys with one, dotted lines at the uniform prior.",
)  # fmt: skip
