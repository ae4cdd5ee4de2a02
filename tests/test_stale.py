"""What becomes stale by an edit: one check, one measure, one caption, one prior, one setting, one claim's words."""

import ast
import functools
import shutil

import pytest

from attention_priors import claims, config, trace
from attention_priors.checks import CHECKS
from attention_priors.experiments import EXPERIMENTS
from attention_priors.figures import FIGURES, TABLES
from attention_priors.notebooks import NOTEBOOKS, file_name
from attention_priors.pipeline import stamps
from attention_priors.trace import PACKAGE, Sources, Trace

HERE = stamps.NOTEBOOK_FOLDER


def keys(package=PACKAGE, profile=None):
    return dict(stamps.Keys(profile or config.profile("cpu"), {}, HERE, Sources(package)))


@pytest.fixture(scope="module")
def today():
    return keys()


@pytest.fixture
def edited(today, tmp_path):
    """The notebooks that are stale after `name` of a module has got another statement, constant or docstring."""
    package = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))

    def edit(module, name, change):
        path = package.joinpath(*module.split(".")).with_suffix(".py")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        change(next(node for node in tree.body if getattr(node, "name", None) == name))
        path.write_text(ast.unparse(tree), encoding="utf-8")
        return {each for each, key in keys(package).items() if key != today[each]}

    return edit


def another_statement(function):
    function.body.append(ast.parse("after_the_end = 1").body[0])


def another_docstring(function):
    function.body[0] = ast.parse('"""Other words."""').body[0]


@functools.cache
def reaching():
    """Definition -> the notebooks whose cells or claims lead to it."""
    sources, found = Sources(), {}
    for name in NOTEBOOKS:
        one = Trace(sources)
        one.cells(stamps.tree(stamps.read(HERE / file_name(name))))
        one.rows(trace.CHECKS, [each for each, claim in claims.register().items() if claim.notebook == name])
        for label in one.code:
            found.setdefault(label, set()).add(name)
    return found


def test_one_caption_its_notebook_and_the_ledger(edited):
    assert edited("figures.passkey.depth", "caption", another_statement) == {"passkeys", "verdicts"}


def test_no_caption_no_table_and_no_check_is_reached_by_two_notebooks():
    """So that the tests of one row speak for all; checks of one file may share sentences."""
    readers = reaching()
    for place, table in ((trace.FIGURES, FIGURES), (trace.TABLES, TABLES)):
        for name, row in Sources().table(place).items():
            assert readers.get(row, set()) <= {table[name].notebook}, name
    for name, row in Sources().table(trace.CHECKS).items():
        assert readers[row.replace("[name]", f"[{name}]")] == {claims.register()[name].notebook}, name


def test_one_simulation_its_notebook_and_the_ledger(edited):
    assert edited("figures.prior.shapes", "rows", another_statement) == {"generalised_gaussian", "verdicts"}


def test_one_check_its_notebook_and_the_ledger(edited):
    assert edited("checks.inference.families", "nope", another_statement) == {"attention_is_inference", "verdicts"}


def test_one_measure_its_notebook_and_those_that_need_it(edited):
    stale = {"passkeys", "language_models", "scalable_softmax", "learned_priors", "dividing_the_work", "phase_diagram",
             "learned_spectra", "reading_in_parallel", "verdicts"}  # fmt: skip
    assert edited("experiments.passkeys", "measure", another_statement) == stale


def test_one_prior_whoever_reaches_it(edited):
    reached = reaching()["attention_priors.positions.sandwich:Sandwich"]
    needing = {name for name, row in NOTEBOOKS.items() if row.trained and row.needs}
    stale = edited("positions.sandwich", "Sandwich", another_statement)
    assert reached <= stale <= reached | needing | {"verdicts"}
    assert {"field_guide", "passkeys", "language_models", "verdicts"} <= stale
    assert not stale & {"how_to_read", "attention_is_inference", "longer_rotations", "spectra_and_sinks"}


def test_words_about_code_make_nothing_stale(edited):
    assert edited("positions.sandwich", "Sandwich", another_docstring) == set()
    assert edited("report", "Report", another_docstring) == set()


def test_a_setting_makes_stale_what_measures_with_it(today):
    profile = config.profile("cpu")
    needles = profile.needles.model_copy(update={"vocabulary": profile.needles.vocabulary + 1})
    after = keys(profile=profile.model_copy(update={"needles": needles}))
    assert {name for name in today if after[name] != today[name]} == {
        "needles",
        "learned_spectra",
        "dividing_the_work",
        "verdicts",
    }


def test_theory_is_the_same_under_every_profile(today):
    full = keys(profile=config.profile("full"))
    assert {name for name in today if full[name] == today[name]} == {
        name for name, row in NOTEBOOKS.items() if not row.trained
    }


def test_the_words_of_a_claim_make_stale_the_notebook_that_owns_it(today, monkeypatch):
    known = claims.register()
    changed = known | {"BAM-L1": known["BAM-L1"].model_copy(update={"statement": "Other words."})}
    monkeypatch.setattr(stamps.claims, "register", lambda: changed)
    after = keys()
    assert {name for name in today if after[name] != today[name]} == {"attention_is_inference", "verdicts"}


def test_the_tables_are_read_as_they_are_imported():
    sources = Sources()
    for place, table in ((trace.FIGURES, FIGURES), (trace.TABLES, TABLES), (trace.EXPERIMENTS, EXPERIMENTS)):
        assert sources.table(place) == {name: f"{table.package}.{row}" for name, row in table.rows.items()}
    assert sources.table(trace.CHECKS) == {name: f"{CHECKS.package}.{row}" for name, row in CHECKS.rows.items()}
