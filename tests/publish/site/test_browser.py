"""The site's pages in headless Chromium, opened from the disk."""

import os
import re
import shutil
from urllib.parse import unquote

import pytest

from attention_priors.publish.site import audit

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NARROW = 390
ALIKE = ("claims/", "source/")
EXPLORERS = ("prior", "planes", "exponent")
FACTS = """async () => {
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    for (let i = 0; i < 100 && painted() === undefined; i++) await new Promise((done) => setTimeout(done, 10));
    await document.fonts.ready;
    const all = (selector, read) => [...document.querySelectorAll(selector)].map(read);
    return {
        paint: painted() ?? null,
        ids: all("[id], a[name]", (node) => node.id || node.name),
        links: all("a[href]", (node) => node.href),
        unnamed: all("svg[role=img]:not([aria-label], [aria-hidden=true])", (node) => node.id),
        refused: all(".katex-error", (node) => node.textContent),
        width: document.documentElement.scrollWidth,
        loaded: performance.getEntriesByType("resource").map((entry) => entry.name),
        titled: document.title,
    };
}"""


@pytest.fixture(scope="module")
def chromium():
    """A headless Chromium."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("the pages were not opened: no Chromium or Chrome on the path")
    api = pytest.importorskip("playwright.sync_api", reason="the pages were not opened: playwright is not installed")
    # Its sandbox refuses to run as root, as in most containers. The pages are local files.
    arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(html):
    """The URL of a page."""
    return lambda name: (html / name).resolve().as_uri()


class Watched:
    """A tab, and what went wrong in it."""

    def __init__(self, chromium, home: str, **settings) -> None:
        self.wrong: list[str] = []
        self.page = chromium.new_context(**settings).new_page()
        self.page.on("console", lambda said: said.type in ("error", "warning") and self.wrong.append(said.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("requestfailed", lambda request: self.wrong.append(f"failed: {request.url}"))
        self.page.on("request", lambda request: self.local(request.url, home) or self.wrong.append(request.url))

    @staticmethod
    def local(url: str, home: str) -> bool:
        return url.startswith((home, "data:", "blob:"))


@pytest.fixture
def tab(chromium, address):
    """A tab at 1280 px that must have nothing to complain of at the end."""
    watched = Watched(chromium, address("."), viewport={"width": 1280, "height": 900})
    yield watched.page
    watched.page.context.close()
    assert not watched.wrong


@pytest.fixture(scope="module")
def visited(html, chromium, address):
    """{page: what the browser found}, opened once at 390 px; and what went wrong, by page.

    Claims and sources are of one make: every thirtieth of them, unless SITE_PAGES=all; `audit` reads the rest.
    """
    pages = sorted(path.relative_to(html).as_posix() for path in html.rglob("*.html"))
    pages = [name for name in pages if not name.startswith("_")]  # Sphinx's theme puts some beside its scripts
    alike = [name for name in pages if name.startswith(ALIKE)]
    skipped = set() if os.environ.get("SITE_PAGES") == "all" else {*alike} - {*alike[::30]} - {"claims/BAM-T4.html"}
    watched = Watched(chromium, address("."), viewport={"width": NARROW, "height": 844})
    facts, wrong = {}, {}
    for name in (each for each in pages if each not in skipped):
        watched.wrong.clear()
        watched.page.goto(address(name))
        facts[name] = watched.page.evaluate(FACTS)
        if watched.wrong:
            wrong[name] = list(watched.wrong)
    watched.page.context.close()
    return facts, wrong


def test_no_page_complains_or_asks_outside(visited):
    facts, wrong = visited
    assert len(facts) > 50
    assert wrong == {}
    assert {name: found["refused"] for name, found in facts.items() if found["refused"]} == {}  # formulas


def test_every_page_holds_together(html):
    """Read without a browser, all of them: links, what is loaded, words for pictures."""
    assert audit.problems(html) == []


def test_every_anchor_that_scripts_make_is_there(visited, address):
    """Links as the browser has them, after the scripts ran."""
    facts, _ = visited
    known = {address(name): {*found["ids"]} for name, found in facts.items()}
    missing = [
        (name, url)
        for name, found in facts.items()
        for url, mark, anchor in (link.partition("#") for link in found["links"])
        if anchor and url in known and unquote(anchor) not in known[url]
    ]
    assert missing == []


def test_every_drawing_says_what_it_shows(visited):
    facts, _ = visited
    assert {name: found["unnamed"] for name, found in facts.items() if found["unnamed"]} == {}
    assert [name for name, found in facts.items() if not found["titled"]] == []


def test_nothing_scrolls_sideways_on_a_narrow_screen(visited):
    facts, _ = visited
    assert {name: found["width"] for name, found in facts.items() if found["width"] > NARROW} == {}


def curves(tab):
    return tab.eval_on_selector_all(".explorer path.curve", "paths => paths.map(path => path.getAttribute('d'))")


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_slider_moves_a_curve(tab, address, name):
    tab.goto(address(f"explorers/{name}.html"))
    families = tab.locator("select[name=family] option").evaluate_all("all => all.map(each => each.value)") or [None]
    moved = set()
    for family in families:
        if family:
            tab.select_option("select[name=family]", family)
        if tab.locator("[name=ssmax]").count():
            tab.check("[name=ssmax]")
        for slider in tab.locator("input[type=range]:visible:enabled").all():
            before, said = curves(tab), slider.get_attribute("aria-valuetext")
            rest = tab.inner_text(".explorer")
            assert before and all(re.match(r"M[\d.]+,-?[\d.]+L", d) for d in before)
            slider.press(
                "ArrowRight" if float(slider.input_value()) < float(slider.get_attribute("max")) else "ArrowLeft"
            )
            assert slider.get_attribute("aria-valuetext") != said
            # The window D is a mark on the curves and a number, and Sandwich's tail; the others bend them.
            assert curves(tab) != before or slider.get_attribute("name") in ("window", "length")
            assert tab.inner_text(".explorer") != rest
            moved.add(slider.get_attribute("name"))
    assert moved == set(tab.locator("input[type=range]").evaluate_all("all => all.map(each => each.name)"))


def test_presets_and_methods_move_the_curves(tab, address):
    for name in ("prior", "exponent"):
        tab.goto(address(f"explorers/{name}.html"))
        seen = []
        for button in tab.locator(".presets button").all():
            button.click()
            seen.append(curves(tab))
        assert len(seen) > 5 and len({str(each) for each in seen}) == len(seen)
    tab.goto(address("explorers/planes.html"))
    drawn = {}
    for method in ("none", "pi", "ntk", "dynamic-ntk", "yarn", "llama3"):
        tab.select_option("[name=method]", method)
        drawn[method] = str(curves(tab))
    assert len(set(drawn.values())) == len(drawn)


def tabbed_to(tab, selector, most=150):
    """Press Tab until an element that fits `selector` has the focus."""
    for _ in range(most):
        tab.keyboard.press("Tab")
        if tab.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"{most} times Tab do not lead to {selector}")


@pytest.mark.parametrize("name", EXPLORERS)
def test_the_keyboard_reaches_the_sliders(tab, address, name):
    tab.goto(address(f"explorers/{name}.html"))
    tabbed_to(tab, ".explorer input[type=range]")
    before = curves(tab)
    for key in ("ArrowRight", "ArrowRight"):
        tab.keyboard.press(key)
    assert curves(tab) != before
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    assert curves(tab) == before


def column(tab, head, table="#claims"):
    """The texts of a column, of the rows that are shown."""
    heads = tab.locator(f"{table} thead th").all_inner_texts()
    place = next(i for i, text in enumerate(heads) if text.split(" ↕")[0].strip() == head)
    cells = f"{table} tbody tr:not([hidden]) td:nth-child({place + 1})"
    return tab.eval_on_selector_all(cells, "all => all.map(each => each.textContent.trim())")


def test_the_ledger_sorts_by_mouse_and_keyboard(tab, address):
    tab.goto(address("ledger.html"))
    rows = column(tab, "claim")
    head = tab.locator("#claims thead th", has=tab.get_by_role("button", name=re.compile("^verdict", re.I))).first
    head.get_by_role("button").click()
    first = column(tab, "verdict")
    assert first == sorted(first) and head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert column(tab, "verdict") == sorted(first, reverse=True) and head.get_attribute("aria-sort") == "descending"
    assert sorted(column(tab, "claim")) == sorted(rows)

    tab.reload()
    tabbed_to(tab, "#claims thead th button")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    assert column(tab, "claim") == rows[::-1]


def test_the_ledger_filters(tab, address):
    tab.goto(address("ledger.html"))
    everything = column(tab, "claim")
    tab.select_option("#claims form label:has-text('verdict') >> nth=0 >> select", "contradicted")
    found = column(tab, "verdict")
    assert 0 < len(found) < len(everything) and {text.strip() for text in found} == {"contradicted"}
    assert tab.locator("#claims output").inner_text() == f"{len(found)} of {len(everything)}"
    tab.select_option("#claims form label:has-text('verdict') >> nth=0 >> select", "")
    tab.fill("#claims input[type=search]", "BAM-T4b")
    assert column(tab, "claim") == ["BAM-T4b"]
    tab.fill("#claims input[type=search]", "no such claim")
    assert column(tab, "claim") == []


def test_search_finds_a_claim(tab, address):
    tab.goto(address("index.html"))
    tab.get_by_role("button", name="Search").first.click()
    tab.locator("input[name=q]:visible").first.fill("BAM-T4")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search.html?q=BAM-T4*")
    hit = tab.locator("#search-results li a", has_text=re.compile(r"^BAM-T4$")).first
    hit.wait_for()
    hit.click()
    tab.wait_for_url("**/claims/BAM-T4.html*")


@pytest.mark.parametrize("name", ["index", "ledger", "explorers/prior"])
def test_dark_mode_switches(tab, address, name):
    read = "() => getComputedStyle(document.body).backgroundColor"
    seen = {}
    for theme in ("light", "dark"):
        tab.goto(address(f"{name}.html"))
        tabbed_to(tab, "button.theme-switch-button")
        tab.keyboard.press("Enter")
        tab.locator(f"button.theme-change-button[data-mode={theme}]:visible").click()
        curve = tab.locator("path.curve").first
        stroke = curve.evaluate("path => getComputedStyle(path).stroke") if curve.count() else None
        seen[theme] = (tab.evaluate(read), stroke)
    light, dark = seen["light"], seen["dark"]
    assert brightness(dark[0]) < 60 and brightness(light[0]) > 200
    assert light[1] is None or light[1] != dark[1]
    tab.reload()
    assert tab.get_attribute("html", "data-theme") == "dark"


def brightness(color):
    return sum(map(float, re.findall(r"[\d.]+", color)[:3])) / 3
