"""The prior that a trained RoPE carries: what of a head's attention depends on the position alone.

From one pass over a document: logits q k / √d, rotation included, of the queries of its second half. A head's mean
logit by lag is its bias without content, and the first key has one of its own. The two are fitted on every other query
and held against the attention of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from .. import store
from ..parallel.hf import HuggingFace
from .grid import Rows
from .pretrained import Heads
from .pretrained_answers import Answers, document

NEAR, FAR = 16, 256  # lags below and from which a key is called near and far
OLD = ("lags", "logits")  # of answers that were kept before 2026-11-29: mean logits by lag
POWERS = np.concatenate([-np.geomspace(2, 0.05, 12), np.geomspace(0.05, 3, 24)])  # β of the generalised Gaussian
EPSILON = 1e-5


def of_head(logits: Float[Tensor, "queries keys"], first: int) -> tuple[dict[str, float], Float[Tensor, " lags"]]:
    """Numbers of one head, and its mean logit by lag, 0 at its mean over lags.

    `logits`: of queries at `first`, first + 1, ... `sink`: mean weight of the first key; `near`, `far`: of lags below
    NEAR, from FAR on (the first key aside). `by_*`: total variation between attention and what is made of the position
    alone, a mean over queries: `by_nothing` uniform, `by_lag` any function of the lag, `by_ggd` a generalised Gaussian,
    the last two with a bias for the first key. `sink_bias`: that bias, above the mean logit at its lags.
    """
    queries, keys = logits.shape
    lag = torch.arange(first, first + queries)[:, None] - torch.arange(keys)
    seen = lag >= 0
    p = logits.masked_fill(~seen, -torch.inf).softmax(-1)
    fitted = torch.zeros(queries, dtype=torch.bool)
    fitted[::2] = True
    body = seen.clone()
    body[:, 0] = False
    index, of_fit = lag.clamp(min=0), body & fitted[:, None]
    flat = index[of_fit]
    total = torch.zeros(keys).scatter_add(0, flat, logits[of_fit])
    mass = torch.zeros(keys).scatter_add(0, flat, p[of_fit])
    count = torch.zeros(keys).scatter_add(0, flat, torch.ones_like(flat, dtype=torch.float))
    known = count > 0
    mean = torch.where(known, total / count.clamp(min=1), 0.0)
    mean = mean - mean[known].mean()
    mean[~known] = mean[known][-1]
    beta, alpha, smooth = ggd(mean, mass / count.clamp(min=1))
    rest = ~fitted
    uniform = seen[rest] / seen[rest].sum(-1, keepdim=True)
    found = {
        "sink": float(p[:, 0].mean()),
        "near": float((p * (body & (lag < NEAR))).sum(-1).mean()),
        "far": float((p * (body & (lag >= FAR))).sum(-1).mean()),
        "by_nothing": float((p[rest] - uniform).abs().sum(-1).mean() / 2),
    }
    for name, curve in (("by_lag", mean), ("by_ggd", smooth)):
        guess = curve[index].masked_fill(~seen, -torch.inf)
        guess[:, 0] = -torch.inf
        body_mass = torch.logsumexp(guess[fitted], -1)
        share = p[fitted][:, 0].clamp(1e-9, 1 - 1e-6)
        guess[:, 0] = (share.log() - (1 - share).log() + body_mass).mean()
        found[name] = float((p[rest] - guess[rest].softmax(-1)).abs().sum(-1).mean() / 2)
        if name == "by_lag":
            found["sink_bias"] = float(guess[0, 0] - mean[known].mean())
    return found | {"beta": beta, "alpha": alpha}, mean


def ggd(curve: Float[Tensor, " lags"], weight: Float[Tensor, " lags"]) -> tuple[float, float, Float[Tensor, " lags"]]:
    """(β, e^θα, fit) of c - e^θα (lag + ε)^β, least squares over POWERS, each lag weighted by its mean attention."""
    x, y = np.arange(len(curve), dtype=float), curve.double().numpy()
    w = np.sqrt(weight.double().numpy() + 1.0 / len(y) ** 2)
    best: tuple[float, float, float, np.ndarray] = (np.inf, 0.0, 0.0, np.zeros_like(y))
    for beta in POWERS:
        design = np.stack([np.ones_like(x), -((x + (EPSILON if beta > 0 else 1.0)) ** beta)], 1)
        (constant, scale), *_ = np.linalg.lstsq(design * w[:, None], y * w, rcond=None)
        scale = max(scale, 0.0)
        if scale == 0.0:
            constant = np.average(y, weights=w**2)
        fit = design @ np.array([constant, scale])
        error = float((w**2 * (y - fit) ** 2).sum())
        if error < best[0]:
            best = (error, float(beta), float(scale), fit)
    return best[1], best[2], torch.tensor(best[3], dtype=torch.float)


@torch.inference_mode()
def anatomy(answers: Answers, tokens: Tensor) -> Rows:
    """A row per layer and head: numbers of `of_head`, and norms of the first key and value in units of the median."""
    found, rows = answers.found, []
    length, first = len(tokens), len(tokens) // 2

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, factor: float) -> Tensor:
        groups = q.shape[1] // k.shape[1]
        sizes = {"key": k[0].norm(dim=-1), "value": v[0].norm(dim=-1)}
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        for head in range(q.shape[1]):
            numbers, _ = of_head(((q[0, head, first:] * factor) @ k[0, head].mT).cpu(), first)
            ratios = {
                f"{name}_ratio": float(size[head // groups, 0] / size[head // groups].median())
                for name, size in sizes.items()
            }
            rows.append({"layer": layer, "head": head} | numbers | ratios)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=factor)

    HuggingFace(found.model).run(tokens[None], torch.arange(length, device=tokens.device), attend, 1)
    return rows


def by_head(answers: Answers, documents: Iterable[str], settings: Heads) -> Rows:
    """Rows by document, layer and head."""
    rows: Rows = []
    for name in documents:
        tokens = document(answers.found, name, settings.length)
        ask = partial(anatomy, answers, tokens)
        found = answers.put("heads", {"tokens": store.key(tokens.tolist())}, f": heads, {name}", ask)
        rows += [{"document": name} | {part: value for part, value in row.items() if part not in OLD} for row in found]
    return rows
