"""Kill a small pipeline at random moments, run it again, and hold its results against an undisturbed run's.

    python tests/chaos.py --kills 20 --seed 1        what `make chaos` does; up to an hour

The pipeline is two notebooks under profile `smoke`, with results and cache of its own: one trains and evaluates
passkey models, the other draws and decides claims. Equal: every file byte for byte, but for the seconds of a run, the
times of a notebook and the sums of these; and the verifier agrees.
"""

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat

from attention_priors import claims, config, store
from attention_priors.commands import arguments as commands
from attention_priors.commands import reproduce as pipeline
from attention_priors.publish.pipeline import stamps
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS, Notebook

PROFILE = "smoke"
CELLS = {
    "passkeys": ('study.measure("passkeys")', 'study.draw("passkey_by_length")', 'study.table("passkey_reach")'),
    "generalised_gaussian": ('study.draw("prior_shapes")', 'study.claim("BAM-T4", "BAM-E3")', "study.verdicts()"),
}
OPEN = """from attention_priors.publish.study import Study
study = Study(PROFILE, "{name}", RESULTS, seed=SEED, device=DEVICE)"""
PARAMETERS = 'PROFILE = "smoke"\nSEED = 0\nRESULTS = "../results"\nDEVICE = "auto"'
TIMED = ("provenance.json", manifest.NAME)  # hold times, and sums of what does
KINDS = ("training", "checkpoint", "evaluation", "notebook", "report", "verify", "two at once", "disk full")


def sequence(folder: Path) -> int:
    """Both notebooks and the ledger, in this process: what is killed."""
    config.NOTEBOOKS = every = dict(NOTEBOOKS)  # profiles are of the real ones
    NOTEBOOKS.clear()
    NOTEBOOKS.update({name: Notebook(trained=every[name].trained) for name in CELLS})
    stamps.NOTEBOOK_FOLDER = folder / "notebooks"
    status = pipeline.main(["--profile", PROFILE, "--results", str(folder / "results")])
    NOTEBOOKS.update(every)
    if status == 0:
        layout = Layout(folder / "results", PROFILE)
        claims.merge(layout.results, PROFILE)
        manifest.add(layout, [layout.own / "claims.json", layout.own / "claims.md"])
    return status


def prepare(folder: Path) -> Path:
    """An empty workspace with the two notebooks."""
    for number, (name, cells) in enumerate(CELLS.items()):
        made = nbformat.v4.new_notebook()
        made.cells = [nbformat.v4.new_code_cell(PARAMETERS, id="parameters", metadata={"tags": ["parameters"]})]
        made.cells += [
            nbformat.v4.new_code_cell(text, id=f"cell-{place}")
            for place, text in enumerate((OPEN.format(name=name), *cells))
        ]
        store.write_text(folder / "notebooks" / f"{number:02}_{name}.ipynb", nbformat.writes(made))
    return folder


def start(folder: Path, command: str, limit: int | None = None) -> subprocess.Popen:
    """`sequence`, `report` or `verify` on a workspace; `limit`: no file may grow beyond so many bytes."""
    here = ["--profile", PROFILE, "--results", str(folder / "results")]
    line = {
        "sequence": [__file__, "--sequence", str(folder)],
        "report": ["-m", "attention_priors.commands.figures", *here],
        "verify": ["-m", "attention_priors.commands.verify", *here, "--no-training"],
    }[command]

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    own = os.environ | {"ATTENTION_PRIORS_CACHE": str(folder / "cache")}
    return subprocess.Popen(
        [sys.executable, *line],
        env=own,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=limited,
    )


def whole(folder: Path, command: str) -> float:
    """Run a command to its end; the seconds it took. ValueError where it does not succeed."""
    began = time.monotonic()
    process = start(folder, command)
    said = process.communicate()[1]
    if process.returncode:
        raise ValueError(f"{command} ended with {process.returncode}: {said.strip()[-600:]}")
    return time.monotonic() - began


def family(pid: int) -> list[int]:
    """A process and all that it started, directly or not."""
    parents = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def kill(process: subprocess.Popen, draw: random.Random) -> str:
    """SIGKILL to a command and all its processes, as a power cut does, or to one of them; which it was."""
    members = family(process.pid)
    chosen = [draw.choice(members)] if draw.random() < 0.3 else members
    for pid in chosen:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate()
    for pid in members:  # the next attempt is not to meet what the killed one still writes
        until = time.monotonic() + 30
        while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.05)
    return f"{len(chosen)} of {len(members)} processes"


def disturb(kind: str, folder: Path, base: Path, seconds: dict[str, float], draw: random.Random) -> str:
    """Prepare a workspace for a kind of trouble, and make it; says what was done."""
    if kind in ("report", "verify"):
        shutil.copytree(base, folder, dirs_exist_ok=True)
        if kind == "report":
            for path in (folder / "results").rglob("figures/*"):
                path.unlink()
    elif kind in ("evaluation", "notebook"):  # trained already
        shutil.copytree(base / "cache", folder / "cache")
    command = kind if kind in ("report", "verify") else "sequence"
    if kind == "disk full":
        limit = round(2 ** draw.uniform(9, 18))
        process = start(folder, command, limit)
        said = process.communicate()[1].strip()
        if process.returncode not in (0, 1) or "Traceback" in said:
            raise ValueError(f"a limit of {limit} bytes ended with {process.returncode}: {said[-600:]}")
        return f"files of at most {limit} bytes: {said.splitlines()[-1][:100] if said else 'enough'}"
    other = start(folder, command) if kind == "two at once" else None
    process = start(folder, command)
    began = time.monotonic()
    if kind == "checkpoint":
        while process.poll() is None and not any((folder / "cache").glob("runs/*/.*.partial")):
            time.sleep(0.0005)
    else:
        takes = seconds["trained" if kind in ("evaluation", "notebook") else command]
        first, last = {"notebook": (0.6, 1.0)}.get(kind, (0.05, 0.95))
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(takes * draw.uniform(first, last))
    after = time.monotonic() - began
    if process.poll() is not None:
        return f"ended by itself after {after:.1f} s"
    which = kill(process, draw)
    if other is not None:
        other.communicate()
    return f"{which} after {after:.1f} s"


def contents(folder: Path) -> Iterator[tuple[str, object]]:
    """Name and content of every file of the results, without times."""
    layout = Layout(folder / "results", PROFILE)
    for path in sorted(layout.results.rglob("*")):
        name = path.relative_to(layout.results).as_posix()
        if not path.is_file() or manifest.STATE in path.parts or path.name in TIMED or name.endswith(".partial"):
            continue
        if path.is_relative_to(layout.runs):
            yield name, {key: value for key, value in store.read_json(path).items() if key != "seconds"}
        else:
            yield name, path.read_bytes()


def differences(folder: Path, base: Path) -> list[str]:
    """Files that are not as in the undisturbed run, and what the sums say."""
    here, there = dict(contents(folder)), dict(contents(base))
    wrong = [name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)]
    return wrong + manifest.problems(Layout(folder / "results", PROFILE))[1]


def undisturbed(folder: Path) -> dict[str, float]:
    """A run that nobody disturbs, and how long its parts take."""
    seconds = {"sequence": whole(folder, "sequence")}
    results = folder / "results"
    shutil.rmtree(results)
    seconds["trained"] = whole(folder, "sequence")
    return seconds | {command: whole(folder, command) for command in ("report", "verify")}


def chaos(kills: int, draw: random.Random, say: Callable[[str], None]) -> int:
    """The number of results that are not equal."""
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        base = prepare(Path(place) / "undisturbed")
        seconds = undisturbed(base)
        say(f"undisturbed: {json.dumps({name: round(value, 1) for name, value in seconds.items()})} s")
        for number in range(kills):
            kind, folder = KINDS[number % len(KINDS)], prepare(Path(place) / f"{number}")
            try:
                done = disturb(kind, folder, base, seconds, draw)
                for command in ("sequence", "report", "verify"):
                    whole(folder, command)
                wrong = differences(folder, base)
            except ValueError as error:
                done, wrong = str(error), ["it did not resume"]
            bad += bool(wrong)
            say(f"{number + 1:3d} {kind:12s} {done}: {', '.join(wrong) or 'equal'}")
            shutil.rmtree(folder)
    return bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=commands.count, default=20)
    parser.add_argument("--seed", type=commands.seed, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--sequence", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.sequence:
        return sequence(chosen.sequence)
    began = time.monotonic()
    bad = chaos(chosen.kills, random.Random(chosen.seed), lambda line: print(line, flush=True))
    print(
        f"{chosen.kills} kills, {chosen.kills - bad} equal results, {time.monotonic() - began:.0f} s "
        f"(--seed {chosen.seed})"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
