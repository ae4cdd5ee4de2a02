"""The hostile cases of the tests on a GPU: many processes, since compiling the kernels' variants is what takes time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ...store.layout import ROOT

TEST = Path("tests") / "attention" / "test_properties.py"
CASES = 2000  # of each of a CPU's backends, and at most of each process of the kernels
ALONE = ("reference", "sdpa")  # a process each; all others try the kernels


def rows(device: str, seconds: float, processes: int, cases: int = CASES) -> list[dict[str, Any]]:
    """What was found of each case: `backend`, `case` and `wrong`, a list of words that is empty where it is right.

    A process that breaks off counts as a wrong case. FileNotFoundError where the tests are not there, RuntimeError with
    the last line of a process that could not try any.
    """
    if not (ROOT / TEST).exists():
        raise FileNotFoundError(f"no {TEST}: the cases are drawn by the tests of the repository")
    backends = [*ALONE, *["triton"] * (processes - len(ALONE))]
    with tempfile.TemporaryDirectory() as folder:
        running = [_start(backend, seed, device, seconds, cases, folder) for seed, backend in enumerate(backends)]
        said = [process.communicate()[0] for process in running]
        found = []
        for seed, backend in enumerate(backends):
            path = Path(folder, f"{seed}.jsonl")
            last = " ".join([line for line in said[seed].splitlines() if line.strip()][-1:])
            if not path.exists():
                raise RuntimeError(f"no case of {backend} was tried: {last}")
            found += [json.loads(line) for line in path.read_text().splitlines()]
            if status := running[seed].returncode:
                found.append({"backend": backend, "case": {}, "wrong": [f"its process ended with {status}: {last}"]})
    return found


def _start(backend: str, seed: int, device: str, seconds: float, cases: int, folder: str) -> subprocess.Popen[str]:
    environment = os.environ | {
        "PROPERTY_BACKENDS": backend,
        "PROPERTY_DEVICE": device,
        "PROPERTY_SECONDS": str(seconds),
        "PROPERTY_CASES": str(cases),
        "PROPERTY_REPORT": str(Path(folder, f"{seed}.jsonl")),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "lib"), os.environ.get("PYTHONPATH", "")]),
        "OMP_NUM_THREADS": "1",
    }
    options = ["--noconftest", "-q", "-p", "no:cacheprovider", f"--hypothesis-seed={seed}", "-k", "formula"]
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, str(TEST)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
