"""Long documents that no model here was trained on: Python's own manual, licences and sources of pinned packages.

The rows stand in data/corpora.yaml under `manuals`, each with the sum of its text. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from .. import config
from ..store.layout import ROOT

TOPICS = "pydoc_data.topics"
CHARACTERS = 72_000  # of a document: 12,288 tokens and more, in prose and in code


class Manual(config.Frozen):
    """A part of a file of a package, or of Python's topics of help, from a character on."""

    kind: Literal["manual", "licence", "source"]
    package: str = Field(description="distribution, or pydoc_data.topics of Python itself")
    version: str | None = None
    file: str | None = Field(default=None, description="path in the distribution")
    start: int = Field(default=0, ge=0)
    sha256: str = ""

    @model_validator(mode="after")
    def _placed(self) -> Manual:
        if (self.package == TOPICS) != (self.file is None):
            raise ValueError(f"file = {self.file}: a package needs one, {TOPICS} has none")
        return self


def known() -> dict[str, Manual]:
    """The rows of data/corpora.yaml."""
    rows = config.read_yaml((ROOT / "data" / "corpora.yaml").read_text(encoding="utf-8"))["manuals"]
    return {name: config.parse(Manual, row, f"corpora.yaml: manuals.{name}") for name, row in rows.items()}


def text(name: str) -> str:
    """CHARACTERS of a document. ValueError where its package is missing or shorter."""
    row = known()[name]
    if row.package == TOPICS:
        topics = importlib.import_module(TOPICS).topics
        whole = "\n\n".join(topics[topic] for topic in sorted(topics))
    else:
        try:
            whole = Path(distribution(row.package).locate_file(row.file)).read_text(encoding="utf-8", errors="replace")
        except (PackageNotFoundError, FileNotFoundError):
            raise ValueError(
                f"document {name!r} is {row.file} of {row.package} {row.version}, which is not there; "
                f"pip install {row.package}=={row.version}"
            ) from None
    cut = whole[row.start : row.start + CHARACTERS]
    if len(cut) < CHARACTERS:
        raise ValueError(
            f"document {name!r} has {len(cut):,} characters from {row.start:,} on, but {CHARACTERS:,} are "
            f"needed; install {row.package} {row.version or 'of Python 3.11 to 3.13'}"
        )
    return cut


def changed(name: str) -> str | None:
    """What differs from the document that the sum is of; None where it is the same."""
    row = known()[name]
    if hashlib.sha256(text(name).encode()).hexdigest() == row.sha256:
        return None
    return "another Python" if row.package == TOPICS else f"{row.package} {version(row.package)}, not {row.version}"
