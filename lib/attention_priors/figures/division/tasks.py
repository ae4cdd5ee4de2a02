"""Retrieval and addresses by length for every composition: figure, and the table of models."""

import numpy as np

from attention_priors.evaluation import share_interval
from attention_priors.experiments.division import FAR, NEAR, RETRIEVAL
from attention_priors.experiments.gate import gated
from attention_priors.figures import style
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.division.kinds import ACROSS, KINDS, NOTEBOOK, kind
from attention_priors.figures.methods import label, named_seeds
from attention_priors.figures.spec import Figure, FigureSpec, Frame, TableSpec, rivals
from attention_priors.figures.words import CHANCE, GOOD, bounded, extremes, listed, prompts, times, tokens, trained_on
from attention_priors.tasks import addressing

LINES = {RETRIEVAL: ("-", None), NEAR: ((0, (4, 1.5)), style.DARK), FAR: ((0, (1, 1)), style.GREY)}


def draw(frame: Frame) -> Figure:
    """A panel an encoding, one line a task; passkeys in the colour of where it rotates."""
    rivals(frame, "encoding", "division_tasks")
    names, trained = list(frame["encoding"].unique()), trained_on(frame)
    across = min(ACROSS, len(names))
    down = -(-len(names) // across)
    shape = {"nrows": down, "ncols": across, "sharex": True, "sharey": True, "squeeze": False}
    fig, axes = style.figure(style.DOUBLE, 0.75 + 1.2 * down, **shape)
    lengths = sorted(set(frame["length"]))
    ticks = [n for n in lengths if n >= trained and np.log2(n / trained) % 2 == 0]
    for ax, name in zip(style.panels(axes, len(names)), names, strict=True):
        color, marker = KINDS[kind(name)]
        for task, (dashes, shade) in LINES.items():
            own = frame[(frame["encoding"] == name) & (frame["task"] == task)]
            own = own.assign(accuracy=own["correct"] / own["samples"])
            mean = over_seeds(own, "accuracy", shares)
            errors = np.maximum([mean["mean"] - mean["low"], mean["high"] - mean["mean"]], 0)
            ax.errorbar(
                mean.index, mean["mean"], errors, linestyle=dashes, color=shade or color, linewidth=1.0, elinewidth=0.6,
                marker=None if shade else marker, markersize=2.5, label=task,
            )  # fmt: skip
            if shade is None:
                style.seed_dots(ax, own["length"], own["accuracy"], style.darken(color))
        ax.axvline(trained, color=style.DARK, linewidth=0.6, linestyle=":")
        ax.set_title(label(name).replace(" × ", "\n× "), color=style.darken(color, 0.25), fontsize=style.SMALLEST)
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, [times(n, trained) for n in ticks])
        ax.minorticks_off()
        ax.set_ylim(-0.04, 1.04)
        ax.set_yticks([0, 0.5, 1])
    fig.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    fig.supxlabel(f"length / training length ({trained} tokens)")
    fig.supylabel("share answered")
    return fig


def both(frame: Frame) -> list[str]:
    """Encodings whose mean is GOOD at the longest length of passkeys and of near addresses alike."""
    kept = []
    for name, own in frame.groupby("encoding", sort=False):
        ends = []
        for task in (RETRIEVAL, NEAR):
            rows = own[own["task"] == task]
            rows = rows[rows["length"] == rows["length"].max()]
            ends.append((rows["correct"] / rows["samples"]).mean())
        if min(ends) >= GOOD:
            kept.append(name)
    return kept


def caption(frame: Frame) -> str:
    trained, plain = trained_on(frame), frame[frame["task"] == RETRIEVAL]
    last, last_address = int(plain["length"].max()), int(frame.loc[frame["task"] == NEAR, "length"].max())
    passed = gated(plain)["passed"].astype(bool)
    good = [label(name) for name in both(frame)]
    return (
        f"Two tasks, {frame['encoding'].nunique()} encodings, trained up to {trained} tokens: passkeys, and the k-th "
        f"last symbol of a text, near (less than {trained // 4} back) or far (up to "
        f"{trained // 2 + addressing.QUERIES - 1}). "
        f"{', '.join(good) or 'None'} answer{'s' * (len(good) == 1)} {GOOD} or more of the passkeys at "
        f"{tokens(last, trained)} and of the near addresses at {tokens(last_address, trained)}. Each task has models "
        f"of its own. Bars: 95 % interval of the mean over seeds; dots: seeds, of passkeys; dotted line: the training "
        f"length. {int((~passed).sum())} of {len(passed)} passkey models missed the gate. Passkeys: {prompts(plain)}. "
        f"{named_seeds(frame).capitalize()}. Chance is {CHANCE} for passkeys, {addressing.CHANCE:.3f} for addresses."
    )


def build(frame: Frame) -> Frame:
    """A row for each encoding."""
    rows = []
    for name, own in rivals(frame, "encoding", "division").groupby("encoding", sort=False):
        trained = trained_on(own)

        def share(column: str, own: Frame = own) -> str:
            if column.startswith("at"):
                own = own[own["passed"].astype(bool)]
            right, asked = own[f"{column}_correct"], own[f"{column}_samples"]
            ends = share_interval(right, asked) if len(own) > 1 else (np.nan, np.nan)
            return bounded(own[column].mean(), *ends) if len(own) else "–"

        columns = ("far", "longest", "longest_address")
        far, longest, address = (times(own[column].iloc[0], trained) for column in columns)
        rows.append({
            "encoding": label(name), "rotates": kind(name), "seeds": listed(own["seed"]),
            "passed": f"{int(own['passed'].sum())} of {len(own)}", "steps": extremes(own["steps"]),
            "passkeys at 1×": share("at"), f"at {far}": share("at_far"), f"at {longest}": share("at_longest"),
            "near addresses at 1×": share("near"), f"near at {address}": share("near_longest"),
            "far addresses at 1×": share("beyond"), f"far at {address}": share("beyond_longest"),
            "copied through rotated heads": f"{own['rotated'].mean():.2f}",
            "exceptions": f"{int(own['exception'].sum())} of {int(own['passed'].sum())}",
        })  # fmt: skip
    return Frame(rows)


def caption_table(frame: Frame) -> str:
    return (
        f"Compositions on both tasks, lengths in multiples of {trained_on(frame)} tokens: share answered, mean over "
        "seeds [95 % interval]; of passkeys over the models that passed, which learned them up to the training length. "
        "Copied: share of the "
        "copying attention that rotated heads have. An exception passes, and does not do as the hypothesis says."
    )


FIGURE = FigureSpec(
    "division_answers", draw, caption, notebook=NOTEBOOK,
    columns=("task", "encoding", "seed", "length", "correct", "samples", "trained"),
    alt="Small panels, one for each encoding: shares of passkeys, of near and of far addresses answered, against "
    "length in multiples of the training length.",
)  # fmt: skip
TABLE = TableSpec(
    "division_models", build, caption_table, NOTEBOOK,
    ("encoding", "seed", "passed", "steps", "trained", "far", "longest", "longest_address", "rotated", "exception",
     *(f"{name}{part}" for name in ("at", "at_far", "at_longest", "near", "near_longest", "beyond", "beyond_longest")
       for part in ("", "_correct", "_samples"))),
)  # fmt: skip
