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
AT_ONCE = {"reference": 1, "sdpa": 1}  # processes; all others try the kernels


def rows(device: str, seconds: float, processes: int, cases: int = CASES) -> list[dict[str, Any]]:
    """What was found of each case: `backend`, `case` and `wrong`, a list of words that is empty where it is right.

    FileNotFoundError where the tests are not there, RuntimeError with the last line of a process that found nothing.
    """
    if not (ROOT / TEST).exists():
        raise FileNotFoundError(f"no {TEST}: the cases are drawn by the tests of the repository")
    backends = [*AT_ONCE, *["triton"] * (processes - len(AT_ONCE))]
    with tempfile.TemporaryDirectory() as folder:
        running = [_start(backend, seed, device, seconds, cases, folder) for seed, backend in enumerate(backends)]
        said = [process.communicate()[0] for process in running]
        found = []
        for seed in range(len(backends)):
            path = Path(folder, f"{seed}.jsonl")
            if not path.exists():
                last = [line for line in said[seed].splitlines() if line.strip()][-1:]
                raise RuntimeError(f"no case of {backends[seed]} was tried: {' '.join(last)}")
            found += [json.loads(line) for line in path.read_text().splitlines()]
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
