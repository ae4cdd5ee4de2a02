"""One interface for all encodings and its kernels (X-17), low precision (X-12), and what a prior costs at inference.

Readings, fixed before anything was measured:
X-12   rounding a prior's coordinates to bfloat16 moves the weights of the longest row by more than 1.5 times what
       rounding content does, for each of the three carriers; a bias added in float32 moves them by less than a
       hundredth of what content does.
TAB6   each row's time relative to NoPE's lies within the range of the table's four sizes; one decimal is printed. A row
       is outside when its whole interval over rounds is.
C16    the medians of BAM's time over NoPE's and of BAM SSMax's over NoPE SSMax's, measured in turn, are at most 1.05.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import torch

from attention_priors.attention import attention
from attention_priors.bench import interpreted
from attention_priors.checks.evidence import Check, EmpiricalCheck, Evidence, Finding, Part, compare
from attention_priors.checks.printed import table
from attention_priors.positions.kerple import KerpleLog
from attention_priors.positions.priors import GeneralizedGaussian, KeyPrior, Laplace, Prior
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.positions.spectral import Fourier

KEYS, WIDTH, SLOPE, SCALE = 24, 16, 0.25, 0.7
MEASURABLE, MOVES, ADDS = 1.05, 1.5, 0.01
SHORTEST = 512  # integers up to 256 are exact in bfloat16
Frames = Mapping[str, pd.DataFrame]


# what one interface carries


@dataclass(frozen=True)
class Kind:
    """`score(q, k, i, j)`: the logit of key j for query i; `call(q, k, v)`: the library's attention set up for it."""

    score: Callable
    call: Callable


class Sink(KeyPrior):
    """u(j) = SCALE sin j."""

    heads = 1

    def log_prior(self, keys: torch.Tensor, length: int) -> torch.Tensor:
        return SCALE * keys.double().sin()[None]


def written_out(score: Callable, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Causal softmax attention with a logit per pair, one pair at a time: no code of the library."""
    logits = np.full((len(q), len(k)), -np.inf)
    for i in range(len(q)):
        for j in range(i + 1):
            logits[i, j] = score(q, k, i, j)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v


def check_kind(kind: Kind) -> Evidence:
    draw = np.random.default_rng(0)
    q, k, v = draw.standard_normal((3, KEYS, WIDTH))
    found = kind.call(*(torch.as_tensor(x)[None, None] for x in (q, k, v)))[0, 0].detach().numpy()
    worst = float(np.abs(found - written_out(kind.score, q, k, v)).max())
    return compare(worst, "<=", 1e-9, detail=f"largest difference of outputs, {KEYS} tokens, float64")


def dot(q: np.ndarray, k: np.ndarray, i: int, j: int) -> float:
    return float(q[i] @ k[j]) / WIDTH**0.5


def rotated(q: np.ndarray, k: np.ndarray, i: int, j: int, sign: int = 1) -> float:
    """<R(i) q, R(j) k> / sqrt(d): pairs of coordinates as complex numbers, turned by 10000^(-2r/d) per position."""
    rates = 10_000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH)
    left, right = (x[: WIDTH // 2] + 1j * x[WIDTH // 2 :] for x in (q[i], k[j]))
    return float((left * right.conj() * np.exp(1j * sign * rates * (i - j))).real.sum()) / WIDTH**0.5


def _through(prior: Prior | None = None, **given: object) -> Callable:
    prior = prior and prior.double()
    return lambda q, k, v: attention(q, k, v, prior=prior, backend="reference", **given)


def _rotary(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    place = torch.arange(KEYS)
    return attention(*Rotary(rope(WIDTH))(q, k, place, place), v, backend="reference")


def _tempered(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scale = ScalableSoftmax(1).double()(torch.arange(1, KEYS + 1))
    return attention(q, k, v, logit_scale=scale, backend="reference")


def _mapped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    place = torch.arange(KEYS) // 2
    return attention(q, k, v, prior=Laplace([SLOPE]).double(), positions=(place, place))


SLOPED = _through(Laplace([SLOPE]))
KINDS = (
    ("linear maps F_i, G_j of queries and keys", rotated, lambda q, k, i, j: rotated(q, k, i, j, -1), _rotary),
    ("an additive bias b(i - j)", lambda q, k, i, j: dot(q, k, i, j) - SLOPE * (i - j),
     lambda q, k, i, j: dot(q, k, i, j) - SLOPE * (i - j) ** 2, SLOPED),
    ("a term u(j) of the key alone", lambda q, k, i, j: dot(q, k, i, j) + SCALE * np.sin(j),
     lambda q, k, i, j: dot(q, k, i, j) + SCALE * np.sin(i), _through(Sink())),
    ("a temperature on the logits (SSMax)", lambda q, k, i, j: np.log(i + 1) * dot(q, k, i, j),
     lambda q, k, i, j: np.log(i + 2) * dot(q, k, i, j), _tempered),
    ("a map of positions", lambda q, k, i, j: dot(q, k, i, j) - SLOPE * (i // 2 - j // 2),
     lambda q, k, i, j: dot(q, k, i, j) - SLOPE * (i - j) / 2, _mapped),
)  # fmt: skip


# the kernel

ALPHA, BETA = np.array([0.8, -0.5]), np.array([0.3, 0.9])
OMEGA = np.array([0.2, 1.1])
BIASES: dict[str, Callable] = {
    "GGD": lambda d: -np.exp(-0.5) * (abs(d + 2 * np.sinh(0.3)) + 1e-5) ** 0.6,
    "KERPLE": lambda d: -1.5 * np.log(1 + 0.4 * abs(d)),
    "ALiBi": lambda d: -0.25 * abs(d),
    "Fourier": lambda d: float(ALPHA @ np.cos(OMEGA * d) + BETA @ np.sin(OMEGA * d)),
}


def _priors() -> dict[str, Prior]:
    modes = (torch.tensor(x)[None].float() for x in (ALPHA, BETA))
    return {
        "GGD": GeneralizedGaussian([-0.5], [0.6], [0.3], trainable=GeneralizedGaussian.NAMES),
        "KERPLE": KerpleLog([1.5], [0.4]),
        "ALiBi": Laplace([0.25], trainable=True),
        "Fourier": Fourier(OMEGA.tolist(), *modes),
    }


@cache
def kernel_outputs() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(q, k, v) in float32 and the interpreted kernel's output under each prior."""
    qkv = torch.randn(3, KEYS, WIDTH, generator=torch.Generator().manual_seed(0))
    q, k, v = (x[None, None] for x in qkv)
    priors = _priors()
    found = interpreted.run([{"q": q, "k": k, "v": v, "up": v, "prior": prior} for prior in priors.values()])
    outputs = {name: one["out"][0, 0].numpy() for name, one in zip(priors, found, strict=True)}
    return qkv.double().numpy(), outputs


def check_kernel(biases: Mapping[str, Callable]) -> Evidence:
    (q, k, v), outputs = kernel_outputs()
    worst = max(
        float(np.abs(outputs[name] - written_out(lambda q, k, i, j, b=b: dot(q, k, i, j) + b(i - j), q, k, v)).max())
        for name, b in biases.items()
    )
    return compare(worst, "<=", 1e-5, detail=f"largest difference of outputs, {', '.join(biases)}, float32")


KERNEL = Part(
    "A Triton kernel adds GGD, KERPLE, ALiBi and Fourier biases tile by tile, without the matrix of all pairs.",
    BIASES,
    check_kernel,
    {**BIASES, "GGD": lambda d: -np.exp(-0.5) * (abs(d + 2 * np.sinh(0.3)) + 1e-5) ** 0.7},
)


# X-12, BAM-TAB6, BAM-C16: judged from metrics


def low_precision(frames: Frames) -> Finding:
    """Ratios at the longest row: each carrier's movement of the weights to that of rounding content (its median)."""
    frame = frames["kernel_low_precision"]
    frame = frame[frame["keys"] == frame["keys"].max()]
    if frame["keys"].max() < SHORTEST:
        return Finding("undecided", f"no row of {SHORTEST} keys or more", ">", MOVES)
    moved = frame.groupby(["how", "carrier"])["variation"].median().unstack()
    ratio, added = (moved.loc[how] / moved.loc["content"] for how in ("product", "added"))
    outcome = "agrees" if (ratio > MOVES).all() and (added < ADDS).all() else "disagrees"
    detail = "; ".join(f"{name} {ratio[name]:.3g}, added {added[name]:.1g}" for name in ratio.index)
    seeds = tuple(int(seed) for seed in sorted(frame["seed"].unique()))
    return Finding(outcome, float(ratio.min()), ">", MOVES, seeds, None, detail)


def ratios(frame: pd.DataFrame, encoding: str, base: str) -> tuple[float, float, float]:
    """Median over rounds of one time over another, with its distribution-free interval (95 % from 6 rounds on)."""
    times = frame.pivot(index="round", columns="encoding", values="milliseconds")
    values = np.sort((times[encoding] / times[base]).to_numpy())
    cut = 0
    while 2 * sum(_choose(len(values), i) for i in range(cut + 2)) / 2 ** len(values) <= 0.05:
        cut += 1
    return float(np.median(values)), float(values[cut]), float(values[-1 - cut])


def _choose(n: int, k: int) -> int:
    return int(np.prod([(n - i) / (i + 1) for i in range(k)]).round())


def costs_nothing(frames: Frames) -> Finding:
    pairs = (("bam", "nope"), ("bam-ssmax", "nope-ssmax"))
    found = [ratios(frames["kernel_inference"], encoding, base) for encoding, base in pairs]
    worst = max(found)
    encoding, base = pairs[found.index(worst)]
    outcome = "agrees" if all(high <= MEASURABLE for _, _, high in found) else (
        "disagrees" if any(low > MEASURABLE for _, low, _ in found) else "undecided")  # fmt: skip
    return Finding(
        outcome, worst[0], "<=", MEASURABLE, (), worst[1:], f"{encoding} over {base}, the larger of the two forms"
    )


def table_6(frames: Frames) -> Finding:
    """Of how many of five rows the interval over NoPE's lies outside the range that the table spans (± 0.05 ms)."""
    printed = table("bam", 6).pivot(index="encoding", columns="model", values="milliseconds")
    outside, inside, parts = [], [], []
    for encoding in ("nope-ssmax", "alibi", "alibi-ssmax", "bam", "bam-ssmax"):
        low = ((printed.loc[encoding] - 0.05) / (printed.loc["nope"] + 0.05)).min()
        high = ((printed.loc[encoding] + 0.05) / (printed.loc["nope"] - 0.05)).max()
        middle, lower, upper = ratios(frames["kernel_inference"], encoding, "nope")
        parts.append(f"{encoding} {middle:.2f} (printed {low:.2f} to {high:.2f})")
        if lower > high or upper < low:
            outside.append(encoding)
        elif low <= lower and upper <= high:
            inside.append(encoding)
    outcome = "disagrees" if outside else "agrees" if len(inside) == len(parts) else "undecided"
    detail = (
        f"interval outside the printed range: {', '.join(outside) or 'none'}, inside: {', '.join(inside) or 'none'}; "
        f"medians over nope: {'; '.join(parts)}"
    )
    return Finding(outcome, len(outside), "==", 0, (), None, detail)


def _swap_low(frames: Frames) -> Frames:
    """Carrying is exact and adding is not."""
    frame = frames["kernel_low_precision"].copy()
    frame["how"] = frame["how"].replace({"product": "added", "added": "product"})
    return {**frames, "kernel_low_precision": frame}


def _slow_bam(frames: Frames) -> Frames:
    """BAM takes four times as long."""
    frame = frames["kernel_inference"].copy()
    frame.loc[frame["encoding"].str.startswith("bam"), "milliseconds"] *= 4
    return {**frames, "kernel_inference": frame}


CHECKS = {
    check.id: check
    for check in (
        Check(
            "X-17",
            (
                *(Part(f"The interface carries {text}.", Kind(score, call), check_kind, Kind(other, call))
                  for text, score, other, call in KINDS),
                *((KERNEL,) if interpreted.AVAILABLE else ()),
            ),
            practice="Our kernel reads every relative prior from a table over lags: a power per score would cost two "
            "more special-function operations each, and no prior needs a kernel of its own.",
            missing="" if interpreted.AVAILABLE else interpreted.MISSING,
        ),
        EmpiricalCheck("X-12", ("kernel_low_precision",), "exact", low_precision,
                       "A carrier whose coordinates survive bfloat16 as well as content does, or an added bias that "
                       "moves the weights.", _swap_low),
        EmpiricalCheck("BAM-TAB6", ("kernel_inference",), "untrained", table_6,
                       "agrees: every row's interval over rounds, relative to NoPE, inside the range of the table's "
                       "sizes; disagrees: one outside it.", _slow_bam),
        EmpiricalCheck("BAM-C16", ("kernel_inference",), "untrained", costs_nothing,
                       "agrees: both medians over NoPE at most 1.05, with their intervals over rounds; "
                       "disagrees: one above it, with its interval.", _slow_bam),
    )
}  # fmt: skip
