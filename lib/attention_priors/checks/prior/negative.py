"""BAM, section 2.4, Theorem 3, Figure 1 and the scale's domain: what the bias is at and below its limits.

Truths: sums over the keys, scipy's quadrature of the continuous profile, Python's own arithmetic, the library's prior.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf, log

import numpy as np
import torch
from scipy import integrate

from attention_priors.attention import attention
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import generalised_gaussian as theory

LONG = 20_000
FAR_SHARES = {0.001: 0.101, 1.0: 0.235, 10.0: 0.729}  # of the farthest tenth, by alpha / n


def weight(log_prior: theory.LogPrior, keys: int, lag: int) -> float | str:
    """Of a lag under equal content; "0/0" where no key has a weight above zero."""
    logits = log_prior(np.arange(float(keys)))
    return "0/0" if logits.max() == -inf else theory.softmax(logits)[lag].item()


def printed(alpha: float, beta: float, keys: int, lag: int) -> float | str:
    return weight(theory.printed(alpha, beta), keys, lag)


def coded(alpha: float, beta: float, keys: int, lag: int) -> float | str:
    """With epsilon = 1e-5."""
    return weight(theory.coded(-beta * log(alpha), beta), keys, lag)


def far_share(theta_alpha: float, theta_beta: float, n: int) -> float:
    """Mass of the farthest tenth of n keys, as coded."""
    return theory.shares(theory.coded(theta_alpha, theta_beta), n)[1]


def near_share(theta_alpha: float, theta_beta: float, n: int) -> float:
    return theory.shares(theory.coded(theta_alpha, theta_beta), n)[0]


def profile(power: float) -> Callable[[float, float], float]:
    """Mass of the last tenth of exp(-(r / u)^(power |beta|)), u = d / n in (0, 1], r = alpha / n, by quadrature."""

    def share(ratio: float, beta: float) -> float:
        def density(u: float) -> float:  # the far end weighs 1
            return exp(ratio ** (power * abs(beta)) * (1 - u ** (-power * abs(beta))))

        older, rest = (integrate.quad(density, low, high, limit=200)[0] for low, high in ((0.9, 1), (1e-9, 0.9)))
        return older / (older + rest)

    return share


def far_tenth(ratio: float, beta: float) -> float:
    """Of 20,000 keys, alpha = ratio x 20,000."""
    return theory.shares(theory.printed(ratio * LONG, beta), LONG)[1]


def oldest_tenth(alpha: float, beta: float, n: int) -> float:
    return theory.shares(theory.printed(alpha, beta), n)[1]


def newest_tenth(alpha: float, beta: float, n: int) -> float:
    return theory.shares(theory.printed(alpha, beta), n)[0]


def bias(alpha: float, beta: float, lag: float) -> str:
    """What the printed formula gives in Python's own arithmetic."""
    try:
        return "a number" if -(abs(lag / alpha) ** beta) <= 0 else "none"
    except ZeroDivisionError:
        return "division by zero"


def admits(condition: Callable[[float], bool]) -> Callable[[float], str]:
    return lambda alpha: "a number" if condition(alpha) else "division by zero"


def unseen(key: int, query: int) -> float:
    """Weight of a key of 60 in attention without content and without a bias."""
    zeros = torch.zeros(1, 1, 60, 60, dtype=torch.float64)
    out = attention(zeros, zeros, torch.eye(60, dtype=torch.float64)[None, None], backend="reference")
    return out[0, 0, query - 1, key - 1].item()


def step(m: float, lag: int) -> float:
    """p(d + 1) / p(d) of the Laplace prior on 40 lags."""
    here, older = theory.row(theory.laplace(m), 40)[lag : lag + 2]
    return float(older / here)


def straight_tail(m: float, lag: int) -> float:
    """P(d > D) of Laplace on 60 lags."""
    weights = [exp(-m * d) for d in range(60)]
    return sum(weights[lag + 1 :]) / sum(weights)


def heavier_tail(m: float, lag: int) -> float:
    """Of beta = 1/2, alpha = m^-2."""
    return float(theory.row(theory.printed(m**-2.0, 0.5), 60)[lag + 1 :].sum())


def rise(lag: float, alpha: float, beta: float) -> float:
    """ln p(d + 1) / p(d)."""
    here, older = theory.printed(alpha, beta)(np.array([lag, lag + 1.0]))
    return float(older - here)


RISES = grid(lag=(1.0, 2.0, 10.0, 599.0), alpha=(1.0, 10.0, 5120.0), beta=(-0.5, -1.0, -2.0))


def relative(alpha: float, beta: float, keys: int) -> np.ndarray:
    """Weights of lags 1 .. keys - 1 and of no others, written out: exp(-(d / alpha)^beta) over their sum with lag 0."""
    lags = np.arange(1.0, keys)
    weights = np.exp(-((lags / alpha) ** beta))
    return weights / (weights.sum() + (exp(-1) if beta == 0 else 0.0))


NEGATIVE = grid(n=(10, 512), theta_alpha=(0.0, -2.0, 2.0), theta_beta=(-1.0, -0.05, -0.2, -0.5, -2.0))

CHECKS = claims(
    claim(
        "BAM-E3",
        Law(
            "There are parameters for which the farthest tenth of 512 keys holds more than half,",
            0.5,
            far_share,
            [{"theta_alpha": 10.0, "theta_beta": -1.0, "n": 512}],
            wrong=1,
            relation="<",
        ),
        Law(
            "and the nearest tenth less than a hundredth: theta_alpha = 10, theta_beta = -1.",
            0.01,
            near_share,
            [{"theta_alpha": 10.0, "theta_beta": -1.0, "n": 512}],
            wrong=0,
            relation=">",
        ),
        Law(
            "With beta < 0 attention leaves the local context: the nearest tenth holds at most half of its uniform "
            "share (our measure).",
            0.05,
            near_share,
            NEGATIVE,
            wrong=0.01,
            relation=">=",
            repaired=0.11,
            witness=[{"n": 512, "theta_alpha": 0.0, "theta_beta": -1.0}],
            quote="the attention mechanism stops looking to local context and shifts to faraway tokens",
            place="§2.5",
        ),
        Law(
            "It points to the far end whenever beta < 0: at least half of the mass lies on the farthest tenth.",
            0.5,
            far_share,
            NEGATIVE,
            wrong=0.9,
            relation="<=",
            repaired=0.09,
            ours=True,
        ),
        corrected=(
            Law(
                "The prior is one profile exp(-(alpha/n)^|beta| (d/n)^-|beta|) of d/n:",
                profile(1),
                far_tenth,
                grid(ratio=(1e-3, 0.1, 1.0, 10.0), beta=(-0.5, -1.0, -2.0)),
                wrong=profile(2),
                tolerance=2e-3,
                answers=(1, 2),
            ),
            Law(
                "uniform apart from the vicinity while alpha << n, and concentrated on the far end only while "
                "alpha >> n. (For beta = -1 the farthest tenth holds 0.101, 0.235, 0.729 at alpha/n = 0.001, 1, 10.)",
                lambda ratio: FAR_SHARES[ratio],
                far_tenth,
                grid(ratio=FAR_SHARES, beta=[-1.0]),
                wrong=0.1,
                tolerance=1e-3,
                answers=(1, 2),
            ),
        ),
        practice="The curve that the figure draws exists. As the context grows past alpha = "
        "exp(-theta_alpha/theta_beta) such a head tends to NoPE without "
        "its vicinity; it does not point to the oldest keys.",
        severity="needs a repair",
    ),
    claim(
        "BAM-E2",
        Law(
            "Main text: the formula gives a number for alpha >= 0.",
            admits(lambda alpha: alpha >= 0),
            bias,
            grid(alpha=(0, 1, 2.5, 1e-3, 1e3), beta=(1, 0.5, -1), lag=[1]),
            wrong=admits(lambda alpha: alpha >= 1),
            quote=r"GGD-BAM becomes local attention as the relative length $|j-i|$ increases, for "
            r"any $\beta>0$ and $\alpha\geq 0$",
            place="§2.3, Lemma 4",
            boundary="α = 0",
        ),
        Law(
            "Appendix B: for alpha > 0.",
            admits(lambda alpha: alpha > 0),
            bias,
            grid(alpha=(1, 2.5, 1e-3, 1e3), beta=(1, 0.5, -1), lag=[1]),
            wrong=admits(lambda alpha: alpha > 1e-2),
        ),
        corrected=Law(
            "The condition is alpha > 0, as in the appendix. (In the form |alpha/d|^|beta| of the proofs for "
            "beta < 0, alpha = 0 gives bias 0 for d > 0: NoPE, which suppresses nothing.)",
            admits(lambda alpha: alpha > 0),
            bias,
            grid(alpha=(0, 1, 2.5, 1e-3, 1e3), beta=(1, 0.5, -1), lag=[1]),
            wrong=admits(lambda alpha: alpha >= 0),
        ),
        practice="theta_alpha / theta_beta = +infinity would be needed to reach the excluded value.",
        severity="editorial",
    ),
    claim(
        "BAM-F1",
        Law(
            "Uniform: 1/i up to the query, nothing beyond.",
            lambda key, query: 1 / query if key <= query else 0.0,
            unseen,
            grid(key=(1, 39, 40, 41, 60), query=[40]),
            wrong=1 / 60,
        ),
        Law(
            "Laplace: highest at the query, each older key lower by e^-m.",
            lambda m: exp(-m),
            step,
            grid(m=(0.05, 0.2, 1.0), lag=range(39)),
            wrong=lambda m: exp(-2 * m),
        ),
        Law(
            "Fractional beta: more mass beyond every lag than Laplace (beta = 1/2, alpha = m^-2).",
            straight_tail,
            heavier_tail,
            grid(m=(0.05, 0.2, 1.0), lag=range(59)),
            wrong=lambda m, lag: straight_tail(m / 4, lag),
            relation="<",
        ),
        Law(
            "beta < 0, black: sharply concentrated at the far end (alpha of ten contexts: half of the mass on the "
            "oldest tenth),",
            0.5,
            oldest_tenth,
            [{"n": 512, "alpha": 5120, "beta": -1}],
            wrong=0.9,
            relation="<",
        ),
        Law(
            "and almost zero around the query (a hundredth of the mass on the nearest tenth).",
            0.01,
            newest_tenth,
            [{"n": 512, "alpha": 5120, "beta": -1}],
            wrong=0.0,
            relation=">",
        ),
        Law(
            "With every beta < 0, scale and length the oldest tenth holds half of the mass.",
            0.5,
            oldest_tenth,
            grid(n=(10, 60, 512), alpha=(1, 10, 5120), beta=(-1, -0.5, -2)),
            wrong=0.9,
            relation="<=",
            repaired=0.1,
            ours=True,
        ),
        corrected=(
            Law(
                "beta < 0: rising towards the past, ln p(d+1)/p(d) = (alpha/d)^|beta| - (alpha/(d+1))^|beta|,",
                lambda lag, alpha, beta: (alpha / lag) ** -beta - (alpha / (lag + 1)) ** -beta,
                rise,
                RISES,
                wrong=lambda lag, alpha, beta: (alpha / lag) ** beta - (alpha / (lag + 1)) ** beta,
                tolerance=lambda lag, alpha, beta: 1e-9 * max(1.0, (alpha / lag) ** -beta),
            ),
            Law("which is positive,", 0, rise, RISES, wrong=1, relation="<"),
            Law(
                "and flattening to uniform; the far end looks like a peak only in contexts much shorter than alpha.",
                0.0,
                rise,
                [case | {"lag": 1e12} for case in RISES[:9]],
                wrong=0.01,
                tolerance=1e-3,
            ),
        ),
        practice="A head with beta < 0 discards the vicinity; it does not select the oldest key unless alpha >> n.",
        severity="needs a repair",
    ),
    claim(
        "BAM-E16",
        Law(
            "For beta <= 0 the prior suppresses the keys near the query: the next key weighs less than the oldest.",
            lambda alpha, beta, keys: weight(theory.printed(alpha, beta), keys, 1),
            lambda alpha, beta, keys: relative(alpha, beta, keys)[-1],
            grid(keys=(4, 64), alpha=(1.0, 3.0), beta=(0.0, -0.5, -2.0)),
            relation="<",
            wrong=1.0,
            repaired=0.0,
            quote=r"for $\beta\leq 0$, the GGD-BAM prior suppresses attention weights near the query token",
            place="§3.2",
            boundary="β = 0",
        ),
        corrected=Law(
            "For beta < 0 the next key weighs less than the oldest; at beta = 0 all keys weigh the same.",
            lambda beta: beta < 0,
            lambda alpha, beta, keys: bool(np.ptp(relative(alpha, beta, keys)) > 0),
            grid(keys=(4, 64), alpha=(1.0, 3.0), beta=(0.0, -0.5, -2.0)),
            wrong=lambda beta: beta <= 0,
        ),
        practice="A head at its start, beta = 0, suppresses nothing yet.",
        severity="editorial",
    ),
)
