"""BAM, appendix F and slips of the text: what the prior's start does, and four places that only reading decides.

BAM-E4, E5 and E15 rest on what the paper prints at two places; each check computes what the two would have to agree on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from attention_priors.attention import attention
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.model import PAPER_MODELS
from attention_priors.positions.priors import GeneralizedGaussian, alibi_slopes
from attention_priors.theory import generalised_gaussian as theory

NAMES = GeneralizedGaussian.NAMES
PLACES = ("F.1", "Fig. 8")


# E14: gradients at the uniform start


def slopes_at(theta_alpha: float, lags: np.ndarray) -> dict[str, np.ndarray]:
    """d b(lag) / d theta at theta_beta = theta_mu = 0, by autograd."""
    prior = theory.module(theta_alpha, 0.0)
    found = {name: [] for name in NAMES}
    for value in prior.log_prior(torch.as_tensor(lags))[0]:
        gradients = torch.autograd.grad(value, prior.parameters(), retain_graph=True)
        for name, gradient in zip(NAMES, gradients, strict=True):
            found[name].append(gradient.item())
    return {name: np.array(values) for name, values in found.items()}


def check_slope(parameter: str) -> Callable:
    """A checker: formula(d, theta_alpha) against autograd in `parameter`."""

    def check(formula: Callable) -> Evidence:
        lags, worst = np.array([0, 1, 2, 100, 511]), 0.0
        for theta_alpha in (-1.0, 0.0, 0.7):
            found = slopes_at(theta_alpha, lags)[parameter]
            worst = max(worst, float(np.abs(found - [formula(float(d), theta_alpha) for d in lags]).max()))
        found = slopes_at(0.0, lags)[parameter]
        detail = "at lags 0, 1, 511 and theta_alpha = 0: " + ", ".join(f"{found[k]:.2f}" for k in (0, 1, 4))
        return compare(worst, "<=", 1e-10, detail=detail)

    return check


def loss_gradients(ssmax: bool) -> dict[str, float]:
    """d loss / d theta through attention from the uniform start, for a random loss on 64 queries (float64)."""
    draw = torch.Generator().manual_seed(0)
    q, k, v, up = (torch.randn(1, 1, 64, 8, generator=draw, dtype=torch.float64) for _ in range(4))
    prior = theory.module(0.0, 0.0)
    scale = torch.arange(1, 65, dtype=torch.float64).log()[None] if ssmax else None
    out = attention(q, k, v, prior=prior, logit_scale=scale, prior_scale=scale, backend="reference")
    gradients = torch.autograd.grad((out * up).sum(), prior.parameters())
    return {name: gradient.item() for name, gradient in zip(NAMES, gradients, strict=True)}


def exact_alpha_gradient(upstream: list[list[int]]) -> Fraction:
    """d loss / d theta_alpha at the uniform start, in rationals: -sum_i sum_j p_ij (g_ij - sum_z p_iz g_iz)."""
    total = Fraction(0)
    for row in upstream:
        p = Fraction(1, len(row))
        mean = sum((p * g for g in row), Fraction(0))
        total -= sum((p * (g - mean) for g in row), Fraction(0))
    return total


def check_silent(parameters: tuple[str, ...]) -> Evidence:
    """Parameters whose loss gradient is zero at the uniform start, relative to the largest, with and without SSMax."""
    worst = abs(float(exact_alpha_gradient([[3], [1, -2], [5, 0, 7]])))
    for ssmax in (False, True):
        found = loss_gradients(ssmax)
        top = max(abs(value) for value in found.values())
        worst = max(worst, *(abs(found[name]) / top for name in parameters))
    share = {n: theory.self_share_of_gradient(n) for n in (16, 128, 512, 2048)}
    detail = "float64 leaves rounding, rational arithmetic 0; own key's part in the variance of theta_beta's gradient: "
    return compare(worst, "<=", 1e-12, detail=detail + ", ".join(f"{s:.0%} of {n} keys" for n, s in share.items()))


# E4: what is trained and what is fixed


@dataclass(frozen=True)
class Roles:
    trained: frozenset
    fixed: frozenset


def roles_of(roles: Roles, parameter: str) -> tuple[str, str]:
    """The roles, trained or fixed, that the parameter of that name may have (one), and those that it has."""
    count = (parameter in roles.trained) + (parameter in roles.fixed)
    return "1 role", f"{count} role" + "s" * (count != 1)


def check_roles(roles: Roles) -> Evidence:
    """Every parameter is trained or fixed, not both, and the trained ones are F.2's 384 scalars at 120M."""
    names = sorted(NAMES, key=lambda name: name != "theta_beta")  # the caption's first
    found = smallest_counterexample(roles_of, roles, ({"parameter": name} for name in names))
    config = PAPER_MODELS["bam-120m"]
    prior = GeneralizedGaussian.uniform(config["heads"], trainable=sorted(roles.trained))
    count = config["layers"] * sum(p.numel() for p in prior.parameters() if p.requires_grad)
    detail = f"{count} trained scalars; roles of theta_alpha, theta_beta, theta_mu: "
    detail += ", ".join(roles_of(roles, name)[1] for name in NAMES)
    measured = found["actual"] if found else f"one role each, {count} trained"
    return compare(measured, "==", "one role each, 384 trained", counterexample=found, detail=detail)


# E5: the Laplace start


def check_slope_of_start(slope: Callable) -> Evidence:
    """At theta_beta = 1, theta_mu = 0 the coded bias falls by slope(theta_alpha) per lag (epsilon adds a constant)."""
    worst = 0.0
    for theta_alpha in (-4.0, -0.5, 0.5):
        steps = np.diff(theory.coded(theta_alpha, 1.0)(np.arange(50.0)))
        worst = max(worst, float(np.abs(steps + slope(theta_alpha)).max()))
    return compare(worst, "<=", 1e-12)


def start_slope(theta_alpha: Callable, heads: int, layer: int, head: int) -> tuple[float, float]:
    """(slope that the start gives this head of this layer, ALiBi's slope of the head), both counted from 1."""
    return float(np.exp(theta_alpha(layer, head, heads))), alibi_slopes(heads)[head - 1]


def check_start(theta_alpha: Callable) -> Evidence:
    """theta_alpha(layer, head, heads) must give ALiBi's slope to each head of each layer."""
    sizes = ((h, layer, head) for h in (2, 8, 16) for layer in (1, 2) for head in range(1, h + 1))
    grid = (dict(zip(("heads", "layer", "head"), size, strict=True)) for size in sizes)
    found = smallest_counterexample(start_slope, theta_alpha, grid)
    wrong = [np.exp(m) for m in alibi_slopes(16)]
    detail = f"the slope itself as theta_alpha would give e^m = {min(wrong):.2f} to {max(wrong):.2f} with 16 heads"
    measured, expected = (found["claimed"], found["actual"]) if found else (0.0, 0.0)
    return compare(measured, "==", expected, 1e-12, counterexample=found, detail=f"slope of a head; {detail}")


def same_count(counts: tuple[int, int], place: str) -> tuple[str, str]:
    """Starts as counted in the text of F.1, and at `place`."""
    return f"{counts[0]} starts", f"{counts[PLACES.index(place)]} starts"


def check_counts(counts: tuple[int, int]) -> Evidence:
    """Starts counted in the text of F.1 and in the caption of Fig. 8."""
    found = smallest_counterexample(same_count, counts, ({"place": place} for place in PLACES))
    return compare(counts[1], "==", counts[0], 0.0, counterexample=found, detail="by reading")


# E15: one model, one name


def parameters(config: dict[str, int]) -> int:
    """Embedding, head, final norm, and per layer four projections, SwiGLU's three matrices and two norms."""
    width, hidden = config["width"], config["hidden"]
    layer = 4 * width**2 + 3 * width * hidden + 2 * width
    return 2 * config["vocabulary"] * width + width + config["layers"] * layer


def label_of(label: int, layers: int) -> tuple[int, int]:
    """(label, millions of parameters) of Table 1's middle model with that many layers."""
    return label, round(parameters({**PAPER_MODELS["bam-432m"], "layers": layers}) / 1e6)


def check_label(label: int) -> Evidence:
    claimed, count = label_of(label, PAPER_MODELS["bam-432m"]["layers"])
    found = smallest_counterexample(label_of, label, ({"layers": 14},))
    detail = "32768 x 1536 tokens, untied head, 14 layers; the prior's 672 or 1008 scalars do not show"
    return compare(count, "==", claimed, 0.0, counterexample=found, detail=detail)


def _per_head(layer, head, heads):
    return np.log(alibi_slopes(heads)[head - 1])


def _per_layer(layer, head, heads):
    return np.log(alibi_slopes(heads)[layer - 1])


_ALPHA_BETA = frozenset({"theta_alpha", "theta_beta"})

CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-E14",
            (
                Part("d b / d theta_beta = -e^theta_alpha ln(|d| + epsilon).",
                     lambda d, ta: -np.exp(ta) * np.log(d + theory.EPSILON), check_slope("theta_beta"),
                     lambda d, ta: -np.exp(ta) * np.log(d + 1)),
                Part("d b / d theta_alpha = -e^theta_alpha at every lag.", lambda d, ta: -np.exp(ta),
                     check_slope("theta_alpha"), lambda d, ta: -np.exp(ta) * (d + theory.EPSILON)),
                Part("So a loss has no gradient in theta_alpha, nor in theta_mu (softmax ignores a row's constant).",
                     ("theta_alpha", "theta_mu"), check_silent, ("theta_alpha", "theta_beta")),
            ),
            practice="theta_alpha waits until theta_beta has moved. The outlier +11.5 at the own key leads the first "
                     "step of theta_beta in rows of up to some 280 keys; at 512 it has a third of the variance.",
        ),
        Check(
            "BAM-E4",
            (
                Part("By reading, Fig. 9: theta_beta and theta_alpha trained, theta_beta = 0 fixed.",
                     Roles(_ALPHA_BETA, frozenset({"theta_beta"})), check_roles,
                     Roles(frozenset(NAMES), frozenset({"theta_beta"})), roles_of),
            ),
            Part("The variant trains theta_beta and theta_alpha and fixes theta_mu = 0: 2 x 16 x 12 = 384 scalars, as "
                 "F.2 counts.",
                 Roles(_ALPHA_BETA, frozenset({"theta_mu"})), check_roles,
                 Roles(_ALPHA_BETA, frozenset({"theta_alpha"})), roles_of),
            practice="A slip in a caption; the experiment is the two-parameter one.",
        ),
        Check(
            "BAM-E5",
            (
                Part("theta_beta = 1, theta_mu = 0 is a Laplace start of slope e^theta_alpha.", np.exp,
                     check_slope_of_start, lambda ta: ta),
                Part("By reading: as many starts in the text of F.1 (2) as in Fig. 8 (3).", (2, 3), check_counts,
                     (2, 4), same_count, repaired=(3, 3)),
                Part("ALiBi's start has one theta_alpha per layer.", _per_layer, check_start,
                     lambda layer, head, heads: 0.0, start_slope),
            ),
            Part("ALiBi's start has one theta_alpha per head, the same in every layer: ln m_h, m_h ALiBi's slope of "
                 "head h. F.1 describes two of the three starts of Fig. 8.",
                 _per_head, check_start, lambda layer, head, heads: alibi_slopes(heads)[head - 1], start_slope),
            practice="The logarithm matters: with m_h itself as theta_alpha, the slopes of 16 heads start 3 to 257 "
                     "times too steep.",
        ),
        Check(
            "BAM-E15",
            (
                Part("Table 5: 431M.", 431, check_label, 413, label_of),
                Part("Table 1: 432M.", 432, check_label, 342, label_of),
                Part("Table 6: 430M.", 430, check_label, 340, label_of),
            ),
            Part("The model has 431M parameters (50.3M embedding + 380.7M). By reading: section 3.1 says Wikitext "
                 "where appendix D uses Wikipedia, and section 2.5 credits Theorem 2 with what Lemma 3 states.",
                 431, check_label, 432, label_of),
            practice="Editorial.",
        ),
    )
}  # fmt: skip
