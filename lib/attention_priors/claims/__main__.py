"""`python -m attention_priors.claims`: the counts of a ledger and what is missing in it, or the way to one claim."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from attention_priors import claims, config


def main(arguments: list[str] | None = None) -> int:
    """0: nothing is missing that should be there, or the claim was found. 1: something is missing. 2: bad input."""
    parser = argparse.ArgumentParser(prog="python -m attention_priors.claims", description=__doc__)
    parser.add_argument("ledger", nargs="?", type=Path, help="a claims.json; default: the profile's")
    parser.add_argument("--id", help="show one claim: statement, verdict, notebook cells, figures")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--results", type=Path, default=config.ROOT / "results")
    chosen = parser.parse_args(arguments)
    path = chosen.ledger or chosen.results / chosen.profile / "claims.json"
    try:
        return locate(chosen.id, path) if chosen.id else audit(path)
    except (OSError, ValueError) as error:
        print(_one_line(error), file=sys.stderr)
        return 2


def _one_line(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} is not there; run `make reproduce` or name a claims.json"
    return " ".join(str(error).split())


def audit(path: Path) -> int:
    """Print counts by document and by kind, then the ids of scale cpu that have no verdict."""
    ledger, known = claims.read(path), claims.register()
    profile = next((verdict.profile for verdict in ledger.values()), "?")
    for name in ledger:
        claims.find(name, known)
    table = claims.frame({name: ledger.get(name) or claims.not_run(claim, profile) for name, claim in known.items()})
    for by in ("document", "kind"):
        print(claims.counts(table, by).to_string(index=False), end="\n\n")
    unexcused, excused, stale = claims.missing(ledger, known, claims.exceptions())
    for name in excused:
        print(f"excused  {name}: {claims.reason(claims.not_run(known[name], profile), claims.exceptions())}")
    for rule in stale:
        print(f"stale    exception {', '.join(rule.ids)} excuses nothing any more; remove it")
    for name in unexcused:
        print(f"MISSING  {name}: {known[name].notebook} has given no verdict")
    print(f"{len(known)} claims, {len(unexcused)} of scale cpu missing, {len(excused)} excused")
    return 1 if unexcused else 0


def locate(identifier: str, path: Path) -> int:
    """Print the way from a claim to its statement, verdict, notebook cells and figures."""
    claim = claims.find(identifier)
    ledger = claims.read(path) if path.exists() else {}
    verdict = ledger.get(claim.id) or claims.not_run(claim, path.parent.name)
    lines = {
        "claim": f"{claim.id} ({claim.kind}, scale {claim.scale}), {claim.source}",
        "statement": claim.statement,
        "verdict": verdict.verdict + (f", {verdict.outcome}" if verdict.outcome else ""),
    }
    if verdict.verdict == "not run":
        lines["why"] = claims.reason(verdict, claims.exceptions())
    else:
        lines["measured"] = " ".join(
            [claims.show(verdict.measured), verdict.relation or "", claims.show(verdict.expected_value)]
        )
        lines["profile"] = f"{verdict.profile}, recipe {verdict.recipe}, seeds {verdict.seeds or 'none'}"
    for field in ("interval", "counterexample", "corrected", "opposite"):
        value = getattr(verdict, field)
        if value is not None:
            lines[field] = str(value)
    lines["notebook"] = _notebook(claim)
    lines["evidence"] = ", ".join(verdict.evidence) or "none"
    lines["figures"] = ", ".join(figures_of(claim, verdict, path.parent)) or "none"
    for name, text in lines.items():
        print(f"{name + ':':<16}{text}")
    return 0


def _notebook(claim: claims.Claim) -> str:
    path = config.ROOT / "notebooks" / f"{claim.notebook}.ipynb"
    if not path.exists():
        return f"{claim.notebook} (not written yet)"
    cells = cells_of(claim.id, path)
    where = f"notebooks/{path.name}"
    return f"{where}, cells {', '.join(cells)}" if cells else f"{where} (no cell names {claim.id})"


def cells_of(identifier: str, notebook: Path) -> list[str]:
    """Ids of the cells whose source names the claim as a whole word: BAM-T4 is not found in BAM-T4b."""
    whole = re.compile(rf"(?<![\w-]){re.escape(identifier)}(?!\w|[-.]\w)")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell["id"] for cell in cells if whole.search("".join(cell["source"]))]


def figures_of(claim: claims.Claim, verdict: claims.Verdict, folder: Path) -> list[str]:
    """Figures drawn from the verdict's metrics; without evidence, those of the claim's notebook."""
    from attention_priors.figures import FIGURES  # matplotlib, which the counts do not need

    named = {Path(path).stem for path in verdict.evidence}
    own = [name for name, spec in FIGURES.items() if name in named or spec.metrics in named]
    names = own or [name for name, spec in FIGURES.items() if spec.notebook == claim.notebook]
    return [str(folder / "figures" / f"{name}.pdf") for name in sorted(names)]


if __name__ == "__main__":
    sys.exit(main())
