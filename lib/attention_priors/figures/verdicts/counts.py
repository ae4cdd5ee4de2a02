"""How many claims have which verdict, by document and by kind: tables, and the documents as bars."""

from attention_priors import claims
from attention_priors.claims.verdict import DOCUMENTS
from attention_priors.figures import style
from attention_priors.figures.spec import LEDGER, Figure, FigureSpec, Frame, TableSpec

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


def draw(ledger: Frame) -> Figure:
    """A bar a document, as long as it has claims, divided by verdict."""
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


def caption(ledger: Frame) -> str:
    counted = ledger["verdict"].value_counts()
    each = ", ".join(f"{counted[verdict]} {verdict}" for verdict in LOOKS if verdict in counted)
    return (
        f"Verdicts on the {len(ledger)} claims of the register by document: {each}. A scaled reproduction is what "
        "small models can say of a claim about large ones; contradicted claims have a counterexample or, at "
        f"the claim's own scale, an interval that excludes them. Pieces of fewer than {NARROW} claims have no number."
    )


def _by(column: str) -> TableSpec:
    return TableSpec(LEDGER, lambda ledger: claims.counts(ledger, column), decided, "verdicts", ("verdict", column))


FIGURE = FigureSpec(
    LEDGER,
    draw,
    caption,
    notebook="verdicts",
    columns=("verdict", "document"),
    alt="Stacked bars, one for each document: how many of its claims are verified, verified with a correction, "
    "contradicted, reproduced, inconclusive or not run.",
)
BY_DOCUMENT, BY_KIND = _by("document"), _by("kind")
