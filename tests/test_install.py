"""The wheel: its core needs torch, numpy, einops and jaxtyping, and says what the rest needs."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CORE = ("torch", "numpy", "einops", "jaxtyping")
SOURCES = ("lib", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory) -> Path:
    """Built from a copy, so that no build folder is left in the repository."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / "source" / name, ignore=ignored)
        else:
            shutil.copy(root / name, folder / "source" / name)
    build = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder)]
    pip(*build, str(folder / "source"))
    (made,) = folder.glob("*.whl")
    return made


def pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def closure(names: tuple[str, ...]) -> dict[str, importlib.metadata.Distribution]:
    """The installed distributions behind some names: they, and all that they need here."""
    found, waiting = {}, list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found[name] = importlib.metadata.distribution(name)
        wanted = map(Requirement, found[name].requires or ())
        waiting += [each.name for each in wanted if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def empty(wheel: Path, tmp_path_factory) -> Path:
    """The Python of an environment that holds the core's four packages, what they need, and the wheel."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    for distribution in closure(CORE).values():
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(distribution.locate_file(top))
    pip("--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    pip("--python", str(python), "check")  # nothing that the wheel asks for is missing
    return python


def run(python: Path, code: str, folder: Path, **variables: str) -> subprocess.CompletedProcess:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ATTENTION_PRIORS"))}
    return subprocess.run(
        [str(python), "-c", code], cwd=folder, capture_output=True, text=True, timeout=120, env=known | variables
    )


def test_the_core_needs_four_packages(root):
    table = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert {Requirement(line).name for line in table["dependencies"]} == set(CORE)
    assert set(table["optional-dependencies"]) >= {"notebooks", "transformers", "cluster", "site", "test"}


def test_the_wheel_holds_every_file_of_the_library(root, wheel: Path):
    if not (root / ".git").exists():
        pytest.skip("no git checkout")
    listed = subprocess.run(["git", "ls-files", "lib"], cwd=root, capture_output=True, text=True, check=True).stdout
    wanted = {name.removeprefix("lib/") for name in listed.split() if (root / name).exists()}
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert wanted - held == set()
    assert not [name for name in held if "__pycache__" in name or not name.startswith("attention_priors/")]


def test_the_five_lines_of_the_readme_run_on_the_core(root, empty: Path, tmp_path: Path):
    text = (root / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(import torch\nfrom attention_priors\.attention.*?)^```", text, re.M | re.S)
    done = run(empty, code + "print(out.shape, attention.__code__.co_filename)", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("torch.Size([1, 8, 4096, 64])") and str(empty.parents[1]) in done.stdout


LACKING = """
import attention_priors, importlib
from attention_priors.positions.encodings import ENCODINGS
print(len(ENCODINGS))
for call, name in ((importlib.import_module, "attention_priors.model"), (attention_priors.load, "x.safetensors"),
                   (attention_priors.load, "passkey/bam/0")):
    try:
        call(name)
    except (ImportError, ValueError) as error:
        print(error)
"""


def test_what_the_core_lacks_is_one_line_with_the_remedy(empty: Path, tmp_path: Path):
    done = run(empty, LACKING, tmp_path)
    assert done.returncode == 0, done.stderr
    encodings, model, path, name = done.stdout.splitlines()
    assert int(encodings) > 50, "the table of encodings opens"
    for said in (model, path):
        assert said.endswith("which is not there; in a clone, pip install '.[models]'")
    assert "set ATTENTION_PRIORS_MODELS to its results/models" in name


def test_a_model_opens_with_the_extra_models(root, empty: Path, tmp_path: Path):
    """The packages of `models` and no other, from the folder of a clone."""
    (site,) = empty.parents[1].glob("lib/python*/site-packages")
    extra = tmp_path / "extra"
    extra.mkdir()
    for distribution in closure(("pydantic", "safetensors")).values():
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (extra / top).exists() and not (site / top).exists():
                (extra / top).symlink_to(distribution.locate_file(top))
    code = "import attention_priors as a; m = a.load('passkey/bam-ssmax/0'); print(m.config.encoding)"
    models = {"ATTENTION_PRIORS_MODELS": str(root / "results" / "models"), "PYTHONPATH": str(extra)}
    done = run(empty, code, tmp_path, **models)
    assert done.stdout.strip() == "bam-ssmax", done.stderr
