"""Answers at an offset that the query names, with a rotation inside Goat's content and without."""

from attention_priors.figures import style
from attention_priors.figures.curves import over_seeds
from attention_priors.figures.curves import shares as share
from attention_priors.figures.goat import panels
from attention_priors.figures.goat.panels import NOTEBOOK
from attention_priors.figures.methods import label, named_seeds, paint
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import times, trained_on
from attention_priors.tasks import addressing


def asked(frame: Frame) -> list[int]:
    """The training length and the longest."""
    return sorted({trained_on(frame), int(frame["length"].max())})


def draw(frame: Frame) -> Figure:
    """A panel an encoding: the share answered by address, at T and at the longest length."""
    rivals(frame, "encoding", "offsets named in the text")
    names, trained = panels.ordered(frame["encoding"]), trained_on(frame)
    fig, axes = panels.grid(names, height=1.5, across=5)
    looks = [("-", None), ((0, (3, 1)), style.GREY)]
    for ax, name in zip(axes, names, strict=True):
        color, marker = paint(name)
        for length, (dashes, shade) in zip(asked(frame), looks, strict=False):
            own = frame[(frame["encoding"] == name) & (frame["length"] == length)]
            own = own.assign(accuracy=own["correct"] / own["samples"])
            panels.bars(ax, over_seeds(own, "accuracy", share, by="address"), shade or color, None if shade else marker,
                        linestyle=dashes, label=f"texts of {times(length, trained)}")  # fmt: skip
            if shade is None:
                style.seed_dots(ax, own["address"], own["accuracy"], style.darken(color))
        ax.axhline(addressing.CHANCE, color=style.PALE, linewidth=0.7, linestyle=(0, (1, 2)), label="chance")
        ax.set_xscale("log", base=2)
        ticks = sorted(set(frame["address"]))[::2]
        ax.set_xticks(ticks, [f"{tick}" for tick in ticks])
        ax.minorticks_off()
        panels.shares(ax)
    panels.legend(fig, axes[0], f"texts of {times(trained, trained)}")
    fig.supxlabel("address: which symbol from the end (octaves, by their first)")
    fig.supylabel("share answered")
    return fig


def caption(frame: Frame) -> str:
    trained = trained_on(frame)
    at = frame[frame["length"] == trained].groupby("encoding")[["correct", "samples"]].sum()
    means = (at["correct"] / at["samples"]).reindex(panels.ordered(frame["encoding"]))
    each = ", ".join(f"{label(name)} {value:.2f}" for name, value in means.items())
    return (
        f"The k-th last symbol of a text, k named by the query, after training up to {trained} tokens. Answered in "
        f"texts of that length: {each}. By address (in octaves), at the training length and at the longest; means "
        f"over seeds; bars: 95 % intervals over seeds and questions; dots: seeds. Chance is {addressing.CHANCE:.3f}. "
        f"{named_seeds(frame).capitalize()}."
    )


FIGURE = FigureSpec(
    "goat_offset_answers", draw, caption, notebook=NOTEBOOK, paper="Goat, App. E.3", claims=("GOAT-E.3",),
    columns=("encoding", "seed", "length", "address", "correct", "samples", "trained"),
    alt="Panels for encodings with and without a rotation: the share of queries answered against the address "
    "that they name, at the training length and at a longer one.",
)  # fmt: skip
