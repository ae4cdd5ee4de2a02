"""Every claim that a run was held against: what it gave, how sure that is, and what would have reversed it."""

from attention_priors import claims
from attention_priors.claims.verdict import OUTCOMES
from attention_priors.figures.spec import LEDGER, Frame, TableSpec


def build(ledger: Frame) -> Frame:
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


def caption(ledger: Frame) -> str:
    counted = ledger.loc[ledger["verdict"].isin(claims.RUNS), "outcome"].value_counts()
    each = ", ".join(f"{counted.get(word, 0)} {word}" for word in OUTCOMES)
    return f"Claims held against small models or timings: {each}. An interval that is open at one end is left out."


TABLE = TableSpec(
    LEDGER,
    build,
    caption,
    "verdicts",
    ("id", "verdict", "outcome", "measured", "relation", "expected_value", "interval", "seeds", "recipe", "opposite"),
)
