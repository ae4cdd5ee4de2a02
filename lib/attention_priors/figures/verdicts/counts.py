"""How many claims have which verdict, by document and by kind."""

from attention_priors import claims
from attention_priors.figures.spec import LEDGER, Frame, TableSpec


def decided(ledger: Frame) -> str:
    return f"{(ledger['verdict'] != 'not run').sum()} of {len(ledger)} claims have a verdict."


def _by(column: str) -> TableSpec:
    return TableSpec(LEDGER, lambda ledger: claims.counts(ledger, column), decided, "verdicts", ("verdict", column))


BY_DOCUMENT, BY_KIND = _by("document"), _by("kind")
