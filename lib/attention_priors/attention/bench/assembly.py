"""Kernels compiled ahead of time, for processors that need not be there: resources, and instructions per score.

Triton specialises on arguments that are 1 or multiples of 16, and so do these compilations. They run in a process of
their own: where Triton was imported with TRITON_INTERPRET, kernels cannot be compiled.

    python -m attention_priors.attention.bench.assembly                       every row of tiles.TILES beside its budget
    python -m attention_priors.attention.bench.assembly '[["forward", "sm_90", 128, 2, {"HAS_T": true}]]'
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import tiles

MODULES = {
    "forward": "kernels_forward",
    "backward_queries": "kernels_backward",
    "backward_keys": "kernels_backward",
    "backward_table": "kernels_table",
    "decode": "kernels_decode",
    "combine": "kernels_decode",
    "power_table": "kernels_prior",
}
ELEMENTS = {"p_q", "p_k", "p_v", "p_o", "p_do", "p_dq", "p_dk", "p_dv"}  # in the inputs' dtype; other floats are fp32
INTEGERS = {"p_first", "p_last", "p_need", "p_span"}
NAMES = {2: "bf16", 4: "fp32"}
# the dearest variants that training with BAM and SSMax uses, two parameters a head
SCALED = {"HAS_T": True, "HAS_A": True, "HAS_B": True}
FLAGS: dict[str, dict[str, Any]] = {
    "forward": SCALED,
    "backward_queries": {**SCALED, "GRAD_A": True, "GRAD_B": True, "JACOBIANS": 2, "REFINE": True},
    "backward_keys": SCALED,
    "backward_table": SCALED,
    "decode": {"HAS_A": True, "HAS_B": True, "FORMULA": True, "SHAPED": True, "EXPONENTIAL": True, "PLAIN": True},
    "combine": {"BLOCK_S": 16},
    "power_table": {"SHAPED": True, "EXPONENTIAL": True, "GRAD_S": True, "GRAD_B": True, "GRAD_M": True},
}
# of these variants in bfloat16, by width: instructions, reads of global memory and exponentials per score
INSTRUCTIONS = {
    "sm_90": {
        "forward": {64: 12.7, 128: 11.7},
        "backward_queries": {64: 27.6, 128: 29.5},
        "backward_keys": {64: 15, 128: 20.4},
        "backward_table": {64: 40, 128: 50},
    },
    "sm_80": {
        "forward": {64: 13.5, 128: 19},
        "backward_queries": {64: 28.7, 128: 38.7},
        "backward_keys": {64: 19.8, 128: 34},
        "backward_table": {64: 84, 128: 107},
    },
}
READS = {"forward": 0.63, "backward_queries": 2.13, "backward_keys": 0.66}  # sm_90
FASTER = {("backward_keys", "sm_90", 128)}  # on a GPU than any tile that does not spill
STACK = 208  # bytes a thread may save around its loops; Triton 3.6 saves twice as much as 3.9


@dataclass(frozen=True)
class Compiled:
    """What a kernel takes: bytes of shared memory, registers per thread, bytes of stack (spills), and what its main
    loop executes, in instructions per score (each thread of a warp counts)."""

    shared: int
    registers: int
    stack: int
    instructions: float = 0.0
    by_name: dict[str, float] = field(default_factory=dict)


def measured(jobs: Iterable[tuple[str, str, int, int, dict[str, Any]]]) -> list[Compiled]:
    """`compiled` for (kernel, target, width, bytes per element, flags), all in one fresh process."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "attention_priors.attention.bench.assembly", json.dumps(list(jobs))]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"compilation failed: {done.stderr.strip().splitlines()[-1]}")
    return [Compiled(**found) for found in json.loads(done.stdout.splitlines()[-1])]


def compiled(
    kernel: str,
    target: str,
    width: int,
    size: int = 2,
    tile: Sequence[int] | None = None,
    integers: int = 0,
    **flags: bool | int,
) -> Compiled:
    """`target`: a row of tiles.SHARED; `tile`: other than the table's. Flags are the kernel's constants HAS_T, HAS_B,
    JACOBIANS, ... (default off).

    `integers`: what a launch would find in every integer argument that it may specialise: 1, which it turns into a
    constant, or 16, of which it keeps that it divides the argument; 0: neither.
    """
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from ..launch import options

    function = getattr(importlib.import_module(f"attention_priors.attention.{MODULES[kernel]}"), kernel)
    wide = tiles.padded(width)
    known = kernel if kernel in tiles.KERNELS else "forward"  # which one without tiles does not ask
    tile = tiles.Tile(*tile) if tile else tiles.tile(target, known, wide, size)
    hip = target.startswith("gfx")
    row = 4096  # elements between the rows of q, k and v
    constants = {
        "D": width,
        "BLOCK_D": wide,
        "BLOCK_M": tile.m,
        "BLOCK_N": tile.n,
        "W": tile.m,
        "ASM": not hip,
        "s_qm": row,
        "s_kn": row,
        "s_vn": row,
        "s_gn": row,
        "JACOBIANS": 0,
        "FRONT": 256,
        "BLOCK": 1024,
    }
    constants = {p.name: flags.get(p.name, constants.get(p.name, False)) for p in function.params if p.is_constexpr}
    constants |= dict.fromkeys({"s_am", "s_bm"} & set(function.arg_names), 1)
    free = [p.name for p in function.params if not (p.is_constexpr or p.do_not_specialize)]
    free = [name for name in free if _type(name, size) == "i32"]
    constants |= dict.fromkeys(free if integers == 1 else (), 1)
    types = {name: "constexpr" if name in constants else _type(name, size) for name in function.arg_names}
    aligned = {name for name in types if name.startswith(("p_", "s_"))} | set(free if integers == 16 else ())
    source = ASTSource(
        fn=function,
        signature=types,
        constexprs={(function.arg_names.index(name),): value for name, value in constants.items()},
        attrs={(function.arg_names.index(name),): [["tt.divisibility", 16]] for name in aligned - constants.keys()},
    )
    gpu = GPUTarget("hip", target, 64) if hip else GPUTarget("cuda", int(target.removeprefix("sm_")), 32)
    found = triton.compile(source, target=gpu, options=options(tile))
    if hip:
        text = found.asm["amdgcn"]
        number = {name: int(re.search(rf"\.{name}:\s*(\d+)", text)[1]) for name in ("vgpr_count", "vgpr_spill_count")}
        return Compiled(found.metadata.shared, number["vgpr_count"], 4 * number["vgpr_spill_count"])
    return _nvidia(found.asm["cubin"], found.metadata.shared, tile)


def over_budget(kernel: str, target: str, width: int, size: int, found: Compiled) -> list[str]:
    """What exceeds the budgets of `tiles` and of this module, in words."""
    problems = []
    if found.shared > tiles.SHARED[target]:
        problems.append(f"{found.shared} bytes of shared memory, {tiles.SHARED[target]} are there")
    if target.startswith("gfx") or size > 2 or width > 128 or kernel == "decode":
        return problems
    spills = found.stack > STACK or found.by_name.get("LDL") or found.by_name.get("STL")
    if spills and (kernel, target, width) not in FASTER:
        problems.append(f"{found.stack} bytes of stack, spills in the main loop: {found.by_name.get('LDL', 0):.2f}")
    limits = {"instructions": INSTRUCTIONS[target][kernel][max(width, 64)]}
    counts = {"instructions": found.instructions}
    if target == "sm_90" and kernel in READS:
        limits |= {"reads": READS[kernel], "exponentials": 1.1}
        counts |= {"reads": found.by_name.get("LDG", 0), "exponentials": found.by_name.get("MUFU.EX2", 0)}
    return problems + [
        f"{counts[name]:.2f} {name} per score, at most {most}" for name, most in limits.items() if counts[name] > most
    ]


def _type(name: str, size: int) -> str:
    if name.startswith("p_"):
        return f"*{NAMES[size]}" if name in ELEMENTS else "*i32" if name in INTEGERS else "*fp32"
    return "fp32" if name.startswith(("scale", "epsilon")) else "i32"


def _nvidia(cubin: bytes, shared: int, tile: tiles.Tile) -> Compiled:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin)
        usage = _tool("cuobjdump", "-res-usage", str(path))
        listing = _tool("nvdisasm", "-c", str(path))
    registers, stack = (int(re.search(rf"{word}:(\d+)", usage)[1]) for word in ("REG", "STACK"))
    counts = main_loop(listing)
    per_score = {name: count * tile.warps * 32 / (tile.m * tile.n) for name, count in counts.items()}
    return Compiled(shared, registers, stack, sum(per_score.values()), per_score)


def _tool(name: str, *arguments: str) -> str:
    import triton

    folder = Path(triton.__file__).parent / "backends" / "nvidia" / "bin"
    return subprocess.run([os.fspath(folder / name), *arguments], capture_output=True, text=True, check=True).stdout


def main_loop(listing: str) -> Counter:
    """Instructions of the shortest innermost loop with a matrix product: the one over unmasked tiles."""
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in listing.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?);", line):
            code.append(instruction[1])
    loops = []
    for end, text in enumerate(code):
        target = re.search(r"\bBRA\b.*?`\((\.L_x_\d+)\)", text)
        if target and labels.get(target[1], end + 1) <= end:
            loops.append((labels[target[1]], end))
    innermost = [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    bodies = [code[start : end + 1] for start, end in innermost]
    bodies = [body for body in bodies if any("MMA" in text for text in body)]
    if not bodies:
        return Counter()
    return Counter(_opcode(text) for text in min(bodies, key=len))


def _opcode(text: str) -> str:
    words = text.split()
    name = words[1] if words[0].startswith("@") else words[0]
    return ".".join(name.split(".")[:2]) if name.startswith("MUFU") else name.split(".")[0]


def main() -> int:
    """All rows of the table with what they take; the exit status is the number of rows over budget."""
    rows = [
        (kernel, target, width, size)
        for target, kernels in tiles.TILES.items()
        for kernel in tiles.KERNELS
        for width, size in kernels[kernel]
    ]
    bad = 0
    for row in rows:
        found = compiled(*row, **FLAGS[row[0]])
        problems = over_budget(*row, found)
        bad += bool(problems)
        print(
            *row,
            f"registers {found.registers} stack {found.stack} shared {found.shared}",
            f"instructions {found.instructions:.1f}",
            "; ".join(problems) or "ok",
            flush=True,
        )
    return bad


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(main())
    wanted = json.loads(sys.argv[1])
    print(json.dumps([asdict(compiled(*job, **flags)) for *job, flags in wanted]))
