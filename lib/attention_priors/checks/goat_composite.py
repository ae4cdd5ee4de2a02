"""Goat, sections 1 and 4, Algorithm 1: the prior as coordinates of queries and keys, one attention call, its gradients.

Independent evidence: torch's own scaled dot-product attention (with the flash kernel demanded, not chosen), softmax
written out in numpy, sympy, central differences.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_priors.checks.evidence import Check, Evidence, Part, compare, smallest_counterexample
from attention_priors.positions.finite_rank import extend
from attention_priors.positions.spectral import Fourier, Sink, geometric, lanes
from attention_priors.theory.inference import log_sum_exp, softmax

HEADS, LENGTH, CONTENT, MODES = 2, 48, 6, 4


def world(seed: int = 0) -> dict:
    """Content, values, coefficients and a key bias, float64 numpy: [heads, length, width] and [heads, modes]."""
    draw = np.random.default_rng(seed)
    width = CONTENT + 2 * MODES + 2
    found = {name: draw.standard_normal((HEADS, LENGTH, CONTENT)) for name in ("q", "k")}
    found |= {"v": draw.standard_normal((HEADS, LENGTH, width)), "u": draw.standard_normal((HEADS, LENGTH))}
    return found | {name: draw.standard_normal((HEADS, MODES)) for name in ("alpha", "beta")}


def written_out(w: dict) -> np.ndarray:
    """softmax over j <= i of <q_c, k_c>/sqrt(d_c) + kappa(i - j) + u(j), times v: numpy, no code of the library."""
    i, j = np.indices((LENGTH, LENGTH))
    phase = np.multiply.outer(i - j, geometric(MODES))
    kappa = np.einsum("ijr,hr->hij", np.cos(phase), w["alpha"]) + np.einsum("ijr,hr->hij", np.sin(phase), w["beta"])
    score = np.einsum("hic,hjc->hij", w["q"], w["k"]) / np.sqrt(CONTENT) + kappa + w["u"][:, None]
    weights = np.exp(np.where(j <= i, score - score.max(-1, keepdims=True), -np.inf))
    return weights / weights.sum(-1, keepdims=True) @ w["v"]


def one_call(compose: Callable, w: dict, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """torch's attention, flash kernel only, on the composite vectors: default scale, causal mask, no bias."""
    t = {name: torch.as_tensor(value) for name, value in w.items()}
    prior, places = Fourier(geometric(MODES), t["alpha"], t["beta"]), torch.arange(LENGTH)
    with torch.no_grad():
        q, k = compose(t["q"], t["k"], *lanes(prior, t["u"], places, places))
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            inputs = (x.to(dtype)[None] for x in (q, k, t["v"]))
            return functional.scaled_dot_product_attention(*inputs, is_causal=True)[0]


def check_call(compose: Callable) -> Evidence:
    errors = {}
    for name, dtype in (("float64", torch.float64), ("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        found = one_call(compose, world(), dtype).double().numpy()
        errors[name] = float(np.abs(found - written_out(world())).max())
    detail = "outputs, largest difference: " + ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
    return compare(errors["float64"], "<=", 1e-12, detail=detail)


def scaled(q, k, phi, psi):
    return extend(q, k, phi, psi)


def unscaled(q, k, phi, psi):
    """Without the factors sqrt(d_h/d_c) and sqrt(d_h)."""
    return torch.cat([q, phi], -1), torch.cat([k, psi], -1)


def check_symbols(factors: Callable) -> Evidence:
    """factors(d_c, d_h) -> (content, position): the logit over sqrt(d_h) is s/sqrt(d_c) + kappa + u, in sympy."""
    import sympy

    dc, dh, s, kappa, u = sympy.symbols("d_c d_h s kappa u", positive=True)
    content, position = factors(dc, dh)
    left = (content * s + position * (kappa + u)) / sympy.sqrt(dh)
    difference = sympy.simplify(left - (s / sympy.sqrt(dc) + kappa + u))
    return compare(str(difference), "==", "0", detail="symbolic, any d_c and d_h")


def log_prior_at(statement: Callable, bias: list[float], key: int) -> tuple[float, float]:
    """(what K_j + c is claimed to be, log pi_j) with pi = softmax(K)."""
    return statement(bias, key), float(np.log(softmax(bias)[key]))


def check_normalised(statement: Callable) -> Evidence:
    draw = np.random.default_rng(0)
    rows = [[1.0, 0.0], [0.0, 0.0, 0.0], *(list(draw.standard_normal(n)) for n in (2, 3, 4))]
    found = smallest_counterexample(log_prior_at, statement, ({"bias": r, "key": 0} for r in rows))
    worst = max(abs(np.subtract(*log_prior_at(statement, r, j))) for r in rows for j in range(len(r)))
    return compare(float(worst), "<=", 1e-12, counterexample=found, detail="against log softmax of each row")


# DIM: coordinates and projections


def block_diagonal(content: np.ndarray, alpha: np.ndarray, beta: np.ndarray, total: int) -> np.ndarray:
    """The query projection on [x, cos ωi, sin ωi .., 1]: content, one 2x2 block a mode, one for the sink."""
    from scipy.linalg import block_diag

    turns = [np.array([[a, b], [-b, a]]) * np.sqrt(total) for a, b in zip(alpha, beta, strict=True)]
    return block_diag(content * np.sqrt(total / len(content)), *turns, [[np.sqrt(total)]])


def check_projection(build: Callable) -> Evidence:
    """q' of the library is `build(...)` times [x, Fourier features, 1]: no entry links content and position."""
    draw, w, total = np.random.default_rng(1), world(), CONTENT + 2 * MODES + 2
    x, projection = draw.standard_normal((LENGTH, 10)), draw.standard_normal((CONTENT, 10))
    prior = Fourier(geometric(MODES), torch.as_tensor(w["alpha"]), torch.as_tensor(w["beta"]))
    phi, psi = lanes(prior, torch.as_tensor(w["u"]), torch.arange(LENGTH), torch.arange(LENGTH))
    q = torch.as_tensor(x @ projection.T)
    found = extend(q, q, phi[0].detach(), psi[0].detach())[0].numpy()
    phases = np.multiply.outer(np.arange(LENGTH), geometric(MODES))
    waves = np.stack([np.cos(phases), np.sin(phases)], -1).reshape(LENGTH, -1)
    matrix = build(projection, w["alpha"][0], w["beta"][0], total)
    expected = np.concatenate([x, waves, np.ones((LENGTH, 1))], 1) @ matrix.T
    worst = np.abs(found[:, :-1] - expected).max() + np.abs(found[:, -1]).max()
    return compare(float(worst), "<=", 1e-12, detail="query vectors; the last coordinate is padding, zero")


def table(modes: int, length: int) -> tuple[np.ndarray, tuple[torch.Tensor, torch.Tensor]]:
    """K_ij = kappa(i - j) + u(j) entry by entry in numpy (equations 12 and 19), and the library's coordinates of it."""
    draw, places = np.random.default_rng(modes), torch.arange(length)
    alpha, beta = draw.uniform(0.5, 1.5, (2, modes)) * draw.choice([-1, 1], (2, modes))
    u, omega = draw.standard_normal(length), 2 * np.pi / np.geomspace(4, length / 2, modes)
    phase = np.multiply.outer(np.subtract.outer(np.arange(length), np.arange(length)), omega)
    bias = np.cos(phase) @ alpha + np.sin(phase) @ beta + u
    prior = Fourier(omega, torch.as_tensor(alpha[None]), torch.as_tensor(beta[None]))
    phi, psi = lanes(prior, torch.as_tensor(u[None]), places, places)
    return bias, (phi[0].detach(), psi[0].detach())


def rank(matrix: np.ndarray) -> int:
    """Singular values above 1e-9 of the largest (numpy)."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > 1e-9 * values[0]).sum())


def check_width(reserved: Callable) -> Evidence:
    """reserved(modes): the rank of the written-out table, made even; as many coordinates of the library give it."""
    wrong, ranks = 0, []
    for modes in range(1, 7):
        bias, (phi, psi) = table(modes, 64)
        ranks.append(rank(bias))
        misses = np.abs((phi @ psi.T).numpy() - bias).max() > 1e-12
        wrong += int(reserved(modes) != ranks[-1] + ranks[-1] % 2 or phi.shape[-1] != reserved(modes) or misses)
    return compare(wrong, "==", 0, 0.0, detail=f"ranks of kappa + u for 1..6 modes: {ranks}; one coordinate pads")


def room(bias: np.ndarray, head: int) -> int:
    """The most content coordinates, an even number, whose logits together with this bias have rank `head` at most."""
    q, k = np.random.default_rng(2).standard_normal((2, len(bias), head))
    return max(c for c in range(0, head + 1, 2) if rank(q[:, :c] @ k[:, :c].T + bias) <= head)


def check_ranks(widths: Callable) -> Evidence:
    """widths(d_h, d_p) -> coordinates of content and of values, against what has room beside the written-out bias.

    torch's attention on the composite vectors, run on the unit matrix, then gives the logits back: without the bias
    their rank is that of content, up to the constant of a row that softmax takes.
    """
    draw, wrong, length = np.random.default_rng(2), 0, 200
    for dh, dp in ((16, 6), (32, 18), (64, 12)):
        bias, features = table((dp - 2) // 2, length)
        content, values = widths(dh, dp)
        q, k = extend(*(torch.as_tensor(draw.standard_normal((length, content))) for _ in "qk"), *features)
        v = torch.as_tensor(draw.standard_normal((length, values)))
        weights, out = (functional.scaled_dot_product_attention(q, k, x) for x in (torch.eye(length).double(), v))
        logits = np.log(weights.numpy()) - bias
        found = q.shape[-1], rank(logits - logits.mean(axis=1, keepdims=True)), rank(out.numpy())
        wrong += int(found != (dh, room(bias, dh), dh))
    detail = "width of q', ranks of content logits and of outputs at (d_h, d_p) = (16, 6), (32, 18), (64, 12)"
    return compare(wrong, "==", 0, 0.0, detail=detail)


# ALG1: the whole forward pass and its gradients


def forward(w: dict, sink: Sink, slopes: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Algorithm 1 with the library's parts; returns the loss and the leaves (alpha, beta, parameters of phi)."""
    t = {name: torch.as_tensor(value) for name, value in w.items()}
    prior, places = Fourier(geometric(MODES), t["alpha"], t["beta"]), torch.arange(LENGTH)
    q, k = extend(t["q"], t["k"], *lanes(prior, sink.log_prior(places, LENGTH), places, places))
    out = functional.scaled_dot_product_attention(q[None], k[None], t["v"][None], is_causal=True)[0]
    leaves = [prior.alpha, prior.beta, *sink.network.parameters(), *([sink.slopes] if slopes else [])]
    return (out * torch.cos(torch.arange(out.numel()).view_as(out).double())).sum(), leaves


def check_gradients(sign: float) -> Evidence:
    """Autograd through the one call against central differences of the softmax written out, times `sign`."""
    torch.manual_seed(0)
    w, sink = world(3), Sink(torch.zeros(HEADS)).double()
    torch.nn.init.normal_(sink.network[-1].weight)
    loss, leaves = forward(w, sink, slopes=True)
    gradients = torch.autograd.grad(loss, leaves)
    up, places = np.cos(np.arange(w["v"].size)).reshape(w["v"].shape), torch.arange(LENGTH)

    def value(changed: dict) -> float:
        with torch.no_grad():
            return float((written_out(changed | {"u": sink.log_prior(places, LENGTH).numpy()}) * up).sum())

    worst = abs(value(w) - loss.item())
    for leaf, gradient in zip(leaves, gradients, strict=True):
        name = {id(leaves[0]): "alpha", id(leaves[1]): "beta"}.get(id(leaf))
        entry, ends = (0,) * leaf.ndim, []
        for step in (1e-5, -1e-5):
            if name:
                moved = w[name].copy()
                moved[entry] += step
                ends.append(value(w | {name: moved}))
            else:
                with torch.no_grad():
                    leaf[entry] += step
                    ends.append(value(w))
                    leaf[entry] -= step
        worst = max(worst, abs((ends[0] - ends[1]) / 2e-5 - sign * gradient[entry].item()))
    return compare(float(worst), "<=", 1e-6, detail="loss, and one entry of every parameter tensor, float64")


def check_bias(network: Callable) -> Evidence:
    """u(j) of the library at slope 0 against network(sinusoids, places, parameters) in numpy."""
    torch.manual_seed(1)
    sink, places = Sink(torch.zeros(HEADS)).double(), np.arange(LENGTH)
    torch.nn.init.normal_(sink.network[-1].weight)
    phases = np.multiply.outer(places, 10_000.0 ** (-np.arange(8) / 8))
    waves = np.stack([np.sin(phases), np.cos(phases)], -1).reshape(LENGTH, -1)
    with torch.no_grad():
        found = sink.log_prior(torch.as_tensor(places), LENGTH).numpy()
        weights = [p.numpy() for p in sink.network.parameters()]
    worst = np.abs(found - network(waves, places / LENGTH, weights).T).max()
    return compare(float(worst), "<=", 1e-6, detail="sinusoids are float32")


def numpy_network(waves, share, weights):
    from scipy.special import erf

    first, bias, second, last = weights
    hidden = np.concatenate([waves, share[:, None]], 1) @ first.T + bias
    return 0.5 * hidden * (1 + erf(hidden / np.sqrt(2))) @ second.T + last


def _prior(bias, key):
    return bias[key] - log_sum_exp(bias)


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-EQ20",
            (
                Part("<q', k'>/sqrt(d_h) = <q_c, k_c>/sqrt(d_c) + kappa + u.",
                     lambda dc, dh: ((dh / dc) ** 0.5, dh**0.5), check_symbols,
                     lambda dc, dh: ((dh / dc) ** 0.5, dh)),
                Part("One unmodified attention call on q', k' is attention with the bias K.", scaled, check_call,
                     unscaled),
                Part("The logit is s_ij + log pi_ij: K_ij = log pi_ij.", lambda bias, key: bias[key],
                     check_normalised, lambda bias, key: bias[key] - sum(bias), log_prior_at),
            ),
            Part("K_ij = log pi_ij + log sum_k exp K_ik: K is a log-prior up to a constant of the row, which softmax "
                 "ignores.", _prior, check_normalised, lambda bias, key: bias[key] + log_sum_exp(bias)),
            practice="Plot K minus its row's log-sum-exp; raw K of two rows, or of two heads, cannot be compared.",
        ),
        Check(
            "GOAT-DIM",
            (
                Part("Position takes d_p = 2R + 2 coordinates: 2R for the waves, one for the sink, one of padding.",
                     lambda modes: 2 * modes + 2, check_width, lambda modes: 2 * modes + 1),
                Part("Content keeps d_c = d_h - d_p coordinates, values keep d_h.", lambda dh, dp: (dh - dp, dh),
                     check_ranks, lambda dh, dp: (dh, dh)),
                Part("The projections are block-diagonal: content on its own, a 2x2 block [[a, b], [-b, a]] a mode.",
                     block_diagonal, check_projection,
                     lambda content, a, b, total: block_diagonal(content, a, -b, total)),
            ),
            practice="Position is paid for in content: the rank of a head's content logits falls from d_h to "
                     "d_h - d_p. Compare at equal d_h, and count it.",
        ),
        Check(
            "GOAT-ALG1",
            (
                Part("Rotated coefficients, Fourier features, u(j), the scaling trick and one flash attention call "
                     "give the masked softmax with the bias.", scaled, check_call,
                     lambda q, k, phi, psi: extend(q, k, phi, -psi)),
                Part("u is a network of the key's sinusoids (here with j/L as a further input).", numpy_network,
                     check_bias, lambda waves, share, weights: numpy_network(-waves, share, weights)),
                Part("Coefficients and network receive the gradients of that softmax.", 1.0, check_gradients, -1.0),
            ),
            practice="Section 4 adds a learned slope and the input j/L; Algorithm 1 prints sinusoids only.",
        ),
    )
}  # fmt: skip
