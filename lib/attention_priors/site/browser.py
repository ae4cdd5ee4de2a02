"""The site in a headless browser: what tests open; `python -m attention_priors.site.browser` takes screenshots."""

from __future__ import annotations

import fnmatch
import importlib.util
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from attention_priors import commands, config

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (1280, 390)  # a desk and a telephone
HEIGHT = 900
TALL = "document.documentElement.scrollHeight"
TALLEST = 16_000  # pixels; what Chromium draws in one picture


def executable() -> str:
    """The browser to open pages with. ValueError, with the remedy, where it or playwright is missing."""
    if importlib.util.find_spec("playwright") is None:
        raise ValueError("playwright is not installed; install it: pip install playwright")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise ValueError("no Chromium or Chrome on the path; install one (Debian, Ubuntu: apt install chromium)")
    return found


@contextmanager
def opened() -> Iterator[Browser]:
    """A headless Chromium."""
    path = executable()
    from playwright.sync_api import sync_playwright

    # Its sandbox refuses to run as root, as in most containers. The pages are local files.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def pages(html: Path) -> list[str]:
    """The site's pages as paths from its root, without what Sphinx's theme puts beside its scripts."""
    found = (path.relative_to(html).as_posix() for path in html.rglob("*.html"))
    return sorted(path for path in found if not path.startswith("_"))


def screenshots(
    browser: Browser, html: Path, into: Path, wanted: str = "*", themes: tuple[str, ...] = ("light",)
) -> list[Path]:
    """A picture of each page that fits the pattern `wanted`, whole, at both widths: <into>/<page>-<width>.png.

    ValueError where no page fits.
    """
    chosen = fnmatch.filter(pages(html), wanted)
    if not chosen:
        raise ValueError(f"no page of {html} fits {wanted!r}; build the site, or give a pattern such as 'claims/*'")
    made = []
    for width, theme in itertools.product(WIDTHS, themes):
        context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=theme)
        page = context.new_page()
        for name in chosen:
            page.goto((html / name).resolve().as_uri())
            clip = {"x": 0, "y": 0, "width": width, "height": min(page.evaluate(TALL), TALLEST)}
            mark = "" if theme == "light" else f"-{theme}"
            target = into / f"{name.removesuffix('.html').replace('/', '-')}-{width}{mark}.png"
            page.screenshot(path=target, full_page=True, clip=clip)
            made.append(target)
        context.close()
    return made


def main(arguments: list[str] | None = None) -> int:
    """0: drawn. 2: bad input."""
    home = config.ROOT / "build" / "site"
    parser = commands.Arguments("site.browser", "a picture of each page of the site that was built, at 1280 and 390 px")
    parser.add_argument("--html", type=Path, default=home / "html", help="folder of pages (default: build/site/html)")
    parser.add_argument("--into", type=Path, default=home / "screenshots", help="folder (build/site/screenshots)")
    parser.add_argument("--pages", default="*", help="pattern, such as 'explorers/*' (default: all pages)")
    parser.add_argument("--dark", action="store_true", help="in dark mode too")
    chosen = parser.parse_args(arguments)
    try:
        with opened() as browser:
            themes = ("light", "dark") if chosen.dark else ("light",)
            made = screenshots(browser, chosen.html, chosen.into, chosen.pages, themes)
    except commands.REFUSED as error:
        return commands.refused(error)
    print(f"{len(made)} pictures in {chosen.into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
