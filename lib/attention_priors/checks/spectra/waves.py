"""Goat, sections 1 and 4 and appendix C: the trigonometric prior, definiteness, what it can express.

Truths: numpy's FFT, torch's training against scipy's least squares, sympy, Gram matrices, the transport solvers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from math import cos, exp, pi

import numpy as np
import sympy
import torch
from scipy import optimize, special
from torch.nn import functional

from attention_priors.attention import attention
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.priors import Laplace
from attention_priors.positions.spectral import Fourier, Sink, geometric
from attention_priors.theory import spectra
from attention_priors.theory.maximum_entropy import maximum_entropy

DRAWS = [{"seed": s} for s in range(6)]
PERIOD = 2 * pi * np.arange(1, 6) / 32  # frequencies of period 32
SPACED = 0.5 * np.subtract.outer(np.arange(120.0), np.arange(120.0))
SINGLE = [{"alpha": a, "beta": b} for a, b in ((1.0, 0.0), (-1.0, 0.0), (0.5, 0.0))]
SLOPES = [{"m": 2.0**-k, "lag": d} for k, d in product((0, 4, 8), (0, 7, 62))]
RETURNS = [{"omega": w, "lag": n} for w, n in ((pi / 2, 1), (pi / 2, 4), (1.0, 710), (0.3, 21))]
SUMS = [{"seed": s} for s in range(10)]
S, T, K, OTHER = sympy.symbols("s t kappa o", real=True)
FREQUENCIES = (0.5, 1.1, 1.9, 2.8)
WEIGHTS = [{"weights": each} for each in ([0.3, 0.9, 0.5, 0.2], [0.9, 0.4, -0.3, 0.8], [0.0, 0.2, 0.0, 0.7])]

# The sum of waves


def coefficients(seed: int, modes: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((2, modes))


def fourier(alpha: np.ndarray, beta: np.ndarray, omega: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """The library's prior."""
    prior = Fourier(omega, torch.as_tensor(alpha[None]), torch.as_tensor(beta[None]))
    return prior.log_prior(torch.as_tensor(lags))[0].detach().numpy()


def kappa(seed: int, sign: int = 1) -> np.ndarray:
    """sum alpha cos(omega d) + beta sin(omega d) at the lags -32..32."""
    alpha, beta = coefficients(seed)
    phases = np.outer(np.arange(-32, 33), PERIOD)
    return np.cos(phases) @ alpha + sign * np.sin(phases) @ beta


def spectrum(seed: int) -> np.ndarray:
    """alpha - i beta by numpy's FFT of the library's prior over one period."""
    return np.fft.rfft(fourier(*coefficients(seed), PERIOD, np.arange(32)))[1:6] / 16


def parity(name: str, seed: int) -> tuple[bool, bool]:
    """Whether K is symmetric and antisymmetric for coefficients of this name alone, 24 positions."""
    values = {"alpha": np.zeros(3), "beta": np.zeros(3)} | {name: coefficients(seed, 3)[0]}
    lags = np.subtract.outer(np.arange(24), np.arange(24))
    omega = np.random.default_rng(seed).uniform(0, pi, 3)
    matrix = fourier(values["alpha"], values["beta"], omega, lags.ravel()).reshape(24, 24)
    return bool(np.allclose(matrix, matrix.T)), bool(np.allclose(matrix, -matrix.T))


@cache
def profile(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(48)


def fitted(seed: int) -> np.ndarray:
    """The library's prior after training towards a profile by torch's L-BFGS."""
    prior, lags = Fourier(geometric(4, 4, 64), *(torch.zeros(1, 4).double() for _ in "ab")), torch.arange(48)
    ends = {"max_iter": 500, "tolerance_grad": 1e-12, "tolerance_change": 1e-15}
    steps = torch.optim.LBFGS(prior.parameters(), line_search_fn="strong_wolfe", **ends)

    def loss() -> torch.Tensor:
        steps.zero_grad()
        value = (prior.log_prior(lags)[0] - torch.as_tensor(profile(seed))).square().sum()
        value.backward()
        return value

    steps.step(loss)
    return prior.log_prior(lags)[0].detach().numpy()


def best_curve(trained: str) -> Callable[[int], np.ndarray]:
    """Equation 12 with the numbers of these names fitted by scipy, the others as they start; numpy's geomspace."""
    initial = {"alpha": np.zeros(4), "beta": np.zeros(4), "omega": 2 * pi / np.geomspace(4, 64, 4)}
    names = trained.split()

    def curve(x: np.ndarray) -> np.ndarray:
        free = initial | dict(zip(names, np.split(x, len(names)), strict=True))
        phase = np.outer(np.arange(48), free["omega"])
        return np.cos(phase) @ free["alpha"] + np.sin(phase) @ free["beta"]

    def says(seed: int) -> np.ndarray:
        first = np.concatenate([initial[name] for name in names])
        goal = profile(seed)
        return curve(optimize.least_squares(lambda x: curve(x) - goal, first, xtol=1e-14, ftol=1e-14, gtol=1e-14).x)

    return says


# Definite profiles


def definite(weights: list[float]) -> bool:
    """Whether the Gram matrix of a sum of four cosines on 120 points has no negative eigenvalue."""
    gram = np.cos(np.multiply.outer(SPACED, FREQUENCIES)) @ weights
    return bool(np.linalg.eigvalsh(gram)[0] > -1e-9)


def at_zero(alpha: float, beta: float) -> str:
    """Nature of displacement 0 for one wave at omega = pi/2, against its neighbours."""
    left, here, right = fourier(*np.array([[alpha], [beta]], dtype=float), [pi / 2], np.array([-1, 0, 1])).round(12)
    return "maximum" if here > max(left, right) else "minimum" if here < min(left, right) else "neither"


def nature(alpha: float, beta: float) -> str:
    return "maximum" if alpha + beta > 0 else "minimum"


def definite_exponential(sign: int) -> bool:
    """Whether exp(sign cos omega d) has a Gram matrix without a negative eigenvalue, on 120 points."""
    gram = np.exp(sign * np.cos(FREQUENCIES[1] * SPACED))
    return bool(np.linalg.eigvalsh(gram)[0] > -1e-9)


def trough(sign: float) -> str:
    """Of exp(<x, y>), a positive definite kernel, for a query's x = (-1)^i and a key's y = sign (-1)^j, at i = j."""
    here, beside = exp(sign), exp(-sign)
    return "maximum" if here > beside else "minimum"


def far_mean(seed: int) -> float:
    """The size of the mean of three waves with alpha >= 0, beta = 0 over the lags 500 to 2,499."""
    draw = np.random.default_rng(seed)
    found = fourier(draw.uniform(0, 1, 3), np.zeros(3), np.sort(draw.uniform(0, pi, 3)), np.arange(500, 2500))
    return float(np.abs(found.mean()))


def sum_of_weights(seed: int) -> float:
    return float(np.random.default_rng(seed).uniform(0, 1, 3).sum())


def tilt(beta: float) -> str:
    """How one wave of sine alone passes displacement zero."""
    left, right = fourier(*np.array([[0.0], [beta]]), [pi / 2], np.array([-1, 1]))
    return "rises" if right > left else "falls"


# What can be expressed


def capped_fit(shape: str, modes: int) -> float:
    """KL(target, sum of waves) on the lags 0..127: fixed geometric ladder, coefficients up to 3."""
    log_prior, lags = spectra.shapes(128)[shape], np.arange(128.0)
    fit = spectra.capped(log_prior(lags), geometric(modes), spectra.LARGEST)
    return spectra.divergence_of(log_prior, fit, 128)


def best_slope(shape: str) -> float:
    """KL(target, ALiBi at the best slope)."""
    lags = np.arange(128.0)
    p = special.softmax(spectra.shapes(128)[shape](lags))
    return float(special.rel_entr(p, maximum_entropy(lags, p @ lags)[0]).sum())


def alibi(m: float, lag: int) -> float:
    """What the library's ALiBi adds from one lag to the next."""
    with torch.no_grad():
        here, next_ = Laplace([m]).double().log_prior(torch.tensor([lag, lag + 1]))[0].tolist()
    return next_ - here


def left_over(modes: int, lags: int) -> float:
    """Share of the variance of 300 random profiles that the best fit by the fixed geometric ladder leaves."""
    targets = np.random.default_rng(modes).standard_normal((lags, 300))
    phases = np.outer(np.arange(lags), geometric(modes, 2, 2 * lags))
    waves = np.concatenate([np.ones((lags, 1)), np.cos(phases), np.sin(phases)], axis=1)
    left = targets - waves @ np.linalg.lstsq(waves, targets, rcond=1e-12)[0]
    return float(np.mean((left**2).sum(axis=0) / ((targets - targets.mean(axis=0)) ** 2).sum(axis=0)))


def interaction(strength: float) -> float:
    """z(a, 0) - z(a, 1) - z(b, 0) + z(b, 1) of a rotation by pi/2 a lag: contents a = 1, b = -1, key `strength`."""
    z = {(c, d): (strength * c * np.exp(1j * (pi / 2) * d)).real for c in (1, -1) for d in (0, 1)}
    return round(float(z[1, 0] - z[1, 1] - z[-1, 0] + z[-1, 1]), 12)


# Where training starts


def inputs() -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(1, 2, 40, 8, generator=draw, dtype=torch.float64) for _ in range(3)]


def start(m: float) -> np.ndarray:
    """Attention with Goat's prior as it is before training: zero waves, u(j) = m j."""
    torch.manual_seed(0)
    prior = Fourier.uniform(2, geometric(4)).double() * Sink(torch.full((2,), m)).double()
    with torch.no_grad():
        return attention(*inputs(), prior=prior, backend="reference").numpy()


def recent(m: float) -> np.ndarray:
    """Causal attention with ALiBi's bias as the mask of torch's attention."""
    lags = torch.arange(40)[:, None] - torch.arange(40)
    bias = torch.where(lags >= 0, -m * lags.double(), -torch.inf)
    return functional.scaled_dot_product_attention(*inputs(), attn_mask=bias).numpy()


def entropic(m: float) -> np.ndarray:
    """cvxpy: the largest entropy on 12 lags with ALiBi's mean lag."""
    import cvxpy as cp

    lags, p = np.arange(12.0), cp.Variable(12)
    mean = lags @ special.softmax(-m * lags)
    cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, lags @ p == mean]).solve(solver="CLARABEL")
    return p.value


def descent(u: list[torch.Tensor], rate: float) -> torch.optim.Optimizer:
    return torch.optim.SGD(u, lr=rate)


def rise(says: Callable, rate: float, target: int) -> tuple[float, float]:
    """(0, rise of the mean loss over the targets 0 and 1 after one step of says(u, rate) on one target).

    Two keys with values 1 and 0 and flat content: the output is sigma(u), the loss (sigma(u) - target)^2. The mean loss
    is least at u = 0, the uniform prior.
    """
    u = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimiser = says([u], rate)
    (torch.sigmoid(u) - target).square().sum().backward()
    optimiser.step()
    out = special.expit(u.item())
    return 0.0, (out**2 + (out - 1) ** 2) / 2 - 0.25


def improved(says: Callable, rate: float, share: float) -> tuple[bool, bool]:
    """Did a step of says(u, rate) on the mean loss move u, and did that loss fall? `share` of the targets is 1."""
    u = torch.zeros(1, dtype=torch.float64, requires_grad=True)

    def loss() -> torch.Tensor:
        return (share * (torch.sigmoid(u) - 1).square() + (1 - share) * torch.sigmoid(u).square()).sum()

    optimiser, before = says([u], rate), loss()
    before.backward()
    optimiser.step()
    return bool(u), bool(loss() < before)


def risen(rate: float) -> float:
    return rise(descent, rate, 1)[1]


MONOTONIC = Law("ALiBi's profile falls with the lag, at every slope.", 0.0, alibi, SLOPES, relation=">", wrong=-1.5)
STRUCTURED = Law(
    "Goat can represent priors that attract, repel, prefer a band of lags, or repeat: 24 waves of the fixed geometric "
    "ladder, coefficients up to 3, come within 0.01 nats of each on the lags 0..127.",
    0.01,
    lambda shape: capped_fit(shape, 24),
    [{"shape": name} for name in spectra.shapes(128)],
    relation=">",
    wrong=1e-5,
)

CHECKS = claims(
    claim(
        "GOAT-EQ12",
        Law(
            "kappa(d) = sum alpha cos(omega d) + beta sin(omega d) for coefficients of either sign,",
            kappa,
            lambda seed: fourier(*coefficients(seed), PERIOD, np.arange(-32, 33)),
            DRAWS,
            wrong=lambda seed: kappa(seed, sign=-1),
            tolerance=1e-12,
        ),
        Law(
            "which a Fourier transform gives back.",
            lambda seed: coefficients(seed)[0] - 1j * coefficients(seed)[1],
            spectrum,
            DRAWS,
            wrong=lambda seed: coefficients(seed)[0] + 1j * coefficients(seed)[1],
            tolerance=1e-12,
        ),
        Law(
            "alpha carries the even part, beta the odd one.",
            lambda name: (name == "alpha", name == "beta"),
            parity,
            [{"name": name, "seed": s} for name in ("alpha", "beta") for s in range(3)],
            wrong=(True, False),
        ),
        Law(
            "The coefficients are trained; the frequencies are geometric and fixed.",
            best_curve("alpha beta"),
            fitted,
            [{"seed": 2}, {"seed": 3}],
            wrong=best_curve("alpha beta omega"),
            tolerance=1e-6,
        ),
        practice="A causal query sees d >= 0 only: there even and odd say nothing by themselves, and cosines and "
        "sines are simply 2 R waves.",
    ),
    claim(
        "GOAT-C2",
        Law(
            "Positive definite kernels have non-negative spectral weights.",
            lambda weights: min(weights) >= 0,
            definite,
            WEIGHTS,
            wrong=lambda weights: sum(weights) > 0,
        ),
        Law(
            "Their similarity is largest at displacement zero: no value exceeds kappa(0) = 1.",
            1.0,
            lambda omega, lag: cos(omega * lag),
            RETURNS,
            relation=">=",
            wrong=0.5,
        ),
        Law(
            "On average it lies lower far away: the mean over lags 500 to 2,499 is below kappa(0).",
            sum_of_weights,
            far_mean,
            SUMS,
            relation=">=",
            wrong=0.0,
        ),
        Law(
            "A positive alpha makes a maximum at displacement zero, a negative one a minimum.",
            nature,
            at_zero,
            SINGLE,
            wrong="maximum",
        ),
        Law(
            "A positive beta makes a maximum at displacement zero, a negative one a minimum.",
            nature,
            at_zero,
            [{"alpha": 0.0, "beta": b} for b in (1.0, -1.0)],
            wrong="maximum",
            quote="A positive weight corresponds to attraction (a peak at zero displacement), "
            "while a negative weight induces repulsion",
            place="App. C",
        ),
        Law(
            "A positive definite kernel of the displacement has no minimum at zero: exp(-cos omega d), Goat's "
            "trough, is not positive definite.",
            lambda sign: sign > 0,
            definite_exponential,
            [{"sign": 1}, {"sign": -1}],
            wrong=True,
        ),
        Law(
            "Nor does a positive definite kernel of vectors have one, whatever the maps of queries and keys.",
            "maximum",
            trough,
            [{"sign": 1}, {"sign": -1}],
            wrong="minimum",
            ours=True,
        ),
        corrected=(
            Law(
                "True of alpha. A sine has no extremum at displacement zero: under a positive beta it rises "
                "there, under a negative one it falls.",
                lambda beta: "rises" if beta > 0 else "falls",
                tilt,
                [{"beta": b} for b in (1.0, -1.0)],
                wrong="rises",
                answers=(1,),
            ),
            Law(
                "Different feature maps for queries and keys make a trough of a positive definite kernel.",
                lambda sign: "maximum" if sign > 0 else "minimum",
                trough,
                [{"sign": 1}, {"sign": -1}],
                wrong="maximum",
                answers=(2,),
            ),
        ),
        practice="Attention always maps queries and keys differently: q -> -q turns a peak into a trough.",
        severity="editorial",
    ),
    claim(
        "GOAT-C-2",
        Law(
            "Zero coefficients and u = 0 start training from plain attention.",
            lambda m: functional.scaled_dot_product_attention(*inputs(), is_causal=True).numpy(),
            start,
            [{"m": 0.0}],
            wrong=lambda m: recent(0.01),
            tolerance=1e-12,
        ),
        Law(
            "u(j) = m j starts it from ALiBi,",
            recent,
            start,
            [{"m": 0.5}, {"m": 0.0625}],
            wrong=lambda m: recent(-m),
            tolerance=1e-12,
        ),
        Law(
            "that is, from maximum-entropy recency.",
            lambda m: special.softmax(-m * np.arange(12.0)),
            entropic,
            [{"m": 0.5}, {"m": 0.0625}],
            wrong=lambda m: special.softmax(m * np.arange(12.0)),
            tolerance=1e-4,
        ),
        Law(
            "A more complicated bias is learned only where it improves on the start: a step on the mean loss moves it "
            "exactly if the loss falls.",
            descent,
            improved,
            [{"rate": 0.1, "share": p} for p in (0.0, 0.3, 0.5, 0.7)],
            wrong=lambda u, rate: torch.optim.SGD(u, lr=rate, maximize=True),
            tolerance=0,
        ),
        Law(
            "Nor does a step on one sample ever raise the mean loss.",
            descent,
            rise,
            [{"rate": 1.0, "target": t} for t in (1, 0)],
            relation=">=",
            wrong=lambda u, rate: torch.optim.Adam(u, lr=rate),
            repaired=lambda u, rate: descent(u, 0.0 * rate),
            ours=True,
        ),
        corrected=Law(
            "A step follows the gradient of its batch. Where the uniform prior is optimal for the data, "
            "sampling still moves the bias, and the mean loss rises: on two keys by u^2/16, u = rate/4.",
            lambda rate: (rate / 4) ** 2 / 16,
            risen,
            [{"rate": 1e-2}, {"rate": 1e-3}],
            wrong=lambda rate: (rate / 4) ** 2 / 8,
            tolerance=lambda rate: 1e-4 * (rate / 4) ** 2 / 16,
        ),
        practice="Complex learned priors are no proof of a gain: retrain with the prior frozen at its start.",
    ),
    claim(
        "GOAT-C-3",
        MONOTONIC,
        STRUCTURED,
        Law(
            "The best slope of ALiBi misses each by more than 0.02.",
            0.02,
            best_slope,
            [{"shape": name} for name in spectra.shapes(128)],
            relation="<",
            wrong=0.2,
        ),
        practice="The converse needs care: waves reach ALiBi's slope on a window only (X-16); Goat's u(j) has it "
        "exactly.",
    ),
    claim(
        "GOAT-C-12",
        Law(
            "Content and position are separate: neither changes what the other adds to a logit s + K.",
            sympy.Integer(0),
            (S + K) - (T + K) - (S + OTHER) + (T + OTHER),
            wrong=S * K - T * K - S * OTHER + T * OTHER,
            symbolic=True,
        ),
        MONOTONIC,
        STRUCTURED,
        Law(
            "Structure of any shape can be represented: R fixed waves leave nothing of a random profile.",
            0.0,
            left_over,
            [{"modes": r, "lags": 64} for r in (4, 8, 16)],
            wrong=1.0,
            ours=True,
        ),
        Law(
            "The form s + K reaches every table over content and lag, a rotation's too.",
            0.0,
            interaction,
            [{"strength": 1.0}, {"strength": 2.0}],
            wrong=lambda strength: strength / 2,
            ours=True,
        ),
        corrected=(
            Law(
                "R fixed waves leave a fraction 1 - 2R/(L - 1) of a random profile over L lags.",
                lambda modes, lags: 1 - 2 * modes / (lags - 1),
                left_over,
                [{"modes": r, "lags": 64} for r in (4, 8, 16)],
                wrong=lambda modes, lags: 1 - modes / (lags - 1),
                tolerance=0.03,
            ),
            Law(
                "A rotation's second difference over content and lag is twice its strength, which no sum of content "
                "and prior has.",
                lambda strength: 2 * strength,
                interaction,
                [{"strength": 1.0}, {"strength": 2.0}],
                wrong=lambda strength: strength,
            ),
        ),
        practice="With 32 of 64 coordinates for position, 15 waves meet contexts of thousands of lags: smooth "
        "profiles fit, fine structure does not. Keep content-dependent position elsewhere.",
    ),
)
