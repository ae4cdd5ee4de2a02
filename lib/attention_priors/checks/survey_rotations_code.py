"""The survey's code for RoPE: three codings, the table from equations to code, slips in the listings.

Independent evidence: the codings of transformers, and small programs that are run as the listings would be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np

from attention_priors.checks import rotation_oracles as oracles
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import layouts
from attention_priors.positions.extensions import plane_of
from attention_priors.positions.rotary import rope

NOTEBOOK = "03_field_guide"


def angles(width: int, positions):
    import torch

    return torch.outer(torch.as_tensor(positions).double(), torch.tensor(rope(width).omega, dtype=torch.float64))


def drawn(width: int, positions: int):
    """q and k: [2 heads, positions, width], float64."""
    import torch

    return torch.randn(2, 2, positions, width, dtype=torch.float64, generator=torch.Generator().manual_seed(width))


def scores(coding: Callable, q, k, turned):
    q, k = coding(q, k, turned)
    return q @ k.mT


# Three codings


def check_rotations(names: tuple[str, ...]) -> Evidence:
    """Each coding: scores that shifts leave alone, kept norms, and the frequencies of RoPE in every plane."""
    here, worst = np.array([0, 1, 5, 40]), 0.0
    for name, width in product(names, (8, 64)):
        coding = _coding(name)
        q, k = drawn(width, len(here))
        # float32 inside two of the codings: 2e-6 of the norms
        near, far = (scores(coding, q, k, angles(width, here + s)) for s in (0, 300))
        worst = max(worst, float((near - far).abs().max() / width))
        turned, _ = coding(q, k, angles(width, here))
        worst = max(worst, float((turned.norm(dim=-1) / q.norm(dim=-1) - 1).abs().max()))
    return compare(worst, "<=", 1e-5, detail=f"{', '.join(names)}: shifts and norms, float32 inside")


def _coding(name: str) -> Callable:
    known = oracles.codings()
    # a coding that nobody has: one part of the features is left alone
    return known.get(name, lambda q, k, turned: (q, known["rotate_half"](k, k, turned)[0]))


def check_permutation(order: Callable) -> Evidence:
    """Scores of rotate_half on q, k and of the other two on q[order], k[order]; and the library's three codings."""
    positions, worst = np.array([0, 1, 5, 40, 300]), 0.0
    codings = oracles.codings()
    for width in (4, 8, 64):
        (q, k), turned, moved = drawn(width, len(positions)), angles(width, positions), order(width)
        reference = scores(codings["rotate_half"], q, k, turned)
        for name in ("view_as_complex", "RoFormer"):
            found = scores(codings[name], q[..., moved], k[..., moved], turned)
            worst = max(worst, float((found - reference).abs().max() / width))
        for name, place in (("half-split", slice(None)), ("interleaved", moved), ("complex", moved)):
            ours = layouts.LAYOUTS[name]
            found = ours(q[..., place], turned) @ ours(k[..., place], turned).mT
            worst = max(worst, float((found - reference).abs().max() / width))
    return compare(worst, "<=", 1e-5, detail="scores of five codings against rotate_half, widths 4, 8, 64")


# From equations to code


def check_frequencies(inverse: Callable) -> Evidence:
    worst = max(
        float(np.abs(inverse(d) / oracles.scaled("linear", d, 1.0, 2048)[0] - 1).max()) for d in (4, 8, 64, 128)
    )
    return compare(worst, "<=", oracles.FLOAT32, detail="relative, against transformers")


def check_products(product_of: Callable) -> Evidence:
    """Every angle m θ_i, in 40 digits."""
    import mpmath

    theta, positions = np.array(rope(8).omega), np.arange(60.0)
    found = product_of(positions, theta)
    exact = [[float(mpmath.mpf(m) * mpmath.mpf(w)) for w in theta] for m in positions]
    return compare(float(np.abs(found - exact).max()), "<=", 1e-12, detail="60 positions, 4 planes")


def check_matrix(pair: Callable) -> Evidence:
    """pair(angle) -> 2 x 2 from cosine and sine, against the exponential of the quarter turn."""
    from scipy.linalg import expm

    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    worst = max(np.abs(pair(a) - expm(a * turn)).max() for a in (0.0, 0.3, 2.0, 40.0))
    return compare(float(worst), "<=", 1e-12, detail="against scipy.linalg.expm")


def turned_unit(pairs: Callable, d: int, m: float, component: int) -> tuple[float, float]:
    """(claimed, coded) component of the first unit vector at position m: by R with these pairs, and by rotate_half."""
    return float(_by_pairs(pairs, d, m)[component, 0]), float(_coded(d, m)[component, 0])


def _by_pairs(pairs: Callable, d: int, m: float) -> np.ndarray:
    matrix = np.zeros((d, d))
    for plane, theta in zip(pairs(d), rope(d).omega, strict=True):
        matrix[np.ix_(plane, plane)] = [[np.cos(m * theta), -np.sin(m * theta)], [np.sin(m * theta), np.cos(m * theta)]]
    return matrix


def _coded(d: int, m: float) -> np.ndarray:
    """The matrix of q * cos + rotate_half(q) * sin as transformers runs it."""
    import torch

    unit = torch.eye(d, dtype=torch.float64)[None]
    rows, _ = oracles.codings()["rotate_half"](unit, unit, angles(d, np.full(d, m)))
    return rows[0].numpy().T


def check_pairs(pairs: Callable) -> Evidence:
    worst = max(np.abs(_by_pairs(pairs, d, m) - _coded(d, m)).max() for d, m in product((2, 4, 8, 64), (1, 7, 100)))
    cases = ({"d": d, "m": 1, "component": 1} for d in (2, 4))
    found = smallest_counterexample(turned_unit, pairs, cases) if worst > 1e-6 else None
    return compare(float(worst), "<=", 1e-12, counterexample=found, detail="R x against the code, widths 2 to 64")


def _neighbours(d):
    return [[2 * i, 2 * i + 1] for i in range(d // 2)]


def _halves(d):
    return [[i, i + d // 2] for i in range(d // 2)]


# Slips


def outcome(program: str) -> str:
    """ "ran", or the name of the error."""
    try:
        exec(program, {})  # the project's own text below
    except Exception as error:
        return type(error).__name__
    return "ran"


def check_name(names: tuple[str, str]) -> Evidence:
    defined, called = names
    found = outcome(f"class {defined}:\n    def __init__(self, dim): pass\n{called}(64)")
    return compare(found, "==", "NameError", detail=f"class {defined} defined, {called}(...) called")


def check_keyword(names: tuple[str, str]) -> Evidence:
    has, passed = names
    listed = f"class Listed:\n    def __init__(self, dim, {has}=2048): pass\n{passed} = 4096\n"
    by_keyword, by_place = (outcome(f"{listed}Listed(64, {call})") for call in (f"{passed}={passed}", passed))
    return compare(by_keyword, "==", "TypeError", detail=f"by keyword; by place, as the listing calls it: {by_place}")


def rebuilds(trained: int, lengths: list[int]) -> list[bool]:
    """Calls of the listed cache that rebuild it: the test is against the trained length, not what is cached."""

    class Cache:
        def __init__(self) -> None:
            self.limit, self.built = trained, 0

        def forward(self, seq_len: int) -> None:
            if seq_len > self.limit:
                self.built += 1

    cache, found = Cache(), []
    for length in lengths:
        before = cache.built
        cache.forward(length)
        found.append(cache.built > before)
    return found


def rebuilt(rule: Callable, trained: int, length: int) -> tuple[bool, bool]:
    """(stated, actual): whether a second call with `length` rebuilds."""
    return bool(rule(trained, length)), rebuilds(trained, [length, length])[1]


def check_rebuilds(rule: Callable) -> Evidence:
    cases = [{"trained": 2048, "length": length} for length in (1, 2048, 2049, 8192)]
    wrong = sum(stated != actual for stated, actual in (rebuilt(rule, **case) for case in cases))
    found = smallest_counterexample(rebuilt, rule, cases) if wrong else None
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail="of 4 lengths, each asked for twice")


def ramp_at_fastest(upper: int, d: int, trained: int) -> float:
    """The listing's ramp from 1.25 to .75 turns at plane 0, with this clamp: 0 is right, the plane turns most often."""
    low, high = (plane_of(rope(d), turned, trained) for turned in (1.25, 0.75))
    low, high = max(math.floor(low), 0), min(math.ceil(high), upper)
    return min(1.0, max(0.0, -low / (high - low or 1e-3)))


def check_clamp(limits: tuple[Callable, Callable]) -> Evidence:
    """(upper clamp, entries of the mask) by width: the clamp lies beyond the mask and leaves plane 0 alone."""
    clamp, mask = limits
    beyond = all(clamp(d) >= mask(d) for d in (4, 64, 128))
    right = all(ramp_at_fastest(clamp(128), 128, trained) == 0 for trained in (2048, 131_072))
    entries = len(oracles.ramp(16, 2, 128, 2048)) == mask(128)
    other = ramp_at_fastest(mask(128) - 1, 128, 131_072)
    detail = f"clamped to d/2 - 1, the ramp of the fastest plane at 131,072 trained positions would be {other:g}, not 0"
    return compare(bool(beyond and right and entries), "==", True, detail=detail)


def check_variable(path: tuple[str, str]) -> Evidence:
    import importlib

    import torch

    module, name = path
    found = getattr(importlib.import_module(module), name)(torch.ones(2))
    return compare(type(found).__name__, "==", "Tensor", detail=f"the type that {module}.{name} returns")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-ROPE-EQ",
            NOTEBOOK,
            (
                Part("rotate_half, view_as_complex and RoFormer's coding are all rotary encodings.",
                     ("rotate_half", "view_as_complex", "RoFormer"), check_rotations,
                     ("rotate_half", "queries left alone")),
                Part("They compute the same up to one permutation of features: (0, d/2, 1, d/2 + 1, ...), applied to q "
                     "and k.", lambda d: layouts.halves_to_neighbours(d).tolist(), check_permutation,
                     lambda d: list(range(d))),
            ),
            practice="The codings agree, the weights do not: a checkpoint trained with one needs its W_Q and W_K "
                     "permuted for another. Nothing crashes without it; scores are silently wrong.",
        ),
        Check(
            "PE-ROPE-MAP",
            NOTEBOOK,
            (
                Part("θ_i = 10000^(-2i/d) is inv_freq.", lambda d: 1 / 10_000 ** (np.arange(0, d, 2) / d),
                     check_frequencies, lambda d: 1 / 10_000 ** (np.arange(0, d, 2) / (2 * d))),
                Part("The angles m θ_i are einsum('i,j->ij', t, inv_freq).", lambda t, w: np.einsum("i,j->ij", t, w),
                     check_products, lambda t, w: np.einsum("i,j->ij", t, w[::-1])),
                Part("R is the pair cos, sin.", lambda a: np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]),
                     check_matrix, lambda a: np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])),
                Part("x' = R x, R as in the survey's matrix equation (neighbouring coordinates), is q * cos + "
                     "rotate_half(q) * sin.", _neighbours, check_pairs, lambda d: _neighbours(d)[::-1], turned_unit),
            ),
            Part("q * cos + rotate_half(q) * sin is R x with the planes (x_i, x_(i + d/2)).", _halves, check_pairs,
                 lambda d: _halves(d)[::-1]),
            practice="The first three rows hold for every coding; the last needs rotate_half's own pairing. Mixed with "
                     "the equation's pairing it is another rotation, equal at d = 2 only.",
        ),
        Check(
            "PE-E-CODE",
            NOTEBOOK,
            (
                Part("GPT-NeoX: Rotary is defined and RotaryEmbedding called, a NameError.",
                     ("Rotary", "RotaryEmbedding"), check_name, ("Rotary", "Rotary")),
                Part("Hugging Face: the parameter is max_position_embedding, which the keyword max_position_embeddings "
                     "misses.", ("max_position_embedding", "max_position_embeddings"), check_keyword,
                     ("max_position_embeddings", "max_position_embeddings")),
                Part("Every forward call rebuilds the cache.", lambda trained, length: True, check_rebuilds,
                     lambda trained, length: length < trained, rebuilt),
                Part("The ramp's upper end is clamped to d - 1 where the mask has d/2 entries.",
                     (lambda d: d - 1, lambda d: d // 2), check_clamp, (lambda d: d // 4, lambda d: d // 2)),
                Part("Variable, which is deprecated, does nothing any more.", ("torch.autograd", "Variable"),
                     check_variable, ("torch.nn", "Parameter")),
            ),
            Part("The cache is rebuilt by the calls that ask for more than the trained length, even when it is long "
                 "enough already, and by no others.", lambda trained, length: length > trained, check_rebuilds,
                 lambda trained, length: length >= trained),
            practice="Only the first slip stops a program. The rebuilt cache costs time; the keyword costs nothing as "
                     "the listing calls by place; the clamp does no harm, and d/2 - 1 in its place would.",
        ),
    )
}  # fmt: skip
