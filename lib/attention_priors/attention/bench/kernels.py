"""The kernels on a GPU: correctness first, then medians beside what they are compared to, all in one process.

    python -m attention_priors.commands.bench --device cuda      (make bench DEVICE=cuda draws the figures afterwards)

Every time includes what a caller pays: the table of the prior, its derivatives, and the sums of their gradients. The L2
cache is flushed between repetitions. Rows that do not fit in memory or in the ten minutes say so.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ... import store
from ...positions.priors import GeneralizedGaussian, Laplace, alibi_slopes
from .. import attention, causal

SECONDS = 570
LENGTHS, FLEX_LENGTHS = (512, 2048, 8192, 32768, 131072), (2048, 8192, 32768)
DECODE = (8192, 32768, 131072, 524288)
HEADS, KV_HEADS, TOLERANCE = 16, 8, 2.0**-10
QUANTILES = (0.5, 0.2, 0.8)


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

    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        generator = torch.Generator("cuda").manual_seed(0)
        made = []
        for heads, length in ((self.heads, self.queries or self.length), *((self.kv_heads, self.length),) * 2):
            x = torch.randn(self.batch, length, heads, self.width, device="cuda", generator=generator)
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
        return GeneralizedGaussian(theta, 0.3 + 0.2 * theta.sin()).cuda()


Call = Callable[[], Tensor]


def ours(setting: Setting, qkv: tuple[Tensor, ...], **given: Any) -> tuple[Call, list[Tensor]]:
    """Our kernels with a learned generalised Gaussian; `given` overrides arguments of the op."""
    prior = given.pop("prior", setting.prior())
    call = functools.partial(attention, *qkv, prior=prior, visible=causal(setting.length, device="cuda"), **given)
    leaves = [p for p in prior.parameters() if p.requires_grad] if prior is not None else []
    return functools.partial(call, backend="triton"), leaves


def with_ssmax(setting: Setting, qkv: tuple[Tensor, ...]) -> tuple[Call, list[Tensor]]:
    seen = causal(setting.length, device="cuda")
    scale = seen.count.float().log().expand(setting.heads, -1).clone().requires_grad_()
    call, leaves = ours(setting, qkv, logit_scale=scale, prior_scale=scale)
    return call, [*leaves, scale]


def with_free_table(setting: Setting, qkv: tuple[Tensor, ...]) -> tuple[Call, list[Tensor]]:
    from ..fused import table_attention

    table = torch.randn(setting.heads, setting.length, device="cuda").requires_grad_()
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
    if needed > torch.cuda.mem_get_info()[0]:
        raise torch.OutOfMemoryError(f"{needed / 2**30:.0f} GiB of biases")
    prior, index = setting.prior(), torch.arange(setting.length, device="cuda")
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
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device="cuda")
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


def check() -> pd.DataFrame:
    """Every kernel against the float64 reference before anything is timed; RuntimeError where one is wrong.

    A result may be off by twice what PyTorch's own operations at that dtype are off by, or by the dtype's limit.
    """
    rows = []
    for dtype, limit in ((torch.float32, 2e-5), (torch.bfloat16, 2e-2), (torch.float16, 3e-3)):
        for width in (64, 96, 128):
            setting = Setting(513, width, 1, 4, 2, dtype=dtype)
            qkv, weight = setting.tensors(), torch.randn(1, 4, 513, width, device="cuda")
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
    from triton.testing import do_bench

    found = do_bench(call, warmup=20, rep=80, quantiles=QUANTILES)
    return dict(zip(("milliseconds", "low", "high"), found, strict=True))


def extra(call: Callable[[], Any]) -> float:
    """MB at the peak beyond what was there and beyond what the call returns."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kept = call()
    torch.cuda.synchronize()
    results = kept if isinstance(kept, (tuple, list)) else (kept,)
    size = sum(x.nbytes for x in results if isinstance(x, Tensor))
    return (torch.cuda.max_memory_allocated() - before - size) / 2**20


def measure(name: str, setting: Setting) -> Iterator[dict[str, Any]]:
    """Rows "forward" and "backward" of one method."""
    row = {"part": "prefill", "method": name, "width": setting.width, "length": setting.length, "batch": setting.batch}
    try:
        qkv = setting.tensors()
        call, leaves = METHODS[name](setting, qkv)
        with torch.no_grad():
            memory = extra(call)
            forward = timed(call)
        rate = setting.flops / 1e9 / forward["milliseconds"]
        yield row | {"pass": "forward", **forward, "tflops": rate, "extra_mb": memory}
        out = call()
        gradient = torch.randn_like(out)
        back = functools.partial(torch.autograd.grad, out, [*qkv, *leaves], gradient, retain_graph=True)
        memory = extra(back)
        backward = timed(back)
        rate = 2.5 * setting.flops / 1e9 / backward["milliseconds"]
        yield row | {"pass": "backward", **backward, "tflops": rate, "extra_mb": memory}
    except torch.OutOfMemoryError:
        yield row | {"pass": "all", "note": "out of memory"}
    except (RuntimeError, ValueError) as error:
        yield row | {"pass": "all", "note": str(error).splitlines()[0][:90]}
    finally:
        torch.cuda.empty_cache()


def prefill(deadline: float) -> list[dict[str, Any]]:
    """All methods over lengths and widths, 16,384 tokens a batch where that is more than one sequence."""
    rows: list[dict[str, Any]] = []
    for width in (128, 64):
        for length in LENGTHS:
            setting = Setting(length, width, max(1, 16384 // length))
            for name in METHODS:
                if name.startswith("Flex") and (length not in FLEX_LENGTHS or width != 128):
                    continue
                if time.monotonic() > deadline:
                    rows.append(
                        {
                            "part": "prefill",
                            "method": name,
                            "width": width,
                            "length": length,
                            "pass": "all",
                            "note": "no time left",
                        }
                    )
                else:
                    rows += measure(name, setting)
    return rows


def local(deadline: float) -> list[dict[str, Any]]:
    """ALiBi's heads at 32K with queries and keys of a norm that bounds |score| by 8: tile skipping on and off."""
    from ..fused import fused

    setting = Setting(32768, 128, norm=(8 * 128**0.5) ** 0.5)
    qkv, rows = setting.tensors(), []
    prior = Laplace(alibi_slopes(setting.heads)).cuda()
    given = {"prior": prior, "logit_scale": None, "prior_scale": None, "offset": 0}
    methods = {"ours, all tiles": 0.0, "ours, tolerance 2^-10": TOLERANCE, "SDPA flash, no bias": None}
    for name, tolerance in methods.items():
        if time.monotonic() > deadline:
            break
        if tolerance is None:
            call, _ = plain(setting, qkv, SDPBackend.FLASH_ATTENTION)
        else:
            seen = causal(setting.length, device="cuda")
            call = functools.partial(fused, *qkv, visible=seen, tolerance=tolerance, **given)
        with torch.no_grad():
            row = {"part": "local", "method": name, "width": 128, "length": setting.length, "pass": "forward"}
            rows.append(row | timed(call))
    return rows


@torch.no_grad()
def decode(deadline: float) -> list[dict[str, Any]]:
    """One query of 32 heads on 8 key heads; the share of the bandwidth at which this GPU reads plain memory."""
    block = torch.empty(2**30, dtype=torch.int8, device="cuda").view(torch.float32)
    fastest = block.nbytes / timed(lambda: block.sum())["milliseconds"]
    del block
    rows: list[dict[str, Any]] = []
    for length in DECODE:
        setting = Setting(length, 128, heads=32, kv_heads=KV_HEADS, queries=1)
        q, k, v = setting.tensors()
        table = setting.prior()
        several = table * Laplace(alibi_slopes(32)).cuda()
        for name, prior in (("ours, formula", table), ("ours, table", several), ("ours, no bias", None)):
            if time.monotonic() > deadline:
                return rows
            call = functools.partial(attention, q, k, v, prior=prior, offset=length - 1, backend="triton")
            rows.append({"part": "decode", "method": name, "length": length, **timed(call)})
        sdpa = functools.partial(F.scaled_dot_product_attention, q, k, v, enable_gqa=True)
        rows.append({"part": "decode", "method": "SDPA, no bias", "length": length, **timed(sdpa)})
        for row in rows[-4:]:
            row |= {
                "width": 128,
                "pass": "forward",
                "batch": 1,
                "bandwidth": (k.nbytes + v.nbytes) / row["milliseconds"] / fastest,
            }
    return rows


def run(results: Path) -> int:
    """Check, measure and write results/gpu/metrics/kernel_*.csv. Without a GPU it says so and succeeds."""
    if not torch.cuda.is_available():
        print("no CUDA device here: the kernels' benchmark is skipped (their tests run without one: make test)")
        return 0
    start = time.monotonic()
    deadline, device = start + SECONDS, torch.cuda.get_device_name()
    print(f"{device}, torch {torch.__version__}, CUDA {torch.version.cuda}", flush=True)
    errors = check()
    print(f"correct: largest relative error {errors.groupby('dtype').error.max().to_dict()}", flush=True)
    frame = pd.DataFrame(decode(deadline) + local(deadline) + prefill(deadline - 20))
    frame = frame.assign(device=device, date=f"{date.today():%Y-%m-%d}", mode="eager")
    for name, part in (("kernel_speed", frame), ("kernel_errors", errors)):
        store_metrics(results / "gpu" / "metrics", name, part, store.key(device, torch.__version__))
    print(summary(frame).to_string(index=False), f"\n{time.monotonic() - start:.0f} s", sep="")
    return 0


def store_metrics(folder: Path, name: str, frame: pd.DataFrame, key: str) -> None:
    """metrics/<name>.csv with its origin, as `report` reads it."""
    text = frame.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    store.write_text(folder / f"{name}.csv", text)
    origin = {"key": key, "recipe": "benchmark", "profile": "gpu", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    store.write_json(folder / f"{name}.json", origin)


TARGETS = (
    ("forward, learned prior / SDPA flash", "forward", "SDPA flash, no bias", "ours, learned prior", 0.90),
    ("backward, learned prior / SDPA flash", "backward", "SDPA flash, no bias", "ours, learned prior", 0.65),
    ("forward / FlexAttention", "forward", "FlexAttention, frozen prior", "ours, learned prior", 1.15),
    ("forward + backward / FlexAttention", "both", "FlexAttention, learned prior", "ours, learned prior", 2.0),
    ("forward + backward / bias in memory", "both", "SDPA, bias in memory", "ours, learned prior", 2.0),
    ("SSMax / without", "forward", "ours, learned prior", "ours, learned prior and SSMax", 0.99),
)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Speed-ups at width 128, by length, beside what is asked for at 4,096 tokens and more."""
    part = frame[(frame["part"] == "prefill") & (frame["width"] == 128) & frame["milliseconds"].notna()]
    times = part.pivot_table(index=["method", "length"], columns="pass", values="milliseconds")
    if {"forward", "backward"} <= set(times.columns):
        times["both"] = times["forward"] + times["backward"]
    rows = []
    for label, which, theirs, mine, wanted in TARGETS:
        for length in sorted(part["length"].unique()):
            if which in times and (theirs, length) in times.index and (mine, length) in times.index:
                ratio = times.loc[(theirs, length), which] / times.loc[(mine, length), which]
                rows.append({"measure": label, "length": length, "ratio": round(float(ratio), 3), "must": wanted})
    return pd.DataFrame(rows)
