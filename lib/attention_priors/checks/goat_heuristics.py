"""Goat, section 3 and appendix E.2: which positional encodings are log-priors, what is left of them without content.

A logit z(content, lag) is a content score plus a log-prior exactly when every interaction
z(x, d) - z(x, e) - z(y, d) + z(y, e) is zero. Independent evidence: cvxpy's transport plan, complex rotations.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

from attention_priors.attention import attention
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.buckets import T5Buckets
from attention_priors.positions.finite_rank import extend
from attention_priors.positions.kerple import KerpleLog, KerplePower
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, RelativePrior
from attention_priors.positions.rotary import Rotary, rope
from attention_priors.positions.sandwich import Sandwich
from attention_priors.theory.classification import Mode, realise

WIDTH, KEYS = 12, 12  # equal, so that values can be indicators of the keys


def additive() -> dict[str, RelativePrior]:
    """One head of each additive encoding, in float64."""
    buckets = T5Buckets(1, 8, 16)
    with torch.no_grad():
        buckets.values.copy_(torch.sin(torch.arange(8.0))[None])
    found = {
        "ALiBi": Laplace([0.3]),
        "BAM": GeneralizedGaussian([0.2], [0.6]),
        "KERPLE, power": KerplePower([0.5], [1.5]),
        "KERPLE, logarithm": KerpleLog([1.0], [0.5]),
        "T5": buckets,
        "Sandwich": Sandwich(1, 8),
    }
    return {name: prior.double() for name, prior in found.items()}


def bias(prior: RelativePrior, keys: int = KEYS) -> np.ndarray:
    """log π at the lags of keys 0 .. keys - 1 for the last query."""
    with torch.no_grad():
        return prior.log_prior(torch.arange(keys - 1, -1, -1))[0].double().numpy()


# P3.1b


def check_transport(prior_of: Callable) -> Evidence:
    """The library's attention (last query) against cvxpy's minimum of -<p, s> + KL(p || prior_of(bias))."""
    import cvxpy

    draw, worst = torch.Generator().manual_seed(0), 0.0
    q, k = torch.randn(2, 1, 1, KEYS, WIDTH, generator=draw, dtype=torch.float64)
    scores = (q[0, 0, -1] @ k[0, 0].T / WIDTH**0.5).numpy()
    for prior in additive().values():
        v = torch.eye(KEYS, dtype=torch.float64)[None, None]
        with torch.no_grad():
            found = attention(q, k, v, prior=prior, backend="reference")[0, 0, -1].numpy()
        p = cvxpy.Variable(KEYS)
        objective = -scores @ p + cvxpy.sum(cvxpy.rel_entr(p, prior_of(bias(prior))))
        cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(p) == 1]).solve(solver="CLARABEL")
        worst = max(worst, float(np.abs(found - p.value).max()))
    return compare(worst, "<=", 1e-4, detail=f"largest distance of a weight, {len(additive())} encodings")


def normalised(values: np.ndarray) -> np.ndarray:
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def rotated(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """RoPE: <R(lag) q, k>."""
    turn = Rotary(rope(q.shape[-1]))
    here, there = torch.tensor([lag]), torch.tensor([0])
    return float((turn(q[None, None, None], k[None, None, None], here, there)[0][0, 0, 0] * k).sum())


def embedded(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """Sinusoidal: <q + p_i, k + p_j> at i = 20, j = 20 - lag (identity projections)."""
    table = Sinusoidal(q.shape[-1])(torch.tensor([20, 20 - lag])).double()
    return float(((q + table[0]) * (k + table[1])).sum())


def biased(q: torch.Tensor, k: torch.Tensor, lag: int) -> float:
    """ALiBi: <q, k> - lag / 2."""
    return float((q * k).sum()) - 0.5 * lag


def interaction(logit: Callable) -> float:
    """Largest interaction of random contents with lags 0 .. 11."""
    draw = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 5, WIDTH, generator=draw, dtype=torch.float64)
    table = np.array([[logit(a, b, lag) for lag in range(KEYS)] for a, b in zip(q, k, strict=True)])
    return float(np.abs(table - table[:1] - table[:, :1] + table[0, 0]).max())


LOGITS = {"RoPE": rotated, "sinusoidal": embedded, "ALiBi": biased}


def check_which(separable: dict[str, bool]) -> Evidence:
    found = {name: interaction(logit) for name, logit in LOGITS.items()}
    wrong = [name for name, size in found.items() if separable[name] != (size < 1e-9)]
    shown = ", ".join(f"{name} {size:.2g}" for name, size in found.items())
    return compare(len(wrong), "==", 0, 0.0, detail=f"encodings judged wrongly; interactions: {shown}")


# E.2


def check_scaling(factor: Callable) -> Evidence:
    """Position part z(lag) - z(0) of RoPE with q and k scaled: the library's rotation, and Re sum q conj(k) e^(iωd)."""
    draw, worst = torch.Generator().manual_seed(1), 0.0
    q, k = torch.randn(2, WIDTH, generator=draw, dtype=torch.float64)
    omega = np.array(rope(WIDTH).omega)

    def complex_form(a: torch.Tensor, b: torch.Tensor, lag: int) -> float:
        x, y = (vector.numpy()[: WIDTH // 2] + 1j * vector.numpy()[WIDTH // 2 :] for vector in (a, b))
        return float((x * y.conj() * np.exp(1j * omega * lag)).real.sum())

    for logit in (rotated, complex_form):
        for a, b in ((2.0, 1.0), (1.0, 3.0), (0.1, 5.0)):
            for lag in (1, 7, 100):
                parts = [logit(*scaled, lag) - logit(*scaled, 0) for scaled in ((q, k), (a * q, b * k))]
                worst = max(worst, abs(parts[1] - factor(a, b) * parts[0]))
    return compare(worst, "<=", 1e-9, detail="largest difference; the library's rotation and complex numbers")


def goat_features() -> tuple[torch.Tensor, torch.Tensor]:
    prior = realise([Mode(1, 0.5, (1.0,), (0.7,)), Mode(1, 1.7, (-0.6,))])
    with torch.no_grad():
        phi, psi = prior.features(torch.arange(KEYS))
    return phi, psi


def last_row(q: torch.Tensor, k: torch.Tensor) -> np.ndarray:
    """Weights of the last query in torch's attention."""
    v = torch.eye(KEYS, dtype=torch.float64)[None]
    return torch.nn.functional.scaled_dot_product_attention(q[:, -1:], k, v)[0, 0].numpy()


def check_no_content(limits: dict[str, str]) -> Evidence:
    """Weights of the last query with content scaled by 1e-12, against uniform and against softmax(K)."""
    draw = torch.Generator().manual_seed(2)
    q, k = 1e-6 * torch.randn(2, 1, KEYS, WIDTH, generator=draw, dtype=torch.float64)
    phi, psi = goat_features()
    turned = Rotary(rope(WIDTH))(q[None], k[None], torch.arange(KEYS), torch.arange(KEYS))
    found = {"RoPE": last_row(turned[0][0], turned[1][0]), "Goat": last_row(*extend(q, k, phi, psi))}
    known = {"uniform": np.full(KEYS, 1 / KEYS), "prior": normalised((phi[0, -1] @ psi[0].T).numpy())}
    worst = max(float(np.abs(found[name] - known[limit]).max()) for name, limit in limits.items())
    return compare(worst, "<=", 1e-9, detail="largest difference of a weight from the limit")


def check_norms(share: Callable) -> Evidence:
    """Logits of extended vectors minus the content score, content scaled by a, against share(a) K."""
    draw, worst = torch.Generator().manual_seed(3), 0.0
    q, k = torch.randn(2, 1, KEYS, WIDTH, generator=draw, dtype=torch.float64)
    phi, psi = goat_features()
    prior = phi @ psi.transpose(-1, -2)
    for a in (1e-3, 1.0, 50.0):
        long_q, long_k = extend(a * q, k, phi, psi)
        content = a * (q @ k.transpose(-1, -2)) / math.sqrt(WIDTH)
        found = long_q @ long_k.transpose(-1, -2) / math.sqrt(long_q.shape[-1]) - content
        worst = max(worst, float((found - share(a) * prior).abs().max()))
    return compare(worst, "<=", 1e-9, detail="largest difference of K, content scaled by .001, 1 and 50")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-P3.1b",
            (
                Part("ALiBi, T5, KERPLE, Sandwich and BAM each add the log-prior of a transport problem.", normalised,
                     check_transport, lambda values: normalised(2 * values)),
                Part("RoPE and sinusoidal embeddings are \"heuristic approximations\" of one: unlike ALiBi's, their "
                     "logits are not content plus log-prior, since content and lag interact.",
                     {"RoPE": False, "sinusoidal": False, "ALiBi": True},
                     check_which, {"RoPE": True, "sinusoidal": False, "ALiBi": True}),
            ),
            practice="Tail mass, mean lag and maximum entropy speak of additive encodings only. For RoPE they depend "
                     "on the content of the pair at hand.",
        ),
        Check(
            "GOAT-E.2",
            (
                Part("RoPE's positional part z(d) - z(0) scales with |q| |k|.", lambda a, b: a * b, check_scaling,
                     lambda a, b: a),
                Part("Goat's K does not involve the norms of the content.", lambda a: 1.0, check_norms, lambda a: a),
                Part("As content vanishes RoPE's weights become uniform and Goat's become the prior.",
                     {"RoPE": "uniform", "Goat": "prior"}, check_no_content, {"RoPE": "uniform", "Goat": "uniform"}),
            ),
            practice="A default for tokens that match nothing needs an additive term; a rotation has none to give.",
        ),
    )
}  # fmt: skip
