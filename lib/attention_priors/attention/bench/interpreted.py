"""The Triton kernels without a GPU: attention calls in Triton's interpreter, in a process of their own.

Triton decides at its import whether kernels are interpreted, so that the caller's process could not switch.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import attention

AVAILABLE = find_spec("triton") is not None
MISSING = "the Triton kernel: Triton is not installed on this machine"

Call = dict[str, Any]  # tensors q, k, v, `up` (of the output's gradient), and further arguments of the op


def run(calls: Sequence[Call]) -> list[dict[str, Tensor]]:
    """Output "out" of every call, and the gradients of sum(out * up) in q, k, v and the prior's parameters by name."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "calls.pt"), Path(folder, "results.pt")
        torch.save(list(calls), given)
        environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "attention_priors.attention.bench.interpreted", str(given), str(found)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise RuntimeError(f"the interpreted kernels failed: {done.stderr.strip().splitlines()[-1]}")
        return torch.load(found, weights_only=False)


def _one(call: Call) -> dict[str, Tensor]:
    call = dict(call)
    up, prior = call.pop("up"), call["prior"]
    leaves = {name: call[name].requires_grad_() for name in ("q", "k", "v")}
    if prior is not None:
        leaves |= {name: p for name, p in prior.named_parameters() if p.requires_grad}
    out = attention(backend="triton", **call)
    gradients = torch.autograd.grad((out * up.to(out.dtype)).sum(), list(leaves.values()))
    return {"out": out.detach(), **dict(zip(leaves, gradients, strict=True))}


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.save([_one(call) for call in torch.load(sys.argv[1], weights_only=False)], sys.argv[2])
