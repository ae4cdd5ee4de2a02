"""Every backend against the formula in float64, over drawn shapes, dtypes, priors, masks and scales, hostile ones too.

The formula is written here: attention over the whole matrix with the priors by their own formulas, in numbers of which
nothing cancels (each row's log-priors less their visible peak), and its gradients by autograd. The bounds:

    float64    1e-9 of a result's scale
    float32    1e-4 of it
    bfloat16   half a unit in its last place, and for the kernels and where there is no prior, so that torch itself
               computes in bfloat16, twice the error of torch's scaled_dot_product_attention
    float16    likewise

The scale of a result is what its sum would be if no term cancelled another. On top comes what rounding must leave: of
logits beyond 300, of a log-prior at a row's peak, which no row feels but its rounding does (eight roundings; in float64
beyond FAR, where the kernels of backend "triton" stay in float32), and what the weights are off by then times the
log-prior.

A slice runs with all tests (backend "triton" in a process of its own, see test_fused.py); `make properties` tries 2,000
cases, and `make bench DEVICE=cuda` 2,000 on a GPU (`attention_priors.attention.bench.drawn` sets PROPERTY_DEVICE, and
counts what REPORT says).
"""

import copy
import json
import os
import time
from dataclasses import asdict, dataclass, replace

import hypothesis.strategies as st
import pytest
import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, Phase, example, given, settings
from torch import Tensor, nn

from attention_priors.attention import attention, causal, documents, sdpa, window
from attention_priors.attention.visible import Visible, bidirectional
from attention_priors.positions.priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    Laplace,
    Prior,
    T5Buckets,
    Uniform,
)

from .free import Free, FreeKeys

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = os.environ.get("PROPERTY_DEVICE", "cpu")  # on which backends compute; the truth is always the CPU's
REPORT = os.environ.get("PROPERTY_REPORT")  # a file for a line about each case, none of which then stops the test
UNTIL = time.monotonic() + float(os.environ.get("PROPERTY_SECONDS", "inf"))
BACKENDS = os.environ.get("PROPERTY_BACKENDS", "triton" if INTERPRETED else "reference,sdpa,sdpa_skip").split(",")
TRITON = BACKENDS == ["triton"]
CASES = int(os.environ.get("PROPERTY_CASES", 10 if INTERPRETED else 250))
PHASES = [Phase.explicit, Phase.generate] + [Phase.shrink] * (not INTERPRETED and not REPORT)  # it takes long
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16, "float64": torch.float64}
FAR = 1024.0  # of a log-prior at a row's best key: beyond, backends compute in float64
FLOOR = 1e9  # below a head's peak: what lies deeper has no gradient (`Prior.table`)
LEAST = 1e-12  # no error
NEVER = 1e-15  # weights below have no part in a scale


RELATIVE = ["none", "uniform", "laplace", *["gaussian"] * 3, "kerple-log", "kerple-power", "t5", "free", "product"]


@dataclass(frozen=True)
class Case:
    seed: int
    dtype: str = "float32"
    batch: int = 1
    kv_heads: int = 1
    group: int = 1
    width: int = 16
    queries: int = 33
    more_keys: int = 0
    mask: str = "causal"
    relative: str = "none"
    keys: bool = False
    strength: float = 0.0  # θ_α, or the logarithm of a slope
    shape: float = 0.5  # θ_β, or an exponent
    place: float = 0.0  # θ_μ
    content: str = "normal"
    logit: str = "none"
    prior: str = "none"
    blocks: str = "whole"


def cases() -> st.SearchStrategy[Case]:
    return st.builds(
        Case,
        seed=st.integers(0, 10**6),
        dtype=st.sampled_from(list(DTYPES)[: 3 if TRITON else 4]),
        batch=st.sampled_from([1, 2]),
        kv_heads=st.sampled_from([1, 2]),
        group=st.sampled_from([1, 2]),
        width=st.sampled_from([16, 48] if INTERPRETED else [16, 48, 64] if TRITON else [4, 16, 48, 64]),
        queries=st.sampled_from([1, 2, 31, 32, 33, 45, 64] + ([] if INTERPRETED else [70, 130])),
        more_keys=st.sampled_from([0, 0, 1, 37]),
        mask=st.sampled_from(["causal", "causal", "window", "packed", "documents", "bidirectional", "uneven"]),
        relative=st.sampled_from(RELATIVE),
        keys=st.sampled_from([False, False, True]),
        strength=st.sampled_from([-4.0, -1.0, 0.0, 1.0, 3.0, 10.0, 33.0]),
        shape=st.sampled_from([-3.0, -0.4, 0.0, 0.02, 0.5, 1.0, 1.9]),
        place=st.sampled_from([0.0, 0.0, 0.7, -2.0]),
        content=st.sampled_from(["normal", "normal", "large", "level", "level", "one key"]),
        logit=st.sampled_from(["none", "ssmax", "ssmax", "rows", "samples"]),
        prior=st.sampled_from(["none", "ssmax", "rows", "samples"]),
        blocks=st.sampled_from(["whole", "blocks"]),
    )


def mask_of(case: Case, generator: torch.Generator) -> Visible:
    queries, keys = case.queries, case.queries + case.more_keys
    offset = offset_of(case)
    seen = causal(queries, offset)
    if case.mask in ("packed", "documents"):
        starts = torch.rand(case.batch, keys, generator=generator) < 0.1
        inside = documents(starts.cumsum(1)).rows(offset)
        return inside & seen if case.mask == "packed" else inside
    uneven = torch.randint(keys, (2, case.batch, queries), generator=generator).sort(0).values
    return {
        "causal": lambda: seen,
        "window": lambda: window(queries, 9, offset),
        "itself": lambda: window(queries, 1, offset),
        "bidirectional": lambda: bidirectional(queries, keys),
        "uneven": lambda: Visible(uneven[0], uneven[1]),
    }[case.mask]()


def offset_of(case: Case) -> int:
    return 0 if case.mask in ("bidirectional", "uneven") else case.more_keys


def priors_of(case: Case, generator: torch.Generator) -> list[Prior]:
    """The factors of the prior, in float32; each head's a little different."""
    heads, keys = case.kv_heads * case.group, case.queries + case.more_keys
    spread = torch.linspace(0, 0.3, heads)
    lowest = offset_of(case) - keys + 1
    strength, shape = (case.strength + spread).exp(), (case.shape + spread).abs().clamp(0.05, 2)

    def free(length: int, size: float = 1.0) -> Tensor:
        return size * torch.randn(heads, length, generator=generator)

    def t5() -> T5Buckets:
        made = T5Buckets(heads, 8, 32)
        made.values = nn.Parameter(free(8, 2.0))
        return made

    gaussian = GeneralizedGaussian(
        case.strength + spread, case.shape + spread, case.place + spread, trainable=GeneralizedGaussian.NAMES
    )
    made = {
        "none": list,
        "uniform": lambda: [Uniform(heads)],
        "laplace": lambda: [Laplace(strength, trainable=True)],
        "gaussian": lambda: [gaussian],
        "kerple-log": lambda: [KerpleLog(strength, shape)],
        "kerple-power": lambda: [KerplePower(strength, shape)],
        "t5": lambda: [t5()],
        "free": lambda: [Free(free(keys + case.queries, 3.0), lowest)],
        "product": lambda: [Laplace(0.1 * spread.exp(), trainable=True), gaussian],
        "five parameters": lambda: [KerpleLog(strength, shape), gaussian],
    }[case.relative]()
    return made + ([FreeKeys(free(keys))] if case.keys else [])


def formula(factor: Prior, values: dict[str, Tensor], lags: Tensor, keys: Tensor) -> Tensor:
    """log π of a factor by its formula, from its parameters in float64: [heads, queries, keys]."""
    p = {name: value[:, None, None] for name, value in values.items() if value.ndim == 1}
    distance = lags.abs().double()
    match factor:
        case Uniform():
            return torch.zeros(factor.heads, *lags.shape, dtype=torch.float64)
        case Laplace():
            return -p["slopes"] * distance
        case GeneralizedGaussian():
            place = p["theta_mu"].exp() - (-p["theta_mu"]).exp()
            return -p["theta_alpha"].exp() * ((lags + place).abs() + factor.epsilon) ** p["theta_beta"]
        case KerpleLog():
            return -p["log_r1"].exp() * torch.log(1 + p["log_r2"].exp() * distance)
        case KerplePower():
            return -p["log_r1"].exp() * distance ** (2 / (1 + (-p["logit_r2"]).exp()))
        case T5Buckets():  # 8 buckets: lags 0 .. 3, then four that grow by the same factor, 8^(1/4), up to 32
            edges = torch.tensor([4 * 8 ** (step / 4) for step in (1, 2, 3)])
            bucket = torch.where(lags < 4, lags.clamp(min=0), 4 + (lags[..., None] >= edges).sum(-1))
            return values["values"][:, bucket]
        case Free():
            return values["values"][:, lags - factor.lowest]
        case FreeKeys():
            return values["values"][:, None, keys].expand(-1, lags.shape[0], -1)
    raise TypeError(type(factor))


class Setting:
    """The tensors of a case, rounded to its dtype; factors of the prior; the mask."""

    def __init__(self, case: Case, backend: str) -> None:
        generator = torch.Generator().manual_seed(case.seed)
        self.backend = backend
        self.case, self.dtype, self.offset = case, DTYPES[case.dtype], offset_of(case)
        heads, keys = case.kv_heads * case.group, case.queries + case.more_keys
        self.visible = mask_of(case, generator)
        self.factors = priors_of(case, generator)
        rows = torch.float64 if self.dtype == torch.float64 and case.seed % 2 else torch.float32

        def drawn(*shape: int, dtype: torch.dtype = self.dtype) -> Tensor:
            return torch.randn(*shape, dtype=torch.float64, generator=generator).to(dtype)

        q, k = drawn(case.batch, heads, case.queries, case.width), drawn(case.batch, case.kv_heads, keys, case.width)
        self.tensors = {"q": q, "k": k, "v": drawn(*k.shape)}
        if case.content == "large":
            self.tensors["q"] = 6 * q
        if case.content == "level":  # all logits of a row near the same number, far below or above 0
            level = 95.0 * (-1) ** case.seed / case.width**0.5
            self.tensors["q"], self.tensors["k"] = 1 + q / 16, level + k
        if case.content == "one key":  # all but one are far below
            k[:, :, 1:] -= 12
            self.tensors["q"] = q.abs()
        shapes = {"rows": (heads, case.queries), "samples": (case.batch, heads, case.queries)}
        for name, kind in (("logit_scale", case.logit), ("prior_scale", case.prior)):
            if kind == "ssmax":
                counts = self.visible.count.double().log()
                self.tensors[name] = (torch.linspace(0.5, 1.5, heads)[:, None] * counts[..., None, :]).to(rows)
            elif kind == "signed":
                self.tensors[name] = drawn(heads, case.queries, dtype=rows)
            elif kind != "none":
                self.tensors[name] = 2 * drawn(*shapes[kind], dtype=rows).sigmoid()
        self.weight = drawn(*q.shape)

    def run(self) -> dict[str, Tensor]:
        """The output, and unless the backend only reads, every gradient of its weighted sum."""
        prior = None
        factors = [copy.deepcopy(factor).to(DEVICE) for factor in self.factors]
        for factor in factors:
            factor = factor.double() if self.dtype == torch.float64 else factor
            prior = factor if prior is None else prior * factor
        learns = self.backend != "sdpa_skip"
        leaves = {name: x.to(DEVICE, copy=True).requires_grad_(learns) for name, x in self.tensors.items()}
        seen = Visible(self.visible.first.to(DEVICE), self.visible.last.to(DEVICE))
        with torch.set_grad_enabled(learns):
            out = attention(**leaves, prior=prior, visible=seen, offset=self.offset, backend=self.backend)
        assert out.dtype == self.dtype and out.shape == leaves["q"].shape
        if not learns:
            return {"out": out.cpu()}
        if not self.factors:
            leaves.pop("prior_scale", None)
        learned = {f"{place}.{name}": x for place, f in enumerate(factors) for name, x in f.named_parameters()}
        total = (out * self.weight.to(DEVICE)).sum()
        grads = torch.autograd.grad(total, [*leaves.values(), *learned.values()], allow_unused=True)
        found = dict(zip([*leaves, *learned], grads, strict=True))
        return {"out": out.detach().cpu()} | {name: x.cpu() for name, x in found.items() if x is not None}

    def torchs(self) -> dict[str, Tensor]:
        """torch's own attention in the dtype: a_i q_i rounded once, the log-prior a mask of numbers."""
        leaves = {name: x.clone().requires_grad_() for name, x in self.tensors.items()}
        q, k, v = leaves["q"], *(leaves[n].repeat_interleave(self.case.group, 1) for n in "kv")
        if "logit_scale" in leaves:
            q = (q.float() * leaves["logit_scale"][..., None]).to(self.dtype)
        bias = self.log_prior({})[0] * (leaves["prior_scale"][..., None] if "prior_scale" in leaves else 1)
        bias = bias.masked_fill(~self.mask(), -torch.inf).to(self.dtype).expand(*q.shape[:3], -1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        names = [name for name in leaves if name != "prior_scale" or self.factors]
        grads = torch.autograd.grad((out * self.weight).sum(), [leaves[n] for n in names])
        return {"out": out.detach()} | dict(zip(names, grads, strict=True))

    def mask(self) -> Tensor:
        mask = self.visible.dense(self.tensors["k"].shape[2])
        return mask if mask.ndim == 2 else mask[:, None]

    def log_prior(self, values: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """log π less the row's visible peak, and that peak: [batch or 1, heads, queries, keys or 1] in float64."""
        keys = torch.arange(self.tensors["k"].shape[2])
        lags = self.offset + torch.arange(self.case.queries)[:, None] - keys
        total = torch.zeros(self.tensors["q"].shape[1], *lags.shape, dtype=torch.float64)
        for place, factor in enumerate(self.factors):
            own = {n: values.get(f"{place}.{n}", p.detach().double()) for n, p in factor.named_parameters()}
            total = total + formula(factor, own, lags, keys)
        seen = total.masked_fill(~self.mask(), -torch.inf)
        seen = seen if seen.ndim == 4 else seen[None]
        peak = total.expand(seen.shape).gather(-1, seen.argmax(-1, keepdim=True))
        return total - peak, peak

    def below(self, peak: Tensor) -> Tensor:
        """How far the row's visible peak lies below that of its head, over all lags or over those of the past.

        The nearer one, since a backend's table has either: the head's peak is what tables are moved to 0 by.
        """
        first, last = self.offset - self.tensors["k"].shape[2] + 1, self.offset + self.case.queries
        found = []
        for start in (first, 0):
            lags, keys = torch.arange(start, last), torch.zeros(last - start, dtype=torch.int64)
            relative = [f for f in self.factors if not isinstance(f, FreeKeys)]
            values = ({n: p.detach().double() for n, p in f.named_parameters()} for f in relative)
            total = torch.zeros(self.tensors["q"].shape[1], last - start, dtype=torch.float64)
            for factor, own in zip(relative, values, strict=True):
                total = total + formula(factor, own, lags[None], keys)[:, 0]
            found.append(total.amax(-1)[:, None, None] - peak)
        return torch.minimum(*(x.abs() for x in found))

    def exact(self) -> tuple[dict[str, Tensor], dict[str, float], dict[str, float]]:
        """The same in float64, the scale of every result, and what rounding a row's peak adds to its error."""
        leaves = {name: x.double().clone().requires_grad_() for name, x in self.tensors.items()}
        for place, factor in enumerate(self.factors):
            for name, x in factor.named_parameters():
                leaves[f"{place}.{name}"] = x.detach().double().clone().requires_grad_()
        q, k, v = leaves["q"], *(leaves[n].repeat_interleave(self.case.group, 1) for n in "kv")
        a = leaves["logit_scale"][..., None] if "logit_scale" in leaves else 1
        b = leaves["prior_scale"][..., None] if "prior_scale" in leaves else torch.ones((), dtype=torch.float64)
        factor = self.case.width**-0.5
        logits = factor * a * (q @ k.transpose(-1, -2))
        p = (logits + b * self.log_prior(leaves)[0]).masked_fill(~self.mask(), -torch.inf).softmax(-1)
        out = p @ v
        names = [name for name in leaves if name != "prior_scale" or self.factors]
        grads = torch.autograd.grad((out * self.weight.double()).sum(), [leaves[n] for n in names], allow_unused=True)
        found = {"out": out.detach()} | {n: g for n, g in zip(names, grads, strict=True) if g is not None}

        with torch.no_grad():
            # |dS| if nothing cancelled in dO vᵀ - δ
            up = self.weight.double().abs() @ v.abs().transpose(-1, -2)
            p = torch.where(p > NEVER, p, 0)
            slopes = p * (up + (p * up).sum(-1, keepdim=True))
            group = self.case.group
            a, b = (x.abs() if isinstance(x, Tensor) else x for x in (a, b))
            bias, peak = self.log_prior({})
            dots = factor * (leaves["q"].abs() @ k.abs().transpose(-1, -2))
            terms = {
                "out": p @ v.abs(),
                "q": factor * a * (slopes @ k.abs()),
                "k": (factor * slopes.transpose(-1, -2) @ q.mul(a).abs()).unflatten(1, (-1, group)).sum(2),
                "v": (p.transpose(-1, -2) @ self.weight.double().abs()).unflatten(1, (-1, group)).sum(2),
                "logit_scale": (slopes * dots).sum(-1),
                "prior_scale": (slopes * bias.abs()).sum(-1),
            }
            below = self.below(peak)
            single = (peak.abs() <= FAR) | (below <= FAR) | (self.backend == "triton")
            rounding = torch.where(single, 2**-21, 2**-50)  # eight of them
            # and of the weights, whose sum is 1 only up to the rounding of their logits
            top = logits.abs().amax(-1, keepdim=True) / 8 + torch.where(peak.abs() > FAR, b * peak.abs(), 0)
            rounding = rounding + (top * rounding).clamp(max=1)
            noise = {"prior_scale": (slopes * peak.abs() * rounding).sum(-1)}
            self.deep = bool((below > FLOOR).any())
        for name in ("logit_scale", "prior_scale"):
            if name in leaves and leaves[name].ndim == 2:
                terms[name] = terms[name].sum(0)
        for name, value in leaves.items():
            if name not in self.tensors:
                by_head = value.ndim == 1
                slope = [torch.ones(()), torch.zeros(())]  # of one number of a table
                if by_head:
                    both = torch.func.jvp(lambda x, n=name: self.log_prior({n: x}), (value,), (torch.ones_like(value),))
                    slope = both[1]
                inner, outer = ((slopes * b.detach() * x.detach().abs()) for x in slope)
                terms[name], noise[name] = inner.sum((0, 2, 3)), (outer * rounding).sum((0, 2, 3))
        far = float((b * peak.abs() * rounding).masked_fill(peak.abs() <= FAR, 0).amax())  # in the scores
        scales = {name: float(x.detach().amax()) for name, x in terms.items()}
        size = max(1.0, float(logits.detach().abs().amax()) / 300)
        noise = {name: float(noise[name].amax()) if name in noise else 0.0 for name in scales}
        return (
            found,
            {n: size * x for n, x in scales.items()},
            {n: size * noise[n] + far * x for n, x in scales.items()},
        )


def problems(case: Case, backend: str) -> list[str]:
    """What of a backend's results is wrong."""
    made = Setting(case, backend)
    truth, scales, noise = made.exact()
    found = made.run()
    half = made.dtype in (torch.bfloat16, torch.float16)
    usual = made.torchs() if half and (backend == "triton" or not made.factors) else {}
    relative = {torch.float64: 1e-9, torch.float32: 1e-4}.get(made.dtype, 0.5 * torch.finfo(made.dtype).eps)
    expected = {"out"} if backend == "sdpa_skip" else truth.keys()  # which has no gradients
    wrong = [f"{name} has no value" for name in sorted(expected - found.keys())]
    for name, x in found.items():
        value = truth[name]
        if float(value.abs().amax()) > torch.finfo(x.dtype).max / 8:
            continue
        if made.deep and name not in made.tensors and name != "out":
            continue
        error = float((x.double() - value).abs().amax())
        allowed = max(relative, 2 * torch.finfo(x.dtype).eps) * scales[name] + noise[name] + LEAST
        if name in usual and usual[name].isfinite().all():
            allowed += 2 * float((usual[name].double() - value).abs().amax())
        if not error <= allowed:
            wrong.append(f"{name} is off by {error:.1e}, allowed {allowed:.1e}, scale {scales[name]:.1e}")
    return wrong


def small_blocks(case: Case) -> None:
    """Sizes of sdpa's blocks, so that every way through it is tried on short sequences."""
    sizes = {"whole": (256, 128, 512, 512, 1024), "blocks": (0, 8, 16, 64, 24), "narrow": (0, 1, 7, 1, 7)}[case.blocks]
    names = ("WHOLE", "BLOCK_QUERIES", "BLOCK_KEYS", "READING_QUERIES", "READING_KEYS")
    vars(sdpa).update(zip(names, sizes, strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
@settings(
    max_examples=CASES,
    phases=PHASES,
    derandomize=not REPORT,  # else drawn by --hypothesis-seed
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@example(Case(1, queries=33, content="level"))  # rows beyond the last query, far from its log-sum-exp
@example(Case(2, dtype="bfloat16", queries=64, content="large", logit="ssmax", relative="laplace", width=48))
@example(Case(3, dtype="float16", relative="uniform", keys=True))
@example(Case(4, relative="gaussian", strength=33.0, shape=1.0, prior="ssmax"))  # even the best key below FLOOR
@example(Case(5, relative="gaussian", strength=10.0, shape=-0.4, queries=45, mask="window"))  # peaks that differ by row
@example(Case(6, queries=75, more_keys=-25, mask="bidirectional", relative="gaussian", prior="signed", blocks="blocks"))
@example(Case(7, "float64", queries=33, mask="itself", relative="gaussian", prior="signed", blocks="narrow"))
@example(
    Case(8, "float64", 2, queries=45, mask="packed", relative="gaussian", shape=-2.0, blocks="narrow")
)  # at the floor
@example(  # a row that sees one key: b_i = ln 1 = 0, and a log-prior of -2e16
    Case(
        508,
        "bfloat16",
        width=64,
        queries=70,
        relative="gaussian",
        keys=True,
        strength=3.0,
        shape=-3.0,
        logit="ssmax",
        prior="ssmax",
        blocks="blocks",
    )
)
@given(case=cases())
def test_a_backend_is_the_formula(backend, case):
    if backend == "triton" and case.dtype == "float64":  # which kernels refuse
        case = replace(case, dtype="float32")
    small_blocks(case)
    if not REPORT:
        wrong = problems(case, backend)
        assert not wrong, "; ".join(wrong)
    elif time.monotonic() < UNTIL:
        try:
            wrong = problems(case, backend)
        except Exception as error:
            wrong = [f"{type(error).__name__}: {error}"[:300]]
        with open(REPORT, "a") as file:
            file.write(json.dumps({"backend": backend, "case": asdict(case), "wrong": wrong}) + "\n")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("strength", [32.0, 33.0, 40.0])
def test_a_prior_whose_best_key_lies_below_the_floor_sees_that_key(backend, strength):
    """The bounds above grow with a row's best log-prior; here the answer is plain: every query sees itself alone."""
    q, k, v = (torch.randn(1, 2, 33, 16, generator=torch.Generator().manual_seed(i)) for i in range(3))
    learns = backend != "sdpa_skip"
    q.requires_grad_(learns)
    with torch.set_grad_enabled(learns):
        out = attention(q, k, v, prior=GeneralizedGaussian([strength, 0.0], [1.0, 1.0]), backend=backend)
    assert torch.allclose(out[:, 0], v[:, 0], atol=1e-6)
    if learns:
        out.sum().backward()
        assert q.grad.isfinite().all() and q.grad[:, 0].abs().max() < 1e-4
