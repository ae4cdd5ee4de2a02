"""Everything that a run takes from its surroundings: seeds, threads, device, progress, provenance."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

Item = TypeVar("Item")
HEARTBEAT_SECONDS = 15.0
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h


class NotHere(ValueError):
    """What this machine lacks, in one line with the remedy; what needs it is left out."""


def seed_for(seed: int, name: str) -> int:
    """A 63-bit seed for the random stream `name` of a run: it does not depend on the order of calls."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big") >> 1


def generator(seed: int, name: str) -> torch.Generator:
    """A CPU generator seeded for (seed, name)."""
    return torch.Generator().manual_seed(seed_for(seed, name))


def sent(x: Tensor, device: torch.device) -> Tensor:
    """`x` on a device, on its way there while the host goes on."""
    return x.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else x.to(device)


def device(name: str = "auto") -> torch.device:
    """`auto` is CUDA where there is one, else the CPU; an explicit device that is missing is an error."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(name)
    except RuntimeError:
        raise ValueError(f"unknown device {name!r}; use 'auto', 'cpu', 'cuda' or 'cuda:<number>'") from None
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {name!r} asked for, but this torch sees no CUDA device; use device 'cpu' or 'auto'")
    return chosen


def configure(threads: int) -> None:
    """Fix the number of threads, ask torch for deterministic algorithms, and keep freed memory for what comes next."""
    if threads < 1:
        raise ValueError(f"threads = {threads}, but at least 1 is needed")
    torch.set_num_threads(threads)
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # As use_deterministic_algorithms(True), which besides imports torch's compiler: two seconds of each process.
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False  # with NaN, before anything is written there
    # Fresh pages from the system are a tenth of a training step. glibc alone: others have no such call.
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(M_MMAP_THRESHOLD, 2**26)
        mallopt(M_TRIM_THRESHOLD, 2**30)


def headless() -> bool:
    """True where no person watches a bar: the pipeline (which sets ATTENTION_PRIORS_HEADLESS), tests, logs."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    watched = sys.stderr.isatty() or getattr(shell, "kernel", None) is not None
    return not watched or os.environ.get("ATTENTION_PRIORS_HEADLESS") == "1"


def say(line: str) -> None:
    """A heartbeat line: to the pipeline's progress file where it runs this process, else to standard error."""
    path = os.environ.get("ATTENTION_PRIORS_PROGRESS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
    else:
        print(line, file=sys.stderr, flush=True)


def progress(items: Iterable[Item], label: str, total: int | None = None) -> Iterator[Item]:
    """Iterate with a bar for a person, or with a heartbeat line every 15 seconds for a log."""
    total = total if total is not None or not hasattr(items, "__len__") else len(items)
    if not headless():
        from tqdm.auto import tqdm

        yield from tqdm(items, desc=label, total=total)
        return
    start = last = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - last >= HEARTBEAT_SECONDS:
            last = now
            left = f", about {(now - start) / done * (total - done):.0f} s left" if total else ""
            say(f"[{label}] {done}{f'/{total}' if total else ''} after {now - start:.0f} s{left}")


def processor() -> str:
    """The CPU's model name."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def commit() -> str | None:
    """The commit of the checkout, or None outside of one."""
    try:
        here = Path(__file__).resolve().parent
        done = subprocess.run(["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def provenance() -> dict[str, Any]:
    """What a reader needs to repeat a run: versions, machine, threads, commit. No paths, no host names."""
    drawing = ["pandas", "matplotlib", "seaborn", "papermill"]
    packages = ["torch", "numpy", "scipy", "einops", "tokenizers", "datasets", *drawing]
    versions = {name: importlib.metadata.version(name).partition("+")[0] for name in packages}
    cuda = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": cuda or "cpu",
        "versions": versions,
        "commit": commit(),
    }


def said(error: Exception) -> str:
    """One line: the error's own text, or the file that cannot be used, why, and what to do."""
    if not isinstance(error, OSError) or error.errno is None:
        return " ".join(str(error).split())
    where = os.path.relpath(error.filename) if isinstance(error.filename, str) else "results or cache"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return f"no space left on the disk of {where!r}; free some and run the same command again: it resumes"
    return (
        f"cannot use {where!r} ({os.strerror(error.errno)}); mend it, or choose another folder: RESULTS= for "
        "results, ATTENTION_PRIORS_CACHE= for the cache"
    )
