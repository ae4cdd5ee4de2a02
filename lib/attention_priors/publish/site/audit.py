"""What holds of every built site: links lead somewhere, nothing comes from outside, pages are light, pictures speak."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HEAVIEST = 1_500_000  # bytes of a page with its styles and scripts, without pictures
OUTSIDE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
ADDRESS = re.compile(r"""(?:url\(\s*|@import\s+)["']?(?P<address>[^"')\s]+)""")
_BY_SRC = ("script", "img", "iframe", "source", "video", "audio", "embed", "track", "input")
LOADED = dict.fromkeys(_BY_SRC, "src") | {"object": "data"}
RELATIONS = frozenset({"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch"})


@dataclass
class Page(HTMLParser):
    """What a page loads and links to, its anchors, and its pictures without words."""

    path: Path
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    silent: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in given}
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link":
            loaded = RELATIONS & set(values.get("rel", "").split())
            (self.loads if loaded else self.links).append(values.get("href", ""))
        if values.get(LOADED.get(tag, "")):
            self.loads.append(values[LOADED[tag]])
        if tag == "img" and not values.get("alt", "").strip():
            self.silent.append(values.get("src", ""))
        self.loads += [found["address"] for found in ADDRESS.finditer(values.get("style", ""))]


def problems(site: Path) -> list[str]:
    """One line for each thing that is wrong with a built site."""
    site = site.resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    found = [] if pages else [f"{site} has no pages"]
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        found += [f"{name} links to {link}, which is not there" for link in sorted(set(_dead(page, pages)))]
        found += [f"{name} loads {each} from outside" for each in page.loads if OUTSIDE.match(each)]
        found += [f"{name} loads {each}, which is not there" for each in page.loads if not _there(path, each)]
        found += [f"{name} shows {each} without alternative text" for each in page.silent]
        size = weight(page)
        if size > HEAVIEST:
            found.append(f"{name} has {size:,} bytes without pictures, more than {HEAVIEST:,}")
    for path in sorted(site.rglob("*.css")):
        loads = [each["address"] for each in ADDRESS.finditer(path.read_text(encoding="utf-8", errors="replace"))]
        found += [
            f"{path.relative_to(site).as_posix()} loads {each} from outside" for each in filter(OUTSIDE.match, loads)
        ]
    return found


def weight(page: Page) -> int:
    """Bytes of a page with the styles and scripts that it loads."""
    beside = {page.path.parent / _file(each) for each in page.loads if _file(each).endswith((".js", ".css"))}
    return page.path.stat().st_size + sum(path.stat().st_size for path in beside if path.is_file())


def _file(address: str) -> str:
    return unquote(urlsplit(address).path)


def _there(path: Path, address: str) -> bool:
    return address.startswith("data:") or bool(OUTSIDE.match(address)) or (path.parent / _file(address)).is_file()


def _dead(page: Page, pages: dict[Path, Page]) -> Iterable[str]:
    """Links within the site whose page or anchor is not there."""
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link in ("", "#"):
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        anchor = unquote(parts.fragment)
        if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
            yield link
