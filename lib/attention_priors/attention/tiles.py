"""Tile sizes of the kernels by processor and head width: the table of choices, held to budgets by a test.

The budgets are those of the hardware, shared memory per block (A100 163 KB, H100 and H200 227 KB, MI300 64 KB), and in
bfloat16 up to width 128 also: no traffic to local memory in the main loop on NVIDIA, except where a GPU was faster with
it, a handful of values saved around it, and a number of instructions per score. tests/attention/test_compile.py
compiles ahead of time and compares; `python -m attention_priors.attention.bench.assembly` does so for every row.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch

KERNELS = ("forward", "backward_queries", "backward_keys", "backward_table", "decode")
SHARED = {"sm_80": 163 * 1024, "sm_90": 227 * 1024, "gfx942": 64 * 1024}  # bytes per block
SMALLEST, LARGEST = 16, 256  # widths of heads
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Tile:
    """Queries x keys of a tile, warps of a program, stages of the load pipeline."""

    m: int
    n: int
    warps: int
    stages: int


def padded(width: int) -> int:
    """The power of two at or above a head width: 48 -> 64, 96 -> 128. ValueError outside 16..256."""
    if not SMALLEST <= width <= LARGEST:
        raise ValueError(
            f"head width = {width}, but the kernels take {SMALLEST} to {LARGEST}; use backend='sdpa' for others"
        )
    return 1 << (width - 1).bit_length()


def serves(width: int, dtype: torch.dtype) -> bool:
    """True where the kernels take heads of this width and dtype."""
    return SMALLEST <= width <= LARGEST and dtype in DTYPES


# processor -> kernel -> tile by (padded width, bytes per element); a width stands for all up to it. sm_90, two bytes,
# up to width 128: within 2 per cent of the fastest of 4 to 21 on an H200 (2026-11-26 and 28, 8,192 tokens).
TILES: dict[str, dict[str, dict[tuple[int, int], Tile]]] = {
    "sm_90": {
        "forward": {(64, 2): Tile(64, 64, 4, 3), (128, 2): Tile(128, 128, 8, 3), (256, 2): Tile(128, 32, 8, 2),
                    (64, 4): Tile(32, 32, 4, 1), (128, 4): Tile(16, 32, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
        "backward_queries": {(64, 2): Tile(64, 64, 4, 1), (128, 2): Tile(128, 64, 8, 2), (256, 2): Tile(128, 32, 8, 1),
                             (64, 4): Tile(32, 32, 8, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 8, 1)},
        "backward_keys": {(64, 2): Tile(64, 64, 4, 3), (128, 2): Tile(64, 64, 4, 2), (256, 2): Tile(32, 32, 4, 1),
                          (64, 4): Tile(32, 32, 8, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 8, 1)},
        "backward_table": {(64, 2): Tile(64, 64, 8, 1), (128, 2): Tile(64, 64, 8, 1), (256, 2): Tile(64, 64, 8, 1),
                           (64, 4): Tile(32, 32, 8, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 8, 1)},
        "decode": {(64, 2): Tile(16, 128, 4, 3), (128, 2): Tile(16, 128, 4, 3), (256, 2): Tile(16, 64, 4, 3),
                   (64, 4): Tile(16, 64, 4, 2), (128, 4): Tile(16, 32, 4, 2), (256, 4): Tile(16, 32, 4, 2)},
    },
    "sm_80": {
        "forward": {(64, 2): Tile(128, 64, 4, 2), (128, 2): Tile(128, 64, 8, 1), (256, 2): Tile(64, 32, 8, 1),
                    (64, 4): Tile(32, 32, 4, 1), (128, 4): Tile(16, 32, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
        "backward_queries": {(64, 2): Tile(128, 64, 8, 1), (128, 2): Tile(128, 32, 8, 1), (256, 2): Tile(16, 16, 4, 1),
                             (64, 4): Tile(32, 32, 8, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 8, 1)},
        "backward_keys": {(64, 2): Tile(64, 64, 4, 1), (128, 2): Tile(64, 64, 8, 1), (256, 2): Tile(16, 16, 4, 1),
                          (64, 4): Tile(32, 32, 8, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 8, 1)},
        "backward_table": {(64, 2): Tile(32, 32, 4, 1), (128, 2): Tile(32, 32, 4, 1), (256, 2): Tile(16, 16, 4, 1),
                           (64, 4): Tile(32, 32, 8, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 8, 1)},
        "decode": {(64, 2): Tile(16, 128, 4, 2), (128, 2): Tile(16, 64, 4, 3), (256, 2): Tile(16, 32, 4, 3),
                   (64, 4): Tile(16, 64, 4, 2), (128, 4): Tile(16, 32, 4, 2), (256, 4): Tile(16, 32, 4, 1)},
    },
    "gfx942": {
        "forward": {(64, 2): Tile(128, 64, 4, 1), (128, 2): Tile(128, 32, 4, 1), (256, 2): Tile(64, 16, 4, 1),
                    (64, 4): Tile(64, 32, 4, 1), (128, 4): Tile(32, 32, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
        "backward_queries": {(64, 2): Tile(64, 32, 4, 1), (128, 2): Tile(64, 32, 4, 1), (256, 2): Tile(16, 16, 4, 1),
                             (64, 4): Tile(32, 32, 4, 1), (128, 4): Tile(16, 32, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
        "backward_keys": {(64, 2): Tile(32, 64, 4, 1), (128, 2): Tile(32, 64, 4, 1), (256, 2): Tile(16, 16, 4, 1),
                          (64, 4): Tile(32, 32, 4, 1), (128, 4): Tile(16, 32, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
        "backward_table": {(64, 2): Tile(32, 32, 4, 1), (128, 2): Tile(32, 32, 4, 1), (256, 2): Tile(16, 16, 4, 1),
                           (64, 4): Tile(32, 32, 4, 1), (128, 4): Tile(16, 16, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
        "decode": {(64, 2): Tile(16, 64, 4, 1), (128, 2): Tile(16, 64, 4, 1), (256, 2): Tile(16, 32, 4, 1),
                   (64, 4): Tile(16, 32, 4, 1), (128, 4): Tile(16, 32, 4, 1), (256, 4): Tile(16, 16, 4, 1)},
    },
}  # fmt: skip
INTERPRETER = {"decode": Tile(16, 64, 4, 1)}  # the others: Tile(32, 32, 4, 1)


@functools.lru_cache
def processor(device: torch.device) -> str:
    """The row of TILES for a device: its own, or the one with the smallest budget, which fits everywhere."""
    if device.type != "cuda":
        return "interpreter"
    if torch.version.hip:
        return "gfx942"
    capability = torch.cuda.get_device_capability(device)
    return {(8, 0): "sm_80", (9, 0): "sm_90", (10, 0): "sm_90", (10, 3): "sm_90"}.get(capability, "gfx942")


def tile(name: str, kernel: str, width: int, size: int) -> Tile:
    """The tile of a kernel for a padded head width and bytes per element."""
    if name == "interpreter":
        return INTERPRETER.get(kernel, Tile(32, 32, 4, 1))
    return TILES[name][kernel][max(width, 64), size]
