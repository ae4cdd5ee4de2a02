"""Forward passes in turn: what an encoding costs at inference, on whatever device runs it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch

from .. import runtime
from ..config import ModelConfig
from ..model import Transformer

SIZE = {"vocabulary": 512, "width": 256, "layers": 3, "heads": 8, "hidden": 512}
ENCODINGS = ("nope", "alibi", "bam", "nope-ssmax", "alibi-ssmax", "bam-ssmax")


@torch.inference_mode()
def forward_times(
    length: int, rounds: int, device: str = "cpu", encodings: Iterable[str] = ENCODINGS, size: dict[str, int] = SIZE
) -> list[dict[str, Any]]:
    """Milliseconds of a forward pass of one sequence, per encoding and round; every round runs all of them.

    Only so do load and clock of the machine hit all alike. Two rounds warm up.
    """
    models = {}
    for name in encodings:
        torch.manual_seed(0)
        models[name] = Transformer(ModelConfig(encoding=name, **size)).eval().to(device)
    tokens = torch.randint(size["vocabulary"], (1, length), generator=runtime.generator(0, "inference")).to(device)
    rows = []
    for turn in range(-2, rounds):
        for name, model in models.items():
            start = time.perf_counter()
            model(tokens)
            if device != "cpu":
                torch.cuda.synchronize()
            taken = 1000 * (time.perf_counter() - start)
            if turn >= 0:
                rows.append({"encoding": name, "round": turn, "milliseconds": taken})
    return rows
