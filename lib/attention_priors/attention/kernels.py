"""What the Triton kernels share: how they start, the table's gather, the score of one tile, loads of ragged tiles.

Scores are kept in base 2, s = log2(e) (a_i <q_i, k_j> / sqrt(d) + b_i (T[i - j] + u_j)), so that a weight is one EX2.
Names: p_ pointers, b_ values of a block, o_ offsets inside a block, m_ masks, i_ program ids, s_ strides.
"""

import os
from typing import Any

import torch
from torch import Tensor

try:
    import triton
except ImportError:
    raise ValueError(
        "backend 'triton' needs the package triton, which is not installed: pip install triton==3.9.0 (Linux), or use "
        "backend='sdpa'"
    ) from None
import triton.language as tl
from triton import knobs
from triton.compiler import CompiledKernel
from triton.runtime import driver

INTERPRETED = os.environ.get("TRITON_INTERPRET", "0") == "1"
FRONT, BACK = 256, 128  # entries of padding before and after every row of the table: tiles reach over its ends
_INTERPRETED = tl.constexpr(INTERPRETED)
LONG = 2**31
_COMPILED: dict[tuple, tuple[CompiledKernel, tuple]] = {}


def start(kernel: Any, grid: tuple[int, ...], *args: Any, **constants: Any) -> None:
    """kernel[grid](*args, **constants) on the device of its first argument, a tensor; `constants` always in one order.

    Triton starts a kernel on the current device, wherever its arguments lie, and looks at every launch for the variant
    that fits them, which takes the host longer than a decoding step takes a GPU. What it found for NVIDIA is kept by
    what it tells apart: dtypes, addresses and integers that 16 divides, ones, 64 bits. For AMD it tells more.
    """
    with torch.cuda.device_of(args[0]):
        if INTERPRETED or torch.version.hip is not None:
            kernel[grid](*args, **constants)
            return
        index = args[0].device.index
        key = [kernel.fn, index, *constants.values()]
        for x in args:
            if isinstance(x, Tensor):
                key += x.dtype, x.data_ptr() % 16 == 0
            elif type(x) is int:
                key.append((x == 1) + 2 * (x % 16 == 0) + 4 * (-LONG <= x < LONG))
            else:
                key.append(type(x))
        key = (*key, *[args[i] for i in kernel.constexprs if i < len(args)])
        compiled, rest = _COMPILED.get(key, (None, ()))
        watched = knobs.runtime.launch_enter_hook.calls or knobs.runtime.launch_exit_hook.calls
        if compiled is not None and not watched:
            stream = driver.active.get_current_stream(index)
            where = (*grid, 1, 1)[:3]
            compiled.run(*where, stream, compiled.function, compiled.packed_metadata, None, None, None, *args, *rest)
            return
        compiled = kernel[grid](*args, **constants)
        if isinstance(compiled, CompiledKernel):
            _COMPILED[key] = compiled, tuple(constants[name] for name in kernel.arg_names[len(args) :])


@triton.jit
def gather(p_bias, ASM: tl.constexpr):
    """Entries of a table that nobody writes while the kernel runs.

    A tile's lags repeat along its diagonals, also within a thread. Pure inline assembly lets the compiler merge the
    equal addresses, which it does not do for tl.load; that one it would also stage through shared memory.
    """
    if ASM:
        bias = tl.inline_asm_elementwise(
            "ld.global.nc.f32 $0, [$1];", "=f,l", [p_bias.to(tl.int64)], dtype=tl.float32, is_pure=True, pack=1
        )
    else:
        bias = tl.load(p_bias)
    return bias


@triton.jit
def dot(b_x, b_y):
    """Matrix product with a float32 sum. The interpreter multiplies the bit patterns of bfloat16 (triton#11584)."""
    if _INTERPRETED:
        product = tl.dot(b_x.to(tl.float32), b_y.to(tl.float32), input_precision="ieee")
    else:
        product = tl.dot(b_x, b_y, input_precision="ieee")
    return product


@triton.jit
def narrow(b_x, DTYPE: tl.constexpr):
    """float32 to the inputs' dtype, to the nearest. The interpreter would cut bfloat16 off instead."""
    if _INTERPRETED and tl.bfloat16 == DTYPE:
        b_bits = b_x.to(tl.int32, bitcast=True)
        b_x = (b_bits + 0x7FFF + ((b_bits >> 16) & 1)).to(tl.float32, bitcast=True)
    return b_x.to(DTYPE)


@triton.jit
def read(p_tile, m_long, m_wide, LONG: tl.constexpr, WIDE: tl.constexpr):
    """A tile whose sequence (LONG) or width (WIDE) may end inside it; 0 beyond the end."""
    if LONG and WIDE:
        b_tile = tl.load(p_tile, mask=m_long & m_wide, other=0.0)
    elif LONG:
        b_tile = tl.load(p_tile, mask=m_long, other=0.0)
    elif WIDE:
        b_tile = tl.load(p_tile, mask=m_wide, other=0.0)
    else:
        b_tile = tl.load(p_tile)
    return b_tile


@triton.jit
def add_bias(
    b_s,
    b_scale,
    p_bias,
    b_u,
    HAS_T: tl.constexpr,
    HAS_U: tl.constexpr,
    HAS_B: tl.constexpr,
    ASM: tl.constexpr,
):
    """s + b (T[lag] + u); `b_scale` and `b_u` have the shape of a row or column of the tile.

    `p_bias` is (p + rows) - columns in two steps: only so are equal addresses one value to the compiler.
    """
    if HAS_T:
        b_bias = gather(p_bias, ASM)
        if HAS_U:
            b_bias += b_u
        b_s = b_s + b_bias * b_scale if HAS_B else b_s + b_bias
    elif HAS_U:
        b_s = b_s + b_u * b_scale if HAS_B else b_s + b_u
    return b_s


@triton.jit
def weigh(b_s, b_lse):
    """p = 2^(s - lse) of a tile in a backward pass, never above 1.

    s is made in the order of the forward pass, whose rounding is in lse: at scores of 1e15 another order is off by 1e7,
    and 2^(s - lse) would be infinite.
    """
    return tl.math.exp2(tl.minimum(b_s - b_lse[:, None], 0.0))


@triton.jit
def key_range(b_first, b_last, b_needed, BLOCK_N: tl.constexpr):
    """Tiles of keys for a block of queries: [start, stop), of which [inner, outer) are seen whole by every query.

    `b_needed` >= `b_first` says from which key on a query needs its keys (tile skipping).
    """
    start = tl.min(b_needed, 0) // BLOCK_N
    stop = tl.max(b_last, 0) // BLOCK_N + 1
    inner = tl.minimum(tl.maximum(tl.cdiv(tl.max(b_first, 0), BLOCK_N), start), stop)
    outer = tl.minimum(tl.maximum((tl.min(b_last, 0) + 1) // BLOCK_N, inner), stop)
    return start, inner, outer, stop
