"""ParallelComp beyond its benchmark tables: cost of chunks, the proof sketch, the scheme of Fig. 2, scope statements.

Independent evidence: torch's counter of floating-point operations (cost), sympy (the limit of the bound), torch's own
attention with hidden keys (the scheme), the memory that Table 7 reports (the hardware).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.nn import functional

from attention_priors.checks import parallel_rows as tables
from attention_priors.checks.evidence import Check, Evidence, Part, compare
from attention_priors.checks.printed import claimed, table
from attention_priors.theory import parallel
from attention_priors.theory.inference import log_sum_exp, softmax

# DISC2: the cost of chunks


def scores_computed(chunks: int, width: int, dimension: int = 8) -> int:
    """Dot products in C products of [w, d] by [d, w], by torch's operation counter."""
    from torch.utils.flop_counter import FlopCounterMode

    x = torch.zeros(chunks, width, dimension)
    with FlopCounterMode(display=False) as counter:
        x @ x.transpose(1, 2)
    return counter.get_total_flops() // (2 * dimension)


SIZES = ((1, 16), (4, 16), (16, 8), (3, 50))


def check_cost(statement: Callable) -> Evidence:
    """statement(N, w) against the dot products of N / w chunks."""
    found = {(c * w, w): scores_computed(c, w) for c, w in SIZES}
    worst = max(abs(statement(*size) - value) for size, value in found.items())
    return compare(worst, "==", 0, 0, detail="; ".join(f"N = {n}, w = {w}: {v}" for (n, w), v in found.items()))


def check_saving(statement: Callable) -> Evidence:
    """statement(C) against the dot products of one chunk of N over those of C chunks of N / C."""
    worst = max(abs(statement(c) - scores_computed(1, c * w) / scores_computed(c, w)) for c, w in SIZES)
    c, w = 16, 8192
    parts = []
    for share in (64, 16, 4):
        query = w // share
        keys = c * (w - query) + query
        parts.append(f"w/{share}: {keys**2 / (c * w * w + query * keys):.1f}")
    detail = f"with the query copied into each of {c} chunks and global attention, query of " + ", ".join(parts)
    return compare(worst, "==", 0.0, 1e-12, detail=detail)


# SK: what R = O(sqrt(log w)) ensures


def log_excluded(log_w: float, rank: float, epsilon: float = 0.1, delta: float = 0.1, width: float = 64.0) -> float:
    """ln of exp(ln^2(eps w) / R^2) delta / (w d), the number of entries that the bound of Theorem 3.1 excludes."""
    return (math.log(epsilon) + log_w) ** 2 / rank**2 + math.log(delta / width) - log_w


# lim R / sqrt(ln w), and R as a function of ln w
RANKS = {
    0.0: lambda log_w: 1.0,
    0.5: lambda log_w: 0.5 * math.sqrt(log_w),
    1.0: lambda log_w: math.sqrt(log_w),
    1.5: lambda log_w: 1.5 * math.sqrt(log_w),
    3.0: lambda log_w: 3.0 * math.sqrt(log_w),
    math.inf: lambda log_w: log_w,
}


def limit_at_equality() -> str:
    """The limit of the excluded number for R = sqrt(ln w), by sympy: eps^2 delta / d."""
    import sympy as sp

    log_w, e, delta, d = sp.symbols("L epsilon delta d", positive=True)
    exponent = sp.expand((sp.log(e) + log_w) ** 2 / log_w - log_w)
    return str(sp.simplify(delta / d * sp.exp(sp.limit(exponent, log_w, sp.oo))))


def check_bounded(statement: Callable) -> Evidence:
    """statement(lim R / sqrt(ln w)): True if the excluded number stays bounded, False if not, None: nothing is said."""
    truth = {rate: log_excluded(1e6, rank(1e6)) < 0 for rate, rank in RANKS.items()}
    said = {rate: statement(rate) for rate in RANKS}
    wrong = [rate for rate in RANKS if said[rate] is not None and said[rate] != truth[rate]]
    example = None
    if wrong and wrong[0] == 0.0:
        inputs = {"w": 1000, "epsilon": 0.1, "delta": 0.1, "d": 64, "R": 1}
        claim, actual = evaluate_bounded(statement, **inputs)
        example = {"inputs": inputs, "claimed": claim, "actual": actual}
    detail = "rates lim R / sqrt(ln w) judged wrongly, of 0, 1/2, 1, 3/2, 3, inf; "
    detail += f"limit of the excluded number at rate 1: {limit_at_equality()}"
    return compare(len(wrong), "==", 0, 0, counterexample=example, detail=detail)


def evaluate_bounded(statement: Callable, w: float, epsilon: float, delta: float, d: float, R: float):
    """Entries of a row of w that the bound excludes, at a rank that does not depend on w (rate 0)."""
    excluded = round(math.exp(log_excluded(math.log(w), R, epsilon, delta, d)), 1)
    return claimed(excluded, "<=", w) if statement(0.0) else (excluded, excluded)


# F2: the scheme as a program


@dataclass
class State:
    """Keys and values of C chunks [chunks, width, d] and of the query [queries, d]; what the stages leave behind."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    own_k: np.ndarray
    own_v: np.ndarray
    tokens: int  # kept per chunk
    chunks: int  # kept
    seen: dict = field(default_factory=dict)

    def kept(self) -> np.ndarray:
        """Which keys are still in the cache, [chunks, width]."""
        both = np.ones(self.k.shape[:2], dtype=bool)
        for mask in ("tokens", "chunks"):
            both = both & self.seen.get(mask, True)
        return both


def parallel_attention(state: State) -> None:
    """Query tokens attend within each chunk: S_cj = sum_i A_ij (Eq. 6), and a score of the query given the chunk.

    The score stands in for the self-information of Eq. 3, which needs a language model; any score does for the order.
    """
    logits = state.q @ state.k.transpose(0, 2, 1) / np.sqrt(state.q.shape[-1])  # [chunks, queries, width]
    weights = [np.stack([softmax(row) for row in chunk]) for chunk in logits]
    state.seen["S"] = [parallel.cumulative_scores(chunk) for chunk in weights]
    state.seen["I"] = [-sum(log_sum_exp(row) for row in chunk) for chunk in logits]


def token_eviction(state: State) -> None:
    """Keep the tokens of each chunk with the largest S."""
    state.seen["tokens"] = np.zeros(state.k.shape[:2], dtype=bool)
    for row, scores in zip(state.seen["tokens"], state.seen["S"], strict=True):
        row[parallel.heaviest(scores, state.tokens)] = True


def chunk_eviction(state: State) -> None:
    """Keep the chunks with the smallest I."""
    state.seen["chunks"] = np.zeros((len(state.k), 1), dtype=bool)
    state.seen["chunks"][parallel.lowest(state.seen["I"], state.chunks)] = True


def global_attention(state: State) -> None:
    """The query attends to all keys that are left and to its own (Eqs. 9 to 11)."""
    keys = np.concatenate([state.k[state.kept()], state.own_k])
    values = np.concatenate([state.v[state.kept()], state.own_v])
    logits = state.q @ keys.T / np.sqrt(state.q.shape[-1])
    state.seen["out"] = np.stack([softmax(row) for row in logits]) @ values


STAGES = {
    "parallel attention": parallel_attention,
    "parallel KV cache eviction": token_eviction,
    "chunk eviction": chunk_eviction,
    "global attention": global_attention,
}


def example(seed: int = 0) -> State:
    draw = np.random.default_rng(seed)
    chunks, width, queries, d = 5, 12, 3, 8
    shapes = ((queries, d), (chunks, width, d), (chunks, width, d), (queries, d), (queries, d))
    return State(*(draw.standard_normal(shape) for shape in shapes), tokens=4, chunks=2)


def hidden_keys(state: State) -> np.ndarray:
    """The query's output when torch's attention sees all keys and the evicted ones are masked, from scratch."""
    logits = np.einsum("id,cjd->cij", state.q, state.k) / np.sqrt(state.q.shape[-1])
    weights = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    evidence = np.log(np.exp(logits).sum(axis=-1)).sum(axis=-1)
    mask = np.zeros(state.k.shape[:2], dtype=bool)
    for c in sorted(range(len(evidence)), key=lambda c: -evidence[c])[: state.chunks]:
        mask[c, np.argsort(-weights[c].sum(axis=0))[: state.tokens]] = True
    seen = np.concatenate([mask.reshape(-1), np.ones(len(state.own_k), dtype=bool)])
    k = np.concatenate([state.k.reshape(-1, state.k.shape[-1]), state.own_k])
    v = np.concatenate([state.v.reshape(-1, state.v.shape[-1]), state.own_v])
    q, k, v = (torch.from_numpy(x)[None] for x in (state.q, k, v))
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.from_numpy(seen)[None, None])[0].numpy()


def check_scheme(order: tuple[str, ...]) -> Evidence:
    """Run the stages in this order; the query's output against attention with the evicted keys masked."""
    state = example()
    try:
        for stage in order:
            STAGES[stage](state)
    except KeyError as missing:
        return compare(f"a stage needs {missing} before it is there", "==", "runs")
    worst = float(np.abs(state.seen["out"] - hidden_keys(example())).max())
    detail = f"{int(state.kept().sum())} of {state.kept().size} context keys stay in the cache"
    return compare(worst, "<=", 1e-12, detail=detail)


# E5: what the scope is


@dataclass(frozen=True)
class Scope:
    """Trained window in thousands, by billions of parameters; memory of one card in GB. None: nothing is said."""

    windows: dict[int, int] | None = None
    card: float | None = None


def windows() -> dict[int, int]:
    """Window of each backbone, from the row FullKV of Table 1; Llama2 has 7 billion parameters, Llama3 has 8."""
    found = {}
    for model, label in tables.wide(1).index:
        if label.startswith("FullKV"):
            found[{tables.LLAMA2: 7, tables.LLAMA3: 8}[model]] = int(label.removeprefix("FullKV(").removesuffix("k)"))
    return found


def memory() -> int:
    """The largest memory in Table 7, in MB."""
    frame = table(tables.PAPER, 7)
    return int(frame[(frame.quantity == "memory (MB)") & (frame.printed != "Out-of-Memory")].printed.astype(int).max())


def capacity(card: float) -> float:
    """MB on a card of so many GB, read generously: GiB on the card, millions of bytes in the table."""
    return card * 2**30 / 1e6


def check_scope(statement: Scope) -> Evidence:
    cases = [{"billions": size, "thousands": window} for size, window in (statement.windows or {}).items()]
    if statement.card is not None:
        cases.append({"card": statement.card, "used": memory()})
    pairs = [(case, evaluate_scope(statement, **case)) for case in cases]
    wrong = [(case, pair) for case, pair in pairs if pair[0] != pair[1]]
    found = {"inputs": wrong[0][0], "claimed": wrong[0][1][0], "actual": wrong[0][1][1]} if wrong else None
    detail = f"statements that fail, of {len(cases)}; windows {windows()}, largest memory {memory()} MB"
    return compare(len(wrong), "==", 0, 0, counterexample=found, detail=detail)


def evaluate_scope(statement: Scope, **case):
    """What is said, and what the tables give."""
    if "billions" in case:
        return case["thousands"], windows()[case["billions"]]
    return claimed(case["used"], "<=", round(capacity(case["card"])))


# The claims

ORDER = tuple(STAGES)
TRUE_SCOPE = Scope({7: 4, 8: 8}, 80.0)

CHECKS = {
    check.id: check
    for check in (
        Check(
            "PC-DISC2",
            (
                Part("C = N / w chunks of width w cost the sum over c of w^2 = N w dot products", lambda n, w: n * w,
                     check_cost, lambda n, w: n * w / 2),
                Part("That is less than N^2 by the factor C", lambda c: c, check_saving, lambda c: c**2),
            ),
            practice="The factor is that of the chunks' own dot products. Copies of the query, global attention and "
            "all layers that are not attention (linear in N) dilute it; under a causal mask it is (N + 1) / (w + 1).",
        ),
        Check(
            "PC-SK",
            (
                Part("R = O(sqrt(log w)) ensures that the excluded number, exp(log^2(eps w) / R^2) delta / (w d), "
                     "stays bounded", lambda rate: True if rate < math.inf else None, check_bounded,
                     lambda rate: rate < 1, evaluate_bounded),
            ),
            Part("The excluded number stays bounded exactly when R grows at least like sqrt(ln w) (constant of O set "
                 "to 1): a lower bound on R is needed, not an upper one, and R = alpha / sqrt(d) of A.1 does not grow "
                 "at all. At R = sqrt(ln w) the number tends to eps^2 delta / d < 1: nothing is excluded",
                 lambda rate: rate >= 1, check_bounded, lambda rate: rate >= 2, evaluate_bounded),
            practice="For constant R the bound excludes more entries than a row has; from R = sqrt(ln w) on, fewer "
            "than one.",
        ),
        Check(
            "PC-F2",
            (
                Part("By the caption: parallel attention, parallel KV cache eviction, chunk eviction, global "
                     "attention, and the query's output is attention over the keys that are left", ORDER, check_scheme,
                     (ORDER[0], ORDER[1], ORDER[3], ORDER[2])),
            ),
            practice="The two evictions commute, since both scores come from the first stage.",
        ),
        Check(
            "PC-E5",
            (
                Part("Abstract: models of 8B start from 8K", Scope({8: 8}), check_scope, Scope({7: 8}), evaluate_scope),
                Part("Conclusion: models of 8B start from 4K", Scope({8: 4}), check_scope, Scope({8: 16}),
                     evaluate_scope),
                Part("Abstract: one A100 of 80 GB suffices (for Table 7)", Scope(card=80.0), check_scope,
                     Scope(card=40.0), evaluate_scope),
                Part("Table 7 and App. C: the experiments ran on MI210 cards of 64 GB (Table 7: on one)",
                     Scope(card=64.0), check_scope, Scope(card=32.0), evaluate_scope),
            ),
            Part("Llama3-8B starts from 8K, Llama2-7B from 4K. Table 7 reaches 79742 MB, more than a card of 64 GB "
                 "holds, so that it was measured on one of 80 GB (or on several)",
                 TRUE_SCOPE, check_scope, Scope({7: 4, 8: 4}, 80.0), evaluate_scope),
            practice="tau of App. C counts chunks, epsilon of Eq. (4) bounds scores: two symbols for two "
            "rules. To fit 23 chunks of 4K, compressed to half, plan for 80 GB.",
        ),
    )
}  # fmt: skip
