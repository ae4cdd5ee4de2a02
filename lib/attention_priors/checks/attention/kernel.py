"""One interface for all encodings and its kernels (X-17), low precision (X-12), and what a prior costs at inference.

Bounds, fixed before anything was measured. What judges them came after the first results: for X-12 the mean of ratios
within seeds with Student's interval (there are three seeds), for all Holm's correction.
X-12   rounding a prior's coordinates to bfloat16 moves the weights of the longest row by more than 1.5 times what
       rounding content does, for each of the three carriers; a bias added in float32 moves them by less than a
       hundredth of what content does.
TAB6   each row's median time relative to NoPE's lies in the range of the table's four sizes; one decimal is printed.
C16    the medians of BAM's time over NoPE's and of BAM SSMax's over NoPE SSMax's, measured in turn, are at most 1.05.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import torch
from scipy import special, stats

from attention_priors.attention import attention
from attention_priors.attention.bench import interpreted
from attention_priors.checks.measured import measuring
from attention_priors.checks.printed import table
from attention_priors.checks.rotations.laws import WINDOWS, mapped, two_rotations
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, mean, smallest, unknown
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.encodings import encoding
from attention_priors.positions.priors import GeneralizedGaussian, KerpleLog, KeyPrior, Laplace, Prior
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.positions.spectral import Fourier

KEYS, WIDTH, SLOPE, SCALE = 24, 16, 0.25, 0.7
MEASURABLE, MOVES, ADDS = 1.05, 1.5, 0.01
SHORTEST = 512  # integers up to 256 are exact in bfloat16
PRECISION, TIMES = "kernel_low_precision", "kernel_inference"
TIMED = ("nope-ssmax", "alibi", "alibi-ssmax", "bam", "bam-ssmax")
ALPHA, BETA, OMEGA = np.array([0.8, -0.5]), np.array([0.3, 0.9]), np.array([0.2, 1.1])
BIASES: dict[str, Callable] = {
    "GGD": lambda d: -np.exp(-0.5) * (abs(d + 2 * np.sinh(0.3)) + 1e-5) ** 0.6,
    "KERPLE": lambda d: -1.5 * np.log(1 + 0.4 * abs(d)),
    "ALiBi": lambda d: -0.25 * abs(d),
    "Fourier": lambda d: float(ALPHA @ np.cos(OMEGA * d) + BETA @ np.sin(OMEGA * d)),
}
Score = Callable[[np.ndarray, np.ndarray, int, int], float]


# what one interface carries


def inputs(seed: int) -> np.ndarray:
    """q, k, v: [3 tokens width], exact in float32."""
    return np.random.default_rng(seed).standard_normal((3, KEYS, WIDTH), dtype=np.float32).astype(float)


def written_out(score: Score) -> Callable[[int], np.ndarray]:
    """Causal softmax attention with a logit per pair, one pair at a time: no code of the library."""

    def output(seed: int) -> np.ndarray:
        q, k, v = inputs(seed)
        logits = np.array([[score(q, k, i, j) if j <= i else -np.inf for j in range(KEYS)] for i in range(KEYS)])
        return special.softmax(logits, axis=1) @ v

    return output


def called(call: Callable[..., torch.Tensor]) -> Callable[[int], np.ndarray]:
    """Output of the library's attention, set up by `call(q, k, v)`."""
    return lambda seed: call(*(torch.as_tensor(x)[None, None] for x in inputs(seed)))[0, 0].detach().numpy()


def dot(q: np.ndarray, k: np.ndarray, i: int, j: int) -> float:
    return float(q[i] @ k[j]) / WIDTH**0.5


def rotated(sign: int) -> Score:
    """<R(i) q, R(j) k> / sqrt(d): pairs of coordinates as complex numbers, turned by 10000^(-2r/d) per position."""
    rates = 10_000.0 ** (-np.arange(0, WIDTH, 2) / WIDTH)

    def score(q: np.ndarray, k: np.ndarray, i: int, j: int) -> float:
        left, right = (x[: WIDTH // 2] + 1j * x[WIDTH // 2 :] for x in (q[i], k[j]))
        return float((left * right.conj() * np.exp(1j * sign * rates * (i - j))).real.sum()) / WIDTH**0.5

    return score


def plus(term: Callable[[int, int], float]) -> Score:
    """<q, k> / sqrt(d) + term(i, j)."""
    return lambda q, k, i, j: dot(q, k, i, j) + term(i, j)


def times(factor: Callable[[int], float]) -> Score:
    """factor(i) <q, k> / sqrt(d)."""
    return lambda q, k, i, j: factor(i) * dot(q, k, i, j)


class Wave(KeyPrior):
    """u(j) = SCALE sin j."""

    heads = 1

    def log_prior(self, keys: torch.Tensor, length: int) -> torch.Tensor:
        return SCALE * keys.double().sin()[None]


def with_prior(prior: Prior, places: torch.Tensor | None = None) -> Callable[..., torch.Tensor]:
    positions = None if places is None else (places, places)
    return lambda q, k, v: attention(q, k, v, prior=prior.double(), positions=positions, backend="reference")


def turned(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    place = torch.arange(KEYS)
    return attention(*Rotary(rope(WIDTH))(q, k, place, place), v, backend="reference")


def tempered(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scale = ScalableSoftmax(1).double()(torch.arange(1, KEYS + 1))
    return attention(q, k, v, logit_scale=scale, backend="reference")


@cache
def kernel() -> dict[str, np.ndarray]:
    """Output of the interpreted kernel in float32, under each prior."""
    waves = (torch.tensor(x)[None].float() for x in (ALPHA, BETA))
    priors = {
        "GGD": GeneralizedGaussian([-0.5], [0.6], [0.3], trainable=GeneralizedGaussian.NAMES),
        "KERPLE": KerpleLog([1.5], [0.4]),
        "ALiBi": Laplace([0.25], trainable=True),
        "Fourier": Fourier(OMEGA.tolist(), *waves),
    }
    q, k, v = (torch.as_tensor(x)[None, None].float() for x in inputs(0))
    found = interpreted.run([{"q": q, "k": k, "v": v, "up": v, "prior": prior} for prior in priors.values()])
    return {name: one["out"][0, 0].numpy() for name, one in zip(priors, found, strict=True)}


def biased(bias: str, seed: int, factor: float = 1.0) -> np.ndarray:
    return written_out(plus(lambda i, j: factor * BIASES[bias](i - j)))(seed)


# X-12, BAM-TAB6, BAM-C16: read from metrics

precision = measuring(PRECISION)


def on_a_cpu(frames: Frames) -> str:
    return "" if "device" in frames[TIMES] else "the paper timed a GPU, these are times of a CPU"


timed = measuring(TIMES, beyond=on_a_cpu)


def moved(how: str, extreme: Callable[..., Estimate]) -> Callable[[pd.DataFrame], Estimate]:
    """Movement of the weights of the longest row over that by rounding content: a carrier's mean over seeds."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        if frame["keys"].max() < SHORTEST:
            return unknown(f"no row of {SHORTEST} keys or more")
        wide = frame[frame["keys"] == frame["keys"].max()].pivot_table("variation", ["carrier", "seed"], "how")
        ratio = wide[how] / wide["content"]
        return extreme({name: mean(ratio.loc[name].to_dict()) for name in ratio.index.levels[0]})

    return estimate


def median(values: np.ndarray) -> Estimate:
    """With its distribution-free interval, from order statistics; none with too few values for the level."""
    ordered = np.sort(values)

    def interval(level: float) -> tuple[float, float]:
        cut = int(stats.binom.ppf((1 - level) / 2, len(ordered), 0.5))
        cut -= stats.binom.cdf(cut, len(ordered), 0.5) > (1 - level) / 2
        return (float(ordered[cut]), float(ordered[-1 - cut])) if cut >= 0 else (-np.inf, np.inf)

    return Estimate(float(np.median(ordered)), interval)


def over(name: str, base: str) -> Callable[[pd.DataFrame], Estimate]:
    """Median over rounds of one time over another."""

    def estimate(frame: pd.DataFrame) -> Estimate:
        rounds = frame.pivot(index="round", columns="encoding", values="milliseconds")
        return median((rounds[name] / rounds[base]).to_numpy())

    return estimate


def in_range(name: str) -> tuple[Finding, Finding]:
    """The time over NoPE's is within the range that Table 6 spans (± 0.05 ms)."""
    printed = table("bam", 6).pivot(index="encoding", columns="model", values="milliseconds")
    low = float(((printed.loc[name] - 0.05) / (printed.loc["nope"] + 0.05)).min())
    high = float(((printed.loc[name] + 0.05) / (printed.loc["nope"] - 0.05)).max())
    takes, times = f"{encoding(name).label} over NoPE takes at", over(name, "nope")
    return (
        timed(f"{takes} least {low:.2f}, as at one of the four sizes", times, ">=", low),
        timed(f"{takes} most {high:.2f}", times, "<=", high),
    )


def costless(name: str, base: str) -> Finding:
    text = f"{encoding(name).label} takes at most {MEASURABLE} times as long as {encoding(base).label}"
    return timed(text, over(name, base), "<=", MEASURABLE, ours=True)


def carries(what: str, score: Score, call: Callable[..., torch.Tensor], wrong: Score) -> Law:
    """What the interface carries against attention written out."""
    cases = [{"seed": 0, "tokens": KEYS}, {"seed": 1, "tokens": KEYS}]
    return Law(f"The interface carries {what}.", written_out(score), called(call), cases, wrong=written_out(wrong))


def mixed_difference(window: int, lag: int) -> int:
    """Of min(i - j, w) in i and j, which that of p_i - p_j is not: 0 for every p."""
    return 2 * min(lag, window) - min(lag - 1, window) - min(lag + 1, window)


rectified = mapped(lambda lag, w: min(lag, w)), two_rotations(math.inf), WINDOWS  # says, truth, cases

CHECKS = claims(
    claim(
        "X-17",
        carries("linear maps F_i, G_j of queries and keys", rotated(1), turned, rotated(-1)),
        carries(
            "an additive bias b(i - j)",
            plus(lambda i, j: -SLOPE * (i - j)),
            with_prior(Laplace([SLOPE])),
            plus(lambda i, j: -SLOPE * (i - j) ** 2),
        ),
        carries(
            "a term u(j) of the key alone",
            plus(lambda i, j: SCALE * np.sin(j)),
            with_prior(Wave()),
            plus(lambda i, j: SCALE * np.sin(i - j)),
        ),
        carries(
            "a temperature on the logits (SSMax)",
            times(lambda i: np.log(i + 1)),
            tempered,
            times(lambda i: np.log(i + 2)),
        ),
        carries(
            "a map of positions",
            plus(lambda i, j: -SLOPE * (i // 2 - j // 2)),
            with_prior(Laplace([SLOPE]), torch.arange(KEYS) // 2),
            plus(lambda i, j: -SLOPE * (i - j) / 2),
        ),
        Law(
            "It carries ReRoPE's map of positions: lags min(i - j, w) are differences of positions.",
            0,
            mixed_difference,
            grid(window=[4], lag=(1, 3, 4, 9)),
            wrong=1,
            relation="==",
        ),
        *(
            (
                Law(
                    "A Triton kernel adds GGD, KERPLE, ALiBi and Fourier biases to the scores.",
                    biased,
                    lambda bias: kernel()[bias],
                    grid(bias=BIASES, seed=[0]),
                    wrong=lambda bias, seed: biased(bias, seed, 1.1),
                    tolerance=1e-5,
                ),
            )
            if interpreted.AVAILABLE
            else ()
        ),
        corrected=Law(
            "ReRoPE takes two rotations, each pair one of them: another call (`RectifiedAttention`).",
            *rectified,
            wrong=mapped(lambda lag, w: min(lag, w + 1)),
        ),
        severity="editorial",
        practice="Our kernel reads every relative prior from a table over lags: a power per score would cost two "
        "more special-function operations each, and no prior needs a kernel of its own.",
        missing="" if interpreted.AVAILABLE else interpreted.MISSING,
    ),
    claim(
        "X-12",
        precision(
            "Riding in bfloat16 coordinates, the least harmed carrier moves the weights more than content does",
            moved("product", smallest),
            ">",
            MOVES,
            ours=True,
        ),
        precision(
            "Added in float32, no prior moves them by a hundredth of that",
            moved("added", largest),
            "<",
            ADDS,
            ours=True,
        ),
    ),
    claim("BAM-TAB6", *(each for name in TIMED for each in in_range(name)), recipe="untrained"),
    claim("BAM-C16", costless("bam", "nope"), costless("bam-ssmax", "nope-ssmax"), recipe="untrained"),
)
