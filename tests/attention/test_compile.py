"""The kernels compiled ahead of time, for GPUs that are not there: a performance regression fails on a laptop."""

import importlib.util
from functools import cache

import pytest

from attention_priors.attention import tiles
from attention_priors.attention.bench import assembly

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="no Triton for this machine"),
]
ROWS = [
    (kernel, target, width, 2)
    for target, widths in (("sm_90", (64, 128)), ("sm_80", (128,)), ("gfx942", (128,)))
    for width in widths
    for kernel in tiles.KERNELS
]


@cache
def found() -> dict[tuple[str, str, int, int], assembly.Compiled]:
    """All rows in one process."""
    return dict(zip(ROWS, assembly.measured((*row, assembly.FLAGS[row[0]]) for row in ROWS), strict=True))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row)))
def test_stays_within_its_budgets(row):
    assert assembly.over_budget(*row, found()[row]) == []
    assert found()[row].registers > 0 and found()[row].shared > 0
    if row[1] != "gfx942":
        assert found()[row].instructions > 5


@pytest.mark.parametrize("integers", [1, 16])
def test_compiles_where_a_launch_specialises_every_integer(integers):
    """One head, one sample, one split: Triton makes constants of what is 1, which is a Python number in the kernel."""
    rows = [(kernel, "sm_90", 64, 2, assembly.FLAGS[kernel] | {"integers": integers}) for kernel in assembly.MODULES]
    assert all(each.registers > 0 for each in assembly.measured(rows))


def test_the_budgets_find_the_ordinary_load_and_a_tile_too_large():
    """Reads that are not inline assembly, and two tiles in flight more than fit."""
    slow, large = assembly.measured(
        [
            ("forward", "sm_90", 128, 2, {**assembly.FLAGS["forward"], "ASM": False}),
            ("forward", "gfx942", 128, 2, {**assembly.FLAGS["forward"], "tile": [256, 128, 8, 2]}),
        ]
    )
    problems = assembly.over_budget("forward", "sm_90", 128, 2, slow)
    assert any("per score" in problem for problem in problems)
    assert "shared memory" in " ".join(assembly.over_budget("forward", "gfx942", 128, 2, large))


def test_every_target_has_a_tile_for_every_width_and_dtype():
    for target in tiles.SHARED:
        for kernel in tiles.KERNELS:
            for width in (16, 48, 64, 96, 128, 200, 256):
                for size in (2, 4):
                    tile = tiles.tile(target, kernel, tiles.padded(width), size)
                    assert tile.m + tile.n <= 256, "tiles reach over the table's ends by no more than its padding"
