"""How far every encoding reaches: a row for each, a mark for each seed."""

from collections.abc import Callable, Sequence

import numpy as np

from attention_priors.figures import style
from attention_priors.figures.spec import Figure, Frame
from attention_priors.figures.words import GOOD, trained_on

COLUMNS = ("encoding", "seed", "reach", "longest_tested", "trained")
ALT = (
    "A row for each encoding with a mark for each seed at the longest context length where its accuracy is still "
    f"{GOOD}, on a log axis; "
)


def draw(
    frame: Frame, order: Sequence[str], look: Callable[[Frame], tuple[str, str]], labels: Sequence[str],
    *, height: float, apart: tuple[float, float], ended: str | None = None,
) -> tuple[Figure, list[int]]:  # fmt: skip
    """The encodings of `order` from below, each with the colour and marker that `look` gives to its rows.

    A bar ends at the median, a grey tick at the longest tested length; `ended` marks seeds that reached that. Seeds
    stand apart[0] of a row from one another, or less so that all lie within apart[1]. Returns the ticks, too.
    """
    trained = trained_on(frame)
    never = trained / 2  # where a model stands that is below the mark at its training length already
    fig, ax = style.figure(style.SINGLE, height)
    for y, name in enumerate(order):
        own = frame[frame["encoding"] == name].sort_values("seed")
        color, marker = look(own)
        x = own["reach"].clip(lower=never).to_numpy()
        style.bar(ax, [never, np.median(x)], y, color, 3)
        places = y + min(apart[0], apart[1] / len(own)) * (np.arange(len(own)) - (len(own) - 1) / 2)
        there = (own["reach"] == own["longest_tested"]).to_numpy() & bool(ended)
        for kind, chosen in ((marker, ~there), (ended or marker, there)):
            ax.plot(x[chosen], places[chosen], kind, linestyle="", markersize=3, color=color, markeredgewidth=0)
        ax.plot(own["longest_tested"], [y] * len(own), "|", color=style.PALE, markersize=5, zorder=1)
    ticks = style.spaced({*frame["reach"], *frame["longest_tested"], trained} - {0}, [trained])
    style.length_axis(ax, [never, *ticks], trained)
    ax.set_xticks([never, *ticks], ["never", *(style.length_label(tick) for tick in ticks)], rotation=45)
    ax.set_yticks(range(len(order)), labels)
    ax.set(xlabel=f"longest length (tokens)\nat accuracy {GOOD}", xlim=(never / 1.2, max(ticks) * 1.3))
    return fig, ticks
