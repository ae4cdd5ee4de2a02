"""What word order is worth to every language model: the gate of all that follows."""

from attention_priors.figures import panels, style
from attention_priors.figures.curves import seed_row
from attention_priors.figures.language.rows import COLUMNS, groups, named_seeds, style_of
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import listed


def draw(frame: Frame) -> Figure:
    """a, what exchanging two neighbours costs; b, what a bag of words does; a mark for each seed."""
    rivals(frame, "encoding", "the sense of order")
    order = sorted(groups(frame), key=lambda each: each[1]["swap"].mean())
    fig, axes = style.figure(style.MIDDLE, 0.9 + 0.17 * len(order), ncols=2, sharey=True)
    axes[0].axvline(frame["gate"].iloc[0], color=style.GREY, linewidth=0.8, linestyle=(0, (1, 2)), zorder=1)
    for ax, column, text in zip(
        axes, ("swap", "bag"), ("two neighbours exchanged", "all but the last shuffled"), strict=True
    ):
        for y, (name, own) in enumerate(order):
            seed_row(ax, own[column], y, style_of(name))
        ax.set(xlabel="cost on the next token (nats)", title=text)
        ax.set_xlim(left=min(0.0, frame[column].min()) - 0.03)
    axes[0].set_yticks(range(len(order)), [style_of(name)["label"] for name, _ in order])
    for tick, (name, _) in zip(axes[0].get_yticklabels(), order, strict=True):
        tick.set_color(style.darken(style_of(name)["color"]))
    axes[0].margins(y=0.06)
    panels.letter(fig.axes)
    return fig


def caption(frame: Frame) -> str:
    first, missed = frame.iloc[0], frame[~frame["passed"].astype(bool)]
    gone = listed(
        f"{style_of(name)['label']} ({len(own)} of {len(every)} seeds)"
        for name, every in groups(frame)
        if len(own := every[~every["passed"].astype(bool)])
    )
    verdict = f"Missed by {gone}; these runs are shown below and decide nothing" if len(missed) else "All runs pass"
    return (
        f"What order is worth to models trained on {first['trained']} tokens: cost on the next token where the two "
        f"tokens before the last one read are exchanged (a), or all but the last are shuffled (b). Means of "
        f"{first['pairs']} held-out texts of 32 tokens. A mark for each seed, bar: 95 % t interval of their mean; "
        f"dotted line: the gate of {first['gate']:g} nats. {verdict}; {named_seeds(frame)}."
    )


FIGURE = FigureSpec(
    "language_order",
    draw,
    caption,
    notebook="language_models",
    columns=(*COLUMNS, "swap", "bag", "pairs", "passed", "gate", "trained"),
    alt="Two panels with a row for each encoding and a mark for every seed: the cost of exchanging two neighbours "
    "beside a dotted line at the gate, and the cost of shuffling all tokens but the last.",
)
