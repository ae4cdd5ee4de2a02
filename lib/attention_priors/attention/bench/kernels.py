"""The kernels on a GPU: correctness first, then medians beside what they are compared to, all in one process.

    python -m attention_priors.commands.bench --device cuda      (make bench DEVICE=cuda)

In at most eight minutes: checks, the hostile cases of the tests, decoding, prefill, local heads, a training step, and
what of `goals` is reached. Every time includes what a caller pays: the table of the prior, its derivatives, and the
sums of their gradients. The L2 cache is flushed between repetitions. What does not fit in memory or in time says so.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ... import runtime, store
from ...positions.priors import GeneralizedGaussian, Laplace, alibi_slopes
from .. import attention, causal, op
from . import drawn, goals

HEADS, KV_HEADS, TOLERANCE = 16, 8, 2.0**-10
QUANTILES = (0.5, 0.2, 0.8)
GRAPH, EAGER = goals.GRAPH, "eager"
MAIN = ("SDPA flash, no bias", "ours, learned prior")
MORE = ("SDPA cuDNN, no bias", "ours, no bias", "ours, learned prior and SSMax", "ours, free table")
MEMORY = ("SDPA, bias in memory", "SDPA, bias in memory, compiled")
FLEX = ("FlexAttention, frozen prior", "FlexAttention, learned prior")

Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is measured, on what; the parts come in the order of their worth, until the time is up."""

    device: str = "cuda"
    seconds: float = 460
    drawn: float = 110  # seconds of hostile cases
    processes: int = 16
    tokens: int = 16384  # of a batch, or one sequence
    prefill: tuple[tuple[tuple[str, ...], int, tuple[int, ...]], ...] = (  # methods, width, lengths
        (MAIN, 128, (2048, 8192, 32768)),
        (MAIN, 64, (8192,)),
        (MEMORY, 128, (2048, 8192)),
        (FLEX, 128, (8192,)),
        (MORE, 128, (8192, 2048, 32768)),
        (MAIN + MORE, 128, (512, 131072)),
        (FLEX[:1], 128, (2048, 32768)),
        (MAIN + MORE, 64, (2048, 32768, 512, 131072)),
    )
    decode: tuple[int, ...] = (8192, 131072, 524288, 32768)
    local: int = 32768
    training: tuple[tuple[str, Callable[[], Iterator[Row]]], ...] = ()  # encodings, and what times a step of each


@dataclass(frozen=True)
class Setting:
    """One problem: q, k, v [batch, heads, length, width] of `dtype`, a learned prior, causal visibility."""

    length: int
    width: int
    batch: int = 1
    heads: int = HEADS
    kv_heads: int = HEADS
    queries: int | None = None
    dtype: torch.dtype = torch.bfloat16
    norm: float | None = None  # length of queries and keys, as QK-norm would give them
    device: str = "cuda"

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        generator = torch.Generator(self.device).manual_seed(0)
        made = []
        for heads, length in ((self.heads, self.queries or self.length), *((self.kv_heads, self.length),) * 2):
            x = torch.randn(self.batch, length, heads, self.width, device=self.device, generator=generator)
            if self.norm:
                x = self.norm * F.normalize(x, dim=-1)
            made.append(x.to(self.dtype).transpose(1, 2).requires_grad_())
        return tuple(made)

    @property
    def flops(self) -> float:
        """Of the forward pass, causal: two products of queries x keys x width."""
        return 2.0 * self.batch * self.heads * self.length**2 * self.width

    def prior(self) -> GeneralizedGaussian:
        theta = torch.linspace(-2, 0.5, self.heads)
        return GeneralizedGaussian(theta, 0.3 + 0.2 * theta.sin()).to(self.device)


Call = Callable[[], Tensor]


def ours(setting: Setting, qkv: tuple[Tensor, ...], **given: Any) -> tuple[Call, list[Tensor]]:
    """Our kernels with a learned generalised Gaussian; `given` overrides arguments of the op."""
    prior = given.pop("prior", setting.prior())
    seen = causal(setting.length, device=torch.device(setting.device))
    call = functools.partial(attention, *qkv, prior=prior, visible=seen, **given)
    leaves = [p for p in prior.parameters() if p.requires_grad] if prior is not None else []
    return functools.partial(call, backend="triton"), leaves


def with_ssmax(setting: Setting, qkv: tuple[Tensor, ...]) -> tuple[Call, list[Tensor]]:
    seen = causal(setting.length, device=torch.device(setting.device))
    scale = seen.count.float().log().expand(setting.heads, -1).clone().requires_grad_()
    call, leaves = ours(setting, qkv, logit_scale=scale, prior_scale=scale)
    return call, [*leaves, scale]


def with_free_table(setting: Setting, qkv: tuple[Tensor, ...]) -> tuple[Call, list[Tensor]]:
    from ..fused import table_attention

    table = torch.randn(setting.heads, setting.length, device=setting.device).requires_grad_()
    return functools.partial(table_attention, *qkv, table=table), [table]


def plain(setting: Setting, qkv: tuple[Tensor, ...], kind: SDPBackend) -> tuple[Call, list[Tensor]]:
    """PyTorch's attention without a bias."""

    def call() -> Tensor:
        with sdpa_kernel(kind):
            return F.scaled_dot_product_attention(*qkv, is_causal=True, enable_gqa=setting.heads != setting.kv_heads)

    return call, []


def in_memory(setting: Setting, qkv: tuple[Tensor, ...], compiled: bool) -> tuple[Call, list[Tensor]]:
    """PyTorch's attention with the bias of every pair in memory, in the dtype of q, from its formula.

    Not read from a table by lag, whose backward pass is a sorted scatter and takes 50 times as long.
    """
    needed = 6 * setting.heads * setting.length**2 * qkv[0].element_size()
    if setting.device == "cuda" and needed > torch.cuda.mem_get_info()[0]:
        raise torch.OutOfMemoryError(f"{needed / 2**30:.0f} GiB of biases")
    prior, index = setting.prior(), torch.arange(setting.length, device=setting.device)
    lags = index[:, None] - index
    rate, beta = (x.detach()[:, None, None].requires_grad_() for x in (prior.theta_alpha.exp(), prior.theta_beta))

    def call() -> Tensor:
        bias = -(rate * (lags.abs() + prior.epsilon) ** beta).to(qkv[0].dtype)
        return F.scaled_dot_product_attention(*qkv, attn_mask=bias.masked_fill(lags < 0, -torch.inf)[None])

    torch._dynamo.reset()
    return torch.compile(call, dynamic=False) if compiled else call, [rate, beta]


def flex(setting: Setting, qkv: tuple[Tensor, ...], learned: bool) -> tuple[Call, list[Tensor]]:
    """FlexAttention, compiled, with the same bias as a power per score; parameters of shape [heads]."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    prior = setting.prior()
    rate, beta = (x.detach().requires_grad_(learned) for x in (prior.theta_alpha.exp(), prior.theta_beta))

    def score(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return s - rate[h] * ((i - j).abs() + prior.epsilon) ** beta[h]

    length = setting.length
    torch._dynamo.reset()  # beyond eight shapes it would go on uncompiled
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=setting.device)
    compiled = torch.compile(flex_attention, dynamic=False)
    return functools.partial(compiled, *qkv, score_mod=score, block_mask=mask), [rate, beta] if learned else []


METHODS: dict[str, Callable[[Setting, tuple[Tensor, ...]], tuple[Call, list[Tensor]]]] = {
    "SDPA flash, no bias": functools.partial(plain, kind=SDPBackend.FLASH_ATTENTION),
    "SDPA cuDNN, no bias": functools.partial(plain, kind=SDPBackend.CUDNN_ATTENTION),
    "ours, no bias": functools.partial(ours, prior=None),
    "ours, learned prior": ours,
    "ours, learned prior and SSMax": with_ssmax,
    "ours, free table": with_free_table,
    "SDPA, bias in memory": functools.partial(in_memory, compiled=False),
    "SDPA, bias in memory, compiled": functools.partial(in_memory, compiled=True),
    "FlexAttention, frozen prior": functools.partial(flex, learned=False),
    "FlexAttention, learned prior": functools.partial(flex, learned=True),
}


def check(device: str, widths: tuple[int, ...] = (64, 96, 128), length: int = 513) -> pd.DataFrame:
    """Every kernel against the float64 reference before anything is timed; RuntimeError where one is wrong.

    A result may be off by twice what PyTorch's own operations at that dtype are off by, or by the dtype's limit.
    """
    rows = []
    for dtype, limit in ((torch.float32, 2e-5), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
        for width in widths:
            setting = Setting(length, width, 1, 4, 2, dtype=dtype, device=device)
            qkv, weight = setting.tensors(), torch.randn(1, 4, length, width, device=device)
            found = {}
            for backend, exact in (("triton", False), ("sdpa", False), ("reference", True)):
                inputs = tuple(x.detach().double().requires_grad_() for x in qkv) if exact else qkv
                prior = setting.prior().double() if exact else setting.prior()
                out = attention(*inputs, prior=prior, backend=backend)
                leaves = [*inputs, *(p for p in prior.parameters() if p.requires_grad)]
                found[backend] = [out, *torch.autograd.grad((out * weight.to(out.dtype)).sum(), leaves)]
            names = ("out", "q", "k", "v", "theta_alpha", "theta_beta")
            for name, mine, theirs, true in zip(names, *found.values(), strict=True):
                error, plain = (float((x.double() - true).norm() / true.norm()) for x in (mine, theirs))
                rows.append({"dtype": str(dtype), "width": width, "result": name, "error": error, "of PyTorch": plain})
                if not error < max(limit, 2 * plain):
                    raise RuntimeError(
                        f"{name} in {dtype} at width {width} has a relative error of {error:.1e}, "
                        f"PyTorch's own operations {plain:.1e}"
                    )
    return pd.DataFrame(rows)


def timed(call: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds: median and the 20 % and 80 % quantiles."""
    if not torch.cuda.is_available():  # a dry run
        start = time.perf_counter()
        call()
        return dict.fromkeys(("milliseconds", "low", "high"), 1e3 * (time.perf_counter() - start))
    from triton.testing import do_bench

    found = do_bench(call, warmup=20, rep=80, quantiles=QUANTILES)
    return dict(zip(("milliseconds", "low", "high"), found, strict=True))


def in_graph(call: Callable[[], Any]) -> Callable[[], Any]:
    """The call captured in a CUDA graph: its kernels without the host."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def extra(call: Callable[[], Any]) -> float:
    """MB at the peak beyond what was there and beyond what the call returns."""
    if not torch.cuda.is_available():
        return float("nan")
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kept = call()
    torch.cuda.synchronize()
    results = kept if isinstance(kept, (tuple, list)) else (kept,)
    size = sum(x.nbytes for x in results if isinstance(x, Tensor))
    return (torch.cuda.max_memory_allocated() - before - size) / 2**20


def tried(row: Row, measure: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """The rows of a measurement; where it fails, one that says why."""
    try:
        yield from measure()
    except torch.OutOfMemoryError:
        yield row | {"pass": "all", "note": "out of memory"}
    except (RuntimeError, ValueError, ImportError, OSError) as error:
        yield row | {"pass": "all", "note": f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"}
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def measure(name: str, setting: Setting) -> Iterator[Row]:
    """Rows "forward" and "backward" of one method."""
    row = {"part": "prefill", "method": name, "width": setting.width, "length": setting.length, "batch": setting.batch}
    compiled = name.endswith(", compiled") or name in FLEX
    row |= {"method": name.removesuffix(", compiled"), "mode": "compiled" if compiled else EAGER}

    def both() -> Iterator[Row]:
        qkv = setting.tensors()
        call, leaves = METHODS[name](setting, qkv)
        with torch.no_grad():
            memory = extra(call)
            forward = timed(call)
            rate = setting.flops / 1e9 / forward["milliseconds"]
            yield row | {"pass": "forward", **forward, "tflops": rate, "extra_mb": memory}
            if name == "ours, learned prior" and setting.device == "cuda":
                yield row | {"mode": GRAPH, "pass": "forward", **timed(in_graph(call))}
        out = call()
        gradient = torch.randn_like(out)
        back = functools.partial(torch.autograd.grad, out, [*qkv, *leaves], gradient, retain_graph=True)
        memory = extra(back)
        backward = timed(back)
        rate = 2.5 * setting.flops / 1e9 / backward["milliseconds"]
        yield row | {"pass": "backward", **backward, "tflops": rate, "extra_mb": memory}

    yield from tried(row, both)


def local(plan: Plan) -> Iterator[Row]:
    """ALiBi's heads at 32K with queries and keys of a norm that bounds |score| by 8: tile skipping on and off."""
    from ..fused import fused

    setting = Setting(plan.local, 128, norm=(8 * 128**0.5) ** 0.5, device=plan.device)
    qkv = setting.tensors()
    prior = Laplace(alibi_slopes(setting.heads)).to(plan.device)
    given = {"prior": prior, "logit_scale": None, "prior_scale": None, "offset": 0}
    methods = {"ours, all tiles": 0.0, "ours, tolerance 2^-10": TOLERANCE, "SDPA flash, no bias": None}
    for name, tolerance in methods.items():
        if tolerance is None:
            call, _ = plain(setting, qkv, SDPBackend.FLASH_ATTENTION)
        else:
            seen = causal(setting.length, device=torch.device(plan.device))
            call = functools.partial(fused, *qkv, visible=seen, tolerance=tolerance, **given)
        row = {"part": "local", "method": name, "mode": EAGER, "width": 128, "length": setting.length}
        with torch.no_grad():
            yield row | {"pass": "forward", **timed(call)}


def bandwidth(device: str) -> float:
    """Bytes a millisecond at which this GPU reads plain memory."""
    block = torch.ones(2**28 if device == "cuda" else 2**10, device=device)
    return block.nbytes / timed(lambda: block.sum())["milliseconds"]


@torch.no_grad()
def decode(length: int, device: str, fastest: float) -> Iterator[Row]:
    """One query of 32 heads on 8 key heads, eager and in a graph."""
    setting = Setting(length, 128, heads=32, kv_heads=KV_HEADS, queries=1, device=device)
    q, k, v = setting.tensors()
    formula = setting.prior()
    calls: dict[str, Callable[[], Any]] = {
        name: functools.partial(attention, q, k, v, prior=prior, offset=length - 1, backend="triton")
        for name, prior in (
            ("ours, formula", formula),
            ("ours, table", formula * Laplace(alibi_slopes(32)).to(device)),
            ("ours, no bias", None),
        )
    }
    calls["SDPA, no bias"] = functools.partial(F.scaled_dot_product_attention, q, k, v, enable_gqa=True)
    for name, call in calls.items():
        row = {"part": "decode", "method": name, "width": 128, "length": length, "batch": 1, "pass": "forward"}
        for mode in (EAGER, GRAPH) if device == "cuda" else (EAGER,):
            found = timed(in_graph(call) if mode == GRAPH else call)
            share = (k.nbytes + v.nbytes) / found["milliseconds"] / fastest
            yield row | {"mode": mode, **found, "bandwidth": share}


def parts(plan: Plan) -> Iterator[tuple[Row, Callable[[], Iterator[Row]]]]:
    """What can be measured, in the order of its worth: how a row about it begins, and the measurement."""
    fastest = bandwidth(plan.device)
    for length in plan.decode:
        row = {"part": "decode", "method": "all", "length": length}
        yield row, functools.partial(decode, length, plan.device, fastest)
    for number, (methods, width, lengths) in enumerate(plan.prefill):
        for length in lengths:
            setting = Setting(length, width, max(1, plan.tokens // length), device=plan.device)
            for name in methods:
                row = {"part": "prefill", "method": name, "width": width, "length": length}
                yield row, functools.partial(measure, name, setting)
        if number == 1:
            yield {"part": "local", "method": "all", "length": plan.local}, functools.partial(local, plan)
            for encoding, step in plan.training:
                yield {"part": "training", "method": encoding}, step


def run(results: Path, plan: Plan | None = None) -> int:
    """Check, measure, and write results/gpu/metrics/gpu_*.csv after every part.

    0, also without a GPU or Triton, which it says; 1 where a result is wrong, before anything is timed.
    """
    if plan is None and not torch.cuda.is_available():
        print("no CUDA device here: the kernels' benchmark is skipped (their tests run without one: make test)")
        return 0
    if not op.TRITON:
        print("no Triton here: the kernels' benchmark is skipped; pip install triton, the version of your PyTorch")
        return 0
    import triton

    plan, start = plan or Plan(), time.monotonic()
    device = torch.cuda.get_device_name() if plan.device == "cuda" else plan.device
    about = {
        "device": device,
        "date": f"{date.today():%Y-%m-%d}",
        "commit": (runtime.commit() or "unknown")[:8],
        "torch": torch.__version__.partition("+")[0],
        "triton": triton.__version__,
    }
    print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
    try:
        errors = check(plan.device) if plan.device == "cuda" else check(plan.device, (16,), 33)
    except RuntimeError as error:
        print(f"wrong: {error}")
        return 1
    print(f"correct: largest relative error {errors.groupby('dtype').error.max().to_dict()}", flush=True)
    if plan.drawn and not _cases_are_right(results, plan, about):
        return 1
    rows: list[Row] = []
    for row, measurement in parts(plan):
        if time.monotonic() - start > plan.seconds:
            rows.append(row | {"pass": "all", "note": "no time left"})
            continue
        found = list(tried(row, measurement))
        rows += found
        for each in found:
            said = f"{each['milliseconds']:.3f} ms" if "milliseconds" in each else each["note"]
            named = (each.get(name, "") for name in ("part", "method", "mode", "width", "length", "pass"))
            print(*named, said, flush=True)
        frame = pd.DataFrame([about | each for each in rows])
        _write(results, {"gpu_speed": frame, "gpu_errors": errors, "gpu_goals": goals.summary(frame)}, about)
    left = [row for row in rows if row.get("note") == "no time left"]
    named = ", ".join(f"{row['part']} {row['method']} {row.get('length', '')}" for row in left) or "nothing"
    print(goals.summary(pd.DataFrame(rows)).to_string(index=False))
    print(f"left out: {named}; {time.monotonic() - start:.0f} s")
    return 0


def _cases_are_right(results: Path, plan: Plan, about: Row) -> bool:
    try:
        found = pd.DataFrame(drawn.rows(plan.device, plan.drawn, plan.processes))
    except (FileNotFoundError, RuntimeError) as error:
        print(f"hostile cases left out: {error}")
        return True
    wrong = found[found["wrong"].map(bool)]
    counts = found.groupby("backend").size().rename("cases").to_frame()
    counts["right"] = counts["cases"] - wrong.groupby("backend").size().reindex(counts.index).fillna(0).astype(int)
    print(counts.to_string(), flush=True)
    _write(results, {"gpu_cases": counts.reset_index().assign(**about)}, about)
    for case in wrong.to_dict("records"):
        print(f"wrong: {case['backend']} {case['case']}: {'; '.join(case['wrong'])}")
    return wrong.empty


def _write(results: Path, frames: Mapping[str, pd.DataFrame], about: Row) -> None:
    """metrics/<name>.csv with its origin, as `report` reads it."""
    for name, frame in frames.items():
        text = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
        folder = results / "gpu" / "metrics"
        store.write_text(folder / f"{name}.csv", text)
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        key = store.key(about["device"], about["torch"])
        store.write_json(
            folder / f"{name}.json", {"key": key, "recipe": "benchmark", "profile": "gpu", "sha256": sha256}
        )


if __name__ == "__main__":
    sys.exit(run(Path("results")))  # with no more than torch, triton, numpy, pandas, einops and jaxtyping
