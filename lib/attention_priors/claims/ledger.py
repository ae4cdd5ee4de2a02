"""The ledger: the notebooks' parts joined to one verdict for every id of the register, as JSON, Markdown and frames."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
from pydantic import ValidationError

from attention_priors import config, store
from attention_priors.claims.verdict import (
    DOCUMENTS,
    KINDS,
    NOT_ASKED,
    SEVERITIES,
    VERDICTS,
    Claim,
    Verdict,
    find,
    first_error,
    not_run,
    register,
    settle,
    show,
)
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import file_name

SCHEMA = 2
HISTORY = ["id", "date", "verdict", "reason"]
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
FORMULA = re.compile(r"(\$[^$]*\$)")  # splits a text so that every second part is a formula
AGAIN = "run the notebook that writes it (claims.json: verdicts) again, with FORCE=1"
GROUPS = {"document": tuple(DOCUMENTS), "kind": KINDS}
WITHOUT = {"gpu": "needs a large GPU", "paper": "needs the papers' own scale"}


def write_part(
    results: Path | str,
    profile: str,
    notebook: str,
    verdicts: Iterable[Verdict],
    known: Mapping[str, Claim] | None = None,
    also: Iterable[Verdict] = (),
) -> Path:
    """Write the verdicts of one notebook, and what it says `also` about claims that other notebooks decide.

    ValueError for an id that is unknown, given twice or another notebook's (of `also`: its own).
    """
    known = register() if known is None else known
    layout = Layout(Path(results), profile)
    label = layout.label(notebook)
    parts: dict[str, dict[str, Verdict]] = {"claims": {}, "also": {}}
    for verdict, part in (*((each, "claims") for each in verdicts), *((each, "also") for each in also)):
        claim = find(verdict.id, known)
        if part == "claims" and claim.notebook != notebook:
            raise ValueError(f"{claim.id} belongs to {claim.notebook}, not to {notebook}; give its verdict there")
        if part == "also" and claim.notebook == notebook:
            raise ValueError(f"{claim.id} is decided in {notebook} itself, which is no second witness; take it out")
        if claim.id in parts[part]:
            raise ValueError(f"{claim.id} has two verdicts in {notebook}; keep one")
        if verdict.profile != label:
            raise ValueError(f"{claim.id} was decided under profile {verdict.profile}, not {label}; run it again")
        parts[part][claim.id] = settle(verdict, claim)
    rows = {part: _plain(found) for part, found in parts.items() if found or part == "claims"}
    store.write_json(layout.part(notebook), {"schema": SCHEMA, "profile": label, "notebook": notebook, **rows})
    return layout.part(notebook)


def _plain(verdicts: Mapping[str, Verdict]) -> dict[str, dict]:
    """For JSON; a claim without a second witness has no field for one."""
    rows = {name: verdict.model_dump(mode="json", exclude={"id", "also"}) for name, verdict in verdicts.items()}
    seconds = {name: verdict.also for name, verdict in verdicts.items() if verdict.also}
    return rows | {name: rows[name] | {"also": second} for name, second in _plain(seconds).items()} if seconds else rows


def read(path: Path | str, known: Mapping[str, Claim] | None = None, what: str = "claims") -> dict[str, Verdict]:
    """The verdicts of a ledger or of one part, by id, held against the register of today; `what`: "also", of a part.

    ValueError naming the file when it is neither, or holds what the register does not know or allow.
    """
    known = register() if known is None else known
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; name a claims.json")
    try:
        content = store.read_json(path, f"restore it (git checkout), or {AGAIN}")
    except store.DamagedFile:
        if Path(path).suffix == ".json":
            raise
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("claims"), dict):
        raise ValueError(f"{path} is no ledger; name a claims.json")
    if content.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no ledger of schema {SCHEMA}; {AGAIN}")
    found = {}
    for name, row in content.get(what, {}).items():
        try:
            claim = find(name, known)
            own = {**row, "id": name}
            if own.get("also"):
                own["also"] = {**own["also"], "id": name}
            found[name] = settle(Verdict.model_validate(own), claim)
        except (ValidationError, TypeError) as error:
            said = first_error(error) if isinstance(error, ValidationError) else f"{row!r} is no verdict"
            raise ValueError(f"{path}: {name}: {said}; {AGAIN}") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    return found


def gather(results: Path | str, profile: str, known: Mapping[str, Claim] | None = None) -> dict[str, Verdict]:
    """Every id of the register, in its order, with the verdict from its notebook's part, or `not run`."""
    known = register() if known is None else known
    layout = Layout(Path(results), profile)
    notebooks = sorted({claim.notebook for claim in known.values()})
    there = [path for path in map(layout.part, notebooks) if path.exists()]
    seconds = {name: verdict for path in there for name, verdict in read(path, known, "also").items()}
    found = {
        name: not_run(name, layout.label(claim.notebook)).model_copy(update={"also": seconds.get(name)})
        for name, claim in known.items()
    }
    for notebook in notebooks:
        path = layout.part(notebook)
        for name, verdict in read(path, known).items() if path.exists() else ():
            owner, label = known[name].notebook, layout.label(notebook)
            if (owner, label) != (notebook, verdict.profile):
                raise ValueError(f"{path}: {name} is {owner}'s, profile {verdict.profile}; run both again")
            found[name] = verdict.model_copy(update={"also": seconds.get(name)})
    return found


def merge(results: Path | str, profile: str, known: Mapping[str, Claim] | None = None) -> dict[str, Verdict]:
    """`gather`, written to claims.json and claims.md in the profile's own folder."""
    ledger = gather(results, profile, known)
    folder = Layout(Path(results), profile).own
    store.write_json(folder / "claims.json", {"schema": SCHEMA, "profile": profile, "claims": _plain(ledger)})
    store.write_text(folder / "claims.md", markdown(ledger, profile, known))
    return ledger


def frame(verdicts: Mapping[str, Verdict], known: Mapping[str, Claim] | None = None) -> pd.DataFrame:
    """One row a claim: what was found, the counterexample as a sentence, then what the register knows."""
    known = register() if known is None else known
    rows = []
    for name, verdict in verdicts.items():
        claim = known[name]
        row = {"document": "X" if claim.ours else claim.document, **verdict.model_dump(), **claim.model_dump()}
        row["counterexample"] = str(verdict.counterexample) if verdict.counterexample else None
        row["also"] = verdict.also and (verdict.also.outcome or verdict.also.verdict)
        rows.append(row)
    columns = dict.fromkeys(["id", "document", *Verdict.model_fields, *Claim.model_fields])
    return pd.DataFrame(rows, columns=list(columns))


def counts(ledger: pd.DataFrame, by: str) -> pd.DataFrame:
    """Claims by `by` ('document' or 'kind') and verdict, with both totals; every verdict has its column."""
    if by not in GROUPS:
        raise ValueError(f"cannot count by {by!r}; use {' or '.join(GROUPS)}")
    present = [group for group in GROUPS[by] if group in set(ledger[by])]
    table = pd.crosstab(ledger[by], ledger["verdict"]).reindex(index=present, columns=list(VERDICTS), fill_value=0)
    table["total"] = table.sum(axis=1)
    table.loc["total"] = table.sum(axis=0)
    return table.rename_axis(index=by, columns=None).reset_index()


def history(path: Path | None = None, known: Mapping[str, Claim] | None = None) -> pd.DataFrame:
    """data/verdicts.csv, oldest first: id, date, verdict, reason, a row for every verdict that changed.

    ValueError for a row that names no claim, date or verdict, gives no reason, or is out of order.
    """
    path = Path(path or config.ROOT / "data" / "verdicts.csv")
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(rows.columns) != HISTORY:
        raise ValueError(f"{path.name} has the columns {', '.join(rows.columns)}; give {', '.join(HISTORY)}")
    for line, row in enumerate(rows.itertuples(index=False), start=2):
        find(row.id, known)
        if row.verdict not in VERDICTS or not row.reason.strip() or not DATE.fullmatch(row.date):
            raise ValueError(f"{path.name}, line {line}: {row.id} needs a date (2025-01-31), a verdict and a reason")
    if not rows["date"].is_monotonic_increasing:
        raise ValueError(f"{path.name} is not in the order of its dates; add new rows at the end")
    return rows


def reason(claim: Claim) -> str:
    """Why a claim is not run: a scale that is out of reach, a notebook that is missing or silent."""
    written = (config.ROOT / "notebooks" / file_name(claim.notebook)).exists()
    silent = f"{claim.notebook} {'has given no verdict' if written else 'is not written yet'}"
    return WITHOUT.get(claim.scale) or silent


def missing(ledger: Mapping[str, Verdict], known: Mapping[str, Claim] | None = None) -> list[str]:
    """Ids of scale cpu without a verdict."""
    return [
        name
        for name, claim in (register() if known is None else known).items()
        if claim.scale == "cpu" and (name not in ledger or ledger[name].verdict == "not run")
    ]


def markdown(ledger: Mapping[str, Verdict], profile: str, known: Mapping[str, Claim] | None = None) -> str:
    """claims.md: counts, the statements found wanting with their counterexamples, then every claim by document."""
    known = register() if known is None else known
    table = frame(ledger, known)
    lines = [
        f"# Ledger of claims, profile `{profile}`",
        "",
        f"{len(ledger)} claims of five documents, each with its verdict; `claims.json` holds the same, for programs.",
    ]
    for by in GROUPS:
        lines += ["", f"## By {by}", "", *pipe_table(counts(table, by))]
    wanting = [verdict for verdict in ledger.values() if verdict.counterexample]
    lines += ["", "## Found wanting"]
    for severity in (*SEVERITIES, None):
        group = [verdict for verdict in wanting if verdict.severity == severity]
        lines += ["", f"### {(severity or 'ours').capitalize()}", ""] if group else []
        lines += [
            f"- **{v.id}** ({v.verdict}; {known[v.id].source}){quoted(v)}: {v.counterexample}. Instead: {v.corrected}"
            for v in group
        ]
    lines += [] if wanting else ["", "None."]
    if seconds := {name: verdict.also for name, verdict in ledger.items() if verdict.also}:
        said = "were measured there. The verdicts above are those of the claims' own notebooks, and stay as they are."
        measured = sum(also.verdict != "not run" and also.measured != "not measured" for also in seconds.values())
        lines += ["", "## Asked of a pretrained model as well", "", f"{measured} of these {said}", ""]
        lines += [f"- **{name}**: {testimony(also)}" for name, also in seconds.items()]
    for key in DOCUMENTS:
        if key in set(table["document"]):
            lines += ["", section(ledger, key, known)]
    return "\n".join(lines) + "\n"


def testimony(also: Verdict) -> str:
    """What a second witness says, in a line: the outcome, its statements, and whose answers these are."""
    if also.verdict == "not run":
        return f"not run: {also.opposite}"
    said = "; ".join(f"{each.text}: {each.found} ({each.note})" for each in also.sentences)
    left = "".join(also.opposite.rpartition(NOT_ASKED)[1:]) if NOT_ASKED in also.opposite else ""
    return f"{also.outcome}. {said}. {left}".strip()


def quoted(verdict: Verdict) -> str:
    """The words of the document that fail, for a sentence; empty where a verdict has none."""
    words = next(
        (each.quote for each in verdict.sentences if each.found == "fails" and each.quote and not each.ours), ""
    )
    return f" “{words}”" if words else ""


def section(ledger: Mapping[str, Verdict], key: str, known: Mapping[str, Claim] | None = None) -> str:
    """Every claim of one document with its verdict, as Markdown."""
    rows = frame(ledger, known).query("document == @key")
    return "\n".join([f"## {key}: {DOCUMENTS[key]}", "", *pipe_table(_shown(rows))])


def _shown(rows: pd.DataFrame) -> pd.DataFrame:
    """The columns of the ledger that a reader compares: verdict, and what was measured against what."""
    found = [
        "" if verdict == "not run" else f"{show(measured)} {relation or ''} {show(expected)}"
        for verdict, measured, relation, expected in zip(
            rows["verdict"], rows["measured"], rows["relation"], rows["expected_value"], strict=True
        )
    ]
    shown = rows[["id", "statement", "verdict", "outcome", "recipe", "kind", "scale", "notebook"]].fillna("")
    shown.insert(4, "measured against", found)
    shown.insert(4, "statements", [_share(each) for each in rows["sentences"]])
    return shown


def _share(sentences: list[dict]) -> str:
    """How many of a claim's statements hold or agree; readings and ours are not counted."""
    found = [each["found"] for each in sentences if each["found"] != "read" and not each["ours"]]
    return f"{sum(each in ('holds', 'agrees') for each in found)} of {len(found)}" if found else ""


def cell(value: object) -> str:
    """A value as a table shows it: four significant digits, nothing for what is missing."""
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    return "" if value is None or value is pd.NA else " ".join(str(value).split())


def pipe_table(table: pd.DataFrame) -> list[str]:
    """The lines of a Markdown table, numbers to the right."""
    rule = ["---:" if pd.api.types.is_numeric_dtype(kind) else "---" for kind in table.dtypes]
    rows = [[_pipe_free(cell(value)) for value in row] for row in table.itertuples(index=False)]
    return ["| " + " | ".join(row) + " |" for row in [[_pipe_free(str(name)) for name in table.columns], rule, *rows]]


def _pipe_free(text: str) -> str:
    """A pipe ends a cell also inside a formula, where a backslash before it means a norm."""
    parts = FORMULA.split(text)
    parts[1::2] = [part.replace(r"\|", r"\Vert ").replace("|", r"\vert ") for part in parts[1::2]]
    parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
    return "".join(parts)
