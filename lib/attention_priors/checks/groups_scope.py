"""What the classification by one-parameter groups covers: its families, their members, and what lies outside.

Independent evidence: the library's rotations and priors, T5's buckets and ReRoPE, none of them built from a generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import torch

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.checks.groups_axioms import factors_of
from attention_priors.positions.absolute import Sinusoidal
from attention_priors.positions.buckets import T5Buckets
from attention_priors.positions.kerple import KerpleLog, KerplePower
from attention_priors.positions.priors import GeneralizedGaussian, Laplace, RelativePrior
from attention_priors.positions.rotary import Rotary, Spectrum
from attention_priors.positions.spectral import Fourier
from attention_priors.positions.xpos import DampedRotary
from attention_priors.theory import groups as theory
from attention_priors.theory import rerope
from attention_priors.theory.groups import Block

# OPG-16 and X-9: which encodings are groups


def check_families(functions: Callable) -> Evidence:
    """functions(λ, ω, k, t) span every entry of e^{tX}, for X of all four families in random bases: least squares."""
    draw, worst, t = np.random.default_rng(0), 0.0, np.linspace(-1, 3, 60)
    families = (
        [Block(-0.3), Block(0.2), Block(0.0)],
        [Block(0.0, 1.0), Block(-0.2, 2.3)],
        [Block(-0.3, size=3)],
        [Block(0.1, 1.4, 2), Block(-0.5)],
    )
    for blocks in families:
        x = theory.direct_sum(blocks)
        s = draw.normal(size=x.shape) + 2 * np.eye(len(x))
        entries = theory.exponential(s @ x @ np.linalg.inv(s), t).reshape(len(t), -1)
        columns = [f for b in blocks for k in range(b.size) for f in functions(b.rate, b.frequency, k, t)]
        basis = np.stack(columns, axis=1)
        left = entries - basis @ np.linalg.lstsq(basis, entries, rcond=None)[0]
        worst = max(worst, float(np.abs(left).max() / np.abs(entries).max()))
    return compare(worst, "<=", 1e-9, detail="largest entry left over, relative, four families, 60 times")


def family(rate: float, omega: float, power: int, t: np.ndarray) -> list[np.ndarray]:
    """t^k e^{λt} cos ωt and t^k e^{λt} sin ωt."""
    return [t**power * np.exp(rate * t) * wave for wave in (np.cos(omega * t), np.sin(omega * t))]


def rotations(times: np.ndarray) -> dict[str, np.ndarray]:
    """Scores of unit vectors at all pairs of positions, [t, s, n, n], of what acts on queries and keys."""
    spectrum, width = Spectrum((1.0, 0.2)), 4
    units = torch.eye(width, dtype=torch.float64)[:, None, None].expand(width, 1, len(times), width)
    t = torch.as_tensor(times)
    windowed = [
        rerope.scores(units[a : a + 1], units[b : b + 1], spectrum, t, t, window=2)[0, 0]
        for a, b in product(range(width), repeat=2)
    ]
    absolute = Sinusoidal(width)(t).double().numpy()
    shifted = np.eye(width) + absolute[:, None]  # [time, unit, component]
    return {
        "RoPE": theory.score_table(*factors_of(Rotary(spectrum), times)),
        "xPos": theory.score_table(*factors_of(DampedRotary(Spectrum((1.0, 0.2), (0.3, 0.1))), times)),
        "RetNet": theory.score_table(*factors_of(DampedRotary(Spectrum((1.0, 0.2), (0.2, 0.2))), times)),
        "ReRoPE": torch.stack(windowed, -1).numpy().reshape(len(times), len(times), width, width),
        "sinusoidal": np.einsum("tac,sbc->tsab", shifted, shifted),
    }


def log_priors() -> dict[str, RelativePrior]:
    """Additive encodings, in float64."""
    alpha, beta = torch.tensor([[0.7, -0.3]]).double(), torch.tensor([[0.2, 0.5]]).double()
    buckets = T5Buckets(1, buckets=8, farthest=16)
    torch.nn.init.normal_(buckets.values, generator=torch.Generator().manual_seed(0))
    found = {
        "ALiBi": Laplace([0.25]),
        "Goat": Fourier((0.3, 1.1), alpha, beta),
        "T5": buckets,
        "KERPLE power": KerplePower([0.5], [0.5]),
        "KERPLE log": KerpleLog([1.0], [0.7]),
    }
    return {name: prior.double() for name, prior in found.items()}


def is_group(table: np.ndarray) -> bool:
    """Constant diagonals, A(0) = I and A(s + t) = A(s) A(t) on the causal half of a score table."""
    a = table[:, 0]
    laws = [a[s + t] - a[s] @ a[t] for s, t in product(range(len(a)), repeat=2) if s + t < len(a)]
    causal = [table[t, s] - a[t - s] for t, s in product(range(len(a)), repeat=2) if s <= t]
    return max(float(np.abs(gap).max()) for gap in (*laws, *causal, a[0] - np.eye(a.shape[-1]))) < 1e-9


def is_coefficient(prior: RelativePrior) -> bool:
    """Is the log-prior c^T e^{dX} b on causal lags? X from the lags 0 .. 24, tested on the lags to 100."""
    lags = torch.arange(101)
    with torch.no_grad():
        values = prior.log_prior(lags)[0].double().numpy()
    try:
        c, x, b = theory.realise(values[:25, None, None])
    except ValueError:  # the shift is singular: no exponential
        return False
    predicted = np.einsum("ra,dab,bs->d", c.T, theory.exponential(x, lags.double().numpy()), b)
    return bool((np.abs(predicted - values) < 1e-4 * np.abs(values) + 1e-7 * np.abs(values).max()).all())


def group_of(name: str) -> bool:
    """What the tests say of an encoding: the group law for rotations, a matrix coefficient for log-priors."""
    tables, priors = rotations(np.arange(7)), log_priors()
    return is_group(tables[name]) if name in tables else is_coefficient(priors[name])


def check_membership(member: Callable, names: tuple[str, ...]) -> Evidence:
    """member(name): does the encoding satisfy the axioms (a log-prior: as a coefficient of constant coordinates)?"""
    wrong = sum(bool(member(name)) != group_of(name) for name in names)
    candidates = [{"omega": math.pi / 2, "window": 1}] if "ReRoPE" in names else []
    found = smallest_counterexample(evaluate_rerope, member, candidates)
    return compare(wrong, "==", 0, counterexample=found, detail=f"wrong answers: {', '.join(names)}")


def evaluate_rerope(member: Callable, omega: float, window: int) -> tuple[float, float]:
    """cos of the angle at lag 2: by A(2) = A(1)^2 if a member, and as ReRoPE has it, min(lag, window) ω."""
    actual = round(math.cos(min(2, window) * omega), 12)
    return (round(math.cos(2 * min(1, window) * omega), 12) if member("ReRoPE") else actual), actual


def check_members(member: Callable) -> Evidence:
    return check_membership(member, INSIDE)


def check_strangers(member: Callable) -> Evidence:
    return check_membership(member, OUTSIDE)


def check_all(member: Callable) -> Evidence:
    return check_membership(member, (*INSIDE, *OUTSIDE))


def check_kinds(kind: Callable) -> Evidence:
    """kind(name) = (decays, turns) against the eigenvalues of log A(1); the four kinds without defects all occur."""
    from scipy import linalg

    tables = rotations(np.arange(3))
    steps = {"NoPE": np.eye(2), "linear attention": np.diag([0.9, 0.7]), "RoPE": tables["RoPE"][1, 0],
             "RetNet": tables["RetNet"][1, 0]}  # fmt: skip
    wrong, seen = 0, set()
    for name, step in steps.items():
        values = np.linalg.eigvals(np.real(linalg.logm(step)))
        measured = bool((values.real < -1e-9).all()), bool((np.abs(values.imag) > 1e-9).all())
        wrong += measured != kind(name)
        seen.add(kind(name))
    return compare(wrong + 4 - len(seen), "==", 0, detail="wrong or missing kinds among four systems")


KINDS = {"NoPE": (False, False), "linear attention": (True, False), "RoPE": (False, True), "RetNet": (True, True)}
INSIDE = ("RoPE", "xPos", "RetNet", "ALiBi", "Goat")
OUTSIDE = ("T5", "KERPLE power", "KERPLE log", "ReRoPE", "sinusoidal")


def check_shapes(member: Callable) -> Evidence:
    """member(β, μ) of the generalised Gaussian on causal lags against `is_coefficient`."""
    wrong = 0
    for beta, theta_mu in product((-2.0, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0), (0.0, 0.5, -1.0)):
        prior = GeneralizedGaussian([0.0], [beta], [theta_mu], epsilon=1e-12).double()
        wrong += bool(member(beta, float(prior.mu[0]))) != is_coefficient(prior)
    found = smallest_counterexample(evaluate_shapes, member, [{"beta": 2.0, "lags": [0, 1, 2, 3]}])
    return compare(wrong, "==", 0, counterexample=found, detail="wrong answers over eight shapes and three locations")


def evaluate_shapes(member: Callable, beta: float, lags: list[int]) -> tuple[bool, bool]:
    """Is -d^β (μ = 0, α = 1) a coefficient of a group? Yes for β = 2: its third difference vanishes."""
    third = np.diff([float(d) ** beta for d in lags], n=3)
    return bool(member(beta, 0.0)), bool(abs(third[0]) < 1e-12)


def whole(beta: float, mu: float) -> bool:
    """|d + μ|^β is a polynomial on d >= 0: β = 0, 2, 4, .., or β = 1, 3, .. and no change of sign."""
    return beta >= 0 and (beta % 2 == 0 or (beta % 1 == 0 and mu >= 0))


CHECKS = {
    check.id: check
    for check in (
        Check(
            "OPG-16",
            (
                Part("The admissible encodings are a handful of families: entries t^k e^{lambda t} cos and sin of "
                     "omega t, with or without a frequency, with or without a defect.", family, check_families,
                     lambda rate, omega, power, t: family(rate, omega, 0, t)),
                Part("Each family without growth or defect is found in a real system: NoPE, linear attention, RoPE, "
                     "RetNet. (Read; computed is that these are of four different kinds.)", KINDS.__getitem__,
                     check_kinds, lambda name: KINDS["RetNet" if name == "RoPE" else name]),
                Part("No encoding that makes sense lies outside of them.", lambda name: True, check_all,
                     lambda name: name in OUTSIDE, evaluate_rerope),
            ),
            Part("The families are all that there is under the axioms (linear, translation invariant, of finite "
                 "dimension, continuous). T5's buckets, KERPLE, ReRoPE and added sinusoids are in use and break one "
                 "each.",
                 lambda name: name in INSIDE, check_all, lambda name: name in (*INSIDE, "KERPLE log")),
            practice="The classification says what one dot product can carry, not what can encode position: a table of "
                     "biases is not bound by it. Notebook 16 compares both sides by their tails.",
        ),
        Check(
            "X-9",
            (
                Part("RoPE, xPos, RetNet, ALiBi and Goat's K_rel satisfy the axioms.", lambda name: True, check_members,
                     lambda name: name != "ALiBi"),
                Part("T5, KERPLE at a non-integer exponent (and its logarithm), ReRoPE and absolute sinusoids do not.",
                     lambda name: False, check_strangers, lambda name: name == "ReRoPE"),
                Part("The generalised Gaussian does not.", lambda beta, mu: False, check_shapes,
                     lambda beta, mu: beta == 1.5, evaluate_shapes),
            ),
            Part("On causal lags the generalised Gaussian satisfies the axioms exactly at the shapes beta = 0, 2, 4, "
                 ".. and, where mu >= 0, at 1, 3, .. (a Jordan block of size beta + 1). Shape 1 is ALiBi, shape 2 a "
                 "Gaussian.", whole, check_shapes, lambda beta, mu: beta >= 0 and beta % 1 == 0),
            practice="At whole shapes BAM's prior needs no bias table: beta + 1 constant coordinates do. A learned "
                     "beta leaves that set at once, and then a table is exact and coordinates are not.",
        ),
    )
}  # fmt: skip
