"""Passkeys that a pretrained model finds, by depth and length, and by how it reads."""

from __future__ import annotations

from attention_priors.evaluation import binomial_interval
from attention_priors.experiments.pretrained_words import label
from attention_priors.figures import style
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals

AS_IS = "as-is"


def draw(frame: Frame) -> Figure:
    """a: each prompt as it is, by depth and length; b: the share that each way to read finds at one length."""
    rivals(frame, "way", "ways to read")
    fig, (left, right) = style.figure(style.DOUBLE, 2.5, ncols=2)
    own = frame[frame["way"] == AS_IS]
    every = sorted(set(own["length"]))
    for hit, marker, color in ((1, "o", style.BLUE), (0, "x", style.ORANGE)):
        part = own[own["correct"] == hit]
        left.plot(
            [every.index(length) for length in part["length"]],
            part["depth"],
            linestyle="none",
            marker=marker,
            color=color,
            label="found" if hit else "not found",
        )
    left.set_xticks(range(len(every)), [style.length_label(length) for length in every])
    left.set(xlabel="tokens", ylabel="depth of the key", title="a", ylim=(1.02, -0.02), xlim=(-0.5, len(every) - 0.5))
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=2)
    counts = _counts(frame)
    for y, (_, hits, asked) in enumerate(counts):
        low, high = binomial_interval(hits, asked)
        right.plot([low, high], [y, y], color=style.GREY, linewidth=1)
        right.plot([hits / asked], [y], marker="o", color=style.BLUE)
    right.set_yticks(range(len(counts)), [label(way) for way, _, _ in counts])
    right.set(xlabel="share of keys found", title="b", xlim=(-0.02, 1.02))
    right.margins(y=0.1)
    return fig


def _counts(frame: Frame) -> list[tuple[str, int, int]]:
    """(way, found, asked) at the shortest length at which readers of parts are asked, the best last."""
    length = frame.loc[frame["way"] != AS_IS, "length"].min()
    own = frame[frame["length"] == length].groupby("way", sort=False)["correct"].agg(["sum", "size"])
    return sorted(((way, int(row["sum"]), int(row["size"])) for way, row in own.iterrows()), key=lambda each: each[1])


def caption(frame: Frame) -> str:
    length = int(frame.loc[frame["way"] != AS_IS, "length"].min())
    asked = int(frame.groupby(["way", "length"]).size().max())
    return (
        f"Keys of five digits that {frame['model'].iloc[0]} finds in real prose: a, by length and depth; b, by the way "
        f"to read {length:,} tokens, with exact 95 % intervals over prompts. A text has one key, and each length "
        f"{asked} prompts."
    )


FIGURE = FigureSpec(
    "pretrained_keys",
    draw,
    caption,
    notebook="pretrained_model",
    claims=("X-24", "X-25"),
    columns=("way", "length", "depth", "correct", "model"),
    alt="Two panels: marks of keys that were found or not, by length and depth; and a row for each way to read with "
    "the share that it finds and its interval.",
)
