"""CONTRIBUTING.md followed to the letter in a copy of the repository, and what README says of commands and code.

A block goes to the file that the text above it names: yaml is appended, python is a new file or a new cell, a diff is
an edit. Commands run in one process, where `make test` is pytest and `make reproduce` runs the new cells.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from attention_priors.store.notebooks import NOTEBOOKS, file_name

CHANGES = ("yaml", "python", "diff")
LIBRARY_PAGE = "lib/attention_priors/publish/site/pages/library.md"
EXAMPLES = "What the tests say"  # the section with laws that are refused
SCRIPT = """
import contextlib, importlib, io, json, os, shlex, sys
from pathlib import Path

import pytest

told, root = json.load(sys.stdin), Path.cwd()


def said(function, *arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = function(*arguments)
    return int(code or 0), out.getvalue()


def make(command):
    target, variable = shlex.split(command)[1:]
    value = variable.partition("=")[2]
    if target == "test":
        return said(pytest.main, shlex.split(value))
    if target == "claim":
        from attention_priors.commands.claim import main

        return said(main, ["--id", value])
    return said(cells, root / "notebooks" / told["notebooks"][value])


def cells(path):
    code = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]}
    os.chdir(path.parent)
    names = {}
    for cell in ("parameters", "setup", *(each for each in code if each.startswith("contributed"))):
        *before, last = code[cell].splitlines()
        exec("\\n".join(before), names)
        shown = eval(last, names) if last.startswith("study.") else exec(last, names)
        print(getattr(shown, "caption", shown))
    os.chdir(root)


def refused(path, old, new):
    whole = path.read_text()
    path.write_text(whole.replace(old, new))
    module = importlib.import_module(".".join(path.relative_to(root / "lib").with_suffix("").parts))
    try:
        importlib.reload(module)
        del sys.modules["tests.checks.test_laws"]
        return make(told["law"])
    finally:
        path.write_text(whole)
        importlib.reload(module)


def wrong_holds():
    from attention_priors.checks import CHECKS

    (law,) = CHECKS["X-99"].sentences
    return law.judge(law.wrong).holds


def trained():
    import torch
    from attention_priors import config
    from attention_priors.experiments import EXPERIMENTS
    from attention_priors.training.runs import Run

    plan = EXPERIMENTS["benchmark"].runs(config.profile("smoke"), root / ".cache")
    return Run(plan["passkey/cauchy/0"], root / "runs", torch.device("cpu")).train()


def readme():
    from attention_priors.config import ModelConfig
    from attention_priors.model import Transformer

    names = {}
    for block in told["readme"]:
        exec(block, names)
    model = Transformer(ModelConfig(encoding="cauchy", vocabulary=5, width=8, layers=1, heads=2, hidden=8))
    return list(names["out"].shape), type(model.blocks[0].attention.prior) is names["Cauchy"]


found = {"commands": {command: make(command) for command in dict.fromkeys(told["commands"])}}
found["refused"] = [refused(root / path, old, new) for path, old, new in told["refused"]]
found |= {"wrong holds": wrong_holds(), "record": trained(), "readme": readme()}
Path("found.json").write_text(json.dumps(found))
"""


class Block(NamedTuple):
    """A fenced block: its section, its language, the file named in the line above, and its text."""

    section: str
    language: str
    path: str
    text: str


def blocks(text):
    section = path = ""
    for part in re.split(r"^(```\w+\n.*?^```$)", text, flags=re.M | re.S):
        if part.startswith("```"):
            language, _, body = part.removeprefix("```").removesuffix("```").partition("\n")
            yield Block(section, language, path, body)
        else:
            section = (re.findall(r"^#+ (.*)$", part, re.M) or [section])[-1]
            path = (re.findall(r"`([\w./-]+/[\w.-]+)`", part.strip().rpartition("\n\n")[2]) or [path])[-1]


def sides(diff):
    """What a diff takes away and what it puts in its place, with the lines around."""
    lines = diff.splitlines(keepends=True)
    return "".join(line[1:] for line in lines if line[0] != "+"), "".join(line[1:] for line in lines if line[0] != "-")


def apply(block, root):
    path = root / block.path
    if block.language == "yaml":
        path.write_text(path.read_text() + block.text)
    elif block.language == "diff":
        whole, (old, new) = path.read_text(), sides(block.text)
        assert whole.count(old) == 1, f"{block.path} has {old!r} {whole.count(old)} times"
        path.write_text(whole.replace(old, new))
    elif path.suffix == ".ipynb":
        notebook = json.loads(path.read_text())
        place = next(n for n, cell in enumerate(notebook["cells"]) if "study.verdicts()" in "".join(cell["source"]))
        cell = {"cell_type": "code", "id": f"contributed-{place}", "metadata": {}, "outputs": [], "source": block.text}
        notebook["cells"].insert(place, cell | {"execution_count": None})
        path.write_text(json.dumps(notebook))
    else:
        assert not path.exists(), f"{block.path} is there already; choose another example"
        path.write_text(block.text)


@pytest.fixture(scope="module")
def document(root):
    return list(blocks((root / "CONTRIBUTING.md").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def copy(root, document, tmp_path_factory):
    """The repository with an empty ledger for its results, after every change that the document tells."""
    made = tmp_path_factory.mktemp("contributing")
    for name in ("pyproject.toml", "CITATION.cff"):
        shutil.copy(root / name, made)
    for name in ("lib", "data", "notebooks", "tests"):
        shutil.copytree(root / name, made / name, ignore=shutil.ignore_patterns("__pycache__"))
    (made / "results" / "cpu").mkdir(parents=True)
    (made / "results" / "cpu" / "claims.json").write_text('{"schema": 2, "claims": {}}')
    for block in document:
        if block.section != EXAMPLES and block.language in CHANGES:
            apply(block, made)
    path = made / "notebooks" / "profiles" / "smoke.yaml"  # the document says so of cpu, in words
    path.write_text(path.read_text().replace("benchmark:\n  encodings: [", "benchmark:\n  encodings: [cauchy, "))
    return made


@pytest.fixture(scope="module")
def found(root, document, copy):
    """What the commands say in the copy."""
    commands = [line for each in document if each.language == "bash" for line in each.text.splitlines()]
    examples = [each for each in document if each.section == EXAMPLES and each.language == "diff"]
    told = {
        "commands": commands,
        "law": next(each for each in commands if "test_laws" in each),
        "notebooks": {name: file_name(name) for name in NOTEBOOKS},
        "refused": [(each.path, *sides(each.text)) for each in examples],
        "readme": [
            each.text
            for name in ("README.md", LIBRARY_PAGE)
            for each in blocks((root / name).read_text())
            if each.language == "python"
        ],
    }
    environment = {
        "PYTHONPATH": str(copy / "lib"),
        "ATTENTION_PRIORS_CACHE": str(copy / ".cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(told),
        cwd=copy,
        text=True,
        capture_output=True,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((copy / "found.json").read_text())


def said(found, command):
    (output,) = (output for name, (_, output) in found["commands"].items() if command in name)
    return output


def test_every_command_succeeds(found):
    for command, (code, output) in found["commands"].items():
        assert code == 0, f"{command}\n{output[-3000:]}"
        assert "make test" not in command or re.search(r"^[1-9]\d* passed(?!.*skipped)", output, re.M), output[-300:]


def test_the_claim_is_verified_its_false_variant_refused_and_the_way_to_it_shown(found, copy):
    assert "X-99: 1 of 1 statement holds (verified)" in said(found, "reproduce") and found["wrong holds"] is False
    way = said(found, "make claim")
    place = re.search(r"^check: +(lib/\S+):(\d+)$", way, re.M)
    assert '"X-99"' in (copy / place[1]).read_text().splitlines()[int(place[2]) - 1]
    assert re.search(r"^notebook: .*, cells contributed-\d+$", way, re.M) and "guide_slopes.pdf" in way


def test_a_false_law_and_a_circular_one_are_named_as_the_document_says(found, document):
    messages = [" ".join(each.text.split()) for each in document if each.language == "text"]
    assert len(messages) == len(found["refused"]) == 2
    for message, (code, output) in zip(messages, found["refused"], strict=True):
        assert code == pytest.ExitCode.TESTS_FAILED
        (line, *_) = (each for each in output.splitlines() if each.startswith("E ") and message in each)
        assert line.endswith(message)


def test_the_encoding_trains(found):
    """Its laws are among the commands."""
    record = found["record"]
    assert len(record["loss"]) == record["steps"] > 1 and record["loss"][-1] < record["loss"][0]
    assert all(scale != 1 for layer in record["learned"] for scale in layer["scale"])


def test_the_figure_is_drawn_and_captioned(found, copy):
    folder = copy / "results" / "theory" / "figures"
    assert {path.name for path in folder.iterdir()} == {f"guide_slopes.{each}" for each in ("pdf", "png", "md")}
    assert "0.332 (4 heads), 0.996 (8 heads)" in (folder / "guide_slopes.md").read_text()


def test_the_code_in_the_readme_runs(found):
    assert found["readme"] == [[1, 8, 4096, 64], True]


def test_files_that_are_named_exist(root, document):
    written = {each.path for each in document if each.language in CHANGES}
    text = (root / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`([\w./-]+\.(?:py|yaml|csv|toml|md|lock|yml|ipynb))`", text))
    assert written <= named and "notebooks/profiles/cpu.yaml" in named
    there = {name for name in named for base in (root, root / "lib/attention_priors") if (base / name).exists()}
    assert named - there <= written


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", LIBRARY_PAGE.replace("library", "running")])
def test_targets_and_variables_of_make_that_are_named_exist(root, name):
    makefile = (root / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    variables = set(re.search(r"^KNOWN := (.*)$", makefile, re.M)[1].split())
    commands = re.findall(r"^make .*|(?<=`)make [^`]+(?=`)", (root / name).read_text(), re.M)
    assert len(commands) >= 4
    for command in commands:
        assert command.split()[1] in targets and set(re.findall(r"\b([A-Z]+)=", command)) <= variables, command
