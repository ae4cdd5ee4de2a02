"""One notebook through papermill, strictly."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import papermill
from jupyter_client import AsyncKernelManager
from nbclient.exceptions import DeadKernelError
from papermill.exceptions import PapermillExecutionError

from attention_priors.store.registry import nearest

TICK_SECONDS = 15.0
PROGRESS = "progress.log"  # what runtime.say writes to in the kernel and its workers
# Nothing here needs a network, the user's IPython profile, or a display.
SURROUNDINGS = {
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONHASHSEED": "0",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    "JUPYTER_PREFER_ENV_PATH": "1",
    "ATTENTION_PRIORS_HEADLESS": "1",
}


class NotebookFailed(ValueError):
    """A notebook stopped with an error; `notebook` is the copy with the traceback."""

    def __init__(self, message: str, notebook: nbformat.NotebookNode | None):
        super().__init__(message)
        self.notebook = notebook


def parameter_names(notebook: nbformat.NotebookNode, name: str) -> list[str]:
    """The names assigned in the one cell tagged `parameters`."""
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise ValueError(f"{name} has {len(tagged)} cells tagged 'parameters'; tag exactly one code cell so")
    names = []
    for node in ast.parse(tagged[0].source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def check_parameters(notebook: nbformat.NotebookNode, name: str, parameters: dict[str, Any]) -> None:
    """Papermill only warns about a parameter that a notebook lacks; here it is an error."""
    known = parameter_names(notebook, name)
    for parameter in parameters:
        if parameter not in known:
            raise ValueError(f"{name} has no parameter {parameter!r}{nearest(parameter, known)}")


def execute(
    notebook: nbformat.NotebookNode,
    name: str,
    parameters: dict[str, Any],
    folder: Path,
    scratch: Path,
    tick: Callable[[float, str], None],
) -> nbformat.NotebookNode:
    """Run a notebook in a fresh kernel with working directory `folder`; nothing is written outside `scratch`.

    tick(seconds, "cell 3 of 9") is called every 15 s. Raises NotebookFailed naming the cell and the cause, and
    KeyboardInterrupt after the kernel and all of its processes are gone.
    """
    check_parameters(notebook, name, parameters)
    output = scratch / f"{name}.ipynb"
    # ipc sockets: notebooks that run side by side cannot take each other's ports.
    kernel = AsyncKernelManager(
        kernel_name="python3", transport="ipc", ip=str(scratch / "k"), connection_file=str(scratch / "k.json")
    )
    lines = Lines(scratch / PROGRESS)
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(
                papermill.execute_notebook(
                    notebook,
                    str(output),
                    parameters=parameters,
                    kernel_name="python3",
                    language="python",
                    progress_bar=False,
                    km=kernel,
                    resources={"metadata": {"path": str(folder)}},
                )
            )
        except BaseException as error:
            outcome.append(error)

    with surroundings(scratch):
        # In a thread, because nbclient takes over the main thread's Ctrl-C and turns it into a dead kernel.
        thread = threading.Thread(target=work, name=name, daemon=True)
        start = last = time.monotonic()
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.2)
                for line in lines.new():
                    print(line, flush=True)
                now = time.monotonic()
                if now - last >= TICK_SECONDS:
                    last = now
                    tick(now - start, _where(output))
        except KeyboardInterrupt:
            _kill(kernel)
            thread.join(2)
            raise
        _kill(kernel)
    if isinstance(outcome[0], BaseException):
        raise _explain(outcome[0], name, output) from None
    return outcome[0]


@contextlib.contextmanager
def surroundings(scratch: Path) -> Iterator[None]:
    """The environment that kernels inherit, for the time of one execution."""
    folders = {"IPYTHONDIR": str(scratch / "ipython"), "JUPYTER_RUNTIME_DIR": str(scratch)}
    ours = SURROUNDINGS | folders | {"ATTENTION_PRIORS_PROGRESS": str(scratch / PROGRESS)}
    before = {name: os.environ[name] for name in ours if name in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]
        os.environ.update(before)


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder with a short path: the name of a Unix socket has at most about 100 characters."""
    short = "/tmp" if os.access("/tmp", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="ap-", dir=short, ignore_cleanup_errors=True) as name:
        yield Path(name)


class Lines:
    """The whole lines that others have appended to a file since the last look."""

    def __init__(self, path: Path):
        self.path, self.read = path, 0

    def new(self) -> list[str]:
        if not self.path.is_file():
            return []
        with open(self.path, "rb") as file:
            file.seek(self.read)
            whole = file.read().rpartition(b"\n")[0]
        self.read += len(whole) + bool(whole)
        return whole.decode("utf-8", "replace").splitlines()


def _where(output: Path) -> str:
    """`cell 3 of 9`, read from the copy that papermill saves as it goes."""
    try:
        cells = json.loads(output.read_text(encoding="utf-8"))["cells"]
    except FileNotFoundError:
        return "starting"
    except (OSError, ValueError, KeyError):
        return "running"  # caught while the copy is being written
    status = [cell["metadata"].get("papermill", {}).get("status") for cell in cells]
    return f"cell {min(status.count('completed') + 1, len(cells))} of {len(cells)}"


def _kill(kernel: AsyncKernelManager) -> None:
    """End a kernel and the processes that it started: they share a session of their own."""
    pid = getattr(kernel.provisioner, "pid", None)
    if pid:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(os.getpgid(pid), signal.SIGKILL)


def _explain(error: BaseException, name: str, output: Path) -> BaseException:
    """One line that names the notebook, the cell and the cause."""
    copy = None
    with contextlib.suppress(Exception):
        copy = nbformat.read(output, as_version=4)
    if isinstance(error, PapermillExecutionError):
        cause = " ".join(re.sub(r"\x1b\[[0-9;]*m", "", f"{error.ename}: {error.evalue}").split())
        cell = copy.cells[error.cell_index + 2]  # papermill puts two of its own before it
        return NotebookFailed(f"{name} failed in cell {cell.id!r}: {cause[:400]}", copy)
    if isinstance(error, DeadKernelError):
        cause = "its process died (too little memory, or killed)"
        return NotebookFailed(f"{name} failed in {_where(output)}: {cause}; the same command resumes", copy)
    return error
