"""The pipeline on throwaway notebooks, and the executed copies of the real ones."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from datetime import datetime
from pathlib import Path

import nbformat
import pytest

from attention_priors import config, store
from attention_priors.commands import reproduce as command
from attention_priors.publish.pipeline import order, progress, stamps
from attention_priors.publish.pipeline.execute import check_parameters
from attention_priors.publish.pipeline.scrub import scrub
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import EVERYTHING, NOTEBOOKS, Notebook, file_name

SOURCES = sorted((config.ROOT / "notebooks").glob("*.ipynb"))
COMMITTED = ("cpu",)  # profiles with executed copies in the repository
PARAMETERS = 'PROFILE = "cpu"\nSEED = 0\nRESULTS = "../results"\nDEVICE = "auto"'


def notebook(*cells, parameters=(PARAMETERS,)):
    made = nbformat.v4.new_notebook()
    made.cells = [
        nbformat.v4.new_code_cell(text, id=f"parameters-{n}", metadata={"tags": ["parameters"]})
        for n, text in enumerate(parameters)
    ]
    made.cells += [nbformat.v4.new_code_cell(textwrap.dedent(text), id=f"cell-{n}") for n, text in enumerate(cells)]
    return made


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A notebook folder of our own: `folder(table, slug=notebook)`; the table says what each needs."""
    monkeypatch.setattr(stamps, "NOTEBOOK_FOLDER", tmp_path / "notebooks")
    before = dict(NOTEBOOKS)
    monkeypatch.setattr(config, "NOTEBOOKS", before)  # profiles are of the real ones

    def write(table, **notebooks):
        NOTEBOOKS.clear()
        NOTEBOOKS.update({name: Notebook(needs, trained=True) for name, needs in table.items()})
        for name, content in notebooks.items():
            store.write_text(tmp_path / "notebooks" / file_name(name), nbformat.writes(content))
        return tmp_path / "results"

    yield write
    NOTEBOOKS.clear()
    NOTEBOOKS.update(before)


def run(results, *arguments):
    return command.main(["--profile", "smoke", "--results", str(results), *arguments])


def layout(results):
    return Layout(results, "smoke")


def copy(results, name):
    return layout(results).copy(name)


# Order


def test_order_puts_needs_first_and_keeps_the_reading_order():
    every = order.order()
    moved = {"passkeys", "verdicts"}  # read after what needs the one, and before the last of what the other gathers
    assert [name for name in every if name not in moved] == [name for name in NOTEBOOKS if name not in moved]
    assert every.index("passkeys") == every.index("scalable_softmax") - 1 and every[-1] == "verdicts"
    assert order.order(["learned_priors"]) == ["passkeys", "language_models", "learned_priors"]
    assert order.order(["10_passkeys"]) == order.order(["passkeys"]) == ["passkeys"]
    assert order.order(["verdicts"])[-1] == "verdicts"
    assert set(order.order(["verdicts"])) == set(NOTEBOOKS)


@pytest.fixture
def table(monkeypatch):
    """Notebooks of these names and needs in place of ours."""

    def put(**needs):
        monkeypatch.setattr(order, "NOTEBOOKS", {name: Notebook(others) for name, others in needs.items()})

    return put


def test_order_names_a_circle(table):
    table(a=("b",), b=("a",))
    with pytest.raises(ValueError, match="a -> b -> a"):
        order.order()


def test_make_runs_the_rules_in_order_also_side_by_side_and_what_is_waiting_alone(table, tmp_path):
    def made(**given):
        (tmp_path / "rules.mk").write_text(order.rules(**given))
        command = ["make", "--no-print-directory", "-f", "rules.mk", "-j3", "STEP=sleep 0.1; echo"]
        alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=alone, check=True
        ).stdout.split()

    table(a=(), b=("a",), c=(), d=EVERYTHING)
    seen = made()
    assert sorted(seen) == list("abcd") and seen.index("a") < seen.index("b") and seen[-1] == "d"
    assert made(waiting=["d", "b"]) == ["b", "d"] and made(waiting=[]) == []


def test_side_by_side_begins_with_what_others_wait_for(table):
    first = order.rules(side_by_side=True).split("all: ")[1]
    assert first.startswith("passkeys language_models needles learned_priors")
    table(a=(), b=(), c=("b",), d=EVERYTHING)
    assert "all: a b c d\n" in order.rules() and "all: b a c d\n" in order.rules(side_by_side=True)


# Parameters


def test_an_unknown_parameter_is_an_error_naming_the_nearest():
    with pytest.raises(ValueError, match=r"no parameter 'SEEDS' \(nearest: SEED\)"):
        check_parameters(notebook(), "x", {"SEEDS": 1})
    check_parameters(notebook(), "x", {"PROFILE": "smoke", "SEED": 3})


@pytest.mark.parametrize("parameters", [(), (PARAMETERS, PARAMETERS)])
def test_there_is_exactly_one_parameters_cell(parameters):
    with pytest.raises(ValueError, match=f"x has {len(parameters)} cells tagged 'parameters'; tag exactly one"):
        check_parameters(notebook(parameters=parameters), "x", {})


# One run: copy, stamp, resume


@pytest.mark.slow
def test_a_run_leaves_a_clean_stamped_copy_and_is_not_repeated(folder, capsys):
    log = """
        import sys, warnings
        from pathlib import Path
        from attention_priors import runtime
        with open(Path(RESULTS).parent / "log", "a") as file:
            file.write("second" if SEED == 0 else f"seed {SEED}")
        runtime.HEARTBEAT_SECONDS = 0.0
        print(RESULTS, Path.cwd(), sys.executable, object())
        for _ in runtime.progress(range(3), "three"):
            pass
        warnings.warn("careful")
        (RESULTS, PROFILE)
    """
    results = folder({"first": (), "second": ("first",)}, first=notebook("1 + 1"), second=notebook(log))
    assert run(results) == 0
    shown = capsys.readouterr().out
    assert "2 notebook(s) to run" in shown and "[second] done" in shown and "[three] 3/3" in shown
    made = nbformat.read(copy(results, "second"), as_version=4)
    text = copy(results, "second").read_text()
    for place in (
        str(results),
        str(config.ROOT),
        str(results.parent),
        sys.prefix,
        "ipykernel_",
        "duration",
        "papermill",
    ):
        assert place not in text, place
    injected = next(cell for cell in made.cells if cell.id == "injected-parameters")
    assert injected.source == "# Parameters\nPROFILE = 'smoke'\nRESULTS = '../results'"
    stamp = made.metadata[stamps.STAMP]
    assert stamp["source"] == stamps.source_hash(stamps.read(stamps.NOTEBOOK_FOLDER / "01_second.ipynb"))
    assert stamp["profile"] == "smoke"
    entries = store.read_json(results / "smoke" / "provenance.json")["notebooks"]
    assert set(entries) == {"first", "second"} and entries["second"]["wall_seconds"] > 0
    assert 0 <= time.time() - datetime.fromisoformat(entries["second"]["ended"]).timestamp() < 3600
    assert stamps.drifted(layout(results), stamps.NOTEBOOK_FOLDER) == []

    # Nothing changed: nothing runs. A lost copy: only that runs, and comes out the same.
    log = results.parent / "log"
    assert run(results) == 0 and log.read_text() == "second"
    before = copy(results, "second").read_bytes()
    copy(results, "second").unlink()
    assert run(results) == 0 and log.read_text() == "second" * 2
    assert copy(results, "second").read_bytes() == before

    # A change upstream reaches what needs everything; what needs its results alone is left in peace.
    folder({"first": (), "second": ("first",)}, first=notebook("1 + 2"))
    assert stamps.drifted(layout(results), stamps.NOTEBOOK_FOLDER) == ["first"]
    assert run(results, "--rules", str(results / "rules.mk")) == 0
    assert "1 notebook(s) to run (1 up to date)" in capsys.readouterr().out
    folder({"first": (), "second": EVERYTHING})
    assert run(results, "--rules", str(results / "rules.mk")) == 0
    assert "2 notebook(s) to run" in capsys.readouterr().out


@pytest.mark.slow
def test_a_failure_is_one_line_and_leaves_nothing_that_looks_like_a_result(folder, capsys):
    results = folder({"bad": ()}, bad=notebook("fine = 1", "raise RuntimeError('the cause')"))
    assert run(results) == 1
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1
    assert error.startswith("error: bad failed in cell 'cell-1': RuntimeError: the cause")
    assert [path.name for path in copy(results, "bad").parent.iterdir()] == ["bad.failed.ipynb"]
    assert str(results) not in (copy(results, "bad").parent / "bad.failed.ipynb").read_text()
    assert not (results / "smoke" / "provenance.json").exists()


@pytest.mark.slow
def test_ctrl_c_says_that_it_resumes_and_ends_the_kernel(tmp_path):
    sleeper = notebook(
        f"""
        import os, pathlib, subprocess, time
        child = subprocess.Popen(["sleep", "300"])
        pathlib.Path({str(tmp_path / "new")!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
        os.rename({str(tmp_path / "new")!r}, {str(tmp_path / "pids")!r})
        time.sleep(300)
        """
    )
    store.write_text(tmp_path / "notebooks" / "00_sleeper.ipynb", nbformat.writes(sleeper))
    code = f"""
        import sys, pathlib
        from attention_priors.store.notebooks import NOTEBOOKS, Notebook
        from attention_priors import config
        from attention_priors.commands import reproduce as command
        from attention_priors.publish.pipeline import stamps
        config.NOTEBOOKS = dict(NOTEBOOKS)  # profiles are of the real ones
        NOTEBOOKS.clear()
        NOTEBOOKS["sleeper"] = Notebook(trained=True)
        stamps.NOTEBOOK_FOLDER = pathlib.Path({str(tmp_path / "notebooks")!r})
        sys.exit(command.main(["--profile", "smoke", "--results", {str(tmp_path / "results")!r}]))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # a shell may have it ignored in the background
    )
    until = time.monotonic() + 90
    while not (tmp_path / "pids").exists() and time.monotonic() < until:
        time.sleep(0.1)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=240)
    assert process.returncode == 130
    assert error.strip().splitlines() == ["stopped: nothing half-written was kept; the same command resumes here"]
    until = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(alive(pid) for pid in pids)
    assert list((tmp_path / "results" / "smoke" / "notebooks").iterdir()) == []


def alive(pid):
    """Running, not only waiting to be collected by whoever started it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


# What a run is made from


def test_an_unreadable_memory_or_a_missing_or_damaged_output_costs_a_run_and_no_more(folder, tmp_path):
    place = layout(folder({"a": ()}))
    store.write_text(place.copy("a"), "x")
    metric = place.own / "metrics" / "m.csv"
    store.write_text(metric, "x")
    memory = {"key": "k", "copy": manifest.digest(place.copy("a")), "outputs": ["smoke/metrics/m.csv"]}
    store.write_json(stamps.state_path(place, "a"), memory)
    assert stamps.current(place, "a", "k") and not stamps.current(place, "a", "other")
    manifest.add(place, [metric])
    metric.write_text("")
    assert not stamps.current(place, "a", "k")
    metric.write_text("x")
    assert stamps.current(place, "a", "k")
    metric.unlink()
    assert not stamps.current(place, "a", "k")
    stamps.state_path(place, "a").write_text('{"key": ')
    assert not stamps.current(place, "a", "k")


def test_scrub_joins_streams_and_drops_widgets_addresses_and_times():
    made = notebook("x")
    stream = nbformat.v4.new_output
    made.cells[1].outputs = [
        stream("stream", name="stdout", text="10%\r100%\nat 0x7f3a"),
        stream("stream", name="stderr", text="W"),
        stream("stream", name="stdout", text="bc12345\n"),
        stream("display_data", data={"application/vnd.jupyter.widget-view+json": {}, "text/plain": "bar"}),
        stream("display_data", data={"text/plain": "/here/file", "image/png": "/here/"}),
    ]
    made.cells[1].metadata["execution"] = {"iopub.status.busy": "2020"}
    made.metadata["widgets"] = {}
    clean = scrub(made, {"/here/": ""}, {}, {})
    outputs = clean.cells[1].outputs
    assert [output.get("text") for output in outputs[:2]] == ["100%\nat 0x...\n", "W"]
    assert outputs[2].data == {"text/plain": "file", "image/png": "/here/"} and len(outputs) == 3
    assert "execution" not in clean.cells[1].metadata and "widgets" not in clean.metadata


def test_links_out_of_the_notebooks_lead_to_the_same_files_from_the_executed_copy():
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_markdown_cell("[a](../results/full/a.md), [b](01_b.ipynb), [c](https://c.org/../d)")]
    shown = scrub(made, {}, {}, {"01_b.ipynb": "../../theory/notebooks/b.ipynb"}).cells[0].source
    assert shown == "[a](../../../results/full/a.md), [b](../../theory/notebooks/b.ipynb), [c](https://c.org/../d)"


def test_executed_copies_lead_to_each_other_and_theory_s_alike_under_every_profile():
    full, cpu = Layout(Path("results"), "full"), Layout(Path("results"), "cpu")
    assert full.links("passkeys")["11_needles.ipynb"] == "needles.ipynb"
    assert full.links("passkeys")["06_longer_rotations.ipynb"] == "../../theory/notebooks/longer_rotations.ipynb"
    assert full.links("longer_rotations") == cpu.links("longer_rotations")
    assert full.links("longer_rotations")["10_passkeys.ipynb"] == "../../full/notebooks/passkeys.ipynb"
    assert (
        Layout(Path("results"), "smoke").links("field_guide")["10_passkeys.ipynb"] == "../../notebooks/passkeys.ipynb"
    )


LAYOUTS = [Layout(config.ROOT / "results", profile) for profile in COMMITTED]
COPIES = sorted({each.copy(name) for each in LAYOUTS for name in NOTEBOOKS})
TEXTS = [*config.ROOT.glob("*.md"), *SOURCES, *COPIES]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(config.ROOT)))
def test_every_link_to_a_file_leads_to_one(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for link in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", text):
        assert (path.parent / link).exists(), f"{path.name} links to {link}"


# Time, provenance, trouble


def test_times_are_estimated_from_the_profile_then_from_what_was_measured(tmp_path):
    profile = config.profile("smoke")
    name = next(iter(profile.minutes))
    place = layout(tmp_path)
    assert progress.estimates(place, profile)[name] == pytest.approx(60 * profile.minutes[name])
    path = progress.record(place, name, {"wall_seconds": 300.0, "ended": "first", "key": "k"})
    assert path == progress.record(place, name, {"wall_seconds": 7.0, "ended": "again", "key": "k"})
    assert path == place.folder(name) / "provenance.json"
    assert store.read_json(path)["notebooks"][name]["ended"] == "first"
    known = progress.estimates(place, profile)
    assert known[name] == 300.0, "a resumed run was shorter only because work was reused"
    assert (
        progress.heartbeat(name, 60, "cell 2 of 9", known, []) == f"[{name}] cell 2 of 9, 60 s so far, about 4 min left"
    )
    progress.record(place, name, {"wall_seconds": 2.0, "key": "other code, the same trainings"})
    assert progress.estimates(place, profile)[name] == pytest.approx(60 * profile.minutes[name])
    assert "longer than the 5 min expected" in progress.heartbeat(name, 400, "cell 9 of 9", known, [])
    known = {"a": 600.0, "b": 1200.0, "c": 1800.0, "d": 4800.0}
    assert progress.total(list("abc"), known) == "about 1 h 0 min"
    assert progress.total(list("abc"), known, beside=2) == "about 30 min"
    assert progress.total(list("abcd"), known, beside=2) == "about 1 h 20 min", "no notebook is divided"
    assert progress.total([], known, beside=2) == "about 0 s"


def test_two_runs_of_one_notebook_do_not_mix(folder, capsys):
    results = folder({"a": ()}, a=notebook())
    with store.locked(results / "smoke" / ".state", "a"):
        assert run(results) == 1
    assert "already running" in capsys.readouterr().err


def test_a_damaged_notebook_is_named(folder, capsys):
    results = folder({"a": ()}, a=notebook())
    path = stamps.NOTEBOOK_FOLDER / "00_a.ipynb"
    path.write_text(path.read_text()[:50])
    assert run(results) == 1
    assert "a.ipynb is not a complete notebook; restore it" in capsys.readouterr().err
    path.unlink()
    assert run(results) == 1
    assert "a.ipynb is missing" in capsys.readouterr().err


# The real notebooks


@pytest.mark.parametrize("place", LAYOUTS, ids=COMMITTED)
def test_executed_copies_are_of_the_present_sources_and_name_no_machine(place):
    assert stamps.drifted(place) == [], f"run make reproduce PROFILE={place.profile} and commit the copies"
    for path in map(place.copy, NOTEBOOKS):
        named = re.findall(r"(?<![\w.])/(?:home|root|Users|work|tmp|private)/[\w.-]+", path.read_text(encoding="utf-8"))
        assert not named, f"{path.name} names {named[:3]}"
