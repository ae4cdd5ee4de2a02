"""Pictures with a known class, at any resolution: glyphs that are drawn here, digits from a file, folders of photos.

`pictures(name)` opens a source by name: "glyphs", "digits:<file>" or "folder:<folder>", the last two below the cache.
"""

from pathlib import Path

from .files import Digits, Folder
from .glyphs import Glyphs
from .source import Pictures

__all__ = ["Pictures", "known", "pictures"]

_FILES = {"digits": Digits, "folder": Folder}


def known(name: str) -> str:
    """`name`, which need not be there. ValueError where it is no source."""
    kind, _, rest = name.partition(":")
    if name != "glyphs" and (kind not in _FILES or not rest):
        raise ValueError(f"unknown pictures {name!r}; use 'glyphs', 'digits:<file>' or 'folder:<folder>'")
    return name


def pictures(name: str, cache: Path) -> Pictures:
    """The source of that name; files are looked for in `cache`/images. ValueError for one that is unknown or lacking"""
    kind, _, rest = known(name).partition(":")
    return Glyphs() if kind == "glyphs" else _FILES[kind](Path(cache) / "images" / rest)
