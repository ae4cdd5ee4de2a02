"""Where the trained priors of Goat's heads put their mass: ahead without a mask, near the diagonal with one."""

from attention_priors.figures import panels, style
from attention_priors.figures.goat.order import NOTEBOOK
from attention_priors.figures.methods import alone, label, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals


def draw(frame: Frame) -> Figure:
    """A panel a form of Goat, a dot a head; lines: the uniform prior."""
    rivals(frame, "encoding", "the priors of Goat's heads")
    made = {
        label(name): [panels.Line(own["ahead"], own["recent"], alone(name) | {"linestyle": "", "markersize": 4})]
        for name, own in frame.groupby("encoding", sort=False)
    }
    axis = {"xlim": panels.SHARES["ylim"], "xticks": {0: "0", 0.5: "0.5", 1: "1"}, **panels.SHARES}
    labels = ("mass on later keys, without a mask", "mass on the nearest\nkeys, with a mask")
    fig, axes = panels.draw(made, *labels, across=5, **axis)
    for ax, (_, own) in zip(axes, frame.groupby("encoding", sort=False), strict=True):
        ax.axvline(own["ahead_uniform"].iloc[0], color=style.GREY, linewidth=0.7, linestyle=":")
        ax.axhline(own["recent_uniform"].iloc[0], color=style.GREY, linewidth=0.7, linestyle=":")
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
    "goat_passkey_heads",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 3b",
    claims=("GOAT-F3b",),
    columns=("encoding", "seed", "length", "ahead", "ahead_uniform", "recent", "recent_uniform"),
    alt="Scatter plots, one for each form of Goat, with a mark for each head: prior mass on later keys without a mask "
    "against mass on the nearest keys with one, dotted lines at the uniform prior.",
)
