"""The register of claims, the verdicts on them, and the ledger that joins the two.

`data/claims/*.yaml` states every claim in our own words. The one notebook that owns a claim writes its verdict to
`results/<profile>/claims/NN.json`; `merge` joins these parts to `claims.json` and `claims.md`, where every id of the
register stands, decided or `not run`.

    python -m attention_priors.claims results/cpu/claims.json     counts, and what is missing
    python -m attention_priors.claims --id BAM-T4                 from a claim to its notebook cell and figures
"""

from attention_priors.claims.ledger import (
    counts,
    exceptions,
    frame,
    gather,
    markdown,
    merge,
    missing,
    part_path,
    read,
    reason,
    section,
    write_part,
)
from attention_priors.claims.verdict import (
    DOCUMENTS,
    KINDS,
    RUNS,
    SCALES,
    VERDICTS,
    Claim,
    Counterexample,
    Verdict,
    document,
    find,
    nearest,
    not_run,
    register,
    show,
)

__all__ = [
    "DOCUMENTS",
    "KINDS",
    "RUNS",
    "SCALES",
    "VERDICTS",
    "Claim",
    "Counterexample",
    "Verdict",
    "counts",
    "document",
    "exceptions",
    "find",
    "frame",
    "gather",
    "markdown",
    "merge",
    "missing",
    "nearest",
    "not_run",
    "part_path",
    "read",
    "reason",
    "register",
    "section",
    "show",
    "write_part",
]
