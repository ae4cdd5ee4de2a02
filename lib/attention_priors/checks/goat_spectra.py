"""Goat, section 4 and appendices B, C: the trigonometric prior, its factors, definiteness, what it can express.

Independent evidence: numpy's FFT, sympy, mpmath at 50 digits, Gram matrices, scipy's quadrature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from attention_priors.checks.evidence import Evidence, compare, smallest_counterexample
from attention_priors.positions.spectral import Fourier, geometric
from attention_priors.theory import bands, spectra
from attention_priors.theory.inference import softmax
from attention_priors.theory.maximum_entropy import maximum_entropy

# EQ12: coefficients of either sign, even and odd


def check_coefficients(kappa: Callable) -> Evidence:
    """numpy's FFT of kappa over one period of 32 lags returns the coefficients; the library's prior agrees."""
    draw, n, worst = np.random.default_rng(0), 32, 0.0
    omega = 2 * math.pi * np.arange(1, 6) / n
    for _ in range(20):
        alpha, beta = draw.standard_normal((2, 5))
        spectrum = np.fft.rfft(kappa(np.arange(n), omega, alpha, beta))[1:6] / (n / 2)
        worst = max(worst, float(np.abs(spectrum - (alpha - 1j * beta)).max()))
        prior = Fourier(omega, torch.as_tensor(alpha[None]), torch.as_tensor(beta[None]))
        lags = np.arange(-n, n + 1)
        found = prior.log_prior(torch.as_tensor(lags))[0].detach().numpy()
        worst = max(worst, float(np.abs(found - kappa(lags, omega, alpha, beta)).max()))
    return compare(worst, "<=", 1e-12, detail="20 spectra of both signs")


def check_parity(part: Mapping[str, int]) -> Evidence:
    """K_ij = part * K_ji for the coefficients named: +1 symmetric, -1 antisymmetric; and constant along diagonals."""
    draw, worst, i = np.random.default_rng(1), 0.0, torch.arange(24)
    for name, sign in part.items():
        values = {"alpha": torch.zeros(1, 3).double(), "beta": torch.zeros(1, 3).double()}
        values[name] = torch.as_tensor(draw.standard_normal((1, 3)))
        prior = Fourier(draw.uniform(0, math.pi, 3), **values)
        matrix = prior.log_prior((i[:, None] - i).flatten())[0].detach().view(24, 24)
        worst = max(worst, float((matrix - sign * matrix.T).abs().max()))
        worst = max(worst, float((matrix[1:, 1:] - matrix[:-1, :-1]).abs().max()))
    return compare(worst, "<=", 1e-12, detail="24 positions, random frequencies")


def check_trained(trained: frozenset) -> Evidence:
    """The library's prior, trained towards a profile by torch, against scipy's least squares over the names given.

    Equation 12 is written out in numpy, with frequencies from numpy's geomspace; those of the library must be the same
    after training.
    """
    from scipy import optimize

    lags, target = np.arange(48), np.random.default_rng(2).standard_normal(48)
    start = {"alpha": np.zeros(4), "beta": np.zeros(4), "omega": 2 * math.pi / np.geomspace(4, 64, 4)}

    def curve(x: np.ndarray) -> np.ndarray:
        free = start | dict(zip(sorted(trained), np.split(x, len(trained)), strict=True))
        phase = np.multiply.outer(lags, free["omega"])
        return np.cos(phase) @ free["alpha"] + np.sin(phase) @ free["beta"]

    first = np.concatenate([start[name] for name in sorted(trained)])
    best = optimize.least_squares(lambda x: curve(x) - target, first, xtol=1e-14, ftol=1e-14, gtol=1e-14)
    prior = Fourier(geometric(4, 4, 64), torch.zeros(1, 4).double(), torch.zeros(1, 4).double())
    ends = {"max_iter": 500, "tolerance_grad": 1e-12, "tolerance_change": 1e-15}
    steps = torch.optim.LBFGS(prior.parameters(), line_search_fn="strong_wolfe", **ends)

    def loss() -> torch.Tensor:
        steps.zero_grad()
        value = (prior.log_prior(torch.as_tensor(lags))[0] - torch.as_tensor(target)).square().sum()
        value.backward()
        return value

    steps.step(loss)
    found = prior.log_prior(torch.as_tensor(lags))[0].detach().numpy()
    worst = max(np.abs(found - curve(best.x)).max(), np.abs(prior.omega.numpy() - start["omega"]).max())
    detail = f"trained curve and frequencies against scipy's; what is left of the profile: {2 * best.cost:.3f}"
    return compare(float(worst), "<=", 1e-6, detail=detail)


# EQ18: two coordinates a frequency


def check_factors(query: Callable) -> Evidence:
    """<query, (cos wj, sin wj)> = a cos w(i - j) + b sin w(i - j) in sympy, and in floats at positions to 1e6."""
    import mpmath
    import sympy

    i, j, w, a, b = sympy.symbols("i j w a b", real=True)
    first, second = query(a, b, sympy.cos(w * i), sympy.sin(w * i))
    left = first * sympy.cos(w * j) + second * sympy.sin(w * j)
    difference = sympy.simplify(sympy.expand_trig(left - a * sympy.cos(w * (i - j)) - b * sympy.sin(w * (i - j))))
    prior = Fourier([0.37], torch.tensor([[1.5]]).double(), torch.tensor([[-0.7]]).double())
    places, worst = (3, 999_983, 10**6), 0.0
    phi, psi = (part.detach() for part in prior.features(torch.tensor(places)))
    with mpmath.workdps(50):
        omega = mpmath.mpf(float(prior.omega[0]))
        for r, here in enumerate(places):
            for c, there in enumerate(places):
                exact = mpmath.mpf(1.5) * mpmath.cos(omega * (here - there))
                exact -= mpmath.mpf(prior.beta[0, 0].item()) * mpmath.sin(omega * (there - here))
                worst = max(worst, abs(float(exact) - float((phi[0, r] * psi[0, c]).sum())))
    ok = difference == 0 and worst < 1e-9
    return compare(str(difference) if difference != 0 else worst, "<=" if ok else "==", 1e-9 if ok else "0",
                   detail=f"sympy; float64 features against 50 digits up to 1e6: {worst:.1e}")  # fmt: skip


# C1: Bochner


@dataclass(frozen=True)
class Profile:
    """A profile kappa of the displacement and its spectral density or weights."""

    name: str
    kappa: Callable
    spectrum: tuple[float, ...] | Callable  # weights at isolated frequencies, or a density


def profiles() -> list[Profile]:
    draw = np.random.default_rng(2)
    found = [
        Profile("Gaussian", lambda d: np.exp(-(d**2) / 2), lambda w: math.exp(-(w**2) / 2) / math.sqrt(2 * math.pi)),
        Profile("Laplace", lambda d: np.exp(-np.abs(d)), lambda w: 1 / (math.pi * (1 + w**2))),
        Profile("triangle", lambda d: np.maximum(1 - np.abs(d), 0),
                lambda w: np.sinc(w / (2 * math.pi)) ** 2 / (2 * math.pi)),
        Profile("Mexican hat", lambda d: (1 - d**2) * np.exp(-(d**2) / 2),
                lambda w: w**2 * math.exp(-(w**2) / 2) / math.sqrt(2 * math.pi)),
        Profile("tent on a plateau", lambda d: np.clip(2 - np.abs(d), 0, 1),
                lambda w: (2 * np.sinc(w / math.pi) ** 2 - np.sinc(w / (2 * math.pi)) ** 2 / 2) / math.pi),
    ]  # fmt: skip
    for sign in (1, -1):
        for _ in range(5):
            weights = draw.uniform(0.2, 1, 4)
            weights[draw.integers(4)] *= sign
            found.append(
                Profile(f"4 waves, {'one negative' if sign < 0 else 'all positive'}",
                        lambda d, c=weights: np.cos(np.multiply.outer(d, [0.5, 1.1, 1.9, 2.8])) @ c, tuple(weights))
            )  # fmt: skip
    return found


def least_eigenvalue(kappa: Callable, spacing: float = 0.5, points: int = 120) -> float:
    """Of the Gram matrix on equally spaced points."""
    places = spacing * np.arange(points)
    return float(np.linalg.eigvalsh(kappa(np.subtract.outer(places, places)))[0])


def check_bochner(positive: Callable) -> Evidence:
    """positive(spectrum values) says whether kappa is positive definite; Gram matrices decide.

    Densities are held to kappa by quadrature first: a wrong one counts as a wrong answer.
    """
    from scipy import integrate

    wrong, seen = [], []
    for profile in profiles():
        spectrum, transforms = profile.spectrum, True
        if callable(spectrum):
            value, _ = integrate.quad(lambda w, s=spectrum: s(w) * math.cos(0.7 * w), -200, 200, limit=800)
            transforms = abs(value - float(profile.kappa(np.array(0.7)))) < 5e-3
            spectrum = [float(spectrum(w)) for w in np.linspace(0, 12, 400)]
        definite = least_eigenvalue(profile.kappa) > -1e-9
        seen.append(definite)
        if positive(np.asarray(spectrum)) != definite or not transforms:
            wrong.append(profile.name)
    detail = f"{sum(seen)} positive definite and {len(seen) - sum(seen)} indefinite profiles"
    return compare(len(wrong), "==", 0, 0.0, detail=detail + (f"; wrong: {wrong[0]}" if wrong else ""))


# C2: attraction, repulsion, decay


def at_zero(claim: Callable, alpha: float, beta: float) -> tuple[str, str]:
    """(claimed, actual) nature of displacement 0 for one wave at omega = pi/2 over a period of integer lags."""
    kappa = np.round(spectra.wave(np.arange(-2, 3), [math.pi / 2], [alpha], [beta]), 12)
    zero = kappa[2]
    actual = "maximum" if zero > max(kappa[1], kappa[3]) else "minimum" if zero < min(kappa[1], kappa[3]) else "neither"
    return claim(alpha, beta), actual


def check_zero(cases: tuple) -> Callable:
    def check(claim: Callable) -> Evidence:
        found = smallest_counterexample(at_zero, claim, ({"alpha": a, "beta": b} for a, b in cases))
        measured = f"{found['actual']}" if found else "as claimed"
        return compare(measured, "==", "as claimed", counterexample=found, detail=f"{len(cases)} waves")

    return check


def returns(ceiling: Callable, omega: float, lag: int) -> tuple[float, float]:
    """(ceiling on kappa(lag)/kappa(0), the same or the larger value there) for the positive definite cos omega d."""
    value = math.cos(omega * lag)
    return float(ceiling(lag)), max(float(ceiling(lag)), round(value, 12))


def check_decay(ceiling: Callable) -> Evidence:
    """kappa(d) <= ceiling(d) kappa(0) for every positive definite sum, at all lags up to 1000."""
    grid = ({"omega": w, "lag": n} for w, n in ((math.pi / 2, 1), (math.pi / 2, 4), (1.0, 710), (0.3, 21)))
    found = smallest_counterexample(returns, ceiling, grid, tolerance=1e-4)
    return compare(found["actual"] if found else "below", "==", "below", counterexample=found,
                   detail="one wave of weight 1")  # fmt: skip


def linear_weights(sign: float, lag: int) -> float:
    """exp(<x, y>), a positive definite kernel, between the query's x = (-1)^i and the key's y = sign (-1)^j."""
    return math.exp(sign * (-1) ** lag)


def trough(claim: Callable, sign: float) -> tuple[str, str]:
    near, far = linear_weights(sign, 0), linear_weights(sign, 1)
    return claim(sign), "maximum" if near > far else "minimum"


def check_reach(claim: Callable) -> Evidence:
    """claim(sign of the key's map): the weight at displacement 0 for shared (+1) and opposite (-1) maps."""
    found = smallest_counterexample(trough, claim, ({"sign": s} for s in (1, -1)))
    gram = {s: np.exp(s * np.cos(np.subtract.outer(np.arange(8), np.arange(8)) * math.pi / 2)) for s in (1, -1)}
    least = {s: np.linalg.eigvalsh(matrix)[0] for s, matrix in gram.items()}
    detail = f"least eigenvalue of exp(cos): {least[1]:.2f}, of exp(-cos): {least[-1]:.2f}"
    return compare(found["actual"] if found else "as claimed", "==", "as claimed", counterexample=found, detail=detail)


def check_corrected(sup: Callable) -> Evidence:
    """|kappa(d)| <= sup(alpha) for positive weights, reached at 0 and approached again; opposite maps give a trough."""
    draw, worst = np.random.default_rng(3), -np.inf
    for _ in range(50):
        omega, alpha = draw.uniform(0, math.pi, 3), draw.uniform(0, 1, 3)
        kappa = spectra.wave(np.arange(2000), omega, alpha, np.zeros(3))
        worst = max(worst, float(np.abs(kappa).max()) - sup(alpha), abs(kappa[0] - sup(alpha)))
        lag = spectra.almost_period(omega, 0.3, 10**5)
        worst = max(worst, sup(alpha) * math.cos(0.3) - spectra.wave([lag], omega, alpha, np.zeros(3))[0])
    worst = max(worst, float(trough(lambda s: "minimum", -1)[1] != "minimum"))
    return compare(worst, "<=", 1e-9, detail="50 sums of three waves; near-returns searched up to lag 1e5")


# C-3 and C-12: what can be expressed


def check_monotone(steps: Callable) -> Evidence:
    """ALiBi's profile never rises with the lag, for every slope m > 0: steps(m) are its differences."""
    worst = max(float(np.max(steps(m, np.arange(64.0)))) for m in (2.0**-k for k in range(9)))
    return compare(worst, "<", 0.0, detail="slopes 1 .. 1/256")


def best(shape: str, modes: int, length: int = 128) -> tuple[float, float]:
    """KL(target, best slope) and KL(target, best sum of `modes` waves on the geometric ladder, capped)."""
    log_prior, lags = spectra.shapes(length)[shape], np.arange(float(length))
    p = softmax(log_prior(lags))
    slope, _ = maximum_entropy(lags, p @ lags)
    fit = spectra.capped(log_prior(lags), geometric(modes), spectra.LARGEST)
    return bands.divergence(p, slope), spectra.divergence_of(log_prior, fit, length)


def check_shapes(needed: Mapping[str, int]) -> Evidence:
    """`needed` modes represent each shape to 0.01 nats, where the best slope is more than twice as far away."""
    found = {name: best(name, modes) for name, modes in needed.items()}
    worst = max(max(fit / 0.01, 2 * fit / slope) for slope, fit in found.values())
    detail = ", ".join(f"{name} {slope:.3f} / {fit:.1e}" for name, (slope, fit) in found.items())
    return compare(worst, "<=", 1.0, detail=f"KL of the best slope / of the waves: {detail}")


def interaction(additive: Callable, strength: float) -> tuple[float, float]:
    """Second difference of the logit over two contents and two lags: an additive prior's, and a rotation's.

    Content q = 1 or -1 (times i, the imaginary unit, for the rotation's sake) and key 1, turned by omega = pi/2 a lag.
    """
    z = {(c, d): (strength * c * np.exp(1j * (math.pi / 2) * d)).real for c in (1, -1) for d in (0, 1)}
    return additive(strength), float(round(z[1, 0] - z[1, 1] - z[-1, 0] + z[-1, 1], 12))


def check_interaction(additive: Callable) -> Evidence:
    """Does the form reach every table of logits over content and lag? A rotation's second difference is the test."""
    found = smallest_counterexample(interaction, additive, ({"strength": s} for s in (1.0, 2.0)))
    return compare(found["actual"] if found else "reached", "==", "reached", counterexample=found,
                   detail="z(a, 0) - z(a, 1) - z(b, 0) + z(b, 1)")  # fmt: skip


def check_separate(logit: Callable) -> Evidence:
    """Mixed second differences of logit(s, kappa) vanish: content does not change what position adds."""
    values = np.random.default_rng(4).standard_normal((50, 4))
    worst = max(abs(logit(s, k) - logit(t, k) - logit(s, o) + logit(t, o)) for s, t, k, o in values)
    return compare(float(worst), "<=", 1e-12, detail="50 pairs of contents and priors")


def check_modes(residual: Callable) -> Evidence:
    """Share of a random profile's variance on L lags that the best fit of R modes leaves, against residual(R, L)."""
    length, worst, shares = 64, 0.0, []
    targets = np.random.default_rng(5).standard_normal((length, 500))
    for modes in (4, 8, 16, 31, 32):
        fit = spectra.least_squares(targets, 2 * math.pi * np.arange(1, modes + 1) / length)
        left = np.sum((fit(np.arange(length)) - targets) ** 2, axis=0)
        shares.append(float(np.mean(left / np.sum((targets - targets.mean(axis=0)) ** 2, axis=0))))
        worst = max(worst, abs(shares[-1] - residual(modes, length)))
    detail = "R = 4, 8, 16, 31, 32 on 64 lags leave " + ", ".join(f"{share:.3f}" for share in shares)
    return compare(worst, "<=", 0.03, detail=detail)


def check_exact(modes: Callable) -> Evidence:
    """modes(L) waves carry any profile over L lags exactly, up to a constant."""
    draw, worst = np.random.default_rng(6), 0.0
    for length in (4, 9, 64):
        target = draw.standard_normal(length)
        omega = 2 * math.pi * np.arange(1, modes(length) + 1) / length
        worst = max(worst, float(np.abs(spectra.least_squares(target, omega)(np.arange(length)) - target).max()))
    return compare(worst, "<=", 1e-10, detail="random profiles over 4, 9 and 64 lags")


def kappa_of(d, omega, alpha, beta):
    return spectra.wave(d, omega, alpha, beta)
