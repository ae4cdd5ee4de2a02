"""Trained at one length or at many: what is answered between the lengths that tables show."""

import string

from ...experiments.arms import FIXED, RIGHT, VARIED, WRONG, is_table
from .. import lines, panels, style
from ..methods import label, look
from ..spec import Figure, FigureSpec, Frame, TableSpec, rivals
from ..words import CHANCE, bounded, listed, prompts, trained_on
from .lines import NOTEBOOK

TICKS = 4  # labelled lengths of a panel, beside the training length


def draw(frame: Frame) -> Figure:
    """A row of panels for each way of training, a column for each encoding; every seed is a line.

    Lengths stand side by side, evenly: those about the training length lie a token apart.
    """
    rivals(frame, "training", "passkey_confound")
    names, lengths = sorted(set(frame["encoding"])), sorted(set(frame["length"]))
    fig, axes = style.figure(style.DOUBLE, 2.9, nrows=2, ncols=len(names), sharex=True, sharey=True, squeeze=False)
    places = {length: place for place, length in enumerate(lengths)}
    at = places[trained_on(frame)]
    for row, training in zip(axes, (FIXED, VARIED), strict=True):
        for ax, name in zip(row, names, strict=True):
            own = frame[(frame["training"] == training) & (frame["encoding"] == name)]
            for _, seed in own.groupby("seed"):
                drawn = {"color": look(name)["color"], "linewidth": 0.8, "markersize": 2.5, "markeredgewidth": 0}
                ax.plot(seed["length"].map(places), seed["accuracy"], marker="o", **drawn)
            lines.place(ax, at, zorder=0)
            ax.set_ylim(-0.04, 1.04)
            ax.set_yticks([0, 0.5, 1])
        row[0].set_ylabel(training)
    shown = sorted({0, at, len(lengths) - 1, *range(0, at - 1, max(1, at // TICKS))})
    panels.letter(axes.flat)
    for ax, name in zip(axes[0], names, strict=True):
        ax.set_title(label(name))
    for ax in axes[1]:
        ax.set_xticks(shown, [lengths[place] for place in shown], rotation=60)
    fig.supxlabel("prompt (tokens, not to scale); dotted: the training length")
    fig.supylabel("share of passkeys retrieved, trained at")
    return fig


def _tables(frame: Frame, training: str) -> str:
    """How many models have learned one length: right at the training length, wrong at a shorter one."""
    trained, found, models = trained_on(frame), 0, 0
    for _, own in frame[frame["training"] == training].groupby(["encoding", "seed"]):
        models += 1
        found += is_table(own.set_index("length")["accuracy"], trained)
    return f"{found} of {models}"


def caption(frame: Frame) -> str:
    trained, names = trained_on(frame), frame["encoding"].nunique()
    above, below = (string.ascii_lowercase[places] for places in (slice(names), slice(names, 2 * names)))
    return (
        f"The same encodings trained on prompts of {trained} tokens alone ({above[0]} to {above[-1]}), and on texts of "
        f"varied lengths up to {trained} ({below[0]} to {below[-1]}), asked at {frame['length'].min()} to "
        f"{frame['length'].max()} tokens. Of one length, {_tables(frame, FIXED)} models answer at least {RIGHT} of the "
        f"prompts of {trained} tokens and at most {WRONG} at some shorter length; of varied lengths, "
        f"{_tables(frame, VARIED)}. Lines: seeds {listed(frame['seed'])}; {prompts(frame)}. Chance is {CHANCE}."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding and way of training."""
    rivals(frame, "training", "passkey_between")
    trained = trained_on(frame)
    return Frame(
        {
            "encoding": label(row.encoding),
            "trained at": row.training,
            "seeds": row.seeds,
            f"accuracy at {trained}": bounded(row.at, row.at_low, row.at_high),
            f"worst length below {trained}": bounded(row.worst, row.worst_low, row.worst_high),
            "models that fail at one": row.table,
        }
        for row in frame.sort_values(["encoding", "training"]).itertuples()
    )


def caption_table(frame: Frame) -> str:
    return (
        f"Models trained at one length and at varied ones: share of passkeys retrieved at {trained_on(frame)} tokens, "
        "and at the shorter length where each seed is worst; mean over seeds [95 % interval]. Fail: at least "
        f"{RIGHT} at the training length, at most {WRONG} at a shorter one."
    )


FIGURE = FigureSpec(
    "passkey_confound",
    draw,
    caption,
    notebook=NOTEBOOK,
    alt="Two rows of panels, a column for each encoding: passkey accuracy against prompt length around the training "
    "length, for models trained at one length above and at varied lengths below, a line for each seed.",
)
TABLE = TableSpec(
    "passkey_between",
    build,
    caption_table,
    NOTEBOOK,
)
