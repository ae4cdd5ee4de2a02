"""The first page: what was found, and the way from there to any claim."""

from __future__ import annotations

from attention_priors.claims.verdict import EXACT, SEVERITIES, WANTING
from attention_priors.publish.site import markup, places
from attention_priors.publish.site.committed import Committed
from attention_priors.publish.site.markup import ALONE, link, raw, text
from attention_priors.store.layout import THEORY

EXAMPLE, SHOWN = "BAM-T4", "passkey_main"
CARDS = (
    ("Notebooks", "notebooks/index.html", "Claim, derivation, computation, figure and verdict, in reading order."),
    ("Ledger", places.LEDGER, "Every claim with its verdict: sort it, filter it, open the law that decides it."),
    ("Errata", places.ERRATA, "What was found wanting, with the smallest counterexample and what holds instead."),
    ("Benchmark", places.BENCHMARK, "Every encoding, one recipe, with intervals over seeds."),
    ("Gallery", "gallery/index.html", "Every figure with caption, files, numbers, BibTeX and LaTeX."),
    ("Explorers", "explorers/index.html", "Priors and rotations to move with sliders."),
    ("Data", "data/index.html", "Every file of numbers, and what each column means."),
    ("Library", "api.html", "What you import: attention, priors, encodings, trained models."),
    ("Guides", "guides/index.html", "Profiles and machines, the library, priors in your own models."),
)


def findings(committed: Committed) -> list[tuple[str, str, str]]:
    """(sentence, number with its interval, page or nothing) of each finding, the ledger's last."""
    rows = [
        (
            each.finding,
            f"{each.measured}: {each.value:.2f} [{each.low:.2f}, {each.high:.2f}]"
            + f", profile {each.profile}" * (each.profile != committed.largest),
            _figure(committed, each),
        )
        for each in committed.findings.itertuples()
    ]
    return [*rows, (decided(committed), "", places.ERRATA)]


def decided(committed: Committed) -> str:
    """How many of the documents' statements that arithmetic decides hold; ours are not among them.

    What was registered because it fails is counted apart.
    """
    theirs = {name: verdict for name, verdict in committed.ledger.items() if not committed.claims[name].ours}
    exact = {name: verdict for name, verdict in theirs.items() if verdict.verdict in EXACT}
    sample = [verdict for name, verdict in exact.items() if not committed.claims[name].slip]
    breaks, repair, editorial = (sum(each.severity == kind for each in sample) for kind in SEVERITIES)
    holds = len(sample) - breaks - repair - editorial
    slips = sum(committed.claims[name].slip and each.verdict in WANTING for name, each in exact.items())
    return (
        f"Of {len(sample)} claims of the documents that arithmetic decides, {holds} hold as they are printed, "
        f"{editorial} have an editorial slip, {repair} need a repair and {breaks} break a result; {slips} more were "
        "registered because they fail"
    )


def _figure(committed: Committed, row: object) -> str:
    """Where the figure of a finding stands, else its notebook; empty where neither is there."""
    for folder in (row.profile, THEORY):
        if (folder, row.figure) in committed.figures:
            return places.figure(folder, row.figure)
    there = (row.profile, row.notebook) in committed.notebooks
    return places.notebook(row.profile, row.notebook) if there else ""


def page(committed: Committed, pages: frozenset[str]) -> str:
    """index.md; `pages` are the paths that the site has."""
    items = []
    for sentence, number, target in findings(committed):
        shown = f' <span class="number">{text(number)}</span>' if number else ""
        label = "errata" if target == places.ERRATA else "figure"
        items.append(f"<li>{text(sentence)}{shown} {link(label, target) if target else ''}</li>")
    ledger = committed.ledger
    run = sum(verdict.verdict != "not run" for verdict in ledger.values())
    cards = [
        f'<li><a href="{target}"><strong>{name}</strong></a><span>{said}</span></li>'
        for name, target, said in CARDS
        if target in pages
    ]
    parts = [
        f"{ALONE}# Attention Priors",
        "How does attention know position? Five documents claim answers. Here their theorems are derived and checked, "
        "their encodings are trained side by side at one small size, and each claim gets a verdict that is computed, "
        "never typed in.",
        f"## What was found\n\n*Small models (profile `{committed.largest}`), trained on up to T tokens (128 in `full`)"
        ", unless another is named. A passkey is five digits hidden in filler; SSMax scales logits by the logarithm of "
        "the length; 95 % intervals in brackets.*",
        raw(f'<ol class="findings">{"".join(items)}</ol>'),
    ]
    shown = committed.figures.get((committed.largest, SHOWN))
    if shown:
        target = places.figure(shown.folder, shown.name)
        parts.append(
            raw(
                f'<figure><a href="{target}"><img src="{places.file(shown.folder, "figures", f"{shown.name}.png")}" '
                f'alt="{text(shown.alt)}" class="wide"></a><figcaption>{text(shown.caption.split(". ")[0])}. '
                f"{link('Caption, files and numbers', target)}</figcaption></figure>"
            )
        )
    parts += [
        "## Look around",
        raw(f'<ul class="cards">{"".join(cards)}</ul>'),
        "## Check a claim yourself",
        f"{len(ledger)} claims are registered, {run} have a verdict (some of them *inconclusive*); the rest are *not "
        "run*, with the reason. A verdict of *verified*, *verified with correction* or *contradicted* is given only "
        "where arithmetic, or a run at the papers' own scale, can decide.",
    ]
    if EXAMPLE in committed.claims:
        claim = committed.claims[EXAMPLE]
        verdict = ledger[EXAMPLE].verdict
        way = [
            f"Open {link('the errata', places.ERRATA)} (or {link('the ledger', places.LEDGER)}).",
            f"Choose {link(EXAMPLE, places.claim(EXAMPLE))}, <em>{verdict}</em>: {text(claim.statement)} Its page "
            "has the smallest counterexample, the law that decides it and what holds instead.",
            "From there to the law's source, the cell of the notebook that runs it, and the figure that shows it.",
        ]
        parts.append(raw(f'<ol class="way">{"".join(f"<li>{each}</li>" for each in way)}</ol>'))
    return markup.page(
        *parts,
        "On your own machine: `make claim ID=BAM-T4` prints the same way, `make verify` recomputes what is shown here, "
        "`make reproduce` everything.",
    )
