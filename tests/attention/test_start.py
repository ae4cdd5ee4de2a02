"""`start` gives Triton's launcher what Triton would: the variant of a kernel that fits the arguments, and these; on the
device of the first."""

import os
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["free"])
def kernel(p_x, p_y, n, step: tl.constexpr, free, scale, ADDS: tl.constexpr):
    tl.store(p_x + n * step + free, scale if ADDS else 0.0)


def test_a_launch_gets_the_variant_that_triton_would_choose(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["TRITON_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10  # variants, or the fake GPU tells none apart


def main() -> None:
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    from attention_priors.attention.kernels import start

    launched, placed, found = [], [], set()
    torch.cuda.device_of = lambda x: nullcontext(placed.append(x))
    driver.set_active(
        SimpleNamespace(
            utils=SimpleNamespace(
                load_binary=lambda *_: (object(), object(), 1, 0, 1024),
                get_device_properties=lambda _: {"max_shared_mem": 1 << 18},
                unload_module=lambda _: None,
            ),
            launcher_cls=lambda source, metadata: lambda *args: launched.append(args[:6] + args[9:]),
            get_current_device=lambda: 0,
            get_current_stream=lambda _: 7,
            get_current_target=lambda: GPUTarget("cuda", 90, 32),
        )
    )
    x = torch.zeros(9)
    usual = [x[:8], x[:8], 7, 7, 7, 0.5, True]
    others = [(x[1:], x.bfloat16()), (None, x[1:]), (1, 16, 2**31, 2**31 + 1), (3, 16), (1, 2**31), (2.0,), (False,)]
    calls = [usual] + [[*usual[:i], y, *usual[i + 1 :]] for i, ys in enumerate(others) for y in ys]
    for *args, adds in 2 * calls:
        start(kernel, (3, 2), *args, ADDS=adds, num_warps=4)
        kernel[3, 2](*args, ADDS=adds, num_warps=4)
        ours, theirs = launched[-2:]
        assert all(a is b or a == b for a, b in zip(ours, theirs, strict=True)), args
        assert placed.pop() is args[0]
        found.add(ours[4])
    print(len(found))


if __name__ == "__main__":
    main()
