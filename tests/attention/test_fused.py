"""Backend "triton" without a GPU: the tests of interpreted/ and the properties, each file in a process of its own.

Triton decides at its import whether kernels run in its interpreter, so that they cannot share this process.
"""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = [*sorted(HERE.glob("interpreted/test_*.py")), HERE / "test_properties.py"]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no Triton for this machine")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_in_the_interpreter(path, root):
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "--durations=5", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert re.search(r"\d+ passed", done.stdout) and "skipped" not in done.stdout


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no Triton for this machine")
def test_without_gpu_or_interpreter_one_line_names_the_remedy():
    script = (
        "import torch; from attention_priors.attention import attention; x = torch.zeros(1, 1, 2, 16); "
        "attention(x, x, x, backend='triton')"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert "ValueError: q is on cpu, but backend 'triton' needs a GPU; use backend='sdpa'" in done.stderr


def test_without_triton_one_line_names_the_remedy():
    """Neither the package nor its default backend imports Triton; the backend that needs it says what to do."""
    script = (
        "import sys; sys.modules['triton'] = None\n"
        "import torch; from attention_priors.attention import attention; x = torch.zeros(1, 1, 2, 16)\n"
        "attention(x, x, x)\n"
        "try: from attention_priors.attention import fused\n"
        "except ValueError as error: print(error)\n"
        "attention(x, x, x, backend='triton')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "backend 'triton' needs the package triton, which is not installed" in done.stdout
    assert done.stderr.endswith("needs the package triton, which is not installed; use backend='sdpa'\n")
