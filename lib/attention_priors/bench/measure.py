"""One measurement in a process of its own: `python -m attention_priors.bench.measure NAME [ARGUMENT]` prints JSON.

Peak memory belongs to a process, so that each figure gets a fresh one; what Python and torch take before the measured
work is subtracted.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .. import runtime
from ..config import ModelConfig
from ..model import Transformer
from ..tasks import passkey
from . import plain


def training_step(backend: str, repeats: int = 3) -> dict[str, Any]:
    """A training step of BAM-SSMax: 6 layers, width 512, 16 heads, vocabulary 4096, one sequence of 2,048 tokens."""
    plain.register()
    torch.manual_seed(0)
    size = {"vocabulary": 4096, "width": 512, "layers": 6, "heads": 16, "hidden": 1024}
    model = Transformer(ModelConfig(encoding="bam-ssmax", **size))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(4096, (1, 2049), generator=runtime.generator(0, "bench"))

    def step() -> float:
        loss = F.cross_entropy(model(tokens[:, :-1], backend=backend).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return _timed(step, repeats)


def long_prompt(length: str, repeats: int = 1) -> dict[str, Any]:
    """A passkey prompt of `length` tokens through the 3-layer model: only the answer's queries in the last layer."""
    torch.manual_seed(0)
    size = {"vocabulary": len(passkey.VOCABULARY), "width": 64, "layers": 3, "heads": 4, "hidden": 128}
    model = Transformer(ModelConfig(encoding="bam-ssmax", **size)).eval()
    tokens = passkey.prompts(int(length), torch.tensor([0.5]), runtime.generator(0, "bench")).tokens[:, :-1]

    @torch.inference_mode()
    def step() -> float:
        return model(tokens, last=passkey.DIGITS).sum().item()

    return _timed(step, repeats, warm=False)


def _timed(step: Callable[[], float], repeats: int, warm: bool = True) -> dict[str, Any]:
    before = _peak()
    value = step() if warm else None
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = step()
        seconds.append(time.perf_counter() - start)
    peak = _peak() - before
    return {"seconds": statistics.median(seconds), "all_seconds": seconds, "peak_bytes": peak, "value": value}


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


MEASURES = {"training_step": training_step, "long_prompt": long_prompt}

if __name__ == "__main__":
    runtime.configure(int(sys.argv[1]))
    torch.use_deterministic_algorithms(False)
    print(json.dumps(MEASURES[sys.argv[2]](*sys.argv[3:])))
