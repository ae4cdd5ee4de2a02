"""Pictures with a known class, at any resolution: glyphs that are drawn here, digits from a file, folders of photos.

`pictures(name)` opens a source by name: "glyphs"; "digits", those that ship, or "digits:<file>"; "folder:<folder>".
Files and folders that are named lie below the cache.
"""

from pathlib import Path

from .files import Digits, Folder
from .glyphs import Glyphs
from .source import Pictures

__all__ = ["Pictures", "kind", "known", "pictures"]

_KINDS: dict[str, type[Pictures]] = {"glyphs": Glyphs, "digits": Digits, "folder": Folder}


def kind(name: str) -> type[Pictures]:
    """The class behind a name, whose file need not be there. ValueError where it is no source."""
    first, _, rest = name.partition(":")
    if first not in _KINDS or {"glyphs": bool(rest), "folder": not rest}.get(first, False):
        raise ValueError(f"unknown pictures {name!r}; use 'glyphs', 'digits', 'digits:<file>' or 'folder:<folder>'")
    return _KINDS[first]


def known(name: str) -> str:
    """`name`, as `kind` knows it."""
    kind(name)
    return name


def pictures(name: str, cache: Path) -> Pictures:
    """The source of that name; files are looked for in `cache`/images. ValueError for what is unknown or not there."""
    made, rest = kind(name), name.partition(":")[2]
    return made(Path(cache) / "images" / rest) if rest else made()
