"""The survey's extensions of RoPE: NTK-aware, dynamic linear, dynamic and partial NTK, digits, the number 600.

Independent evidence: transformers' frequencies (float32), mpmath in 40 digits, complex numbers in numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise, product

import mpmath
import numpy as np

from attention_priors.checks import rotation_oracles as oracles
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import extensions
from attention_priors.positions.rotary import rope

BASE, TRAINED = 10_000.0, 2048
WIDTHS, FACTORS = (8, 64, 128), (2.0, 4.0, 8.0, 16.0)


def distance(found, expected) -> float:
    """Largest relative difference."""
    return float(np.max(np.abs(np.asarray(found, dtype=float) / np.asarray(expected, dtype=float) - 1)))


# NTK


def check_ends(new_base: Callable) -> Evidence:
    """ω'/ω is 1 for the fastest plane and 1/a for the slowest, in 40 digits."""
    worst = 0.0
    with mpmath.workdps(40):
        for d, a in product((4, 8, 64, 128, 256), (2, 8, 600)):
            base = new_base(mpmath.mpf(10_000), mpmath.mpf(a), mpmath.mpf(d))
            fastest, slowest = ((mpmath.mpf(10_000) / base) ** (mpmath.mpf(i) / d) for i in (0, d - 2))
            worst = max(worst, abs(fastest - 1), abs(slowest * a - 1))
    return compare(float(worst), "<=", 1e-30, detail="fastest plane against 1, slowest against 1/a, 15 settings")


def check_new_base(new_base: Callable) -> Evidence:
    """Every plane: RoPE with the new base, the library's `ntk`, and transformers' dynamic NTK at α' = a."""
    worst = 0.0
    for d, a in product(WIDTHS, FACTORS):
        ours = rope(d, new_base(BASE, a, d)).omega
        theirs = oracles.scaled("dynamic", d, 1.0, TRAINED, length=round(a * TRAINED))[0]
        worst = max(worst, distance(ours, theirs), distance(extensions.ntk(rope(d), a).omega, theirs))
    return compare(worst, "<=", oracles.FLOAT32, detail="every plane against transformers, 12 settings")


# Dynamic linear


def growing(scale: Callable, trained: int, length: int, later: int) -> tuple[float, float]:
    """(least value that a growing scale may have at `later`, value there)."""
    return max(scale(trained, length), scale(trained, later)), scale(trained, later)


def check_growing(scale: Callable) -> Evidence:
    lengths = [TRAINED * k for k in (1, 2, 3, 4, 8, 16)]
    steps = [scale(TRAINED, after) - scale(TRAINED, before) for before, after in pairwise(lengths)]
    sizes = ({"trained": TRAINED, "length": a, "later": b} for a, b in pairwise(lengths))
    found = smallest_counterexample(growing, scale, sizes) if min(steps) < 0 else None
    return compare(min(steps), ">=", 0.0, counterexample=found, detail="smallest step from 1 to 16 trained lengths")


def check_last_position(scale: Callable) -> Evidence:
    """Positions times the scale, at lengths beyond the trained one: the last comes to stand at the trained length."""
    worst = 0.0
    for length in (TRAINED, 3000, 2 * TRAINED, 16 * TRAINED):
        theirs = oracles.scaled("linear", 64, length / TRAINED, TRAINED)[0]
        ours = np.array(rope(64).omega) * scale(TRAINED, length)
        worst = max(worst, abs(scale(TRAINED, length) * length / TRAINED - 1), distance(ours, theirs))
    return compare(worst, "<=", oracles.FLOAT32, detail="last position, and every plane against transformers (linear)")


def check_dynamic_linear(statement: tuple[Callable, Callable]) -> Evidence:
    """(multiplier, divisor): inverse to each other, 1 up to the trained length, in the right directions beyond."""
    multiplier, divisor = statement
    lengths = [1, 100, TRAINED, TRAINED + 1, 2 * TRAINED, 16 * TRAINED]
    m, d = (np.array([f(TRAINED, length) for length in lengths]) for f in (multiplier, divisor))
    spectra = [extensions.dynamic_linear(rope(64), length, TRAINED).omega for length in lengths]
    worst = max(
        float(np.abs(m * d - 1).max()), float(np.abs(m[:3] - 1).max()),
        max(distance(spectrum, np.array(rope(64).omega) * x) for spectrum, x in zip(spectra, m, strict=True)),
        float(max(np.diff(m).max(), 0)), float(max((-np.diff(d)).max(), 0)),
    )  # fmt: skip
    return compare(worst, "<=", 1e-12, detail="product, the trained range, direction, the library's spectrum")


# Dynamic NTK


def check_start(alpha: Callable) -> Evidence:
    """α' at the trained length is 1 for every α, and k lengths later 1 + α(k - 1), as sympy polynomials."""
    import sympy

    a, k, length = sympy.symbols("alpha k L", positive=True)
    left = [alpha(a, length, length) - 1, alpha(a, k * length, length) - 1 - a * (k - 1)]
    detail = "α' - 1 at L_cur = L_orig, α' - 1 - α(k - 1) at L_cur = k L_orig"
    return compare(str([sympy.simplify(x) for x in left]), "==", "[0, 0]", detail=detail)


def check_dynamic_ntk(new_base: Callable) -> Evidence:
    worst = 0.0
    for d, a, length in product(WIDTHS, (1.0, 2.0, 8.0), (2048, 3000, 8192)):
        theirs = oracles.scaled("dynamic", d, a, TRAINED, length=length)[0]
        library = extensions.dynamic_ntk(rope(d), a, length, TRAINED).omega
        stated = rope(d, new_base(BASE, a, length, TRAINED, d)).omega
        worst = max(worst, distance(stated, theirs), distance(library, theirs))
    return compare(worst, "<=", oracles.FLOAT32, detail="every plane against transformers, 27 settings")


def _alpha(a, current, trained):
    return a * current / trained - (a - 1)


# Partial NTK


def listed(width: int, factor: float, trained: int) -> np.ndarray:
    """The printed listing's spectrum, with the ramps of transformers, which has the same two helper functions."""
    plain = BASE ** (-np.arange(0, width, 2) / width)
    nonlinear = (BASE * factor ** (width / (width - 2))) ** (-np.arange(0, width, 2) / width)
    slow, fast = oracles.ramp(1.25, 0.75, width, trained), oracles.ramp(16, 2, width, trained)
    mixed = plain / factor * slow + nonlinear * (1 - slow)
    return mixed * fast + plain * (1 - fast)


def by_turns(applies: Callable, divisor: Callable) -> Callable:
    """A checker of a threshold: the planes whose turns it names have the frequency of RoPE over the divisor."""

    def check(threshold: float) -> Evidence:
        worst, planes = 0.0, 0
        for width, trained, factor in product((64, 128), (512, 2048, 4096), FACTORS):
            found = listed(width, factor, trained)
            with mpmath.workdps(30):
                exact = [mpmath.mpf(10_000) ** (-mpmath.mpf(2 * i) / width) for i in range(width // 2)]
                turned = [float(trained * w / (2 * mpmath.pi)) for w in exact]
            chosen = [i for i, turn in enumerate(turned) if applies(turn, threshold)]
            planes += len(chosen)
            worst = max([worst, *(abs(found[i] * divisor(factor) / float(exact[i]) - 1) for i in chosen)])
        return compare(worst, "<=", 1e-5, detail=f"largest relative difference of {planes} planes in 24 settings")

    return check


def check_ramps(ends: tuple[tuple[float, float], tuple[float, float]]) -> Evidence:
    """Ramps between the given turns, linear in the plane's index between rounded ends, in every plane."""
    worst = 0.0
    for width, trained, factor in product((64, 128), (512, 2048, 4096), FACTORS):
        index, plain = np.arange(width // 2), BASE ** (-np.arange(0, width, 2) / width)
        ramps = []
        for many, few in ends:
            low, high = (width / 2 * math.log(trained / (2 * math.pi * t), BASE) for t in (many, few))
            low, high = max(math.floor(low), 0), min(math.ceil(high), width - 1)
            ramps.append(np.clip((index - low) / (high - low), 0, 1))
        fast, slow = ramps
        mixed = plain * factor ** (-index / (width / 2 - 1)) * (1 - slow) + plain / factor * slow
        found = plain * (1 - fast) + mixed * fast
        ours = extensions.partial_ntk(rope(width), factor, trained).omega
        worst = max(worst, distance(found, listed(width, factor, trained)), distance(ours, found))
    return compare(worst, "<=", 1e-5, detail="every plane, 24 settings: rule, library, and transformers' ramps")


# Digits


def digits(digit: Callable, d: int, n: int) -> tuple[mpmath.mpf, list]:
    """(β, digits of n from the least one on) in base β = 10000^(2/d), enough of them for the leading one."""
    beta = mpmath.mpf(10_000) ** (mpmath.mpf(2) / d)
    beta = mpmath.nint(beta) if abs(beta - mpmath.nint(beta)) < 1e-30 else beta
    return beta, [digit(n, beta, m) for m in range(1, math.ceil(math.log(n, float(beta))) + 2)]


def digits_sum(digit: Callable, d: int, n: int) -> tuple[float, float]:
    """(n, Σ_m digit(n, β, m) β^(m-1)) in base β = 10000^(2/d)."""
    with mpmath.workdps(40):
        beta, found = digits(digit, d, n)
        return n, float(mpmath.fsum(x * beta**m for m, x in enumerate(found)))


def are_digits(digit: Callable, d: int, n: int) -> bool:
    """0 <= digit < β, and the digits add up to n."""
    claimed, total = digits_sum(digit, d, n)
    with mpmath.workdps(40):
        beta, found = digits(digit, d, n)
        return abs(claimed - total) <= 1e-9 and all(0 <= x < beta for x in found)


def check_digits(digit: Callable) -> Evidence:
    """The digits lie in [0, β) and add up to the number they stand for, in every base that RoPE has."""
    cases = [{"d": d, "n": n} for d in (2, 4, 8, 16, 64, 128) for n in range(2, 60)]
    wrong = sum(not are_digits(digit, **case) for case in cases)
    found = smallest_counterexample(digits_sum, digit, cases) if wrong else None
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail=f"numbers of {len(cases)} without such digits")


def check_bases(exact: Callable) -> Evidence:
    """`exact(β)`: the printed formula gives the digits of all numbers tried, some of them just beyond β² and β³."""
    wrong, good = 0, []
    for d in (2, 4, 6, 8, 10, 12, 16, 32, 64, 128):
        beta = 10_000 ** (2 / d)
        numbers = [*range(2, 60), *(math.ceil(beta**k) for k in (2, 3))]
        right = all(are_digits(_printed_digit, d, n) for n in numbers)
        good += [d] * right
        with mpmath.workdps(40):
            wrong += right != exact(digits(_printed_digit, d, 2)[0])
    return compare(wrong, "==", 0, 0.0, detail=f"of 10 widths judged otherwise; the formula gives digits at d = {good}")


def check_arguments(argument: Callable) -> Evidence:
    """argument(n, β, m) is the angle of plane m - 1 at position n, in float64."""
    worst = 0.0
    for d, n in product(WIDTHS, (1, 17, 4096)):
        beta = BASE ** (2 / d)
        found = [argument(n, beta, m) for m in range(1, d // 2 + 1)]
        worst = max(worst, distance(found, n * np.array(rope(d).omega)))
    return compare(worst, "<=", 1e-11, detail="against n θ_{m-1}, every plane")


def _printed_digit(n, beta, m):
    return mpmath.floor(n / beta ** (m - 1)) % beta


def _greedy_digit(n, beta, m):
    """From the highest power down, as often as it goes; the least digit takes the remainder, maybe a fraction."""
    rest = mpmath.mpf(n)
    for power in range(math.ceil(math.log(n, float(beta))) + 1, m - 1, -1):
        found = rest if power == 1 else mpmath.floor(rest / beta ** (power - 1))
        rest -= found * beta ** (power - 1)
    return found


# The number 600


def interpolation_error(factor: float, width: int = 128, steps: int = 400) -> float:
    """Largest error of reading a score linearly between integer lags, at lags k / factor, over its Taylor bound.

    The score Re Σ h_j e^{i s θ_j} with |h_j| <= 1 has a second derivative of at most Σ θ_j², so that the error is at
    most (s - s₁)(s₂ - s)/2 · Σ θ_j² <= Σ θ_j² / 8, at any s. The worst phases of h make it a sum of moduli.
    """
    theta = BASE ** (-np.arange(0, width, 2) / width)
    inside = np.unique(np.round(np.linspace(0, factor, steps))) / factor
    s = inside[:, None]
    errors = np.abs(np.exp(1j * s * theta) - (1 - s) - s * np.exp(1j * theta)).sum(1)
    return float(errors.max() / (np.sum(theta**2) / 8))


def guarantee(allowed: Callable, factor: float) -> tuple[str, str]:
    words = {True: "within the bound", False: "beyond the bound"}
    return words[bool(allowed(factor))], words[interpolation_error(factor) <= 1]


def check_ceiling(allowed: Callable) -> Evidence:
    cases = [{"factor": f} for f in (2.0, 32.0, 599.0, 601.0, 1200.0, 6000.0)]
    found = smallest_counterexample(guarantee, allowed, cases)
    agreeing = sum(claimed == actual for claimed, actual in (guarantee(allowed, **case) for case in cases))
    return compare(agreeing, "==", len(cases), 0.0, counterexample=found,
                   detail="factors at which the interpolation bound stands as stated")  # fmt: skip


def check_ratio(ratio: Callable) -> Evidence:
    """ratio(c) of 2 d max|h| to the maximum over s of d max|h| (s - s₁)(s₂ - s) / (8 ln c), s₂ - s₁ = 1."""
    import sympy

    s, d, c = sympy.symbols("s d c", positive=True)
    inner = d * s * (1 - s) / (8 * sympy.log(c))
    peak = inner.subs(s, sympy.solve(sympy.diff(inner, s), s)[0])
    exact = sympy.simplify(2 * d / peak)
    worst = max(abs(float(exact.subs(c, value)) - ratio(value)) for value in (100, 10_000, 500_000))
    return compare(worst, "<=", 1e-9, detail=f"ratio {exact}; {float(exact.subs(c, 10_000)):.1f} at c = 10000")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-NTK",
            (
                Part("base' = base a^(d/(d-2)) leaves the fastest plane and divides the slowest by a.",
                     lambda b, a, d: b * a ** (d / (d - 2)), check_ends, lambda b, a, d: b * a ** ((d - 2) / d)),
                Part("Nothing but the base changes.", lambda b, a, d: b * a ** (d / (d - 2)), check_new_base,
                     lambda b, a, d: b * a),
            ),
            practice="The factor a is what the slowest plane gets; the planes between get less, so a context of a "
                     "times the trained length still leaves some of them beyond the angles they have seen.",
        ),
        Check(
            "PE-DLIN",
            (
                Part("Scaling positions by L_max / L_cur keeps a longer text within the trained range.",
                     lambda trained, length: trained / length, check_last_position,
                     lambda trained, length: length / trained),
                Part("This scale grows as the text grows.", lambda trained, length: trained / length, check_growing,
                     lambda trained, length: (trained / length) ** 2, growing,
                     repaired=lambda trained, length: length / trained),
            ),
            Part("As a multiplier of positions the scale is min(1, L_max / L_cur), which falls; as a divisor it is "
                 "max(1, L_cur / L_max), which grows. Up to L_max nothing is scaled.",
                 (lambda trained, length: min(1, trained / length), lambda trained, length: max(1, length / trained)),
                 check_dynamic_linear,
                 (lambda trained, length: trained / length, lambda trained, length: length / trained)),
            practice="The class listed under this heading divides positions by a fixed scale: a reader who sets that "
                     "scale to L_max / L_cur stretches positions instead. The dynamic variant is the other branch of "
                     "the dynamic NTK listing, which multiplies.",
        ),
        Check(
            "PE-DNTK",
            (
                Part("α' = α L_cur / L_orig - (α - 1): 1 at the trained length, and growing with the text from there.",
                     _alpha, check_start, lambda a, current, trained: a * current / trained - a),
                Part("The base is base α'^(d/(d-2)).",
                     lambda b, a, current, trained, d: b * _alpha(a, current, trained) ** (d / (d - 2)),
                     check_dynamic_ntk,
                     lambda b, a, current, trained, d: b * _alpha(a, current, trained) ** (d / (d + 2))),
            ),
            practice="Below the trained length α' falls under 1 and, for α > 1, below 0: clamp it at 1. Keys that were "
                     "cached after a rotation keep the base of their time; cache them before it. The listing never "
                     "returns to the smaller base after one long text.",
        ),
        Check(
            "PE-PNTK",
            (
                Part("Planes with at least 16 turns in the trained length keep their frequency.", 16.0,
                     by_turns(lambda turn, at: turn >= at, lambda factor: 1.0), 8.0),
                Part("Planes with at most .75 turns are interpolated linearly.", 0.75,
                     by_turns(lambda turn, at: turn <= at, lambda factor: factor), 1.5),
                Part("Ramps lie over 16 .. 2 turns (base to NTK) and 1.25 .. .75 turns (NTK to linear).",
                     ((16.0, 2.0), (1.25, 0.75)), check_ramps, ((16.0, 2.0), (2.0, 0.75))),
            ),
            practice="The ramps are linear in the plane's index, that is in the logarithm of its turns, between "
                     "rounded ends; YaRN keeps this and drops the NTK part between.",
        ),
        Check(
            "PE-BETA",
            (
                Part("In base β = 10000^(2/d) digit m of n is floor(n / β^(m-1)) mod β. (The formula is that of the "
                     "blog post that the survey cites.)", _printed_digit, check_digits,
                     lambda n, beta, m: mpmath.floor(n / beta**m) % beta, digits_sum, _greedy_digit),
                Part("RoPE takes cosine and sine of n / β^(m-1).", lambda n, beta, m: n / beta ** (m - 1),
                     check_arguments, lambda n, beta, m: n / beta**m),
            ),
            Part("The formula gives digits, 0 <= digit < β with sum n, exactly for integer β, which RoPE has for d = "
                 "2, 4 and 8; for other β they do not add up to every n.", lambda beta: beta == mpmath.nint(beta),
                 check_bases, lambda beta: beta >= 3),
            practice="The reading explains interpolation (divide n) and NTK (enlarge β by a^(2/(d-2))), no more: at "
                     "d = 128 the base is 1.15, and a phase has period 2π β^(m-1), not β^m.",
        ),
        Check(
            "PE-PI-E1",
            (
                Part("The ~600 of the position interpolation paper is a largest factor, beyond which its bound fails. "
                     "(Decided on that bound: the error of reading a score linearly between integer lags.)",
                     lambda factor: factor <= 600, check_ceiling, lambda factor: factor <= 60, guarantee,
                     repaired=lambda factor: True),
            ),
            Part("The ~600 is the ratio of two bounds on attention scores, 2 d max|h| for extrapolation to "
                 "d max|h| / (32 ln c) for interpolation: 64 ln c = 589 at base c = 10000, whatever the factor.",
                 lambda c: 64 * math.log(c), check_ratio, lambda c: 32 * math.log(c)),
            practice="No theory says how far positions may be squeezed; resolution does: at factor f neighbours differ "
                     "by 1/f radians in the fastest plane.",
        ),
    )
}  # fmt: skip
