"""The gallery: every figure with its words, its files and what one pastes into a paper."""

from __future__ import annotations

from pathlib import Path

from attention_priors.figures import FIGURES
from attention_priors.publish.site import markup, places
from attention_priors.publish.site.committed import Committed, Figure
from attention_priors.publish.site.markup import copied, details, link, raw, relative, slug, text
from attention_priors.store.layout import THEORY

TITLES = {THEORY: "Figures that no training enters"}


def title(folder: str) -> str:
    return TITLES.get(folder, f"Figures of profile {folder}")


def index(committed: Committed) -> str:
    """The list of all figures, by folder."""
    folders = [folder for folder in committed.folders if any(each == folder for each, _ in committed.figures)]
    parts = []
    for folder in folders:
        names = [name for each, name in committed.figures if each == folder]
        items = [f"<li>{link(name.replace('_', ' '), f'{folder}.html#{slug(name)}')}</li>" for name in names]
        parts += [f"## {title(folder)}", raw(f"<ul class=columns>{chr(10).join(items)}</ul>")]
    return markup.page(
        "# Gallery",
        f"{len(committed.figures)} figures. Each has its caption, its files, the numbers that it is "
        "drawn from, and BibTeX and LaTeX to copy. Figures and text: CC BY 4.0; code: Apache 2.0.",
        *parts,
        markup.toctree(folders),
    )


def page(committed: Committed, folder: str) -> str:
    """All figures of one folder."""
    parts = [shown(committed, figure) for (each, _), figure in committed.figures.items() if each == folder]
    return markup.page(f"# {title(folder)}", *parts)


def modules(committed: Committed) -> list[Path]:
    """The files of the figures, which the gallery links to."""
    return sorted({FIGURES.place(name)[0] for _, name in committed.figures if name in FIGURES})


def shown(committed: Committed, figure: Figure) -> str:
    page = places.figure(figure.folder, figure.name).partition("#")[0]
    files = [
        link(kind.upper(), relative(places.file(figure.folder, "figures", path.name), page))
        for kind, path in figure.files.items()
    ]
    metric = _metric(committed, figure)
    if metric:
        files.append(link("CSV", relative(places.file(metric[0], "metrics", f"{metric[1]}.csv"), page)))
    links = [f"Download: {', '.join(files)}."]
    if metric:
        links.append(f"Columns: {link(metric[1], relative(places.metric(*metric), page))}.")
    if figure.name in FIGURES:
        spec, place = FIGURES[figure.name], FIGURES.place(figure.name)
        links.append(f"Drawn by {link(places.shown(*place), relative(places.source(*place), page))}.")
        homes = [each for each in (figure.folder, committed.profile) if (each, spec.notebook) in committed.notebooks]
        if homes:
            place = relative(places.notebook(homes[0], spec.notebook), page)
            links.append(f"Notebook: {link(spec.notebook.replace('_', ' '), place)}.")
        decided = [link(each, relative(places.claim(each), page)) for each in spec.claims if each in committed.claims]
        if decided:
            links.append(f"Claims: {', '.join(decided)}.")
    image = relative(places.file(figure.folder, "figures", f"{figure.name}.png"), page)
    body = [
        f'<figure><img src="{image}" alt="{text(figure.alt)}" loading="lazy">',
        f"<figcaption>{text(figure.caption)}</figcaption></figure>",
        f"<p>{' '.join(links)}</p>",
    ]
    opened = {
        "Notes": figure.notes and f"<p>{text(figure.notes)}</p>",
        "Cite: BibTeX": figure.bibtex and copied("BibTeX", figure.bibtex),
        "Use: LaTeX": figure.latex and copied("LaTeX", figure.latex),
        "Alternative text": f"<p>{text(figure.alt)}</p>",
    }
    body += [details(name, said) for name, said in opened.items() if said]
    return f"## {figure.title}\n\n" + raw("\n".join(body))


def _metric(committed: Committed, figure: Figure) -> tuple[str, str] | None:
    """Where the numbers of a figure lie."""
    name = Path(figure.numbers).stem
    return next(((each, name) for each in (figure.folder, THEORY) if (each, name) in committed.metrics), None)
