"""The notebooks as they are committed: no outputs, a set-up of a few lines, no library code, and all that is theirs."""

import ast
import json
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest

from attention_priors import claims, config
from attention_priors.checks import CHECKS, derived, witnessed
from attention_priors.figures import FIGURES, TABLES
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS, file_name, slug

SOURCES = sorted((config.ROOT / "notebooks").glob("*.ipynb"))
PARAMETERS = 'PROFILE = "cpu"\nSEED = 0\nRESULTS = "../results"\nDEVICE = "auto"'
SETUP, SCREEN = 24, 32  # lines, at most
every_notebook = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)


def cells(path, kind="code", law=None):
    """Source by cell id; of those that are tagged `law`, or are not, where that is asked."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    asked = [cell for cell in found if law is None or law == ("law" in cell["metadata"].get("tags", []))]
    return {cell["id"]: "".join(cell["source"]) for cell in asked if cell["cell_type"] == kind}


def called(path, method):
    """The nodes of what every `study.<method>(...)` of a notebook is given, in order."""
    tree = ast.parse("\n".join(cells(path).values()))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == method]
    return [argument for call in sorted(calls, key=lambda node: node.lineno) for argument in call.args]


def named(path, method):
    """The same as strings. What a notebook shows is found from these by name, so a name is written out."""
    arguments = called(path, f"study.{method}")
    names = [each for each in arguments if isinstance(each, ast.Constant)]
    laws = [each for each in arguments if not isinstance(each, ast.Constant)]
    assert all(isinstance(each, ast.Name) for each in laws) and (not laws or cells(path, law=True)), path.name
    return Counter(each.value for each in names)


def test_the_table_lists_the_notebooks_that_there_are():
    assert [file_name(name) for name in NOTEBOOKS] == [path.name for path in SOURCES]


@every_notebook
def test_no_outputs_stable_ids_and_a_link_to_the_executed_copy(path):
    raw = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(nbformat.from_dict(raw))
    assert (raw["nbformat"], raw["nbformat_minor"]) == (4, 5)
    assert raw["metadata"]["kernelspec"]["name"] == "python3" and raw["metadata"]["title"]
    ids = [cell["id"] for cell in raw["cells"]]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-z][a-z0-9-]*", each) for each in ids)
    assert not [each for each in ids if re.fullmatch(r"[0-9a-f]{8}", each)], "ids are words, not random"
    profile = "full" if slug(path.name) == "dividing_the_work" else "cpu"  # who runs it
    copy = Layout(Path("../results"), profile).copy(slug(path.name)).as_posix()
    assert raw["cells"][0]["cell_type"] == "markdown" and f"]({copy})" in "".join(raw["cells"][0]["source"])
    code = [cell for cell in raw["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    tagged = ["".join(cell["source"]) for cell in code if "parameters" in cell["metadata"].get("tags", [])]
    assert tagged == [PARAMETERS]


@every_notebook
def test_the_set_up_is_imports_and_a_study(path):
    code = cells(path)
    assert list(code)[:2] == ["parameters", "setup"]
    lines = code["setup"].splitlines()
    assert f'study = Study(PROFILE, "{slug(path.name)}", RESULTS, seed=SEED, device=DEVICE)' in lines
    assert len(lines) <= SETUP, f"{len(lines)} lines"
    for statement in ast.parse(code["setup"]).body:
        assert isinstance(statement, ast.Import | ast.ImportFrom | ast.Assign), ast.unparse(statement)
    later = ast.parse("\n".join(code[name] for name in code if name != "setup"))
    assert not [ast.unparse(node) for node in ast.walk(later) if isinstance(node, ast.Import | ast.ImportFrom)]


@every_notebook
def test_no_library_code_and_no_question_about_the_profile(path):
    code = cells(path)
    tree = ast.parse("\n".join(cells(path, law=False).values()))  # also: no magics, no shell
    assert sum(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.walk(tree)) <= 3
    assert not [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            compared = ast.unparse(node)
            assert not re.search(r"\bPROFILE\b|\bprofile\.name\b", compared), compared
    assert {name: text for name, text in code.items() if len(text.splitlines()) > SCREEN} == {}
    done_by_study = r"\b(sys\.path|CHECKS|Report|store\.key|config\.CACHE|headless|interact(?=\())\b"
    assert not re.findall(done_by_study, "\n".join(code.values()))


@every_notebook
def test_every_claim_that_it_owns_is_decided_in_it_once(path):
    mine = slug(path.name)
    owned = {name for name, claim in claims.register().items() if claim.notebook == mine and name in CHECKS}
    assert named(path, "claim") == Counter(owned) and named(path, "also") == Counter([*witnessed(mine)])
    code = list(cells(path).values())
    written = [number for number, text in enumerate(code) if "study.verdicts()" in text]
    claimed = [number for number, text in enumerate(code) if "study.claim(" in text]
    assert len(written) == bool(owned) and max(claimed, default=-1) < min(written, default=len(code))


DERIVING = sorted(set(CHECKS.notebooks.values()))


@pytest.mark.parametrize("notebook", DERIVING)
def test_a_law_cell_needs_the_imports_alone_and_decides_what_its_row_says(notebook, tmp_path, monkeypatch):
    whole, found = derived.path(notebook), {}
    raw = json.loads(whole.read_text(encoding="utf-8"))
    monkeypatch.setattr(derived, "path", lambda name: tmp_path / whole.name)
    for one in cells(whole, law=True):
        kept = [cell for cell in raw["cells"] if cell["id"] == one or "law" not in cell["metadata"].get("tags", [])]
        (tmp_path / whole.name).write_text(json.dumps(raw | {"cells": kept}))
        derived._laws.cache_clear()
        found |= derived.laws(notebook)
    assert set(found) == {name for name, home in CHECKS.notebooks.items() if home == notebook}
    derived._laws.cache_clear()


def test_a_law_cell_that_cannot_be_run_and_one_that_is_missing_are_one_line(tmp_path, monkeypatch):
    (notebook,) = DERIVING[:1]
    raw = json.loads(derived.path(notebook).read_text(encoding="utf-8"))
    place = tmp_path / derived.path(notebook).name
    monkeypatch.setattr(derived, "path", lambda name: place)
    for change, message in (
        (lambda text: "1 / 0\n" + text, "its law cells cannot be run (division by zero); correct them"),
        (lambda text: "x = 1", "has no law cell for BAM-T3; tag it `law`, or correct DERIVED"),
    ):
        changed = [
            cell | {"source": change("".join(cell["source"]))} if cell["metadata"].get("tags") == ["law"] else cell
            for cell in raw["cells"]
        ]
        place.write_text(json.dumps(raw | {"cells": changed}))
        derived._laws.cache_clear()
        with pytest.raises(ValueError) as said:
            CHECKS["BAM-T3"]
        assert message in str(said.value) and place.name in str(said.value) and "\n" not in str(said.value)
    place.unlink()
    with pytest.raises(ValueError, match="is not there, and its claims are decided in it; work in a checkout"):
        CHECKS["BAM-T3"]
    derived._laws.cache_clear()


@every_notebook
def test_every_figure_and_table_of_it_is_shown_in_it_once(path):
    mine = slug(path.name)
    for method, rows in (("draw", FIGURES), ("table", TABLES)):
        assert named(path, method) == Counter({name for name in rows if rows[name].notebook == mine})


@every_notebook
def test_sliders_get_a_function(path):
    """ipywidgets asks what it calls for its name, which a partial has not; headless runs do not get that far."""
    defined = set(re.findall(r"^def (\w+)", "\n".join(cells(path).values()), re.MULTILINE))
    for function in called(path, "study.explore"):
        ours = isinstance(function, ast.Name) and function.id in defined
        assert ours or isinstance(function, ast.Attribute), ast.unparse(function)


@every_notebook
def test_what_sliders_draw_is_shown_in_three_settings(path):
    tree = ast.parse("\n".join(cells(path).values()))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "study.explore":
            given = {each.arg: each.value for each in call.keywords}
            if isinstance(call.args[0], ast.Attribute):  # a figure of the library; a notebook's own function prints
                settings = ast.literal_eval(given.pop("settings"))
                assert len(settings) == 2 and all(set(setting) <= set(given) for setting in settings), settings


CHAPTERS = (
    "attention_is_inference",
    "one_parameter_groups",
    "generalised_gaussian",
    "spectra_and_sinks",
    "longer_rotations",
    "scalable_softmax",
    "parallel_attention",
    "phase_diagram",
)


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_asks_one_question_whose_answer_a_cell_computes(name):
    path = next(path for path in SOURCES if slug(path.name) == name)
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    place = next(number for number, cell in enumerate(found) if cell["id"] == "exercise")
    asked, run, answer = ("".join(cell["source"]) for cell in found[place : place + 3])
    assert [cell["id"] for cell in found[place + 1 : place + 3]] == ["exercise-run", "exercise-answer"]
    assert re.match(r"### Predict, then run: .+\?\n\n", asked) and 5 <= len(run.splitlines()) <= 10
    assert answer.startswith("<details><summary>Answer</summary>\n\n") and answer.endswith("\n\n</details>")
