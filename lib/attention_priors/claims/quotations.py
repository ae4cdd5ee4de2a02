"""What the documents say, word for word: form and length of a quotation, and the search for it in a document's text.

The documents do not ship. Whoever has their texts names the folder, and every quotation is found in them at its place;
SOURCES tells a text by its sum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCES = {
    "BAM": "e2076b57ccacd095",
    "GOAT": "53676880300af585",
    "OPG": "ec1651b11886baeb",
    "PE": "70540a85edbaf3c0",
    "PC": "2ab295cabcec7de6",
}
SHORTEST, LONGEST = 12, 240  # characters of a quotation: enough to be found, at most two lines
GAP = 400  # characters that an ellipsis, or a formula's second rendering beside the first, may stand for
LABELS = {"Fig.": "Figure", "Eq.": "("}  # how a text begins what a place abbreviates
KINDS = ("Theorem", "Lemma", "Definition", "Proposition", "Algorithm", "Table", "Fig.", "Eq.")
_FORMULA = re.compile(r"(\$[^$]*\$|…)")
_NUMBERED = re.compile(r"(?m)^(?:(\d(?:\.\d)?) [A-Z]|([A-I]\.\d) [A-Z]|Appendix ([A-I]) |(Abstract)$)")
_MARKS = str.maketrans("‘’“”‐‑–", "''\"\"---")


def objection(quote: str, place: str) -> str | None:
    """What is wrong with a quotation before any text is opened."""
    if not quote and not place:
        return None
    if not quote or not place:
        return "needs both a quotation and its place"
    if len(quote) > LONGEST:
        return f"quotes {len(quote)} characters; at most {LONGEST} (two lines), with … for what is left out"
    if sum(map(len, _literal(quote))) < SHORTEST:
        return f"quotes too little to be found ({quote!r}); give {SHORTEST} characters or more"
    if unknown := [each for each in place.split(", ")[1:] if not each.startswith(KINDS)]:  # the first may be a heading
        return f"names the place {unknown[0]!r}; after the section come {', '.join(KINDS)} and a number"
    return None


@dataclass(frozen=True)
class Document:
    """The text of one document."""

    name: str
    raw: str

    @cached_property
    def text(self) -> str:
        return _plain(self.raw)

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        """Where numbered sections begin in `text`: (position, "§2.4", "App. B.6" or "Abstract")."""
        found = []
        for match in _NUMBERED.finditer(self.raw):
            number, lettered, appendix, abstract = match.groups()
            name = abstract or (f"§{number}" if number else f"App. {lettered or appendix}")
            found.append((len(_plain(self.raw[: match.start()])), name))
        return found

    def objection(self, quote: str, place: str) -> str | None:
        """Why the quotation does not stand in this text at its place, in one line; None if it does."""
        section, *labels = place.split(", ")
        floats = section.startswith(KINDS)  # tables and figures stand where there is room
        for label in [section, *labels] if floats else labels:
            kind, _, number = label.partition(" ")
            if LABELS.get(kind, kind + " ") + (" " if kind == "Fig." else "") + number not in self.text:
                return f"{self.name} has no {label}; correct the place"
        numbered = section.startswith(("§", "App. ")) or section == "Abstract"
        begins = [at for at, name in self.headings if name == section] if numbered else self._lines(section)
        if not begins and not floats:
            return f"{self.name} has no section {section!r}; correct the place"
        found = [match.start() for match in re.finditer(_pattern(quote), self.text)]
        if not found:
            return f"not in {self.name}: “{quote}”; nearest is “{self._nearest(quote)}”"
        if not floats and not any(self._within(at, section, begins, numbered) for at in found):
            return f"stands in {self.name}, but not in {section}: “{quote}”; correct the place"
        return None

    def _within(self, at: int, section: str, begins: list[int], numbered: bool) -> bool:
        if not numbered:
            return at >= min(begins)
        above = [name for begin, name in self.headings if begin <= at]
        return bool(above) and (above[-1] == section or above[-1].startswith(section + "."))

    def _lines(self, heading: str) -> list[int]:
        """Where lines begin that start with these words: headings of a text without numbers."""
        starts = re.finditer(rf"(?m)^{re.escape(heading)}", self.raw)
        return [len(_plain(self.raw[: match.start()])) for match in starts]

    def _nearest(self, quote: str) -> str:
        """The passage that shares the longest beginning with the quotation."""
        words = " ".join(_literal(quote)).split()
        for count in range(len(words) - 1, 0, -1):
            if (at := self.text.find(" ".join(words[:count]))) >= 0:
                return self.text[at : at + 100]
        return self.text[:100]


def documents(folder: Path) -> dict[str, Document]:
    """The documents in a folder, by the sums of their texts. ValueError naming those that are not there."""
    found = {}
    for path in sorted(Path(folder).glob("*")):
        if path.is_file():
            name = next((name for name, sum_ in SOURCES.items() if _sum(path).startswith(sum_)), None)
            if name:
                found[name] = Document(name, path.read_text(encoding="utf-8"))
    if missing := [name for name in SOURCES if name not in found]:
        raise ValueError(f"{folder} lacks the text of {', '.join(missing)}; SOURCES in quotations.py has their sums")
    return found


def not_found(quoted: Iterable[tuple[str, str, str]], folder: Path) -> Iterator[str]:
    """A line for each (claim, quote, place) that does not stand where it says."""
    known = documents(folder)
    for identifier, quote, place in quoted:
        document = known.get(identifier.split("-", 1)[0])
        if document is None:
            yield f"{identifier}: no document states it, so that nothing can be quoted; mark it `ours`"
        elif refused := document.objection(quote, place):
            yield f"{identifier}: {refused}"


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _plain(text: str) -> str:
    """One line without marks of formulas, quotation marks and dashes of one kind."""
    text = re.sub(r"\$|\\[()\[\]]", "", text.translate(_MARKS))
    return re.sub(r"\s+", " ", text)


def _literal(quote: str) -> list[str]:
    """The parts of a quotation that stand in the text as they are: words and formulas."""
    return [part.strip("$").strip() for part in _FORMULA.split(quote) if part != "…"]


def _pattern(quote: str) -> re.Pattern[str]:
    """Words as they stand; a formula with what its other renderings put around it; an ellipsis for up to GAP."""
    parts = []
    for part in _FORMULA.split(quote):
        beside = rf".{{0,{GAP}}}?" if parts else ""
        if part == "…":
            parts.append(beside)
        elif part.startswith("$"):
            inner = r"(?:% ?)? ?".join(re.escape(each) for each in part.strip("$").replace(" ", ""))
            parts.append(rf"{beside}{inner}.{{0,{GAP}}}?")
        elif part:
            parts.append(r"\s*".join(re.escape(word) for word in _plain(part).split(" ")))
    return re.compile("".join(parts))
