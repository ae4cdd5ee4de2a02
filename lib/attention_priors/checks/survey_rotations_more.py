"""The survey on xPos and randomised positions, and on order without any encoding.

Independent evidence: complex numbers in numpy, exact enumeration of subsets, torch's attention kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from math import comb

import numpy as np

from attention_priors.checks import rotation_oracles as oracles
from attention_priors.checks.attention.order import causal_attention, exchanged, permuted, self_attention
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import maps
from attention_priors.positions.xpos import DampedRotary, xpos

# xPos


def shifted(encode: tuple[Callable, Callable], xi: float, m: int, n: int, shift: int) -> tuple[float, float]:
    """(score at (m, n), score at (m + shift, n + shift)) of q = k = 1, θ = 0, with the real inner product."""
    query, key = encode
    here, there = (float(_real(query(1.0, xi, 0.0, m + s), key(1.0, xi, 0.0, n + s))) for s in (0, shift))
    return here, there


def _real(q, k):
    return np.real(q * np.conj(k))


def _bilinear(q, k):
    return np.real(q * k)


def translation(inner: Callable) -> Callable:
    """A checker: scores under (f_q, f_k) and this inner product depend on m - n, to 1e-9 of their size."""

    def check(encode: tuple[Callable, Callable]) -> Evidence:
        query, key = encode
        draw, worst = np.random.default_rng(0), 0.0
        for xi, theta in product((-0.02, -0.001, 0.01), (0.0, 0.7)):
            q, k = draw.standard_normal((2, 2)) @ [1, 1j]
            for m, n, shift in ((10, 3, 100), (50, 50, 7), (200, 0, 30)):
                here, there = (inner(query(q, xi, theta, m + s), key(k, xi, theta, n + s)) for s in (0, shift))
                worst = max(worst, abs(here - there) / (abs(q * k) * np.exp(abs(xi) * (m - n))))
        found = None
        if worst > 1e-9 and inner is _real:
            cases = ({"xi": -0.1, "m": 1, "n": n, "shift": 1} for n in (1, 0))
            found = smallest_counterexample(shifted, encode, cases)
        return compare(float(worst), "<=", 1e-9, counterexample=found, detail="change under shifts, 18 settings")

    return check


def derived(sign: tuple[int, int], xi: float, theta: float, n: int) -> tuple[float, float]:
    """(the key's factor as simplified, as it stands before A_k is removed): real parts, e^{-λn} with λ = ξ + iθ."""
    a, b = sign
    return float(np.exp((a * xi + 1j * b * theta) * n).real), float(np.exp(-(xi + 1j * theta) * n).real)


def check_derived(sign: tuple[int, int]) -> Evidence:
    cases = [{"xi": xi, "theta": theta, "n": n} for xi, theta, n in product((1.0, -0.3), (0.0, 2.0), (1, 4))]
    worst = max(abs(claimed - actual) for claimed, actual in (derived(sign, **case) for case in cases))
    found = smallest_counterexample(derived, sign, cases) if worst > 1e-9 else None
    return compare(float(worst), "<=", 1e-12, counterexample=found, detail="factor of the key against e^(-λn)")


def check_xpos(encode: tuple[Callable, Callable]) -> Evidence:
    """Relative, and plane by plane e^{ξ(m-n)} times RoPE's; with ξ = -decay it is the library's xPos."""
    import torch

    relative = translation(_real)(encode)
    spectrum, positions = xpos(8), np.array([0, 3, 40, 200])
    q, k = np.random.default_rng(1).standard_normal((2, 4, 8))
    both = (torch.from_numpy(x)[None, None] for x in (q, k))
    ours = DampedRotary(spectrum)(*both, *(torch.from_numpy(positions),) * 2)
    library = (ours[0] @ ours[1].mT)[0, 0].numpy()
    stated = np.zeros((4, 4))
    for plane, (omega, rate) in enumerate(zip(spectrum.omega, spectrum.decay, strict=True)):
        for i, j in np.ndindex(4, 4):
            one = encode[0](oracles.planes(q)[i, plane], -rate, omega, positions[i])
            stated[i, j] += _real(one, encode[1](oracles.planes(k)[j, plane], -rate, omega, positions[j]))
    worst = max(relative.measured, float(np.abs(stated - library).max()))
    return compare(worst, "<=", 1e-9, detail="shifts, and every score of the library's xPos")


def _query(q, xi, theta, n):
    return q * np.exp((xi + 1j * theta) * n)


def _key(k, xi, theta, n):
    return k * np.exp((-xi + 1j * theta) * n)


# Randomised positions


def check_sampler(sample: Callable) -> Evidence:
    """All draws are increasing subsets of the range, and each of the 56 subsets of 5 among 8 comes up as often."""
    import torch
    from scipy import stats

    draw, counts = torch.Generator().manual_seed(0), dict.fromkeys(combinations(range(8), 5), 0)
    outside = 0
    for _ in range(6000):
        found = tuple(sample(5, 8, draw).tolist())
        outside += found not in counts
        counts[found] = counts.get(found, 0) + 1
    p = stats.chisquare(list(counts.values())).pvalue if not outside else 0.0
    return compare(float(p), ">=", 1e-4, detail=f"p of equal shares of 56 subsets, 6000 draws; no subset: {outside}")


def check_gaps(law: Callable) -> Evidence:
    """law(gap, length, longest): the chance that neighbouring positions lie `gap` apart, by exact enumeration."""
    worst = 0.0
    for length, longest in ((2, 6), (4, 9), (8, 8)):
        subsets = list(combinations(range(longest), length))
        for gap, place in product(range(1, longest), range(length - 1)):
            share = sum(s[place + 1] - s[place] == gap for s in subsets) / len(subsets)
            worst = max(worst, abs(share - law(gap, length, longest)))
    return compare(worst, "<=", 1e-12, detail="every gap of every subset, three sizes")


def _with_replacement(length, longest, generator):
    import torch

    return torch.randint(longest, (length,), generator=generator).sort().values


# Order from the mask


def check_count(position: Callable) -> Evidence:
    """One causal layer without any encoding, equal scores, a value of 1 at the first token: position(output) = i."""
    import torch

    zero, value = torch.zeros(1, 200, 1, dtype=torch.float64), torch.zeros(1, 200, 1, dtype=torch.float64)
    value[0, 0] = 1.0
    out = torch.nn.functional.scaled_dot_product_attention(zero, zero, value, is_causal=True)[0, :, 0].numpy()
    worst = float(np.abs([position(x) - i for i, x in enumerate(out, start=1)]).max())
    return compare(worst, "<=", 1e-9, detail="200 positions read off the output of torch's kernel")


def check_equivariant(layer) -> Evidence:
    """layer(P x) = P layer(x) for 20 random permutations of 12 tokens."""
    worst = max(float(np.abs(np.subtract(*permuted(layer, seed))).max()) for seed in range(20))
    grid = ({"first": 0.0, "second": second} for second in (1.0, 2.0))
    found = smallest_counterexample(exchanged, layer, grid, tolerance=1e-6)
    return compare(worst, "<=", 1e-10, counterexample=found, detail="|layer(P x) - P layer(x)|, 20 permutations")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-XPOS",
            (
                Part("f_q = q e^(ξn + iθn) with f_k = k e^(ξn + iθn): scores depend on m - n (the real inner product, "
                     "as for RoPE).", (_query, _query), translation(_real),
                     (_query, lambda k, xi, theta, n: _query(k, 2 * xi, theta, n)), shifted, repaired=(_query, _key)),
                Part("f_k = k e^(ξn + iθn) is A_k k e^(-λn), λ = ξ + iθ, without A_k.", (1, 1), check_derived, (1, -1),
                     derived, repaired=(-1, -1)),
                Part("The line before, A_q q e^(λn) with A_k k e^(-λn), is relative (the product without "
                     "conjugation).", (_query, lambda k, xi, theta, n: k * np.exp(-(xi + 1j * theta) * n)),
                     translation(_bilinear), (_query, _query)),
            ),
            Part("f_k = k e^(-ξn + iθn): the score is e^(ξ(m-n)) Re[q conj(k) e^(iθ(m-n))], falling with the lag for "
                 "ξ < 0.", (_query, _key), check_xpos, (_query, lambda k, xi, theta, n: _key(k, xi, -theta, n))),
            practice="With the printed sign scores shrink as e^(ξ(m+n)): not with distance, but with how late both "
                     "tokens are. Implementations divide keys by the scale that multiplies queries.",
        ),
        Check(
            "PE-RAND",
            (
                Part("An ordered random subset of the positions of a longer range.", maps.randomised, check_sampler,
                     _with_replacement),
                Part("Gaps between neighbours g are then spread as C(L - g, n - 1) / C(L, n), the same at every place.",
                     lambda g, n, longest: comb(longest - g, n - 1) / comb(longest, n), check_gaps,
                     lambda g, n, longest: comb(longest - g, n) / comb(longest, n)),
            ),
            practice="Absolute positions are covered up to the longest length, relative ones as well; the order is "
                     "kept, counts and distances are not.",
        ),
        Check(
            "PE-E1",
            (
                Part("The opening: transformers without positions are permutation-equivariant (here a causal one).",
                     causal_attention, check_equivariant, lambda x, seed=None: causal_attention(x, seed) * [[2.0]],
                     exchanged),
                Part("The NoPE part: a causal model without encoding can find positions from its mask, as 1 / i.",
                     lambda out: 1 / out, check_count, lambda out: 1 / out - 1),
            ),
            Part("Without a causal mask attention without positions is permutation-equivariant.", self_attention,
                 check_equivariant, causal_attention),
            practice="The opening is about encoders. A decoder has positions without being given any, which is why "
                     "NoPE is a baseline and not a bag of words.",
        ),
    )
}  # fmt: skip
