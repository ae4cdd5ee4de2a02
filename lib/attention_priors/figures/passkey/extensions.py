"""RoPE's extensions with the factor that each length asks for, and after a short tuning; what they do to the planes."""

import itertools

from ...experiments.stretches import BETWEEN, INTERPOLATED, KEPT
from .. import lines, panels, style
from ..curves import ACCURACY, LENGTH, shares
from ..methods import METHODS, label, look, named_runs, named_seeds
from ..spec import Figure, FigureSpec, Frame, TableSpec, rivals
from ..words import bounded, farthest, prompts, times, tokens, trained_on
from .lines import NOTEBOOK

# One panel for each question: title, whether tuned, and the rows in it.
PANELS = (
    ("a factor of L / T", False, ("rope", "rope-pi", "rope-ntk", "rope-partial-ntk", "rope-yarn", "rope-llama3")),
    ("by the length, lags cut, or a prior", False,
     ("rope-dynamic-ntk", "rope-rerope", "rope-leaky-rerope", "rope-local", "alibi", "bam", "kerple-power")),
    ("tuned on longer texts", True, ("rope", "rope-pi-4", "rope-yarn-4")),
)  # fmt: skip
# of extensions in turn; the encodings of METHODS keep their own
LOOKS = ((style.DARK, style.SOLID, "X"), (style.PINK, (5, 1.5), "D"), (style.BROWN, (3, 1), "v"),
         (style.PURPLE, (1, 1), "<"), (style.RED, (3, 1, 1, 1), "P"))  # fmt: skip


def draw(frame: Frame) -> Figure:
    rivals(frame, "encoding", "extensions_retrieval")
    kept, made = frame[frame["passed"].astype(bool)], {}
    for title, tuned, names in PANELS:
        shown, looks = kept[((kept["steps"] > 0) == tuned) & kept["encoding"].isin(names)], itertools.cycle(LOOKS)
        rows = sorted(shown.groupby(["encoding", "steps"]), key=lambda row: (names.index(row[0][0]), row[0][1]))
        made[title] = []
        for (name, steps), own in rows:
            drawn = look(name) if name in METHODS else lines.look(*next(looks), "")
            drawn |= {"markersize": 3, "label": _row(name, steps, ",\n")}
            made[title].append(panels.over(own, "accuracy", drawn, shares))
    axis = panels.lengths(frame["length"], trained_on(frame), most=5) | panels.SHARES
    fig, axes = panels.draw(made, "", ACCURACY, height=3.2, **axis)
    for ax in (ax for ax in axes if ax.get_legend_handles_labels()[0]):
        ax.set_xlabel(LENGTH)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.19))
    return fig


def _row(name: str, steps: int, between: str = ", ") -> str:
    return f"{label(name)}{between}{steps:,} steps" if steps else label(name)


def _best(rows: Frame, length: int) -> str:
    """The best extension of RoPE at a length, with its mean."""
    own = rows[(rows["length"] == length) & rows["encoding"].str.startswith("rope")]
    means = own.groupby(["encoding", "steps"])["accuracy"].mean()
    return f"{_row(*means.idxmax())} {means.max():.2f}" if len(means) else "none"


def caption(frame: Frame) -> str:
    trained = trained_on(frame)
    good = frame[frame["passed"].astype(bool)]
    wanted = [length for length in (2 * trained, 4 * trained, 16 * trained) if length in set(frame["length"])]
    plain, tuned = good[good["steps"] == 0], good[good["steps"] > 0]
    found = "; ".join(
        f"at {tokens(length, trained)} {_best(plain, length)}, tuned {_best(tuned, length)}" for length in wanted
    )
    missed = named_runs(frame[~frame["passed"].astype(bool) & (frame["steps"] == 0)])
    gates = f" Gate missed, not drawn: {missed}." if missed else ""
    return (
        f"RoPE's extensions as they are used, trained on {trained} tokens: the factor is L / T at every length L; "
        f"c: trained on with one factor, for the steps named, on longer texts. Best of RoPE's: {found}.{gates} "
        f"{prompts(frame)}; {named_seeds(frame)}. Bars: 95 % intervals; dots: seeds."
    )


def build(frame: Frame) -> Frame:
    """A row per encoding and tuning: mean accuracy with its interval by length."""
    rivals(frame, "encoding", "extensions_retrieval")
    trained = trained_on(frame)
    rows = []
    for (steps, name), own in frame[frame["passed"].astype(bool)].groupby(["steps", "encoding"], sort=False):
        row = {"encoding": label(name), "tuned": f"{steps:,} steps" if steps else "no", "seeds": own["seed"].nunique()}
        for length, at in own.groupby("length"):
            if length >= trained:
                mean = at["accuracy"].mean()
                row[times(length, trained)] = bounded(mean, *shares(at))
        rows.append(row)
    return Frame(rows)


def caption_table(frame: Frame) -> str:
    return (
        f"Passkeys after extension, trained on {trained_on(frame)} tokens: mean over the seeds that passed their gate "
        "[95 % interval], by length in multiples of it."
    )


def planes(frame: Frame) -> Frame:
    """A row per extension: how many planes it keeps, blends and interpolates at the largest factor."""
    far = farthest(frame, "factor")
    rows = []
    for name, own in far.groupby("encoding", sort=False):
        kinds = own["kind"].value_counts()
        row = {"extension": label(name)} | {kind: int(kinds.get(kind, 0)) for kind in (KEPT, BETWEEN, INTERPOLATED)}
        row["slowest plane by"] = f"{own['slower'].max():.3g}"
        rows.append(row | {"has a say": "yes" if own["acts"].all() else "no: it cannot act at this size"})
    return Frame(rows)


def caption_planes(frame: Frame) -> str:
    turned = [f"{turns:.2g}" for turns in frame.drop_duplicates("plane").sort_values("plane")["turns"]]
    return (
        f"Planes of a head of {2 * len(turned)} that each extension keeps, slows in part, or interpolates, at the "
        f"factor {frame['factor'].max():g}. Within the training length they turn {', '.join(turned)} times. An "
        "extension by parts that finds no plane to keep is position interpolation and has no say of its own."
    )


FIGURE = FigureSpec(
    "extensions_retrieval",
    draw,
    caption,
    notebook=NOTEBOOK,
    alt="Three panels of passkey accuracy against context length, a line with interval bars for each extension of RoPE "
    "and for encodings that need none: without tuning in a and b, tuned in c.",
)
TABLE = TableSpec("extensions_retrieval", build, caption_table, NOTEBOOK)
PLANES = TableSpec(
    "extensions_planes",
    planes,
    caption_planes,
    NOTEBOOK,
)
