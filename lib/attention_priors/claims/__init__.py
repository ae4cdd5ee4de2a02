"""The register of claims, the verdicts on them, and the ledger that joins the two.

`data/claims/*.yaml` states every claim in our own words. The one notebook that owns a claim writes its verdict to its
part, claims/<notebook>.json in the folder of theory or of the profile (`layout`); `merge` joins these parts to the
profile's `claims.json` and `claims.md`, where every id of the register stands, decided or `not run`.

    python -m attention_priors.commands.claim results/cpu/claims.json     counts, and what is missing
    python -m attention_priors.commands.claim --id BAM-T4                 from a claim to its notebook cell and figures
"""

from attention_priors.claims.ledger import (
    counts,
    frame,
    gather,
    history,
    markdown,
    merge,
    missing,
    read,
    reason,
    section,
    testimony,
    write_part,
)
from attention_priors.claims.verdict import (
    DOCUMENTS,
    KINDS,
    RUNS,
    SCALES,
    VERDICTS,
    Claim,
    Verdict,
    find,
    mentions,
    not_run,
    register,
    settle,
    show,
)

__all__ = [
    "DOCUMENTS",
    "KINDS",
    "RUNS",
    "SCALES",
    "VERDICTS",
    "Claim",
    "Verdict",
    "counts",
    "find",
    "frame",
    "gather",
    "history",
    "markdown",
    "mentions",
    "merge",
    "missing",
    "not_run",
    "read",
    "reason",
    "register",
    "section",
    "settle",
    "show",
    "testimony",
    "write_part",
]
