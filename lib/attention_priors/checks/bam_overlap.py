"""BAM, appendix I.2 and I.3: Z as an overlap of two distributions, and as information.

Evidence from linear programming over the simplex (scipy's HiGHS), scipy's entropies and distances, numpy's covariance.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import optimize, spatial, special, stats

from attention_priors.checks.bam_inference import PAIRS, TOLERANCE
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.theory import inference as theory


def random_laws(count: int, largest: int = 8):
    """Pairs (p, q) of distributions over 2..largest keys."""
    draw = np.random.default_rng(10)
    for _ in range(count):
        keys = int(draw.integers(2, largest + 1))
        yield draw.dirichlet(np.ones(keys)), draw.dirichlet(np.ones(keys))


# I2, I2n: geometry of the overlap


def best_overlap(p, sign: float = -1.0) -> float:
    """max (sign -1) or min (sign +1) of <p, q> over the simplex of q, by linear programming."""
    solved = optimize.linprog(sign * np.asarray(p), A_eq=np.ones((1, len(p))), b_eq=[1.0], bounds=(0, None))
    return sign * float(solved.fun)


def check_range(bounds) -> Evidence:
    """Bilinear over two simplices: extremes lie at pairs of vertices; random pairs must lie inside."""
    vertices = [theory.overlap(a, b) for a, b in product(np.eye(4), np.eye(4))]
    inside = [theory.overlap(p, q) for p, q in random_laws(200)]
    found = (min(vertices + inside), max(vertices + inside))
    gap = max(abs(found[0] - bounds[0]), abs(found[1] - bounds[1]))
    return compare(gap, "<=", TOLERANCE, detail=f"the attained range is [{found[0]:g}, {found[1]:g}]")


def check_minimiser(minimiser) -> Evidence:
    worst = 0.0
    for p, _ in random_laws(20):
        p = np.append(p, 0.0)  # leave a key outside the support, or nothing could be disjoint
        worst = max(worst, theory.overlap(p, minimiser(p)) - best_overlap(p, 1.0))
    return compare(worst, "<=", TOLERANCE, detail="excess over the linear program's minimum")


def overlap_at(maximiser, p):
    """(overlap at the claimed maximiser, largest overlap with any q)."""
    return theory.overlap(p, maximiser(np.array(p))), best_overlap(p)


def check_maximiser(maximiser) -> Evidence:
    found = smallest_counterexample(overlap_at, maximiser, ({"p": p} for p in PAIRS))
    worst = max(best - here for here, best in (overlap_at(maximiser, p) for p, _ in random_laws(30)))
    detail = "largest shortfall from the linear program's maximum over q"
    return compare(worst, "<=", 1e-9, counterexample=found, detail=detail)


def check_total(total) -> Evidence:
    """The elementwise product of two laws has this total, and it is below one (unless both are the same one-hot)."""
    worst, largest = 0.0, 0.0
    for p, q in random_laws(200):
        worst = max(worst, abs(float(total(p, q)) - float(np.sum(p * q))))
        largest = max(largest, float(np.sum(p * q)))
    if worst > TOLERANCE:
        return compare(worst, "<=", TOLERANCE, detail="largest difference from the summed product")
    return compare(largest, "<", 1.0, detail="largest total of an elementwise product, 200 random pairs")


def restored_sum(factor, p, q):
    """(1, sum_j p_j q_j times the factor)."""
    return 1.0, float(np.dot(p, q) * factor(np.array(p), np.array(q)))


def check_restores(factor) -> Evidence:
    found = smallest_counterexample(restored_sum, factor, ({"p": p, "q": q} for p, q in product(PAIRS, PAIRS)))
    worst = max((restored_sum(factor, p, q)[1] for p, q in random_laws(50)), key=lambda total: abs(total - 1))
    return compare(worst, "==", 1.0, TOLERANCE, counterexample=found, detail="sum farthest from one")


def check_mode_and_restores(pair) -> Evidence:
    """Both halves of a statement (maximiser, factor); the first that fails, else the second."""
    first = check_maximiser(pair[0])
    return first if not first.holds else check_restores(pair[1])


def check_norms(orders) -> Evidence:
    """|p|_a <= |p|_b = 1 for all p, one-hots included."""
    low, high = orders
    laws = [np.eye(5)[0], np.full(5, 0.2), *(p for p, _ in random_laws(200))]
    excess = max(float(np.linalg.norm(p, low) - np.linalg.norm(p, high)) for p in laws)
    unit = max(abs(float(np.linalg.norm(p, high)) - 1.0) for p in laws)
    return compare(max(excess, unit), "<=", TOLERANCE, detail="largest violation of |p|_2 <= |p|_1 = 1")


def check_cosine(similarity) -> Evidence:
    worst = max(abs(similarity(p, q) - (1 - spatial.distance.cosine(p, q))) for p, q in random_laws(200))
    return compare(float(worst), "<=", TOLERANCE, detail="against scipy's cosine distance")


def check_destroys(divisor_of) -> Evidence:
    """p q / divisor must fail to sum to one on every random pair: the smallest gap is measured."""
    gaps = [abs(float(np.dot(p, q)) / divisor_of(p, q) - 1) for p, q in random_laws(200)]
    return compare(min(gaps), ">", 1e-6, detail="smallest |sum - 1| over 200 random pairs")


# I3: is it information?


def check_sum_is_log_ratio(value) -> Evidence:
    """sum_j r_j ln(r_j / (p_j q_j)) with r = softmax(f + g), against a formula in the logits."""
    draw, worst = np.random.default_rng(13), 0.0
    for _ in range(200):
        f, g = draw.standard_normal((2, int(draw.integers(2, 9))))
        p, q, r = special.softmax(f), special.softmax(g), special.softmax(f + g)
        worst = max(worst, abs(float(value(f, g)) - float(np.sum(special.rel_entr(r, p * q)))))
    return compare(worst, "<=", TOLERANCE, detail="against the sum, term by term with scipy.special.rel_entr")


def information_in_tokens(measure, tokens, prior):
    """(claimed, actual) information between which token stands at a key and where the key is.

    All content scores are zero here (equal tokens must score equally), so p is the prior; the joint table of (token,
    position) holds p, and I = H(token) + H(position) - H(both).
    """
    p = np.asarray(prior, dtype=float)
    table = np.array([np.where(np.equal(tokens, kind), p, 0.0) for kind in sorted(set(tokens))])
    actual = stats.entropy(table.sum(axis=1)) + stats.entropy(table.sum(axis=0)) - stats.entropy(table.ravel())
    content = np.full(len(p), 1 / len(p))
    return float(measure(content, p, tokens)), float(actual)


def check_mutual_information(measure) -> Evidence:
    cases = [{"tokens": t, "prior": q} for t, q in product(([1, 1], [1, 2]), PAIRS)]
    found = smallest_counterexample(information_in_tokens, measure, cases)
    worst = max(abs(a - b) for a, b in (information_in_tokens(measure, **case) for case in cases))
    detail = "largest difference from the mutual information of a table of two tokens, equal or different"
    return compare(worst, "<=", TOLERANCE, counterexample=found, detail=detail)


def under_uniform_prior(measure, content):
    """(0, the measure) for a prior that says nothing: content and position share no information."""
    return 0.0, float(measure(np.array(content), np.full(len(content), 1 / len(content))))


def check_zero_when_independent(measure) -> Evidence:
    found = smallest_counterexample(under_uniform_prior, measure, ({"content": p} for p in PAIRS[1:]))
    worst = max((under_uniform_prior(measure, p)[1] for p, _ in random_laws(100)), key=abs)
    return compare(worst, "==", 0.0, TOLERANCE, counterexample=found, detail="under a uniform prior over 2 to 8 keys")


def larger_when_agreeing(measure, content, agreeing, opposing):
    """(True, is the measure larger for the prior that favours the content's key?): P(first) of laws on two keys."""
    laws = [np.array([first, 1 - first]) for first in (content, agreeing, opposing)]
    return True, bool(measure(laws[0], laws[1]) > measure(laws[0], laws[2]))


def check_grows_with_agreement(measure) -> Evidence:
    """Priors q proportional to p^t favour the content's keys the more, the larger t: the smallest step is measured."""
    case = {"content": 0.75, "agreeing": 0.75, "opposing": 0.25}
    found = smallest_counterexample(larger_when_agreeing, measure, [case])
    steps = []
    for p, _ in random_laws(50):
        values = [measure(p, p**t / np.sum(p**t)) for t in (-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)]
        steps.extend(np.diff(values))
    detail = "smallest step as the prior tilts towards the content's keys"
    return compare(float(min(steps)), ">", 0.0, counterexample=found, detail=detail)


def check_lift(pair) -> Evidence:
    """Of (index, lift): the index is the printed sum; the lift is zero under a uniform prior, grows with agreement, and
    is ln(1 + L^2 Cov) with numpy's covariance. The first property that fails, or the largest difference."""
    index, lift = pair
    for check in (check_zero_when_independent, check_grows_with_agreement):
        evidence = check(lift)
        if not evidence.holds:
            return evidence
    worst = 0.0
    for p, q in random_laws(200):
        joint = p * q / np.sum(p * q)
        worst = max(worst, abs(float(index(p, q)) - float(np.sum(joint * np.log(joint / (p * q))))))
        worst = max(worst, abs(float(lift(p, q)) - float(np.log1p(len(p) ** 2 * np.cov(p, q, ddof=0)[0, 1]))))
    return compare(worst, "<=", 1e-10, detail="largest difference from the printed sum, and from ln(1 + L^2 Cov_j)")


def one_hot_at_mode(p):
    return np.eye(len(p))[int(np.argmax(p))]


CHECKS = {
    check.id: check
    for check in (
        Check(
            "BAM-I2",
            (
                Part("the overlap lies in [0, 1]", (0.0, 1.0), check_range, false=(0.0, 0.5)),
                Part(
                    "it is minimal when the two distributions are disjoint",
                    lambda p: (p == 0) / np.count_nonzero(p == 0),
                    check_minimiser,
                    false=lambda p: np.full(len(p), 1 / len(p)),
                ),
                Part(
                    "it is maximal when they coincide",
                    lambda p: p,
                    check_maximiser,
                    false=lambda p: np.full(len(p), 1 / len(p)),
                    evaluate=overlap_at,
                    repaired=one_hot_at_mode,
                ),
                Part(
                    "the elementwise product has total <p_cont, p_pos>, which is not one",
                    theory.overlap,
                    check_total,
                    false=theory.cosine,
                ),
                Part(
                    "multiplied by Z = <p_cont, p_pos>, the elementwise product sums to one",
                    theory.overlap,
                    check_restores,
                    false=lambda p, q: theory.overlap(p, q) ** 2,
                    evaluate=restored_sum,
                    repaired=lambda p, q: 1 / theory.overlap(p, q),
                ),
            ),
            corrected=Part(
                "For fixed p the overlap is largest, max_j p_j, at the one-hot on p's mode, and it is 1 / <p, q> that "
                "restores the sum to one.",
                (one_hot_at_mode, lambda p, q: 1 / theory.overlap(p, q)),
                check_mode_and_restores,
                false=(one_hot_at_mode, theory.overlap),
            ),
            practice="a large overlap says that both are concentrated on the same keys, not that they are alike",
        ),
        Check(
            "BAM-I2n",
            (
                Part("|p|_2 <= |p|_1 = 1 for every distribution p", (2, 1), check_norms, false=(1, 2)),
                Part(
                    "the overlap becomes a cosine only after division by both norms",
                    theory.cosine,
                    check_cosine,
                    false=theory.overlap,
                ),
                Part(
                    "dividing the product by that cosine would not normalise it",
                    theory.cosine,
                    check_destroys,
                    false=theory.overlap,
                ),
            ),
            practice="attention must be divided by the overlap; similarity of prior and content is read off the cosine",
        ),
        Check(
            "BAM-I3",
            (
                Part(
                    "sum_j p_j ln(p_j / (p_cont p_pos)) = ln(Z_cont Z_pos / Z_joint)",
                    lambda f, g: np.log(theory.partition_ratio(f, g)),
                    check_sum_is_log_ratio,
                    false=lambda f, g: -np.log(theory.partition_ratio(f, g)),
                ),
                Part(
                    "this sum is the mutual information of content and position",
                    lambda p, q, tokens: theory.printed_information(p, q),
                    check_mutual_information,
                    false=lambda p, q, tokens: 2 * theory.printed_information(p, q),
                    evaluate=information_in_tokens,
                    repaired=lambda p, q, tokens: stats.entropy([np.sum(q[np.equal(tokens, t)]) for t in set(tokens)]),
                ),
                Part(
                    "it is zero (Z = 1) when content and position are independent",
                    theory.printed_information,
                    check_zero_when_independent,
                    false=lambda p, q: 1 + theory.printed_information(p, q),
                    evaluate=under_uniform_prior,
                    repaired=theory.log_lift,
                ),
                Part(
                    "Z, its exponential, grows with what content and position share",
                    lambda p, q: np.exp(theory.printed_information(p, q)),
                    check_grows_with_agreement,
                    false=theory.printed_information,
                    evaluate=larger_when_agreeing,
                    repaired=theory.log_lift,
                ),
            ),
            corrected=Part(
                "The sum equals -ln <p, q> because its logarithm does not depend on j: an index of disagreement, ln L "
                "for a uniform prior over L keys. What vanishes without correlation and grows with agreement is "
                "ln(L <p, q>) = ln(1 + L^2 Cov_j(p, q)).",
                (theory.printed_information, theory.log_lift),
                check_lift,
                false=(theory.printed_information, lambda p, q: theory.log_lift(p, q) / 2),
            ),
            practice="a penalty on the printed quantity would push content and prior together, not apart",
        ),
    )
}
