"""Loss by position under each way to read a longer text."""

from __future__ import annotations

import numpy as np

from attention_priors.evaluation import seed_interval
from attention_priors.experiments.pretrained_words import label
from attention_priors.figures import lines, style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals

AS_IS = "as-is"
MORE = ((style.SKY, (4, 1), "<"), (style.PURPLE, (2, 1), ">"), (style.BROWN, (6, 2), "h"), (style.TEAL, (1, 2), "p"),
        (style.RED, (3, 3), "*"), (style.OCHRE, (5, 2, 1, 2), "d"), (style.INDIGO, (2, 3), "H"),
        (style.DARK, (7, 1), "8"))  # fmt: skip
LOOKS = (*lines.SERIES, *MORE)


def draw(frame: Frame) -> Figure:
    """a: the loss; b: what a way to read loses more than the model as it is, on the same tokens."""
    rivals(frame, "way", "ways to read")
    fig, (left, right) = style.figure(style.DOUBLE, 2.7, ncols=2)
    ways, every = list(dict.fromkeys(frame["way"])), sorted(set(frame["length"]))
    plain = frame[frame["way"] == AS_IS].set_index(["document", "length"])["loss"]
    for (color, dashes, marker), way in zip(LOOKS, ways, strict=False):
        own = frame[frame["way"] == way].set_index(["document", "length"])["loss"]
        mean = own.groupby("length").mean()
        look = {"color": color, "dashes": dashes, "marker": marker, "label": label(way)}
        left.plot(mean.index, mean, **look)
        if way == AS_IS:
            right.plot(mean.index, 0 * mean, **look)
            continue
        by_length = (own - plain).groupby("length")
        middle, ends = by_length.mean(), np.array([seed_interval(values) for _, values in by_length])
        right.plot(middle.index, middle, **look)
        if len(ways) <= len(lines.SERIES):
            right.fill_between(
                middle.index, *np.where(np.isfinite(ends), ends, np.nan).T, color=color, alpha=0.12, lw=0
            )
    for letter, ax in zip("ab", (left, right), strict=True):
        ax.axvline(frame["trained"].iloc[0], color=style.PALE, linewidth=0.7, linestyle=":")
        ticks = every[1::2] if len(every) > 4 else every
        ax.set_xticks(ticks, [style.length_label(tick) for tick in ticks])
        ax.set(xlabel="tokens read", title=letter)
    left.set_ylabel("loss (nats)")
    right.set_ylabel("above the model as it is (nats)")
    gaps = frame.set_index(["way", "document", "length"])["loss"].groupby(["way", "length"]).mean()
    gaps = gaps - gaps.xs(AS_IS)
    spare = 0.2 * max(gaps.max() - gaps.min(), 0.05)
    right.set_ylim(gaps.min() - 2 * spare, gaps.max() + 2 * spare)
    style.direct_labels(right)
    return fig


def caption(frame: Frame) -> str:
    first, longest = frame.iloc[0], int(frame["length"].max())
    scored = frame[frame["length"] == longest].groupby("way")["loss"].mean().sort_values()
    ends = ", ".join(f"{label(way)} {loss:.2f}" for way, loss in scored.items())
    return (
        f"{first['model']}, read beyond the {first['trained']:,} tokens of its training (dotted): a, loss; b, loss "
        f"above that of the model as it is, with 95 % t intervals over documents. "
        f"Losses are those on the tokens before each position, means of {frame['document'].nunique()} documents; "
        f"curves of panel a rise and fall with the text, and intervals stand where they can be told apart. "
        f"At {longest:,} tokens: {ends}."
    )


FIGURE = FigureSpec(
    "pretrained_losses",
    draw,
    caption,
    notebook="pretrained_model",
    claims=("X-18", "X-19", "X-20"),
    columns=("document", "way", "length", "loss", "model", "trained"),
    alt="Two panels over the position in the text: the loss under each way to read, and its difference from the model "
    "as it is, with intervals; a dotted line at the trained length.",
)
