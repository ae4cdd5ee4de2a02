"""The site, built small from a few committed results: what it shows, and that it holds together."""

import html
import json
import pkgutil
import re
import shutil

import pandas as pd
import pytest

import attention_priors
from attention_priors import claims, config
from attention_priors.checks import CHECKS
from attention_priors.commands import site as command
from attention_priors.positions.encodings import ENCODINGS
from attention_priors.publish.site import (
    audit,
    build,
    committed,
    executed,
    first,
    gallery,
    ledger,
    library,
    markup,
    numbers,
    places,
)

pytestmark = pytest.mark.filterwarnings("ignore::sphinx.deprecation.RemovedInSphinx11Warning")
RESULTS = config.ROOT / "results"
NOTEBOOKS = ("how_to_read", "generalised_gaussian")
CLAIMS = ("BAM-T4", "BAM-C-BETA", "BAM-C1", "PC-TAB1", "X-3")
METRICS = ("encodings_summary", "findings", "passkey_by_length")


def copied(name, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(RESULTS / name, target)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two notebooks, five claims, two figures."""
    folder = tmp_path_factory.mktemp("results")
    for slug in NOTEBOOKS:
        copied(f"theory/notebooks/{slug}.ipynb", folder / "theory" / "notebooks" / f"{slug}.ipynb")
    for place, name in (("cpu", "passkey_main"), ("theory", "prior_shapes")):
        for kind in ("md", "png", "pdf"):
            copied(f"{place}/figures/{name}.{kind}", folder / place / "figures" / f"{name}.{kind}")
    figure = folder / "cpu" / "figures" / "passkey_main.md"
    if "```latex" not in figure.read_text():  # drawn before figures had it
        figure.write_text(figure.read_text() + "\n**Print**\n\n```latex\n\\includegraphics{passkey_main}\n```\n")
    for place, name in (*(("cpu", each) for each in METRICS), ("theory", "prior_shapes")):
        for kind in ("csv", "json"):
            copied(f"{place}/metrics/{name}.{kind}", folder / place / "metrics" / f"{name}.{kind}")
    for kind in ("csv", "md", "tex"):
        copied(f"cpu/tables/encodings.{kind}", folder / "cpu" / "tables" / f"encodings.{kind}")
    content = json.loads((RESULTS / "cpu" / "claims.json").read_text())
    content["claims"] = {name: content["claims"][name] for name in CLAIMS}
    (folder / "cpu" / "claims.json").write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def site(results, tmp_path_factory):
    return build.build(results, tmp_path_factory.mktemp("site"))


@pytest.fixture
def small(results, tmp_path):
    """A copy of the results that a test may damage."""
    return shutil.copytree(results, tmp_path / "results")


def test_the_first_page_takes_the_findings_of_the_largest_profile(results):
    own, all_ = committed.Committed(results, "cpu"), committed.Committed(RESULTS, "cpu")
    assert (own.largest, all_.largest) == ("cpu", "full")
    full, cpu = (pd.read_csv(RESULTS / name / "metrics" / "findings.csv") for name in ("full", "cpu"))
    first_, rest = all_.findings[: len(full)], all_.findings[len(full) :]
    assert first_.drop(columns="profile").equals(full) and set(rest["profile"]) <= {"cpu"}
    assert set(rest["figure"]) == set(cpu["figure"]) - set(full["figure"])
    assert places.figure("full", "encodings_far") in {target for *_, target in first.findings(all_)}


def text(path):
    return " ".join(re.sub(r"<[^>]*>", " ", path.read_text(encoding="utf-8")).split())


# ---- the built site


def test_the_site_is_built_without_a_warning_and_holds_together(site):
    assert site.warnings == ()
    assert audit.problems(site.html) == []
    assert site.pages > 20


def test_the_first_page_says_what_was_found_before_anything_else(site):
    shown = html.unescape(text(site.html / "index.html"))
    findings = pd.read_csv(RESULTS / "cpu" / "metrics" / "findings.csv")
    places = [shown.index(each) for each in findings["finding"]]
    assert places == sorted(places) and places[-1] < shown.index("Look around")


def test_a_stranger_comes_in_three_clicks_to_the_law_and_the_counterexample_of_a_theorem(site):
    def clicks(path):
        return {(path.parent / link.partition("#")[0]).resolve() for link in audit.Page(path).links}

    errata, claim = site.html / "errata.html", site.html / "claims" / "BAM-T4.html"
    assert errata.resolve() in clicks(site.html / "index.html") and claim.resolve() in clicks(errata)
    verdict = claims.read(RESULTS / "cpu" / "claims.json")["BAM-T4"]
    assert str(verdict.counterexample) in text(claim)
    assert "alpha" in text(errata) and "oldest" in text(claim), "the law of its notebook"


def test_a_claim_leads_to_the_line_of_its_law_the_cell_of_its_notebook_and_its_figures(site):
    path, line, code = CHECKS.source("PC-TAB1")
    assert path.read_text().splitlines()[line - 1 : line + code.count("\n")] == code.splitlines()
    page = audit.Page(site.html / "claims" / "PC-TAB1.html")
    assert f"../source/attention_priors/checks/parallel/tables.html#L-{line}" in page.links
    page = audit.Page(site.html / "claims" / "BAM-C-BETA.html")
    assert "../notebooks/theory/generalised_gaussian.html#cell-verdict-c-beta" in page.links
    cells = audit.Page(site.html / "notebooks" / "theory" / "generalised_gaussian.html")
    assert {"cell-verdict-c-beta", "cell-shapes-figure"} <= cells.anchors


def test_a_claim_without_a_figure_says_so(site):
    here = committed.Committed(RESULTS, "cpu")
    assert "No figure: the law above and its cases say all of it." in ledger.claim(here, "BAM-E14")
    assert "No figure" not in ledger.claim(here, "BAM-T4")
    assert "No figure: the numbers of its sentences say all of it." in text(site.html / "claims" / "BAM-C1.html")


def test_a_claim_shows_what_a_pretrained_model_says_of_it(monkeypatch):
    here = committed.Committed(RESULTS, "cpu")
    witness = here.ledger["X-19"].model_copy(update={"opposite": "f. Not asked: longer texts"})
    assert "pretrained model as well" not in ledger.claim(here, "X-1")
    monkeypatch.setitem(here.ledger, "PE-NTK-E", here.ledger["PE-NTK-E"].model_copy(update={"also": witness}))
    page = ledger.claim(here, "PE-NTK-E")
    assert "## Asked of a pretrained model as well" in page and "agrees. Within the trained length" in page
    assert "Not asked: longer texts" in page and "../notebooks/cpu/pretrained_model.html" in page


def test_the_gallery_offers_every_file_of_a_figure_and_what_one_pastes(site):
    page = site.html / "gallery" / "cpu.html"
    links = audit.Page(page).links
    for kind in ("pdf", "png"):
        assert f"../files/cpu/figures/passkey_main.{kind}" in links
    assert "../files/cpu/metrics/passkey_by_length.csv" in links
    shown = page.read_text()
    assert "@misc{attention_priors_passkey_main" in shown and r"\includegraphics" in shown
    assert shown.count('class="copy"') == 2


def test_formulas_are_set_by_what_lies_in_the_site_and_only_where_there_are_any(site):
    some, none = (audit.Page(site.html / name).loads for name in ("claims/BAM-C-BETA.html", "guides/index.html"))
    assert any("katex.min.js" in each for each in some)
    assert not any("katex.min.js" in each for each in none)
    assert '<span class="math notranslate nohighlight">' in (site.html / "claims" / "BAM-T4.html").read_text()


def test_checks_of_notebooks_open_and_pictures_have_their_words(site):
    page = site.html / "notebooks" / "theory" / "generalised_gaussian.html"
    assert "<details><summary>BAM-C-BETA: " in page.read_text()
    assert audit.Page(page).silent == []
    alt = committed.figure("theory", RESULTS / "theory" / "figures" / "prior_shapes.md").alt
    assert f'alt="{markup.text(alt)}"' in page.read_text()


# ---- what a site must not have


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ('<a href="gone.html">x</a>', "gone.html, which is not there"),
        ('<a href="index.html#gone">x</a>', "index.html#gone, which is not there"),
        ('<script src="https://cdn.example.org/x.js"></script>', "loads https://cdn.example.org/x.js from outside"),
        ('<link rel="stylesheet" href="//fonts.example.org/x.css">', "loads //fonts.example.org/x.css from outside"),
        ('<img src="data:image/png;base64,AA">', "without alternative text"),
        ('<p style="background: url(https://example.org/x.png)">', "loads https://example.org/x.png from outside"),
        ("x" * 2_000_000, "bytes without pictures"),
    ],
)
def test_the_audit_sees(tmp_path, damage, said):
    (tmp_path / "index.html").write_text(f"<html><body><h1 id='a'>A</h1><a href='#a'>b</a>{damage}</body></html>")
    found = audit.problems(tmp_path)
    assert len(found) == 1 and said in found[0]


def test_the_audit_sees_what_a_style_loads(tmp_path):
    (tmp_path / "index.html").write_text("<p>x</p>")
    (tmp_path / "site.css").write_text('@import "https://example.org/a.css"; b { src: url("//example.org/b.woff2") }')
    assert len(audit.problems(tmp_path)) == 2


# ---- bad input: one line with the remedy


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("cpu/claims.json", "claims.json is not there; run `make reproduce`"),
        ("cpu/metrics/findings.csv", "findings.csv is not there; run `make reproduce`"),
        ("cpu/figures/passkey_main.md", "passkey_main.md is not there: a figure needs its caption"),
        ("cpu/tables/encodings.csv", "no tables/encodings.csv"),
        ("theory/notebooks", "no executed notebooks"),
    ],
)
def test_missing_results_are_said_in_one_line(small, tmp_path, capsys, gone, said):
    path = small / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert command.main(["--results", str(small), "--into", str(tmp_path / "site")]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and said in line


def test_a_figure_without_words_is_named(small, tmp_path, capsys):
    path = small / "cpu" / "figures" / "passkey_main.md"
    path.write_text(path.read_text().replace("**Alternative text.**", "Alternative text:"))
    assert command.main(["--results", str(small), "--into", str(tmp_path / "site")]) == 2
    assert "passkey_main.md has no alternative text; run `make figures`" in capsys.readouterr().err


def test_without_sphinx_the_remedy_is_named(results, tmp_path, monkeypatch):
    monkeypatch.setattr(build, "NEEDED", ("sphinx", "not_installed_here"))
    with pytest.raises(ValueError, match=r"the site needs not_installed_here; install it: pip install -e '\.\[site\]'"):
        build.build(results, tmp_path)


def test_a_column_that_nobody_explained_is_refused(small, tmp_path, capsys):
    path = small / "cpu" / "metrics" / "findings.csv"
    path.write_text(path.read_text().replace("measured", "mesured", 1))
    assert command.main(["--results", str(small), "--into", str(tmp_path / "site")]) == 2
    assert "has a column 'mesured' that data/columns.csv does not explain; add it" in capsys.readouterr().err


def test_a_folder_with_other_files_is_not_replaced(results, tmp_path, capsys):
    (tmp_path / "html").mkdir()
    (tmp_path / "html" / "mine.txt").touch()
    assert command.main(["--results", str(results), "--into", str(tmp_path)]) == 2
    assert "holds other files; choose another folder" in capsys.readouterr().err
    assert (tmp_path / "html" / "mine.txt").exists()


def test_an_explorer_without_a_heading_is_refused(tmp_path):
    (tmp_path / "prior.html").write_text("<p>no heading</p>")
    with pytest.raises(ValueError, match=r"explorers/prior\.html has no heading; begin it with <h1>"):
        build.explorers(tmp_path)


# ---- parts


def test_every_column_of_every_committed_file_of_numbers_is_explained():
    files = sorted(RESULTS.glob("*/metrics/*.csv*"))
    assert len(files) > 100
    for path in files:
        for column in pd.read_csv(path, nrows=0).columns:
            assert numbers.meaning(column, path.name.partition(".")[0]), (path, column)


UNSEEN = {"device"}  # of times that a GPU took


def test_no_meaning_is_left_over_from_a_file_that_changed():
    files: dict[str, set[str]] = {}
    for path in RESULTS.glob("*/metrics/*.csv*"):
        files.setdefault(path.name.partition(".")[0], set()).update(pd.read_csv(path, nrows=0).columns)
    known = numbers.meanings()
    for column, file in known:
        own = [file] if file else [name for name in files if (column, name) not in known]
        assert any(column in files.get(name, ()) for name in own) or column in UNSEEN, (column, file)


def test_a_column_for_each_length_of_a_profile_is_explained():
    assert numbers.meaning("over 8192", "language_corpus") == "Documents longer than 8,192 tokens."


@pytest.mark.parametrize("row", ["a,,no stop", "a,,A.\na,,B."])
def test_a_broken_registry_of_columns_is_refused(tmp_path, row):
    path = tmp_path / "columns.csv"
    path.write_text(f"column,file,meaning\n{row}\n")
    with pytest.raises(ValueError, match="a needs one sentence, once"):
        numbers.meanings(path)


def test_every_figure_is_in_the_gallery_with_words_files_and_its_numbers():
    here = committed.Committed(RESULTS, "cpu")
    assert {name for _, name in here.figures} == {path.stem for path in RESULTS.glob("[cft]*/figures/*.png")}
    for (folder, name), figure in here.figures.items():
        page = gallery.shown(here, figure)
        assert markup.text(figure.alt) in page and figure.bibtex
        assert f"../files/{folder}/figures/{name}.pdf" in page
        assert ".csv" in page or figure.numbers == "claims.json"


def test_links_of_notebooks_stay_within_the_site_or_become_paths():
    known = {"results/theory/notebooks/field_guide.ipynb": "notebooks/theory/field_guide.ipynb"}
    said = "[a](field_guide.ipynb#x) [b](../../../lib/attention_priors/model.py) [c](https://example.org) [d](#here)"
    assert executed.linked(said, "theory", known) == (
        "[a](field_guide.ipynb#x) b (`lib/attention_priors/model.py`) [c](https://example.org) [d](#here)"
    )
    [own], path = known.values(), "../../theory/notebooks/field_guide.ipynb"
    assert executed.linked(f"[a]({path})", "cpu", known) == "[a](../theory/field_guide.ipynb)"
    assert executed.linked(f"[`field_guide.ipynb`]({path})", "cpu", known, own) == "`field_guide.ipynb`"


def test_texts_are_escaped_and_keep_their_formulas():
    assert markup.text("a < b, $x < y$ and `c`") == 'a &lt; b, <span class="math">x &lt; y</span> and <code>c</code>'
    assert ledger.markdown("a_b *c* $x_1$ `d_e`") == r"a\_b \*c\* $x_1$ `d_e`"


def test_the_library_shows_signatures_and_docstrings_as_they_are_written():
    page = library.page()
    assert "### attention\n" in page and "### GeneralizedGaussian\n" in page and "### load\n" in page
    assert "prior_scale" in page and r"p\_ij ∝ exp(" in page


def test_the_library_shows_every_part_of_every_encoding_and_what_the_readme_imports():
    page, seen = library.page(), set()
    for row in ENCODINGS.values():
        prior = row.prior(4) if row.prior else None
        parts = [part for each in prior.split() for part in each] if prior is not None else []
        parts += [row.rotary(32, 10_000.0)] if row.rotary else []
        seen |= {type(part).__name__ for part in [*parts, *([row.absolute(32)] if row.absolute else [])]}
    pages = config.ROOT / "README.md", build.GUIDES / "library.md"
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for names in re.findall(r"^from attention_priors\S* import (.+)$", text, re.M):
        seen |= set(names.split(", ")) - {"ENCODINGS", "parallel"}  # a table, a package
    assert len(seen) > 25
    assert {name for name in seen if f"### {name}\n" not in page} == set()


def test_names_in_the_guides_can_be_imported_and_calls_in_a_sentence_work_as_they_stand():
    pages = [*config.ROOT.glob("*.md"), *build.GUIDES.glob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    names = set(re.findall(r"\battention_priors(?:\.\w+)+", text))
    for module, members in re.findall(r"\bfrom (attention_priors[\w.]*) import ([\w, ]+)", text):
        names |= {f"{module}.{name}" for name in members.split(", ")}
    assert len(names) > 25
    for name in names:
        pkgutil.resolve_name(name)
    assert set(re.findall(r"`attention_priors\.([\w.]+)\(", text)) == set(attention_priors.__all__)
