"""The ledger, the errata, and a page for each claim."""

from __future__ import annotations

import functools
import json
from pathlib import Path

from attention_priors import claims
from attention_priors.checks import CHECKS, WITNESS
from attention_priors.claims import mentions
from attention_priors.figures import FIGURES
from attention_priors.publish.site import markup, places
from attention_priors.publish.site.committed import Committed
from attention_priors.publish.site.markup import ALONE, badge, link, raw, relative, table, text
from attention_priors.store.layout import THEORY
from attention_priors.store.notebooks import NOTEBOOKS

HEAD = ("claim", "what is claimed", "verdict", "outcome", "sentences", "document", "kind", "notebook")
FILTERS = ("verdict", "outcome", "document", "kind", "notebook")


def ledger(committed: Committed) -> str:
    """Every claim: one row, which leads to its page."""
    more = _larger(committed)
    rows = []
    for place, (name, claim) in enumerate(committed.claims.items()):
        verdict = committed.ledger[name]
        row = [
            (link(name, places.claim(name)), place),
            text(claim.statement),
            badge(verdict.verdict),
            verdict.outcome or "",
            _share(verdict),
            claim.document,
            claim.kind,
            _notebook(committed, claim.notebook),
        ]
        rows.append([*row, *(badge(found[name].verdict) if name in found else "" for found in more.values())])
    head = [*HEAD, *(f"verdict ({each})" for each in more)]
    counted = claims.counts(claims.frame({name: committed.ledger[name] for name in committed.claims}), "document")
    documents = "; ".join(f"{key}, {title}" for key, title in claims.DOCUMENTS.items())
    return markup.page(
        f"{ALONE}# Ledger",
        f"All {len(rows)} claims with their verdicts under profile `{committed.profile}`. Choose a claim for its "
        "statement, the laws that decide it with their source, the cell that runs them, and its figures. Heads sort; "
        f"the fields filter. What was found wanting stands in the {{doc}}`errata`. Documents: {documents}.",
        raw(table(head, rows, "Claims and verdicts", filters=[*FILTERS, *head[len(HEAD) :]], name="claims")),
        "## Counts",
        raw(table(list(counted.columns), counted.astype(str).values.tolist(), "Verdicts by document")),
    )


def errata(committed: Committed) -> str:
    """What was found wanting, with counterexamples."""
    wanting = {name: verdict for name, verdict in committed.ledger.items() if verdict.counterexample}
    order = [*claims.verdict.SEVERITIES, None]
    rows = [
        [
            link(name, places.claim(name)),
            text(verdict.severity or "ours"),
            badge(verdict.verdict),
            text(committed.claims[name].statement),
            text(verdict.counterexample),
            text(verdict.corrected),
            text(committed.claims[name].source),
        ]
        for name, verdict in sorted(wanting.items(), key=lambda item: order.index(item[1].severity))
    ]
    head = ("claim", "severity", "verdict", "what is claimed", "counterexample", "what holds", "source")
    slips = sum(committed.claims[name].slip for name in wanting)
    return markup.page(
        f"{ALONE}# Errata",
        f"{len(rows)} claims were found wanting, the gravest first; {slips} of them were registered because "
        "they fail. Each counterexample is the smallest of its law's cases and can be checked by hand.",
        raw(table(head, rows, "Claims found wanting", filters=("severity", "verdict"), name="errata")),
    )


def claim(committed: Committed, name: str) -> str:
    """The page of one claim."""
    entry, verdict, page = committed.claims[name], committed.ledger[name], places.claim(name)
    parts = [
        f"{ALONE}# {name}",
        f"*{claims.DOCUMENTS[entry.document]}*: {markdown(entry.source)}. A claim of kind *{entry.kind}*.",
        "## What is claimed\n\n" + markdown(entry.statement),
        "## Verdict\n\n" + raw(f'<p class="verdicts">{_verdicts(committed, name)}</p>') + _measured(committed, name),
    ]
    if verdict.counterexample:
        fails = _box("The smallest case in which it fails", "warning", markdown(verdict.counterexample))
        holds = _box("What holds instead", "tip", markdown(verdict.corrected))
        parts.append(f"## Counterexample\n\n{fails}\n\n{holds}")
    if verdict.sentences:
        rows = [
            [
                text(each.text) + _quoted(each),
                "by reading" if each.found == "read" else each.found,
                _tried(each),
                text(f"{each.how}. {each.note}" if each.note else each.how),
                text(each.instead),
            ]
            for each in verdict.sentences
        ]
        head = ("statement", "found", "cases tried", "how", "instead")
        parts.append("## Its statements\n\n" + raw(table(head, rows, f"The statements of {name}", sorts=False)))
    if verdict.also:
        parts += _also(committed, verdict.also, page)
    if name in CHECKS:
        parts.append(_law(name, page))
    parts.append("## Where it is decided\n\n" + raw(f"<ul>{''.join(_where(committed, name, page))}</ul>"))
    changed = _history().query("id == @name").itertuples()
    if items := "".join(f"<li>{row.date}: {badge(row.verdict)} {text(row.reason)}</li>" for row in changed):
        parts.append(f"## History\n\n{raw(f'<ul>{items}</ul>')}")
    return markup.page(*parts)


_history = functools.cache(claims.history)


def _box(title: str, kind: str, said: str) -> str:
    return f"```{{admonition}} {title}\n:class: {kind}\n\n{said}\n```"


def _quoted(sentence: claims.verdict.Sentence) -> str:
    """The document's words below a statement; of one that nobody wrote, that it does not count."""
    if sentence.ours:
        return "<br><small>ours; it counts for nothing</small>"
    return f"<br><small>“{text(sentence.quote)}” ({text(sentence.place)})</small>" if sentence.quote else ""


def _tried(sentence: claims.verdict.Sentence) -> str:
    if sentence.tried is None:
        return ""
    return f"{sentence.tried:,}" + (f", {sentence.failed:,} fail" if sentence.failed else "")


def markdown(said: object) -> str:
    """A text of the register or the ledger as Markdown: its formulas stay, other signs of Markdown are plain."""
    pieces = claims.ledger.FORMULA.split(" ".join(str(said).split()))
    pieces[::2] = map(markup.plain, pieces[::2])
    return "".join(pieces)


def modules(committed: Committed) -> list[Path]:
    """The files of the laws that claims link to."""
    known = [name for name in committed.claims if name in CHECKS and name not in CHECKS.notebooks]
    return sorted({CHECKS.path(name) for name in known})


def _larger(committed: Committed) -> dict[str, dict[str, claims.Verdict]]:
    """The ledgers of larger profiles, by profile."""
    there = [each for each in committed.folders[2:] if (committed.folder(each) / "claims.json").is_file()]
    return {each: committed.verdicts(each) for each in there}


def _share(verdict: claims.Verdict) -> str:
    found = [each.found for each in verdict.sentences if each.found != "read" and not each.ours]
    return f"{sum(each in ('holds', 'agrees') for each in found)} of {len(found)}" if found else ""


def _home(committed: Committed, notebook: str) -> str:
    """The folder of a notebook's executed copy; empty where there is none."""
    folder = committed.profile if NOTEBOOKS[notebook].trained else THEORY
    return folder if (folder, notebook) in committed.notebooks else ""


def _notebook(committed: Committed, notebook: str, page: str = places.LEDGER) -> str:
    """Its name, which leads from `page` to its executed copy where there is one."""
    folder, called = _home(committed, notebook), notebook.replace("_", " ")
    return link(called, relative(places.notebook(folder, notebook), page)) if folder else called


def _also(committed: Committed, also: claims.Verdict, page: str) -> list[str]:
    """What a pretrained model says about the claim, beside its verdict, and the notebook that asked it."""
    said = f"The verdict above is that of the claim's own notebook. {claims.testimony(also)}"
    where = raw(f"<p>Notebook {_notebook(committed, WITNESS, page)}</p>")
    return [f"## Asked of a pretrained model as well\n\n{markdown(said)}", where]


def _verdicts(committed: Committed, name: str) -> str:
    """The verdict, and those under larger profiles."""
    verdict = committed.ledger[name]
    shown = badge(verdict.verdict) + (
        f" The measurement {verdict.outcome}."
        if verdict.outcome in ("agrees", "disagrees")
        else " Undecided." * bool(verdict.outcome)
    )
    others = {profile: found[name] for profile, found in _larger(committed).items() if name in found}
    return shown + "".join(f" Profile {profile}: {badge(other.verdict)}" for profile, other in others.items())


def _measured(committed: Committed, name: str) -> str:
    verdict, entry = committed.ledger[name], committed.claims[name]
    if verdict.verdict == "not run":
        return "\n\nWhy it is open: " + markdown(verdict.opposite or claims.reason(entry)) + "."
    lines = []
    if verdict.relation:
        low_high = f", 95 % interval {claims.show(list(verdict.interval))}" if verdict.interval else ""
        within = f" within {verdict.tolerance:g}" if verdict.tolerance else ""
        lines.append(
            f"Measured {claims.show(verdict.measured)}{low_high}; claimed {verdict.relation} "
            f"{claims.show(verdict.expected_value)}{within}."
        )
    trained = f"profile {verdict.profile}, recipe {verdict.recipe}, seeds {', '.join(map(str, verdict.seeds))}"
    lines.append("Nothing is trained for it." if verdict.recipe == "exact" else f"Trained: {trained}.")
    if verdict.opposite:
        lines.append(f"What would turn it: {verdict.opposite}.".replace("..", "."))
    return "\n\n" + markdown(" ".join(lines))


def _law(name: str, page: str) -> str:
    path, line, code = CHECKS.source(name)
    where = places.shown(path, line)
    if name not in CHECKS.notebooks:  # whose source is the cell below
        where = link(where, relative(places.source(path, line), page))
    return f"## The law\n\n{raw(f'<p>{where}</p>')}\n\n````{{code-block}} python\n:lineno-start: {line}\n{code}\n````"


def _where(committed: Committed, name: str, page: str) -> list[str]:
    entry, verdict, found = committed.claims[name], committed.ledger[name], []
    folder = _home(committed, entry.notebook)
    if folder:
        shown = _cells(committed.notebooks[folder, entry.notebook], name)
        target = places.notebook(folder, entry.notebook, shown[0] if shown else "")
        where = f", cell {shown[0]}" if shown else ""
        found.append(f"<li>Notebook {link(entry.notebook.replace('_', ' ') + where, relative(target, page))}</li>")
    else:
        found.append(f"<li>Notebook {entry.notebook.replace('_', ' ')} (no executed copy)</li>")
    drawn = figures(committed, name)
    if not drawn:
        found.append(f"<li>No figure: {_undrawn(verdict)}</li>")
    for each in drawn:
        target = places.figure(each.folder, each.name)
        image = relative(places.file(each.folder, "figures", f"{each.name}.png"), page)
        found.append(
            f'<li>Figure {link(each.title, relative(target, page))}<br><a href="{relative(target, page)}">'
            f'<img src="{image}" alt="{text(each.alt)}" loading="lazy" class="small"></a></li>'
        )
    for path in verdict.evidence:
        kind, _, file = path.partition("/")
        metric = next((key for key in committed.metrics if kind == "metrics" and key[1] == Path(file).stem), None)
        if metric:
            found.append(f"<li>Numbers {link(metric[1], relative(places.metric(*metric), page))}</li>")
    return found


def _undrawn(verdict: claims.Verdict) -> str:
    if verdict.verdict == "not run":
        return "nothing was measured."
    if verdict.recipe == "exact":
        return "the law above and its cases say all of it."
    return "the numbers of its sentences say all of it."


@functools.cache
def _code(notebook: Path) -> dict[str, str]:
    """The sources of the code cells by id."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"}


def _cells(notebook: Path, name: str) -> list[str]:
    """Code cells that name a claim, the deciding ones first."""
    named = [cell for cell, source in _code(notebook).items() if mentions(name).search(source)]
    return sorted(named, key=lambda cell: "claim(" not in _code(notebook)[cell])


def figures(committed: Committed, name: str) -> list:
    """The figures that show a claim, by what they say and by the ledger's evidence."""
    evidence = {Path(path).stem for path in committed.ledger[name].evidence if path.startswith("figures/")}
    return [
        figure
        for (folder, each), figure in committed.figures.items()
        if folder in (THEORY, committed.profile)
        and (each in evidence or (each in FIGURES and name in FIGURES[each].claims))
    ]
