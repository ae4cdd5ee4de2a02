"""BAM, appendix I and the roles of one letter: Z as a ratio of partition functions, as an overlap, as information.

Truths: exact fractions, linear programming over the simplex (scipy's HiGHS), scipy's entropies and distances, numpy's
covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log, prod

import numpy as np
from scipy import optimize, spatial, special, stats

from attention_priors.checks.inference.posterior import OF_TWO, PAIRS, exact_softmax
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.theory import inference as theory

EXACT = 1e-12
Array = np.ndarray
Weights = list[int]  # of keys, e^(f_j)
DRAWN = grid(keys=(2, 3, 5, 8), seed=range(10))


def random_weights() -> list[dict[str, Weights]]:
    draw = np.random.default_rng(11)
    sizes = draw.integers(1, 9, 100)
    return [{name: [int(w) for w in draw.integers(1, 20, keys)] for name in ("x", "y")} for keys in sizes]


# Pairs of Boltzmann weights x_j = e^(f_j), y_j = e^(g_j), the smallest first.
WEIGHTS = [{"x": x, "y": y} for x, y in (([1], [1]), ([1, 1], [1, 1]), ([2, 1], [1, 1]), ([2, 1], [1, 2]))]
WEIGHTS += random_weights()


def ratio(x: Weights, y: Weights) -> Fraction:
    """Z_cont Z_pos / Z_joint."""
    return Fraction(sum(x) * sum(y), sum(map(prod, zip(x, y, strict=True))))


def overlap(x: Weights, y: Weights) -> Fraction:
    """<softmax(f), softmax(g)>."""
    return sum(Fraction(a, sum(x)) * Fraction(b, sum(y)) for a, b in zip(x, y, strict=True))


def divisor(x: Weights, y: Weights) -> Fraction:
    """The Z of p_j = softmax(f)_j softmax(g)_j / Z, from the first key."""
    joint = [a * b for a, b in zip(x, y, strict=True)]
    return Fraction(x[0], sum(x)) * Fraction(y[0], sum(y)) / Fraction(joint[0], sum(joint))


def free_energy(x: Weights, y: Weights) -> float:
    """F_joint - F_cont - F_pos with F = -ln(partition function)."""
    f, g = np.log(x), np.log(y)
    return -theory.log_sum_exp(f + g) + theory.log_sum_exp(f) + theory.log_sum_exp(g)


def tempered(keys: int, seed: int, gamma: float) -> Array:
    return special.softmax(gamma * np.random.default_rng(seed).standard_normal(keys))


def sharpness(keys: int, seed: int, low: float, more: float) -> list[float]:
    """(-entropy, largest weight) at gamma = low + more."""
    weights = theory.gibbs(np.random.default_rng(seed).standard_normal(keys), low + more)
    return [-stats.entropy(weights), weights.max()]


def printed_sharpness(factor: float) -> Callable[..., list[float]]:
    def at(keys: int, seed: int, low: float) -> list[float]:
        weights = tempered(keys, seed, factor * low)
        return [-stats.entropy(weights), weights.max()]

    return at


def laws(keys: int, seed: int) -> tuple[Array, Array]:
    """Two distributions over the keys."""
    return tuple(np.random.default_rng([keys, seed]).dirichlet(np.ones(keys), 2))


def best_overlap(p: list[float], sign: int = -1) -> float:
    """max (sign -1) or min (sign 1) of <p, q> over the simplex of q, by linear programming."""
    solved = optimize.linprog(sign * np.asarray(p), A_eq=np.ones((1, len(p))), b_eq=[1.0], bounds=(0, None))
    return sign * float(solved.fun)


def least_overlap(p: list[float]) -> float:
    return best_overlap(p, 1)


def extremes(keys: int) -> list[float]:
    """Of the overlap, which is bilinear: they lie at pairs of vertices."""
    found = [theory.overlap(a, b) for a in np.eye(keys) for b in np.eye(keys)]
    return [min(found), max(found)]


def disjoint(p: list[float]) -> float:
    """Overlap with the uniform law on the keys that p leaves out."""
    outside = np.equal(p, 0) / np.count_nonzero(np.equal(p, 0))
    return float(p @ outside)


def total(keys: int, seed: int) -> float:
    """Of the elementwise product."""
    return float(np.prod(laws(keys, seed), axis=0).sum())


def restoring(keys: int, seed: int) -> float:
    """What the elementwise product has to be multiplied by to become the attention weights, from the first key."""
    p, q = laws(keys, seed)
    return exact_softmax(np.log(p) + np.log(q))[0] / (p[0] * q[0])


def norm(keys: int, seed: int, order: int) -> float:
    return float(np.linalg.norm(laws(keys, seed)[0], order))


def norms(keys: int, seed: int) -> float:
    """|p|_2 |q|_2, which is <p, q> divided by the cosine."""
    return float(np.prod([np.linalg.norm(p) for p in laws(keys, seed)]))


def divided(keys: int, seed: int) -> float:
    """Total of the product divided by scipy's cosine."""
    return total(keys, seed) / scipy_cosine(keys, seed)


def scipy_cosine(keys: int, seed: int) -> float:
    return float(1 - spatial.distance.cosine(*laws(keys, seed)))


def printed_sum(keys: int, seed: int) -> float:
    """sum_j r_j ln(r_j / (p_j q_j)), r = p q / <p, q>, term by term."""
    p, q = laws(keys, seed)
    return float(np.sum(special.rel_entr(p * q / (p @ q), p * q)))


def log_ratio(keys: int, seed: int) -> float:
    """ln(Z_cont Z_pos / Z_joint) with logits f = ln p + 1, g = ln q - 2."""
    f, g = (np.log(p) + shift for p, shift in zip(laws(keys, seed), (1, -2), strict=True))
    return float(special.logsumexp(f) + special.logsumexp(g) - special.logsumexp(f + g))


def in_tokens(tokens: list[int], prior: list[float]) -> float:
    """I = H(token) + H(position) - H(both) between which token stands at a key and where the key is.

    All content scores are zero (equal tokens must score equally), so the joint table of (token, position) holds the
    prior.
    """
    table = np.array([np.where(np.equal(tokens, kind), prior, 0.0) for kind in sorted(set(tokens))])
    return float(stats.entropy(table.sum(1)) + stats.entropy(table.sum(0)) - stats.entropy(table.ravel()))


def under_uniform(content: list[float]) -> float:
    return theory.printed_information(content, np.full(len(content), 1 / len(content)))


def of_two(content: float, prior: float) -> float:
    """Z = e^I for laws over two keys, by their first weights."""
    return 1 / (content * prior + (1 - content) * (1 - prior))


def lift(keys: int, seed: int, tilt: float | None = None) -> float:
    """ln(L <p, q>); with a tilt t, q is proportional to p^t: it favours the content's keys the more, the larger t."""
    p, q = laws(keys, seed)
    q = q if tilt is None else p**tilt / np.sum(p**tilt)
    return log(keys * (p @ q))


def covariance(keys: int, seed: int) -> float:
    return float(np.cov(*laws(keys, seed), ddof=0)[0, 1])


CHECKS = claims(
    claim(
        "BAM-I1",
        Law("Z_cont Z_pos / Z_joint = sum_j softmax(f)_j softmax(g)_j.", ratio, overlap, WEIGHTS,
            wrong=lambda x, y: ratio(x, y) / 2, tolerance=0),
        Law("ln(Z_cont Z_pos / Z_joint) is the interaction free energy F_joint - F_cont - F_pos, F = -ln Z.",
            lambda x, y: log(ratio(x, y)), free_energy, WEIGHTS, wrong=lambda x, y: -log(ratio(x, y)), tolerance=EXACT),
        Law("The inverse temperature gamma in exp(gamma (f + g)) controls sharpness: as it grows, entropy falls and "
            "the largest weight grows.", printed_sharpness(1), sharpness,
            grid(keys=(2, 5, 19), seed=range(10), low=(0.25, 0.5, 1.0, 2.0), more=(0.25, 1.0)),
            wrong=printed_sharpness(4), relation="<"),
        corrected=Law("The two are reciprocals: Z_cont Z_pos / Z_joint = 1 / sum_j softmax(f)_j softmax(g)_j.",
                      ratio, lambda x, y: 1 / overlap(x, y), WEIGHTS, wrong=lambda x, y: ratio(x, y) ** 2, tolerance=0),
        practice="Code that takes one for the other is off by Z^2: 1 / L^2 under a uniform prior on L keys.",
    ),
    claim(
        "BAM-E1",
        Law("The divisor of Theorem 1 is the overlap of I.2, the ratio of I.1 and the factor of I.2, one Z.",
            lambda x, y: 3 * [divisor(x, y)], lambda x, y: [overlap(x, y), ratio(x, y), 1 / divisor(x, y)], WEIGHTS,
            wrong=lambda x, y: 3 * [1 / divisor(x, y)], tolerance=0),
        corrected=Law("Z_i = <p_cont, p_pos> is the divisor; the factor is C_i = 1 / Z_i = Z_cont Z_pos / Z_joint.",
                      lambda x, y: [overlap(x, y), 1 / overlap(x, y)], lambda x, y: [divisor(x, y), ratio(x, y)],
                      WEIGHTS, wrong=lambda x, y: [1 - overlap(x, y), 1 / overlap(x, y)], tolerance=0),
        practice="In notebook 01 Z is the divisor <p_cont, p_pos>, elsewhere it is the usual sum of exponentials.",
    ),
    claim(
        "BAM-I2",
        Law("The overlap lies in [0, 1].", [0.0, 1.0], extremes, grid(keys=(2, 4)), wrong=[0.0, 0.5]),
        Law("It is minimal when the two distributions are disjoint.", disjoint, least_overlap,
            [{"p": [*laws(keys, keys)[0], 0.0]} for keys in range(1, 7)], wrong=lambda p: 1 / len(p)),
        Law("It is maximal when they coincide.", lambda p: sum(x * x for x in p), best_overlap,
            grid(p=PAIRS), wrong=lambda p: 1 / len(p)),
        Law("The elementwise product has total <p_cont, p_pos>, which is not one.", 1, total, DRAWN, wrong=0.2,
            relation=">"),
        Law("Multiplied by Z = <p_cont, p_pos>, the elementwise product sums to one.", 1.0,
            lambda content, prior: sum(map(prod, zip(content, prior, strict=True))) ** 2, OF_TWO, wrong=0.5),
        corrected=(
            Law("For fixed p the overlap is largest, max_j p_j, at the one-hot on p's mode,", lambda p: max(p),
                best_overlap, [*grid(p=PAIRS), *({"p": laws(keys, keys)[1]} for keys in range(2, 9))],
                wrong=lambda p: sum(x * x for x in p)),
            Law("and it is 1 / <p, q> that restores the sum to one.", lambda keys, seed: 1 / total(keys, seed),
                restoring, DRAWN, wrong=total),
        ),
        practice="A large overlap says that both are concentrated on the same keys, not that they are alike.",
    ),
    claim(
        "BAM-I2n",
        Law("|p|_1 = 1 for every distribution p,", 1.0, norm, [case | {"order": 1} for case in DRAWN], wrong=0.5),
        Law("and |p|_2 is at most that.", 1.0, norm, [case | {"order": 2} for case in DRAWN], wrong=0.7, relation=">="),
        Law("The overlap becomes a cosine only after division by both norms.",
            lambda keys, seed: total(keys, seed) / norms(keys, seed), scipy_cosine, DRAWN,
            wrong=lambda keys, seed: total(keys, seed) / norm(keys, seed, 2), tolerance=EXACT),
        Law("Dividing the product by that cosine would not normalise it.", 1.0, divided, DRAWN, wrong=norms,
            relation="!=", tolerance=1e-6),
        practice="Attention must be divided by the overlap; similarity of prior and content is read off the cosine.",
    ),
    claim(
        "BAM-I3",
        Law("sum_j p_j ln(p_j / (p_cont p_pos)) = ln(Z_cont Z_pos / Z_joint).", log_ratio, printed_sum, DRAWN,
            wrong=lambda keys, seed: -log_ratio(keys, seed), tolerance=EXACT),
        Law("This sum is the mutual information of content and position.",
            lambda prior: -log(sum(prior) / len(prior)), in_tokens, grid(tokens=([1, 1], [1, 2]), prior=PAIRS),
            wrong=lambda prior: log(len(prior)) / 2),
        Law("It is zero (Z = 1) when content and position are independent, as under a uniform prior.", 0.0,
            under_uniform, grid(content=PAIRS), wrong=1.0),
        Law("Z, its exponential, grows with what content and position share: it is larger for the prior that agrees.",
            lambda content, agreeing: of_two(content, agreeing), lambda content, opposing: of_two(content, opposing),
            [{"content": 0.75, "agreeing": 0.75, "opposing": 0.25}], wrong=1, relation=">",
            repaired=lambda content, agreeing: 4 * of_two(content, agreeing)),
        corrected=(
            Law("The sum equals -ln <p, q> because its logarithm does not depend on j: an index of disagreement,",
                lambda keys, seed: -log(total(keys, seed)), printed_sum, DRAWN, wrong=total, tolerance=EXACT),
            Law("ln L for a uniform prior over L keys.", lambda content: log(len(content)), under_uniform,
                grid(content=[*PAIRS, [0.5, 0.3, 0.2]]), wrong=0.0),
            Law("What vanishes without correlation is ln(L <p, q>) = ln(1 + L^2 Cov_j(p, q)).", lift,
                lambda keys, seed: log(1 + keys**2 * covariance(keys, seed)), DRAWN,
                wrong=lambda keys, seed: lift(keys, seed) / 2, tolerance=EXACT),
            Law("It grows with agreement.", lambda keys, seed, tilt: lift(keys, seed, tilt),
                lambda keys, seed, more: lift(keys, seed, more),
                [case | {"tilt": low, "more": high} for case in DRAWN
                 for low, high in ((-1.0, -0.5), (-0.5, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 2.0))],
                wrong=lambda keys, seed, more: lift(keys, seed, more + 1), relation="<"),
        ),
        practice="A penalty on the printed quantity would push content and prior together, not apart.",
    ),
)  # fmt: skip
