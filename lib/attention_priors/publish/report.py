"""Metrics, figures and tables of one notebook on disk, and everything redrawn from committed metrics.

What needs no training is drawn into results/theory, whatever the profile; the rest into results/<profile>.

A figure or table is a function of one frame; the notebook, this command and `make figures` draw it the same way.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attention_priors import claims, experiments, store
from attention_priors.figures import FIGURES, LEDGER, TABLES, FigureSpec, NotCompared, TableSpec, style, tables, words
from attention_priors.publish import citation
from attention_priors.store import manifest
from attention_priors.store.layout import THEORY, Layout

EXACT = "exact"  # the recipe of what needs no training
ROWS = {"figure": FIGURES, "table": TABLES}
EXTENSIONS = {"figure": ("pdf", "png", "md"), "table": ("csv", "md", "tex")}
LARGE = 100_000  # characters of numbers above which their file is compressed
SCREEN = 150  # pixels to the inch of what a notebook shows
ACROSS = 10.0  # inches of a screen that figures may take beside one another


class NotMeasured(ValueError):
    """A figure or table has no metrics under this profile yet."""


class Report:
    """What one notebook writes below `layout`. Drawn files go below `into` instead when it is given."""

    def __init__(self, layout: Layout, notebook: str, *, into: Layout | None = None):
        self.layout, self.notebook, self.into = layout, notebook, into or layout

    def metrics(
        self, name: str, frame: pd.DataFrame, key: str, recipe: str = EXACT, *, theory: bool = False
    ) -> pd.DataFrame:
        """Write metrics/<name>.csv (.csv.xz where it is large) and its origin; the frame as it is read back.

        They lie with the notebook's results; `theory`: with what no profile changes.
        """
        if frame.empty:
            raise ValueError(f"metrics {name!r} are empty; nothing is written")
        label = THEORY if theory else self.layout.label(self.notebook)
        text = csv(frame)
        path = self._folder(label) / "metrics" / f"{name}.csv"
        large = path.with_name(f"{name}.csv.xz")
        origin = {"key": key, "recipe": recipe, "profile": label, "sha256": _digest(text)}
        # The origin goes last: without it, or with another hash, a half-written pair is not taken for a result.
        if len(text) > LARGE:
            store.write_bytes(large, store.packed(text))
        else:
            store.write_text(path, text)
        (path if len(text) > LARGE else large).unlink(missing_ok=True)
        store.write_json(path.with_suffix(".json"), origin)
        return self.read(name)[0]

    def read(self, name: str, notebook: str | None = None) -> tuple[pd.DataFrame, dict[str, str]]:
        """The committed frame and its origin (key, recipe, profile). ValueError when the numbers were altered."""
        if name == LEDGER:
            return self._ledger()
        path = self.place(name, notebook)
        text, origin = store.read_text(path), store.read_json(path.with_name(f"{name}.json"))
        if origin.get("sha256") != _digest(text):
            raise ValueError(f"{path} differs from what was measured ({name}.json); restore it or run its notebook")
        return pd.read_csv(io.StringIO(text)), origin

    def source(self, name: str) -> pd.DataFrame:
        """A metric that others are derived from; an empty frame where it is optional and not there."""
        try:
            return self.read(name)[0]
        except NotMeasured:
            if name not in experiments.optional():
                raise
            return pd.DataFrame()

    def place(self, name: str, notebook: str | None = None) -> Path:
        """The file of a metric, among the profile's or theory's. NotMeasured where it is in neither."""
        for folder in (self.layout.own, self.layout.theory):
            for path in (folder / "metrics" / f"{name}.csv", folder / "metrics" / f"{name}.csv.xz"):
                if path.exists() and path.with_name(f"{name}.json").exists():
                    return path
        run = notebook or self.notebook
        raise NotMeasured(f"no metrics/{name}.csv for profile {self.layout.profile}; run the notebook {run}")

    def _ledger(self) -> tuple[pd.DataFrame, dict[str, str]]:
        path, profile = self.layout.own / "claims.json", self.layout.profile
        if not path.exists():
            raise NotMeasured(f"no claims.json for profile {profile}; run the notebook verdicts")
        found = claims.read(path)
        frame = claims.frame({name: found[name] for name in claims.register() if name in found})
        key = store.key(path.read_text(encoding="utf-8"))
        return frame, {"key": key, "recipe": "as in the ledger", "profile": profile}

    def _folder(self, label: str, layout: Layout | None = None) -> Path:
        layout = layout or self.layout
        return layout.theory if label == THEORY else layout.own

    def figure(self, name: str, *, vectors: Path | None = None) -> Figure:
        """Draw FIGURES[name] from its metrics, write figures/<name>.{pdf,png,md} and return it.

        `vectors`: a folder for <name>.svg; results have none, since all of them take as much room as all the rest.
        """
        spec = FIGURES[name]
        frame, origin = self.read(spec.metrics, spec.notebook)
        style.apply()
        with spec.reading():
            figure = spec.draw(frame)
            described = _description(name, spec, frame, origin, figure.get_figwidth())
        folder = self._folder(origin["profile"], self.into) / "figures"
        picture(figure, folder / name, spec.alt, titled(name, origin), origin["key"], vectors)
        store.write_text(folder / f"{name}.md", described)
        return figure

    def table(self, name: str) -> pd.DataFrame:
        """Build TABLES[name] from its metrics, write tables/<name>.{csv,md,tex} and return it."""
        spec = TABLES[name]
        frame, origin = self.read(spec.metrics, spec.notebook)
        with spec.reading():
            built, caption = spec.build(frame), spec.caption(frame)
        folder = self._folder(origin["profile"], self.into) / "tables"
        for extension, text in tables.render(name, built, caption, _origin(spec, origin)).items():
            store.write_text(folder / f"{name}.{extension}", text)
        return built

    def caption(self, name: str) -> tuple[str, str]:
        """What is printed under a figure, and its notes, with what it is drawn from."""
        spec = FIGURES[name]
        return _caption(spec, *self.read(spec.metrics, spec.notebook))

    def files(self, kind: str, name: str) -> list[Path]:
        """The three files of a figure or table, where they are written."""
        spec = ROWS[kind][name]
        origin = self.read(spec.metrics, spec.notebook)[1]
        folder = self._folder(origin["profile"], self.into) / f"{kind}s"
        return [folder / f"{name}.{extension}" for extension in EXTENSIONS[kind]]


def csv(frame: pd.DataFrame) -> str:
    """Numbers as files hold them."""
    return frame.to_csv(index=False, float_format=tables.FLOATS, lineterminator="\n")


def _digest(text: str) -> str:
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def _from(origin: dict[str, str]) -> str:
    """What the numbers depend on: nothing that a profile says, or a profile and its recipe."""
    recipe = f"recipe {origin['recipe']}"
    return recipe if origin["profile"] == THEORY else f"profile {origin['profile']}, {recipe}"


def titled(name: str, origin: dict[str, str]) -> str:
    """What a figure's files are titled: its name and what its numbers depend on."""
    return f"{name} ({_from(origin)})"


def _origin(spec: FigureSpec | TableSpec, origin: dict[str, str]) -> str:
    """The end of a caption and the footer of a table: what it stands beside in the paper, and where it comes from."""
    beside = f"To compare with {spec.paper}. " if spec.paper else ""
    where = _from(origin)
    return f"{beside}{where[0].upper()}{where[1:]}, notebook {spec.notebook}, key {origin['key']}."


def _caption(spec: FigureSpec, frame: pd.DataFrame, origin: dict[str, str]) -> tuple[str, str]:
    """A caption to print, which names the profile where numbers depend on one, and its notes."""
    where = "" if origin["profile"] == THEORY else f" P{_from(origin)[1:]}."
    printed, notes = words.parts(spec.caption(frame), words.PRINTED - len(where.split()))
    return printed + where, f"{notes} {_origin(spec, origin)}".strip()


def picture(figure: Figure, path: Path, alt: str, title: str, key: str, vectors: Path | None = None) -> None:
    """Write <path>.pdf and <path>.png, with what they show and come from, and let go of the figure.

    `vectors`: a folder for the SVG.
    """
    text = {"Title": title, "Key": key}
    store.write_bytes(path.with_name(f"{path.name}.pdf"), _pdf(figure, alt, **text))
    about = {"Description": alt, "Copyright": citation.LICENCE} | text
    store.write_bytes(path.with_name(f"{path.name}.png"), screen(figure, **about))
    if vectors:  # letters are outlines there, so that the font need not be there
        about = {"Title": title, "Description": alt, "Keywords": [key], "Rights": citation.LICENCE, "Date": None}
        store.write_bytes(vectors / f"{path.name}.svg", _saved(figure, "svg", metadata=about))
    plt.close(figure)  # a notebook shows the returned figure once, not also as the current one


def _pdf(figure: Figure, alt: str, Title: str, Key: str) -> bytes:
    """No dates: the same numbers give the same bytes."""
    about = {"Title": Title, "Subject": alt, "Keywords": f"{Key}; {citation.LICENCE}"}
    return _saved(figure, "pdf", metadata=about | {"CreationDate": None, "ModDate": None})


def _saved(figure: Figure, kind: str, **how: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, **how)
    return buffer.getvalue()


def screen(figure: Figure, **about: str) -> bytes:
    """A figure for the screen, in 256 colours, which look the same in a third of the space; what is printed is the PDF.

    `about`: texts to write into it.
    """
    texts = PngInfo()
    for name, text in about.items():
        texts.add_text(name, text)
    with Image.open(io.BytesIO(_saved(figure, "png", dpi=SCREEN))) as image:
        return _in_few_colours(image.convert("RGB"), pnginfo=texts, dpi=image.info["dpi"])


def _in_few_colours(image: Image.Image, **how: Any) -> bytes:
    buffer = io.BytesIO()
    # Not the default, median cut, which gives away a colour of few pixels: pink markers beside a map became grey.
    few = image.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(buffer, format="png", optimize=True, **how)
    return buffer.getvalue()


def together(figures: Sequence[Figure]) -> tuple[bytes, float]:
    """Figures of one size in one picture for the screen, beside one another where a page is wide enough; its inches."""
    drawn = [Image.open(io.BytesIO(screen(figure))) for figure in figures]
    width, height = drawn[0].size
    inches = figures[0].get_figwidth()
    row = len(drawn) * inches <= ACROSS
    picture = Image.new("RGB", (width * len(drawn), height) if row else (width, height * len(drawn)), "white")
    for place, each in enumerate(drawn):
        picture.paste(each, (place * width, 0) if row else (0, place * height))
    return _in_few_colours(picture), len(drawn) * inches if row else inches


def _description(name: str, spec: FigureSpec, frame: pd.DataFrame, origin: dict[str, str], width: float) -> str:
    """figures/<name>.md: the picture, its caption and notes, its alternative text, how to print and to cite it."""
    printed, notes = _caption(spec, frame, origin)
    path = f"results/{origin['profile']}/figures/{name}.pdf"
    source = f"{_from(origin)}, key {origin['key']}"
    parts = [
        f"# {name}",
        f"![{spec.alt}]({name}.png)",
        f"**Caption.** {printed}",
        f"**Notes.** {notes}",
        f"**Alternative text.** {spec.alt}",
        f"**Numbers.** `{spec.metrics if spec.metrics == LEDGER else f'metrics/{spec.metrics}.csv'}`",
        f"**Print** (made for {width:g} in)\n\n```latex\n"
        f"{citation.snippet(name, path, printed, width, style.SINGLE)}\n```",
        f"**Cite as**\n\n```bibtex\n{citation.bibtex(name, path, source, spec.paper)}\n```",
        f"**Licence.** {citation.LICENSED}",
    ]
    return "\n\n".join(parts) + "\n"


def redraw(layout: Layout, *, into: Layout | None = None, vectors: Path | None = None) -> tuple[list[Path], list[str]]:
    """Draw every figure and table whose metrics are there, of theory and of the profile; figures also as `vectors`.

    Returns the files written, below `layout.results`, and why others were skipped. ValueError where there are none.
    """
    into = into or layout
    written: list[Path] = []
    skipped: list[str] = []
    for kind, rows in ROWS.items():
        for name in sorted(rows):
            report = Report(layout, rows[name].notebook, into=into)
            try:
                report.figure(name, vectors=vectors) if kind == "figure" else report.table(name)
            except (NotMeasured, NotCompared) as reason:
                skipped.append(f"{kind} {name}: {reason}")
                continue
            written += [path.relative_to(into.results) for path in report.files(kind, name)]
    if not written:
        raise ValueError(f"no metrics of profile {layout.profile} in {layout.results}; run make reproduce first")
    return written, skipped


def lost(layout: Layout) -> list[str]:
    """Metrics that were written and are not there any more."""
    return [
        f"{(folder / name).relative_to(layout.results)} is gone; restore it, or run its notebook"
        for folder in (layout.own, layout.theory)
        for name in manifest.read(folder)
        if name.startswith("metrics/") and not (folder / name).is_file()
    ]


def differences(layout: Layout) -> tuple[list[Path], list[Path]]:
    """Redraw into an empty folder: the files that were compared, and those that are not committed or differ."""
    with tempfile.TemporaryDirectory() as folder:
        again = Layout(Path(folder), layout.profile)
        written, _ = redraw(layout, into=again)
        differ = [path for path in written if not _equal(layout.results / path, again.results / path)]
    return written, differ


def _equal(committed: Path, drawn: Path) -> bool:
    return committed.is_file() and committed.read_bytes() == drawn.read_bytes()
