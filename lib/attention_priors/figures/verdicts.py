"""The merged ledger: counts of verdicts, findings, errata, outcomes, what is undecided, and the power of the seeds."""

from .. import claims
from ..checks import CHECKS
from ..claims.verdict import DOCUMENTS, OUTCOMES, SEVERITIES, WANTING
from . import style
from .spec import LEDGER, Figure, FigureSpec, Frame, NotCompared, TableSpec
from .words import bounded, extremes, times

# How many claims have which verdict, by document and by kind
# verdict: fill, hatch; the fills are pale enough for black numbers on them
LOOKS = {
    "verified": ("#7DB3DE", ""),
    "verified with correction": ("#C3DCF0", "..."),
    "contradicted": ("#F0A570", "xxx"),
    "reproduced": ("#79C797", ""),
    "scaled reproduction": ("#C4E4CF", "///"),
    "inconclusive": ("#DDDDDD", ""),
    "not run": ("#FFFFFF", ""),
}
NARROW = 4  # claims: a shorter piece of a bar has no number


def decided(ledger: Frame) -> str:
    return f"{(ledger['verdict'] != 'not run').sum()} of {len(ledger)} claims have a verdict."


def draw_counts(ledger: Frame) -> Figure:
    table = claims.counts(ledger, "document").set_index("document").drop(index="total")
    fig, ax = style.figure(style.DOUBLE, 0.9 + 0.24 * len(table))
    left = table["total"] * 0
    for verdict, (fill, hatch) in LOOKS.items():
        counts = table[verdict]
        if not counts.sum():
            continue
        look = {"facecolor": fill, "hatch": hatch, "edgecolor": style.GREY, "linewidth": 0.5}
        ax.barh(range(len(table)), counts, left=left, height=0.72, label=verdict, **look)
        for y, (start, count) in enumerate(zip(left, counts, strict=True)):
            if count >= NARROW:
                box = {"facecolor": fill, "edgecolor": "none", "pad": 0.8} if hatch else None
                ax.text(start + count / 2, y, str(count), ha="center", va="center", fontsize=style.SMALLEST, bbox=box)
        left = left + counts
    ax.set_yticks(range(len(table)), [DOCUMENTS[key] for key in table.index])
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.grid(False, axis="y")
    ax.set_xlabel("claims")
    fig.legend(loc="outside upper center", ncols=4, handlelength=1.4)
    return fig


def caption_counts(ledger: Frame) -> str:
    counted = ledger["verdict"].value_counts()
    sides = ledger.loc[ledger["verdict"] == "scaled reproduction", "outcome"].value_counts()
    told = {"scaled reproduction": f" ({', '.join(f'{count} {side}' for side, count in sides.items())})"}
    each = ", ".join(f"{counted[verdict]} {verdict}{told.get(verdict, '')}" for verdict in LOOKS if verdict in counted)
    return (
        f"Verdicts on the {len(ledger)} claims of the register by document: {each}. A scaled reproduction is what "
        "small models can say of a claim about large ones; contradicted claims have a counterexample or, at "
        f"the claim's own scale, an interval that excludes them. Pieces of fewer than {NARROW} claims have no number."
    )


def _by(column: str) -> TableSpec:
    return TableSpec(LEDGER, lambda ledger: claims.counts(ledger, column), decided, "verdicts")


COUNTS = FigureSpec(
    LEDGER,
    draw_counts,
    caption_counts,
    notebook="verdicts",
    alt="Stacked bars, one for each document: how many of its claims are verified, verified with a correction, "
    "contradicted, reproduced, inconclusive or not run.",
)
BY_DOCUMENT, BY_KIND = _by("document"), _by("kind")


# The findings that the README opens with, each with its number and its figure
def build_findings(frame: Frame) -> Frame:
    return Frame(
        {
            "finding": row.finding,
            "number [95 % interval]": f"{row.measured}: {bounded(row.value, row.low, row.high)}".replace("nan", "–"),
            "exceptions, and what else there is to say": row.more,
            "figure": row.figure,
        }
        for row in frame.itertuples()
    )


def caption_findings(frame: Frame) -> str:
    return (
        f"{len(frame)} findings on models (the errata are another), each computed from the metrics that its figure "
        "draws. Models that missed their gate decide nothing, but where training at one length is held against many, "
        "which counts all."
    )


FINDINGS = TableSpec(
    "findings",
    build_findings,
    caption_findings,
    "verdicts",
)


# Every statement found wanting
HEADS = {
    "id": "claim",
    "source": "source",
    "severity": "severity",
    "verdict": "verdict",
    "quote": "in its words",
    "statement": "what is claimed",
    "counterexample": "counterexample",
    "corrected": "what holds",
    "notebook": "derived in",
}


def build_errata(ledger: Frame) -> Frame:
    """The worst first; statements of ours, which have no severity, last."""
    wrong = ledger[ledger["verdict"].isin(WANTING)]
    order = wrong["severity"].map({name: rank for rank, name in enumerate(SEVERITIES)}).fillna(len(SEVERITIES))
    wrong = wrong.assign(quote=wrong["sentences"].map(_quote)).iloc[order.argsort(kind="stable")]
    practice = [CHECKS[name].practice if name in CHECKS else "" for name in wrong["id"]]
    table = wrong[list(HEADS)].rename(columns=HEADS).fillna({"severity": "ours"}).reset_index(drop=True)
    table.insert(len(HEADS) - 1, "where it matters", practice)
    return table


def _quote(sentences: list[dict]) -> str:
    return next(
        (each["quote"] for each in sentences if each["found"] == "fails" and each["quote"] and not each["ours"]), ""
    )


def caption_errata(ledger: Frame) -> str:
    wrong = ledger[ledger["verdict"].isin(WANTING)]
    own = wrong["id"].map(lambda name: claims.register()[name].ours)
    slips = (wrong["kind"] == "erratum") & ~own
    found = wrong[~slips & ~own]["severity"].value_counts()
    ours = int(own.sum())
    each = ", ".join(f"{found.get(name, 0)} {said}" for name, said in zip(SEVERITIES, SAID, strict=True))
    return (
        f"Statements found wanting: {each}; beside them {int(slips.sum())} that were registered because they fail"
        f"{f' and {ours} of ours that were corrected' * bool(ours)}. "
        "Each counterexample can be checked by hand."
    )


SAID = ("break a result", "need a repair", "are editorial")
ERRATA = TableSpec(LEDGER, build_errata, caption_errata, "verdicts")


# Every claim that a run was held against
def build_outcomes(ledger: Frame) -> Frame:
    runs = ledger[ledger["verdict"].isin(claims.RUNS)]
    found = [
        f"{claims.show(measured)} {relation} {claims.show(expected)}"
        for measured, relation, expected in zip(runs["measured"], runs["relation"], runs["expected_value"], strict=True)
    ]
    table = Frame({"claim": runs["id"], "verdict": runs["verdict"], "outcome": runs["outcome"], "found": found})
    table["interval"] = [claims.show(ends) if isinstance(ends, tuple) else "" for ends in runs["interval"]]
    table["seeds"] = [len(seeds) for seeds in runs["seeds"]]
    table["recipe"] = runs["recipe"]
    table["the opposite would need"] = runs["opposite"]
    return table.reset_index(drop=True)


def caption_outcomes(ledger: Frame) -> str:
    counted = ledger.loc[ledger["verdict"].isin(claims.RUNS), "outcome"].value_counts()
    each = ", ".join(f"{counted.get(word, 0)} {word}" for word in OUTCOMES)
    return f"Claims held against small models or timings: {each}. An interval that is open at one end is left out."


OUTCOMES_TABLE = TableSpec(
    LEDGER,
    build_outcomes,
    caption_outcomes,
    "verdicts",
)


# Why claims have no verdict, and which
def build_undecided(ledger: Frame) -> Frame:
    known = claims.register()
    left = ledger[ledger["verdict"] == "not run"]
    said = left["opposite"].fillna("") if "opposite" in left else [""] * len(left)
    whys = [why or claims.reason(known[name]) for name, why in zip(left["id"], said, strict=True)]
    table = Frame({"why": whys, "claims": left["id"]})
    grouped = table.groupby("why", sort=False)["claims"]
    return Frame({"number": grouped.size(), "claims": grouped.agg(", ".join)}).reset_index()


UNDECIDED = TableSpec(LEDGER, build_undecided, decided, "verdicts")


# Which differences between encodings the seeds of a profile can show
def build_power(frame: Frame) -> Frame:
    """A row for each length and spread, a column for each number of seeds and prompts."""
    if not frame["encodings"].any():
        raise NotCompared("power_measured: no encoding has two seeds that passed the gate under this profile")
    return Frame(
        [
            {
                "prompt length": times(own.length.iloc[0], own.trained.iloc[0]),
                "deviation over seeds": f"{of}, {own.spread.iloc[0]:.2f}",
                **{
                    f"{row.seeds} seeds, {row.prompts} prompts": "none"
                    if row.difference != row.difference
                    else f"{row.difference:.2f}"
                    for row in own.itertuples()
                },
            }
            for (_, of), own in frame.groupby(["multiple", "of"], sort=False)
        ]
    )


def caption_power(frame: Frame) -> str:
    return (
        "The smallest difference in accuracy between two encodings that is found four times in five, by prompt length "
        "as a multiple of the training length, seeds and prompts, around accuracies of one half. The deviation is that "
        "of models over seeds, measured in the benchmark without what the choice of prompts adds: the median and the "
        f"largest of {extremes(frame['encodings'])} encodings with two seeds or more that passed the gate. Simulated; "
        "a deviation that no models with such means can have counts as the largest that they can."
    )


POWER = TableSpec("power_measured", build_power, caption_power, "verdicts")
