"""What a fresh clone is built from: the lock and its two other readers, the Makefile, the floors, the style."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from attention_priors.store.notebooks import NOTEBOOKS

PYTHONS = ("3.11", "3.12", "3.13")


def pins(root):
    lines = (root / "requirements.lock").read_text().splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    assert all(re.fullmatch(r"==[^,*+]+", str(pin.specifier)) for pin in found), "one exact public version a line"
    return {canonicalize_name(pin.name): pin for pin in found}


def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text())


def test_the_lock_pins_torch_without_local_version_and_leaves_triton_out(root):
    locked = pins(root)
    assert str(locked["torch"].specifier) == "==2.13.0"
    assert "triton" not in locked and "pip" not in locked
    assert "triton==" in (root / "Makefile").read_text()


def test_every_dependency_of_the_project_is_pinned_within_its_bounds(root):
    table = project(root)["project"]
    wanted = table["dependencies"] + [line for extra in table["optional-dependencies"].values() for line in extra]
    locked = pins(root)
    for requirement in map(Requirement, wanted):
        pin = locked[canonicalize_name(requirement.name)]
        version = str(pin.specifier).removeprefix("==")
        assert requirement.specifier.contains(version), f"{requirement} against {pin}"


def test_conda_installs_the_lock_and_nothing_beside_it(root):
    environment = yaml.safe_load((root / "environment.yml").read_text())
    *plain, nested = environment["dependencies"]
    assert nested == {"pip": ["-r requirements.lock", "-e ."]}
    python = Requirement(plain[0])
    assert (python.name, plain[1:]) == ("python", ["pip"])
    assert str(python.specifier) == str(Requirement("x" + project(root)["project"]["requires-python"]).specifier)


@pytest.mark.parametrize("system", ["linux", "darwin"])
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_holds_what_its_packages_need_on_every_platform(root, python, system):
    import importlib.metadata

    platform = {"sys_platform": system, "platform_system": system.capitalize(), "os_name": "posix"}
    versions = {"python_version": python, "python_full_version": f"{python}.0"}
    where = default_environment() | platform | versions | {"platform_machine": "arm64", "extra": ""}
    locked = {name for name, pin in pins(root).items() if pin.marker is None or pin.marker.evaluate(where)}
    installed = {canonicalize_name(d.metadata["Name"]): d for d in importlib.metadata.distributions()}
    for name in locked & set(installed):
        for requirement in map(Requirement, installed[name].requires or ()):
            if requirement.name.startswith(("nvidia", "cuda")) or requirement.name == "triton":
                continue  # a CUDA build of torch pins its own
            if requirement.marker is None or requirement.marker.evaluate(where):
                assert canonicalize_name(requirement.name) in locked, f"{name} needs {requirement} on {system}"


def make(root, *arguments):
    """Runs make as a user does, also where the tests themselves were started by make."""
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60)


def test_help_lists_every_target(root):
    text = (root / "Makefile").read_text()
    targets = re.search(r"^\.PHONY: (.*)$", text, re.M).group(1).split()
    assert set(targets) >= {"env", "reproduce", "figures", "test", "verify", "claim", "bench", "lab", "clean", "help"}
    shown = make(root, "help").stdout
    for target in targets:
        assert re.search(rf"^  {target} +\S", shown, re.M), f"make help does not show {target}"


def test_commands_that_texts_print_name_targets_variables_notebooks_and_profiles(root):
    """A word after `make` counts as a command where it stands in code or sets a variable."""
    rules = (root / "Makefile").read_text()
    targets = set(re.search(r"^\.PHONY: (.*)", rules, re.M)[1].split())
    variables = set(re.search(r"^KNOWN := (.*)", rules, re.M)[1].split())
    named = {"ONLY": set(NOTEBOOKS), "PROFILE": {path.stem for path in (root / "notebooks/profiles").glob("*.yaml")}}
    kinds = ("*.md", "notebooks/*.ipynb", "lib/attention_priors/publish/site/pages/*.md")
    found = 0
    for path in (path for kind in kinds for path in sorted(root.glob(kind))):
        text = path.read_text(encoding="utf-8")
        for target, given in re.findall(r"make ([a-z][a-z-]*)((?: +[A-Z]+=[\w.,/-]+)*)(?=[`\\\n ])", text):
            settings = dict(each.split("=", 1) for each in given.split())
            if not settings and f"`make {target}`" not in text:
                continue
            found += 1
            unknown = {target} - targets | settings.keys() - variables
            for name, known in named.items():
                unknown |= set(filter(None, settings.get(name, "").split(","))) - known
            assert not unknown, f"{path.name}: make {target}{given}"
    assert found >= 20


@pytest.mark.parametrize("python", ["false", "/nonexistent/python3"])
def test_a_python_that_does_not_fit_is_one_line_with_the_remedy(root, tmp_path, python):
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        (tmp_path / name).write_bytes((root / name).read_bytes())
    done = make(tmp_path, "env", f"PYTHON={python}")
    ours = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert done.returncode == 2 and len(ours) == 1
    assert "3.11, 3.12 or 3.13 is needed" in ours[0] and python in ours[0] and "PYTHON=" in ours[0]
    assert not (tmp_path / ".venv").exists()


def test_clean_deletes_leftovers_and_no_results(root, tmp_path):
    (tmp_path / "Makefile").write_bytes((root / "Makefile").read_bytes())
    kept = ["results/cpu/claims.json", "results/theory/notebooks/a.ipynb", "notebooks/a.ipynb", "lib/x.py", ".venv/x"]
    gone = [
        ".cache/runs/x",
        "results/theory/.state/a.json",
        "results/smoke/theory/.state/a.json",
        "results/cpu/notebooks/a.failed.ipynb",
        "tests/__pycache__/x",
    ]
    for name in kept + gone:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert make(tmp_path, "clean").returncode == 0
    assert [name for name in kept if not (tmp_path / name).exists()] == []
    assert [name for name in gone if (tmp_path / name).exists()] == []


def test_ignored_files_are_caches_and_results_are_not(root):
    if not (root / ".git").exists():
        pytest.skip("no git checkout")
    names = [".venv/x", ".cache/x", "results/cpu/.state/x.json", "results/cpu/notebooks/a.failed.ipynb"]
    names += ["results/cpu/claims.json", "results/cpu/figures/a.pdf", "results/cpu/notebooks/a.ipynb"]
    command = ["git", "check-ignore", "--no-index", *names]
    assert subprocess.run(command, cwd=root, capture_output=True, text=True).stdout.split() == names[:4]


def test_continuous_integration_runs_every_test(root):
    """What `make test` leaves out for the sake of its length, `make test-notebooks` runs, and both run there."""
    script = root / ".ci" / "run"
    assert script.stat().st_mode & 0o111 and subprocess.run(["bash", "-n", str(script)]).returncode == 0
    assert re.search(r"^exec make --keep-going test test-notebooks$", script.read_text(), re.M)
    first, second = (make(root, "--dry-run", target).stdout.split() for target in ("test", "test-notebooks"))
    left_out = [option.removeprefix("--ignore=") for option in first if option.startswith("--ignore")]
    assert left_out == second[-len(left_out) :] and all((root / name).is_file() for name in left_out)
    assert not {"-k", "-m", "--deselect"} & {*first[first.index("pytest") :], *second[second.index("pytest") :]}


def test_floors_are_kept(root):
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_style(root):
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def test_bare_import_brings_no_training_code(root):
    code = "import sys, attention_priors; assert 'torch' not in sys.modules; attention_priors.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "has no attribute 'nothing'" in done.stderr.splitlines()[-1]


def test_tracked_files_stay_below_48_mib(root):
    """So that a copy can travel to a machine that takes 64: what is large is compressed."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout
    sizes = {name: (root / name).stat().st_size for name in listed.split("\0") if name and (root / name).is_file()}
    largest = sorted(sizes, key=sizes.get, reverse=True)[:5]
    assert sum(sizes.values()) < 48 * 2**20, f"{sum(sizes.values()) / 2**20:.1f} MiB are tracked; largest: {largest}"
