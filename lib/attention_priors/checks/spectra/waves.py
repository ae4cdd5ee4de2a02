"""Goat, sections 1 and 4: the trigonometric prior, and where its training starts.

Truths: numpy's FFT, torch's training against scipy's least squares, torch's masked attention, cvxpy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import pi

import numpy as np
import torch
from scipy import optimize, special
from torch.nn import functional

from attention_priors.attention import attention
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.spectral import Fourier, Sink, geometric

DRAWS = grid(seed=range(6))
PERIOD = 2 * pi * np.arange(1, 6) / 32  # frequencies of period 32

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
            grid(name=("alpha", "beta"), seed=range(3)),
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
            grid(rate=[0.1], share=(0.0, 0.3, 0.5, 0.7)),
            wrong=lambda u, rate: torch.optim.SGD(u, lr=rate, maximize=True),
        ),
        Law(
            "Nor does a step on one sample ever raise the mean loss.",
            descent,
            rise,
            grid(rate=[1.0], target=(1, 0)),
            relation=">=",
            wrong=lambda u, rate: torch.optim.Adam(u, lr=rate),
            repaired=lambda u, rate: descent(u, 0.0 * rate),
            ours=True,
        ),
        corrected=Law(
            "A step follows the gradient of its batch. Where the uniform prior is optimal for the data, "
            "sampling still moves the bias, and the mean loss rises: on two keys by u^2/16, u = rate/4.",
            lambda rate: (rate / 4) ** 2 / 16,
            lambda rate: rise(descent, rate, 1)[1],
            [{"rate": 1e-2}, {"rate": 1e-3}],
            wrong=lambda rate: (rate / 4) ** 2 / 8,
            tolerance=lambda rate: 1e-4 * (rate / 4) ** 2 / 16,
        ),
        missing="that training learns a bias only where it improves: shown for a step on the mean loss of two keys",
        practice="Complex learned priors are no proof of a gain: retrain with the prior frozen at its start.",
    ),
)
