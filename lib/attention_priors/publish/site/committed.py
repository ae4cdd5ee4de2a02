"""What the pages are made of: the committed results, read as they lie there. Nothing is drawn, decided or trained."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from attention_priors import claims
from attention_priors.figures import FIGURES, TABLES
from attention_priors.store.layout import THEORY, Layout, numbers
from attention_priors.store.notebooks import NOTEBOOKS

LARGER = ("full", "gpu", "paper")  # profiles whose results stand beside those of the site's own, where there are any
ROWS = {"figures": FIGURES, "tables": TABLES}
KINDS = ("pdf", "png")
PART = re.compile(r"^\*\*(?P<name>[^*]+?)\.?\*\*\s*(?P<text>.*?)(?=^\*\*|\Z)", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
REMEDY = "run `make reproduce` first, or name another folder (RESULTS=)"


@dataclass(frozen=True)
class Figure:
    """A committed figure: where it lies, its words, its files by extension."""

    folder: str
    name: str
    caption: str
    notes: str
    alt: str
    numbers: str
    bibtex: str
    latex: str
    files: Mapping[str, Path]

    @property
    def title(self) -> str:
        return self.name.replace("_", " ")


@dataclass(frozen=True)
class Committed:
    """The results of one profile, of theory, and of the larger profiles that are there.

    ValueError, in one line, for results that are missing.
    """

    results: Path
    profile: str

    @property
    def layout(self) -> Layout:
        return Layout(self.results, self.profile)

    @functools.cached_property
    def folders(self) -> tuple[str, ...]:
        """Theory, the profile, and larger ones with executed notebooks."""
        others = [each for each in LARGER if each != self.profile and (self.results / each / "notebooks").is_dir()]
        return THEORY, self.profile, *others

    def folder(self, name: str) -> Path:
        return self.layout.theory if name == THEORY else Layout(self.results, name).own

    @functools.cached_property
    def ledger(self) -> dict[str, claims.Verdict]:
        """The profile's verdicts by claim."""
        return self.verdicts(self.profile)

    def verdicts(self, profile: str) -> dict[str, claims.Verdict]:
        """A profile's verdicts by claim."""
        return _ledger(Layout(self.results, profile).own / "claims.json")

    @functools.cached_property
    def claims(self) -> dict[str, claims.Claim]:
        """The register's claims that have an entry in the ledger, in its order."""
        return {name: claim for name, claim in claims.register().items() if name in self.ledger}

    @functools.cached_property
    def notebooks(self) -> dict[tuple[str, str], Path]:
        """(folder, slug) -> executed copy, in reading order."""
        found = {}
        for folder in self.folders:
            for slug, row in NOTEBOOKS.items():
                path = self.folder(folder) / "notebooks" / f"{slug}.ipynb"
                if row.trained == (folder != THEORY) and path.is_file():
                    found[folder, slug] = path
        if not found:
            raise ValueError(f"no executed notebooks in {self.results}; {REMEDY}")
        return found

    @functools.cached_property
    def figures(self) -> dict[tuple[str, str], Figure]:
        """(folder, name) -> figure, in the order of FIGURES."""
        found = {}
        for folder in self.folders:
            place = self.folder(folder) / "figures"
            there = {path.stem for path in place.glob("*.png")}
            known = [*(name for name in FIGURES if name in there), *sorted(there - set(FIGURES))]
            found |= {(folder, name): figure(folder, place / f"{name}.md") for name in known}
        return found

    @functools.cached_property
    def metrics(self) -> dict[tuple[str, str], Path]:
        """(folder, name) -> CSV."""
        return {(folder, name): path for folder in self.folders for name, path in numbers(self.folder(folder)).items()}

    @functools.cached_property
    def largest(self) -> str:
        """The largest profile with findings, else the site's own: most seeds and encodings."""
        there = [each for each in self.folders[1:] if (each, "findings") in self.metrics]
        return there[-1] if there else self.profile

    @functools.cached_property
    def findings(self) -> pd.DataFrame:
        """The findings of the largest profile that has any, then those that only smaller ones have; `profile` is whose.

        ValueError where none has.
        """
        there = [each for each in (*self.folders[:0:-1], self.profile) if (each, "findings") in self.metrics]
        if not there:
            raise ValueError(f"{self.folder(self.largest) / 'metrics' / 'findings.csv'} is not there; {REMEDY}")
        found = [pd.read_csv(self.metrics[each, "findings"]).assign(profile=each) for each in dict.fromkeys(there)]
        return pd.concat(found).drop_duplicates("figure", ignore_index=True)


@functools.cache
def _ledger(path: Path) -> dict[str, claims.Verdict]:
    if not path.is_file():
        raise ValueError(f"{path} is not there; {REMEDY}")
    return claims.read(path)


def figure(folder: str, path: Path) -> Figure:
    """A figure from its .md. ValueError where there is none, or where it lacks caption or alternative text."""
    remedy = "run `make figures`"
    if not path.is_file():
        raise ValueError(f"{path} is not there: a figure needs its caption and alternative text; {remedy}")
    text = path.read_text(encoding="utf-8")
    parts = {each["name"].casefold(): " ".join(each["text"].split()) for each in PART.finditer(FENCE.sub("", text))}
    blocks = {each["language"]: each["text"].strip() for each in FENCE.finditer(text)}
    for needed in ("caption", "alternative text"):
        if not parts.get(needed):
            raise ValueError(f"{path} has no {needed}; {remedy}")
    files = {kind: path.with_suffix(f".{kind}") for kind in KINDS if path.with_suffix(f".{kind}").is_file()}
    if "png" not in files:
        raise ValueError(f"{path.with_suffix('.png')} is not there; {remedy}")
    return Figure(
        folder=folder,
        name=path.stem,
        caption=parts["caption"],
        notes=parts.get("notes", ""),
        alt=parts["alternative text"],
        numbers=parts.get("numbers", "").strip("`"),
        bibtex=blocks.get("bibtex", ""),
        latex=blocks.get("latex", ""),
        files=files,
    )
