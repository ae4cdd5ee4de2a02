"""The counts of a ledger, the way to one claim, what changed since an older ledger, or whether quotations are right."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from attention_priors import claims, config
from attention_priors.commands import arguments as commands
from attention_priors.publish.site import places
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import file_name


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0: nothing is missing that should be there, or the claim was found. 1: something is missing. 2: bad input."""
    parser = commands.Arguments("claim", __doc__, "profile", "results")
    parser.add_argument("ledger", nargs="?", type=Path, help="a claims.json; default: the profile's")
    parser.add_argument("--id", help="show one claim: statement, verdict, check, notebook cells, figures")
    parser.add_argument("--before", type=Path, help="an older claims.json: list each verdict that differs, and why")
    parser.add_argument("--quotations", type=Path, help="the folder of the documents' texts: find every quotation")
    chosen = parser.parse_args(arguments)
    layout = Layout(chosen.results, config.profile(chosen.profile).name)
    path = chosen.ledger or layout.own / "claims.json"
    if chosen.quotations:
        return quotations(chosen.quotations)
    if chosen.before:
        return compare(chosen.before, path)
    return locate(chosen.id, path, layout) if chosen.id else audit(path)


def _ledger(path: Path) -> dict[str, claims.Verdict]:
    if not path.exists():
        raise ValueError(f"{path} is not there; run `make reproduce` or name a claims.json")
    return claims.read(path)


def audit(path: Path) -> int:
    """Print counts by document and by kind, then the ids of scale cpu that have no verdict."""
    ledger, known = _ledger(path), claims.register()
    table = claims.frame({name: ledger.get(name) or claims.not_run(name, "") for name in known})
    for by in ("document", "kind"):
        print(claims.counts(table, by).to_string(index=False), end="\n\n")
    missing = claims.missing(ledger, known)
    for name in missing:
        print(f"MISSING  {name}: {known[name].notebook} has given no verdict")
    print(f"{len(known)} claims, {len(missing)} of scale cpu missing")
    return 1 if missing else 0


def quotations(folder: Path) -> int:
    """Print each quotation that does not stand where it says, and how many there are. 1: one was not found."""
    from attention_priors.checks import CHECKS  # a floor above, which the counts do not need
    from attention_priors.claims.quotations import not_found

    laws = [(name, law) for name in claims.register() if name in CHECKS for law in CHECKS[name].statements]
    quoted = [(name, law.quote, law.place) for name, law in laws if law.quote]
    lost = list(not_found(quoted, folder))
    print("\n".join([*lost, f"{len(quoted)} quotations, {len(lost)} not found"]))
    return 1 if lost else 0


def compare(before: Path, after: Path) -> int:
    """Print every verdict and outcome that differs, with the last reason in data/verdicts.csv. 1: one has no reason."""
    old, new = _verdicts(before), _verdicts(after)
    last = claims.history().groupby("id").last()
    silent = 0
    for name in claims.register():
        was, now = old.get(name, "not run"), new.get(name, "not run")
        if was == now:
            continue
        same = was.split(",")[0] == now.split(",")[0]  # only verdicts are kept in the history
        reasoned = name in last.index and last.loc[name, "verdict"] == now.split(",")[0]
        reason = last.loc[name, "reason"] if reasoned else "the outcome alone" if same else "NO REASON in verdicts.csv"
        silent += not reasoned and not same
        print(f"{name}: {was} -> {now}: {reason}")
    print(f"{silent} without a reason")
    return 1 if silent else 0


def _verdicts(path: Path) -> dict[str, str]:
    """Verdict and outcome by id of a ledger of any schema. ValueError where the file is no ledger."""
    if not path.exists():
        raise ValueError(f"{path} is not there; name a claims.json, for example one that `git show` printed to a file")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["claims"]
        return {name: _said(each["verdict"], each.get("outcome")) for name, each in found.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{path} is no ledger; name a claims.json") from None


def _said(verdict: str, outcome: str | None) -> str:
    return verdict + (f", {outcome}" if outcome else "")


def locate(identifier: str, path: Path, layout: Layout) -> int:
    """Print the way from a claim to its statement, verdict, check, notebook cells and figures."""
    claim = claims.find(identifier)
    verdict = _ledger(path).get(claim.id) or claims.not_run(claim.id, layout.label(claim.notebook))
    lines = {
        "claim": f"{claim.id} ({claim.kind}, scale {claim.scale}), {claim.source}",
        "statement": claim.statement,
        "verdict": _said(verdict.verdict, verdict.outcome),
    }
    if verdict.verdict == "not run":
        lines["why"] = verdict.opposite or claims.reason(claim)
    else:
        sides = verdict.measured, verdict.expected_value
        shown = [claims.show(side) for side in sides]
        if shown[0] == shown[1] and sides[0] != sides[1]:  # apart in digits that are not shown
            shown = [repr(side) for side in sides]
        lines["measured"] = f" {verdict.relation or ''} ".join(shown)
        lines["profile"] = f"{verdict.profile}, recipe {verdict.recipe}, seeds {verdict.seeds or 'none'}"
    for field in ("interval", "counterexample", "corrected", "severity", "opposite"):
        value = getattr(verdict, field)
        if value is not None and "why" not in lines:
            lines[field] = str(value)
    changed = [f"{row.date} {row.verdict}: {row.reason}" for row in claims.history().itertuples() if row.id == claim.id]
    if changed:
        lines["history"] = f"\n{'':16}".join(changed)
    lines["check"] = _check(claim.id)
    lines["notebook"] = _notebook(claim)
    if verdict.also:
        lines["also"] = f"of a pretrained model, {claims.testimony(verdict.also)}"
    if verdict.sentences:
        lines["sentences"] = f"\n{'':16}".join(f"{each.found}: {each.text}" for each in verdict.sentences)
    found = (_there(layout.folder(claim.notebook) / path) for path in verdict.evidence)
    lines["evidence"] = f"\n{'':16}".join(found) or "none"
    lines["figures"] = f"\n{'':16}".join(figures_of(claim, verdict, layout)) or "none"
    for name, text in lines.items():
        print(f"{name + ':':<16}{text}")
    return 0


def _there(path: Path) -> str:
    """A file's path; that of its packed form where it was large."""
    packed = path.with_name(f"{path.name}.xz")
    return str(packed if packed.exists() else path)


def _check(identifier: str) -> str:
    from attention_priors.checks import CHECKS  # a floor above, which the counts do not need

    return places.shown(*CHECKS.place(identifier)) if identifier in CHECKS else "none"


def _notebook(claim: claims.Claim) -> str:
    path = config.ROOT / "notebooks" / file_name(claim.notebook)
    if not path.exists():
        return f"{claim.notebook} (not written yet)"
    cells = cells_of(claim.id, path)
    return f"notebooks/{path.name}" + (f", cells {', '.join(cells)}" if cells else f" (no cell names {claim.id})")


def cells_of(identifier: str, notebook: Path) -> list[str]:
    """Ids of the cells whose source names the claim as a whole word: BAM-T4 is not found in BAM-T4b."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell["id"] for cell in cells if claims.mentions(identifier).search("".join(cell["source"]))]


def figures_of(claim: claims.Claim, verdict: claims.Verdict, layout: Layout) -> list[str]:
    """Where each figure that shows the claim is defined and lies: it names the claim, or draws its evidence."""
    from attention_priors.figures import FIGURES  # matplotlib, which the counts do not need

    named = {Path(path).stem for path in verdict.evidence}
    return [
        f"{places.shown(*FIGURES.place(name))}  {layout.folder(spec.notebook) / 'figures' / f'{name}.pdf'}"
        for name, spec in sorted(FIGURES.items())
        if claim.id in spec.claims or name in named or spec.metrics in named
    ]


if __name__ == "__main__":
    sys.exit(main())
