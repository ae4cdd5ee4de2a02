"""Goat's encoding beside its rivals: passkeys, offsets that a query names, text, and the mass of its priors."""

from collections.abc import Iterable

from ...experiments.gate import gated
from ...experiments.goat_passkeys import CHANCE
from ...tasks import addressing, passkey
from .. import lines, panels, style
from ..curves import shares as share
from ..methods import alone, from_best, label, named_runs, named_seeds, numbered
from ..passkey.lines import missed_gates
from ..spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from ..words import HULL, bounded, prompts, times, trained_on

# What the figures of Goat share
NOTEBOOK = "learned_spectra"
GOAT = "goat"  # begins the names of Goat's variants


def ordered(names: Iterable[str]) -> list[str]:
    """Goat's variants first, each group in its own order."""
    return sorted(dict.fromkeys(names), key=lambda name: not name.startswith(GOAT))


# Goat and its rivals on passkeys
UNDIVIDED = "-undivided"
FAR = 16  # times the training length, that the caption tells of


def divided(frame: Frame) -> Frame:
    """Without the ablation of logits, which has a table of its own."""
    return rivals(frame[~frame["encoding"].str.endswith(UNDIVIDED)], "encoding", "Goat on passkeys")


def by_digits(rows: Frame) -> Frame:
    """The same with digits as what is counted; an interval's trials are prompts."""
    digits = rows["digits"] / passkey.DIGITS
    return rows.assign(correct=digits, accuracy=digits / rows["samples"])


def ranked(rows: Frame) -> list[str]:
    """From the best: by digits above the training length."""
    return from_best(by_digits(rows[rows["length"] > rows["trained"]]))


def draw_passkeys(frame: Frame) -> Figure:
    rows, made = divided(frame), {}
    for name in ranked(rows):
        own = rows[rows["encoding"] == name]
        whole = own.assign(accuracy=own["correct"] / own["samples"])
        grey = {"color": style.GREY, "dashes": (3, 1), "linewidth": 1.0, "label": "whole passkeys"}
        digits = panels.over(by_digits(own), "accuracy", alone(name) | {"label": "digits"}, share)
        made[label(name)] = [digits, panels.over(whole, "accuracy", grey, share)]
    axis = panels.multiples(rows["length"], trained_on(rows)) | panels.SHARES | {"legend": "above"}
    labels, levels = (panels.multiple(rows), "share that is right"), {CHANCE: "chance of a digit"}
    return panels.draw(made, *labels, levels=levels, **axis)[0]


def caption_passkeys(frame: Frame) -> str:
    rows = divided(frame)
    trained, names = trained_on(rows), ranked(rows)
    far = by_digits(rows[rows["length"] == FAR * trained])
    means = far.groupby("encoding")["accuracy"].mean()
    goats = {name: value for name, value in means.items() if name.startswith(GOAT)}
    others = means.drop(list(goats))
    best = f"; of the others {label(others.idxmax())} is best ({others.max():.2f})" if len(others) else ""
    said = numbered(goats)
    told = f" At {times(FAR * trained, trained)} the digits right are: {said}{best}." if len(means) else ""
    return (
        f"Passkeys for {len(names)} encodings with equally wide heads, trained on texts of varied lengths up to "
        f"{trained} tokens.{told} Colour: share of digits; grey: of whole passkeys; lines: means over seeds; bars: 95 "
        f"% intervals over seeds and prompts; dots: seeds. From the best beyond T on; red: Goat's forms. "
        f"Chance is {CHANCE} for a digit, nothing for a passkey. {prompts(rows)}; {named_seeds(rows)}."
        f"{missed_gates(rows)}"
    )


def both_ways(frame: Frame) -> list[tuple[str, str]]:
    """Encodings that were trained both ways."""
    there = set(frame["encoding"])
    made = [(name, name + UNDIVIDED) for name in frame["encoding"].unique() if name + UNDIVIDED in there]
    if not made:
        raise NotCompared("logits without 1/√d: this profile trains none; a larger one has them beside the usual ones")
    return made


def build_passkeys(frame: Frame) -> Frame:
    """Two rows for each of the pairs."""
    trained, rows = trained_on(frame), []
    learned = gated(frame).groupby("encoding")["passed"]
    for name in (each for pair in both_ways(frame) for each in pair):
        own = by_digits(frame[frame["encoding"] == name])
        row = {
            "encoding": label(name.removesuffix(UNDIVIDED)),
            "logits": "not divided" if name.endswith(UNDIVIDED) else "divided by √d",
            "passed the gate": f"{int(learned.sum()[name])} of {int(learned.size()[name])}",
            "steps": f"{own.groupby('seed')['steps'].first().median():.0f}",
        }
        for multiple in (1, 2, 4, FAR):
            at = own[own["length"] == multiple * trained]
            if len(at):
                row[f"digits at {multiple}T"] = bounded(at["accuracy"].mean(), *share(at))
        rows.append(row)
    return Frame(rows).fillna("")


def caption_passkeys_table(frame: Frame) -> str:
    both_ways(frame)
    return (
        f"Baselines with logits divided by √d, and without, as in the code behind Goat's Fig. 3: share of the digits "
        f"right; {HULL}]. T is {trained_on(frame)} tokens, chance {CHANCE}. Steps until the gate was passed, or all."
    )


PASSKEYS_FIGURE = FigureSpec(
    "goat_passkey_counts",
    draw_passkeys,
    caption_passkeys,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 3a",
    claims=("GOAT-F3a", "GOAT-C-7", "GOAT-C-10"),
    alt="Small panels, one for each encoding from the best to the worst: the share of digits and of whole passkeys "
    "against context length, with interval bars, dots for seeds, and a dotted line at chance.",
)
PASSKEYS_TABLE = TableSpec(
    "goat_passkey_counts",
    build_passkeys,
    caption_passkeys_table,
    NOTEBOOK,
    paper="Goat, Fig. 3a",
)


# Where the trained priors of Goat's heads put their mass
def draw_heads(frame: Frame) -> Figure:
    rivals(frame, "encoding", "the priors of Goat's heads")
    made = {
        label(name): [panels.Line(own["ahead"], own["recent"], alone(name) | {"linestyle": "", "markersize": 4})]
        for name, own in frame.groupby("encoding", sort=False)
    }
    axis = {"xlim": panels.SHARES["ylim"], "xticks": {0: "0", 0.5: "0.5", 1: "1"}, **panels.SHARES}
    labels = ("mass on later keys, without a mask", "mass on the nearest\nkeys, with a mask")
    fig, axes = panels.draw(made, *labels, across=5, **axis)
    for ax, (_, own) in zip(axes, frame.groupby("encoding", sort=False), strict=True):
        lines.place(ax, own["ahead_uniform"].iloc[0])
        lines.level(ax, own["recent_uniform"].iloc[0])
    return fig


def caption_heads(frame: Frame) -> str:
    both = (frame["ahead"] > frame["ahead_uniform"]) & (frame["recent"] > frame["recent_uniform"])
    each = ", ".join(f"{label(name)} {int(own.sum())} of {len(own)}" for name, own in both.groupby(frame["encoding"]))
    return (
        f"Trained priors of passkey models over {int(frame['length'].iloc[0])} keys, a mark for each head: mass on "
        f"later keys without a mask, and on the nearest eighth of the lags with one. Heads that exceed the uniform "
        f"prior (dotted) in both: {each}. Means over queries; {named_seeds(frame)}."
    )


HEADS = FigureSpec(
    "goat_passkey_heads",
    draw_heads,
    caption_heads,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 3b",
    claims=("GOAT-F3b",),
    alt="Scatter plots, one for each form of Goat, with a mark for each head: prior mass on later keys without a mask "
    "against mass on the nearest keys with one, dotted lines at the uniform prior.",
)


# Answers at an offset that the query names, with a rotation inside Goat's content and without
def asked(frame: Frame) -> list[int]:
    """The training length and the longest."""
    return sorted({trained_on(frame), int(frame["length"].max())})


def draw_offsets(frame: Frame) -> Figure:
    rivals(frame, "encoding", "offsets named in the text")
    rows, trained, made = frame.assign(accuracy=frame["correct"] / frame["samples"]), trained_on(frame), {}
    for name in ordered(rows["encoding"]):
        at = {length: rows[(rows["encoding"] == name) & (rows["length"] == length)] for length in asked(rows)}
        looks = (alone(name), {"color": style.GREY, "dashes": (3, 1)})
        made[label(name)] = [
            panels.over(own, "accuracy", look | {"label": f"texts of {times(length, trained)}"}, share, by="address")
            for (length, own), look in zip(at.items(), looks, strict=False)
        ]
    axis = {"base": 2, "xticks": {place: f"{place}" for place in sorted(set(rows["address"]))[::2]}, **panels.SHARES}
    labels = ("address: which symbol from the end (octaves, by their first)", "share answered")
    return panels.draw(made, *labels, across=5, levels={addressing.CHANCE: "chance"}, legend="above", **axis)[0]


def caption_offsets(frame: Frame) -> str:
    trained = trained_on(frame)
    at = frame[frame["length"] == trained].groupby("encoding")[["correct", "samples"]].sum()
    means = (at["correct"] / at["samples"]).reindex(ordered(frame["encoding"]))
    each = numbered(means)
    return (
        f"The k-th last symbol of a text, k named by the query, after training up to {trained} tokens. Answered in "
        f"texts of that length: {each}. By address (in octaves), at the training length and at the longest; means "
        f"over seeds; bars: 95 % intervals over seeds and questions; dots: seeds. Chance is {addressing.CHANCE:.3f}. "
        f"{named_seeds(frame).capitalize()}."
    )


OFFSETS = FigureSpec(
    "goat_offset_answers",
    draw_offsets,
    caption_offsets,
    notebook=NOTEBOOK,
    paper="Goat, App. E.3",
    claims=("GOAT-E.3",),
    alt="Panels for encodings with and without a rotation: the share of queries answered against the address "
    "that they name, at the training length and at a longer one.",
)


# Goat and its rivals on text
TALL = 2.0  # nats above the best at T, where panels end


def on_text(frame: Frame) -> Frame:
    """Text of the kind trained on."""
    return rivals(frame[frame["trained_on"].astype(bool)], "encoding", "Goat on text")


def draw_languages(frame: Frame) -> Figure:
    rows = on_text(frame)
    by_name = {name: rows[rows["encoding"] == name] for name in ordered(rows["encoding"])}
    made = {
        label(name): [*panels.behind(rows, "loss"), panels.over(own, "loss", alone(name))]
        for name, own in by_name.items()
    }
    axis = panels.multiples(rows["length"], trained_on(rows))
    axis["ylim"] = (rows["loss"].min() - 0.1, min(rows["loss"].max() + 0.1, _top(rows)))
    return panels.draw(made, panels.multiple(rows), "loss (nats per token)", across=5, **axis)[0]


def caption_languages(frame: Frame) -> str:
    rows = on_text(frame)
    trained, far = trained_on(rows), int(rows["length"].max())
    first = rows.iloc[0]
    table = rows.groupby(["encoding", "length"])["loss"].mean()
    each = "; ".join(
        f"{label(name)} {table[name, trained]:.3f} and {table[name].max() - table[name, trained]:+.3f}"
        for name in ordered(rows["encoding"])
    )
    missed = named_runs(rows[~rows["passed"].astype(bool)])
    gate = f" Missed the gate of word order: {missed}." if missed else ""
    cut = " Lines that leave the frame are cut." if rows["loss"].max() > _top(rows) else ""
    return (
        f"Loss of language models trained on {trained} tokens, on the same last {first['scored']} tokens of "
        f"{first['documents']} held-out documents whatever stands before them. Loss at T, and the most "
        f"that any length up to {times(far, trained)} adds: {each}. Bars: 95 % t interval over seeds; dots: seeds; "
        f"grey: the other encodings.{cut} {named_seeds(rows).capitalize()}.{gate}"
    )


def _top(rows: Frame) -> float:
    return rows[rows["length"] == rows["trained"]]["loss"].min() + TALL


def against_rivals(frame: Frame) -> Frame:
    """Goat's forms against rivals, on text of the kind trained on."""
    ours, theirs = (frame[column].str.startswith(GOAT) for column in ("encoding", "rival"))
    rows = frame[frame["trained_on"].astype(bool) & (frame["seeds"] > 0) & ours & ~theirs]
    if rows.empty:
        raise NotCompared("Goat's losses less its rivals': no pair passed its gate under this profile")
    return rows


def build_languages(frame: Frame) -> Frame:
    """A row for each form of Goat and rival."""
    made, trained = [], trained_on(against_rivals(frame))
    for (name, rival), pair in against_rivals(frame).groupby(["encoding", "rival"], sort=False):
        row = {"Goat": label(name), "rival": label(rival), "seeds": int(pair["seeds"].iloc[0])}
        for found in pair[pair["length"].isin([trained, FAR * trained, pair["length"].max()])].itertuples():
            multiple = f"{found.length // trained}T"
            row[f"gap at {multiple} (nats)"] = bounded(found.gap, found.low, found.high, 3)
            row[f"lower on, {multiple}"] = f"{found.better:.0%}"
        made.append(row)
    return Frame(made).fillna("")


def caption_languages_table(frame: Frame) -> str:
    documents = int(against_rivals(frame)["documents"].iloc[0])
    return (
        "Loss of Goat less that of a rival on the same tokens, paired by document and seed; mean over seeds [95 % t "
        f"interval]; negative: Goat is better. Lower on: the share of {documents} "
        "documents. Models that missed their gate are left out."
    )


LANGUAGES_FIGURE = FigureSpec(
    "goat_language_perplexity",
    draw_languages,
    caption_languages,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 2a",
    claims=("GOAT-F2a", "GOAT-C-6"),
    alt="Small panels, one for each encoding, of the loss against context length far beyond the training length, "
    "with dots for seeds and the other encodings in grey behind.",
)
LANGUAGES_TABLE = TableSpec(
    "goat_language_differences",
    build_languages,
    caption_languages_table,
    NOTEBOOK,
    paper="Goat, Fig. 2a",
)
