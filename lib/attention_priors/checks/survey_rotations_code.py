"""The survey's code for RoPE: three codings, the table from equations to code, slips in the listings.

Independent evidence: the codings of transformers; for the listings, facts transcribed from the survey and run as they
stand, beside Python's own lookup of names, transformers' rotary embedding with a growing cache and its YaRN ramp.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from attention_priors.checks import printed
from attention_priors.checks import rotation_oracles as oracles
from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions import layouts
from attention_priors.positions.rotary import rope


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


def facts(listing: str) -> dict[str, str]:
    """What a listing of the survey does, fact -> value (data/printed/survey_listings.csv). ValueError if unknown."""
    frame = pd.read_csv(printed.FOLDER / "survey_listings.csv", dtype=str, keep_default_na=False)
    rows = frame[frame.listing == listing]
    if rows.empty:
        raise ValueError(f"no listing {listing!r}; transcribed are: {', '.join(frame.listing.unique())}")
    return dict(zip(rows.fact, rows.value, strict=True))


class Listed:
    """The table of angles that a listing makes and rebuilds, run by the facts on it (scaled frequencies left aside)."""

    def __init__(self, listing: str, dim: int, *place: int, **keyword: int) -> None:
        self.facts = facts(listing)
        name = self.facts["length parameter"]
        taken = [] if name == "none" else [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        given = inspect.Signature(taken).bind(*place, **keyword)
        length = next(iter(given.arguments.values()), None) if self.facts["built"] == "at the start" else None
        self.theta = float(self.facts["base"]) ** (-np.arange(0, dim, 2) / dim)
        self.state, self.builds = {self.facts["compared"]: length, self.facts["stored"]: length}, 0
        self._build(length or 0)

    def _build(self, length: int) -> None:
        self.angles = np.multiply.outer(np.arange(length), self.theta)
        self.builds += 1

    def __call__(self, length: int) -> np.ndarray:
        """The angles of positions 0 .. length - 1, after the listing's test."""
        differs = {"length > compared": operator.gt, "length != compared": operator.ne}[self.facts["rebuilt if"]]
        if differs(length, self.state[self.facts["compared"]]):
            self.state[self.facts["stored"]] = length
            self._build(length)
        return self.angles[:length]


def outcome(call: Callable) -> str:
    """What the call returns, or the name of the error."""
    try:
        return str(call())
    except Exception as error:
        return type(error).__name__


def check_name(statement: tuple[str, str, str]) -> Evidence:
    """(listing, name called, "found" or an error): Python looks it up among the listing's class and torch's names."""
    import torch

    listing, name, expected = statement
    known = facts(listing)
    names = {**vars(torch.nn), **vars(torch), known["defines"]: Listed}
    found = outcome(lambda: eval(known["calls"], names) and "found")
    detail = f"class {known['defines']} is defined; torch and torch.nn have no other by the name that is called"
    return compare(f"{known['calls']}: {found}", "==", f"{name}: {expected}", detail=detail)


def check_keyword(expected: dict[str, str]) -> Evidence:
    """expected[keyword]: rows of the Llama class when 4096 is passed by that keyword ("": by place), or the error."""
    from transformers import LlamaConfig

    calls = {name: ((), {name: 4096}) if name else ((4096,), {}) for name in expected}
    found = {
        name: outcome(lambda p=place, k=keyword: len(Listed("huggingface", 64, *p, **k).angles))
        for name, (place, keyword) in calls.items()
    }
    known, published = facts("huggingface"), [name for name in expected if name and hasattr(LlamaConfig(), name)]
    wrong = sum(found[name] != said for name, said in expected.items()) + (known["length argument"] not in expected)
    detail = f"passed {known['passed']} in the listing: {found.get('', '')} rows; transformers' own: {published}"
    return compare(wrong, "==", 0, 0.0, detail=detail)


def grows(trained: int, lengths: Sequence[int]) -> list[bool]:
    """Calls in which transformers' dynamic rotary embedding, which tests against what it holds, grows."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    sizes = {"hidden_size": 4, "num_attention_heads": 1, "max_position_embeddings": trained}
    scaling = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10_000.0}
    theirs, found = LlamaRotaryEmbedding(LlamaConfig(rope_parameters=scaling, **sizes)), []
    for length in lengths:
        held = int(theirs.max_seq_len_cached)
        theirs(torch.ones(1), torch.tensor([[length - 1]]))
        found.append(int(theirs.max_seq_len_cached) > held)
    return found


def rebuilds(listing: str, trained: int, lengths: Sequence[int]) -> list[tuple[int, bool]]:
    """(rows held, rebuilt?) of each of these calls in turn."""
    listed, found = Listed(listing, 4, trained), []
    for length in lengths:
        held, before = len(listed.angles), listed.builds
        listed(length)
        found.append((held, listed.builds > before))
    return found


def rebuilt(rule: Callable, trained: int, length: int) -> tuple[bool, bool]:
    """(stated, actual): whether a second call with `length` rebuilds the cache of the Llama listing."""
    held, actual = rebuilds("huggingface", trained, [length, length])[1]
    return bool(rule(trained, held, length)), actual


def decoded(listing: str, trained: int, steps: int) -> float:
    """Token by token, keys kept as the listing turned them: the largest error of a score against transformers' RoPE."""
    import torch

    known, width, worst = facts(listing), 8, 0.0
    q, k = drawn(width, steps)
    listed = Listed(listing, width, *([trained] if known["length parameter"] != "none" else []))
    theta = oracles.scaled("linear", width, 1.0, trained)[0]
    expected = scores(oracles.codings()["rotate_half"], q, k, torch.from_numpy(np.outer(np.arange(steps), theta)))
    keys = []
    for t in range(steps):
        angles = listed(t + 1 if known["length"] == "all keys" else 1)
        row = angles[t if known["rows read"] == "from the first new position" else 0]
        cos, sin = (np.tile(f(row), 2) for f in (np.cos, np.sin))
        turned = {name: x[:, t].numpy() for name, x in (("queries", q), ("keys", k))}
        for name in known["rotated"].split(" and "):
            x = turned[name]
            turned[name] = x * cos + np.concatenate([-x[:, width // 2 :], x[:, : width // 2]], axis=1) * sin
        keys.append(turned["keys"])
        found = np.einsum("hd,jhd->hj", turned["queries"], np.array(keys))
        worst = max(worst, float(np.abs(found - expected[:, t, : t + 1].numpy()).max()))
    return worst


def check_rebuilds(rule: Callable) -> Evidence:
    """rule(trained, rows held, length) against the listing, two calls in turn; scores stay those of transformers."""
    trained, lengths, wrong, idle = 2048, (1, 2048, 2049, 4096, 8192), 0, 0
    for pair in product(lengths, repeat=2):
        grown = grows(trained, pair)
        for length, (held, actual), needed in zip(pair, rebuilds("huggingface", trained, pair), grown, strict=True):
            wrong += rule(trained, held, length) != actual or (needed and not actual)
            idle += actual and not needed
    wrong += decoded("huggingface", 8, 24) > 1e-5
    cases = ({"trained": trained, "length": length} for length in lengths)
    found = smallest_counterexample(rebuilt, rule, cases) if wrong else None
    detail = f"of 50 calls in 25 pairs; {idle} rebuild where transformers' growing cache does not; scores agree"
    return compare(wrong, "==", 0, 0.0, counterexample=found, detail=detail)


def written_ramp(limits: tuple[Callable, Callable], many: float, few: float, d: int, trained: int) -> np.ndarray:
    """The ramp from `many` to `few` turns with these (upper clamp, entries) by width; 0 at planes that turn often."""
    clamp, entries = limits
    low, high = (d * math.log(trained / (2 * math.pi * turned)) / (2 * math.log(10_000)) for turned in (many, few))
    low, high = max(math.floor(low), 0), min(math.ceil(high), clamp(d))
    return np.clip((np.arange(entries(d)) - low) / (high - low or 1e-3), 0, 1)


def check_clamp(limits: tuple[Callable, Callable]) -> Evidence:
    """(upper clamp, entries) by width: those of the listing, and the ramp that transformers' YaRN shows, to 10^12."""
    known, wrong = facts("partial"), 0
    printed_limits = [lambda d, key=key: eval(known[key], {"dim": d}) for key in ("ramp clamped to", "ramp entries")]
    for d in (4, 64, 128):
        wrong += any(said(d) != written(d) for said, written in zip(limits, printed_limits, strict=True))
        for trained in (512, 2048, 131_072, *(10**power for power in range(6, 13))):
            theirs, ours = oracles.ramp(1.25, 0.75, d, trained), written_ramp(limits, 1.25, 0.75, d, trained)
            wrong += ours.shape != theirs.shape or float(np.abs(ours - theirs).max()) > 1e-5
    tight = (lambda d: d // 2 - 1, lambda d: d // 2)
    other = written_ramp(tight, 1.25, 0.75, 128, 131_072)[0]
    detail = f"of 33 cases; clamped to d/2 - 1, the fastest plane at 131,072 positions would have {other:g}, not 0"
    return compare(wrong, "==", 0, 0.0, detail=detail)


def check_variable(path: tuple[str, str]) -> Evidence:
    """The wrapper, called as the listing does, returns a plain tensor with the memory that it was given."""
    import importlib

    import torch

    module, name = path
    known, table = facts("sinusoidal"), torch.ones(2)
    found = getattr(importlib.import_module(module), name)(table, requires_grad=known["requires grad"] == "True")
    same = type(found) is torch.Tensor and found.data_ptr() == table.data_ptr() and not found.requires_grad
    seen = f"{name}: {type(found).__name__}, {'unchanged' if same else 'changed'}"
    return compare(seen, "==", f"{known['wraps']}: Tensor, unchanged", detail=f"what {module}.{name} returns")


CHECKS = {
    check.id: check
    for check in (
        Check(
            "PE-ROPE-EQ",
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
            (
                Part("GPT-NeoX: Rotary is defined and RotaryEmbedding called, a NameError.",
                     ("neox", "RotaryEmbedding", "NameError"), check_name, ("neox", "RotaryEmbedding", "found")),
                Part("Hugging Face: the parameter is max_position_embedding, which the keyword max_position_embeddings "
                     "misses.", {"max_position_embeddings": "TypeError", "max_position_embedding": "4096", "": "4096"},
                     check_keyword,
                     {"max_position_embeddings": "4096", "max_position_embedding": "4096", "": "4096"}),
                Part("Every forward call rebuilds the cache.", lambda trained, held, length: True, check_rebuilds,
                     lambda trained, held, length: length < trained, rebuilt),
                Part("The ramp's upper end is clamped to d - 1 where the mask has d/2 entries.",
                     (lambda d: d - 1, lambda d: d // 2), check_clamp, (lambda d: d // 2 - 1, lambda d: d // 2)),
                Part("Variable, which is deprecated, does nothing any more.", ("torch.autograd", "Variable"),
                     check_variable, ("torch.nn", "Parameter")),
            ),
            Part("The cache is rebuilt by the calls that ask for more than the trained length, even when it is long "
                 "enough already, and by no others.", lambda trained, held, length: length > trained, check_rebuilds,
                 lambda trained, held, length: length > held),
            practice="Only the first slip stops a program. The rebuilt cache costs time; the keyword costs nothing as "
                     "the listing calls by place; the clamp does no harm, and d/2 - 1 in its place would. Not on our "
                     "list: with a key cache GPT-NeoX's code, which has no offset, turns each new token by position 0.",
        ),
    )
}  # fmt: skip
