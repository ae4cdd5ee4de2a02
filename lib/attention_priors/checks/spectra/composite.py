"""Goat, sections 1 and 4, Algorithm 1: the prior as coordinates of queries and keys, one attention call, its gradients.

Truths: softmax written out in numpy, ranks by numpy, central differences. The flash kernel is demanded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy import linalg, special
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.positions.finite_rank import extend
from attention_priors.positions.spectral import Fourier, Sink, geometric, lanes

HEADS, LENGTH, CONTENT, MODES = 2, 48, 6, 4
WIDTH = CONTENT + 2 * MODES + 2
PLACES = torch.arange(LENGTH)
OMEGA = 10_000.0 ** (-np.arange(MODES) / (MODES - 1))
COUNTS = grid(modes=range(1, 7))
HEAD_WIDTHS = [{"head": h, "position": p} for h, p in ((16, 6), (32, 18), (64, 12))]


def world(seed: int) -> dict[str, np.ndarray]:
    """Content, values, coefficients and a key bias: [heads, length, width] and [heads, modes]."""
    draw = np.random.default_rng(seed)
    found = {name: draw.standard_normal((HEADS, LENGTH, CONTENT)) for name in ("q", "k")}
    found |= {"v": draw.standard_normal((HEADS, LENGTH, WIDTH)), "u": draw.standard_normal((HEADS, LENGTH))}
    return found | {name: draw.standard_normal((HEADS, MODES)) for name in ("alpha", "beta")}


def biases(w: dict) -> np.ndarray:
    """kappa(i - j) + u(j) [heads, i, j], entry by entry."""
    phase = np.multiply.outer(np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH)), OMEGA)
    kappa = np.einsum("ijr,hr->hij", np.cos(phase), w["alpha"]) + np.einsum("ijr,hr->hij", np.sin(phase), w["beta"])
    return kappa + w["u"][:, None]


def written_out(w: dict) -> np.ndarray:
    """softmax over j <= i of <q_c, k_c>/sqrt(d_c) + K_ij, times v."""
    scores = np.einsum("hic,hjc->hij", w["q"], w["k"]) / np.sqrt(CONTENT) + biases(w)
    return special.softmax(np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf), axis=-1) @ w["v"]


def one_call(says: Callable, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(torch's attention, flash kernel only, on says(q, k, phi, psi): default scale, causal, no bias; the softmax)."""
    w = world(seed)
    t = {name: torch.as_tensor(value) for name, value in w.items()}
    prior = Fourier(geometric(MODES), t["alpha"], t["beta"])
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        q, k = says(t["q"], t["k"], *lanes(prior, t["u"], PLACES, PLACES))
        out = functional.scaled_dot_product_attention(q[None], k[None], t["v"][None], is_causal=True)
    return out[0].numpy(), written_out(w)


def block_diagonal(content: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The query projection on [x, cos wi, sin wi .., 1]: content, one 2x2 block a mode, one for the sink."""
    turns = [np.array([[a, b], [-b, a]]) * np.sqrt(WIDTH) for a, b in zip(alpha, beta, strict=True)]
    return linalg.block_diag(content * np.sqrt(WIDTH / len(content)), *turns, [[np.sqrt(WIDTH)]])


def projected(says: Callable, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(says(..) times [x, Fourier features, 1] and a coordinate of padding, q' of the library)."""
    draw, w = np.random.default_rng(seed), world(seed)
    x, content = draw.standard_normal((LENGTH, 10)), draw.standard_normal((CONTENT, 10))
    phases = np.multiply.outer(np.arange(LENGTH), OMEGA)
    waves = np.stack([np.cos(phases), np.sin(phases)], -1).reshape(LENGTH, -1)
    stated = np.concatenate([x, waves, np.ones((LENGTH, 1))], axis=1) @ says(content, w["alpha"][0], w["beta"][0]).T
    prior = Fourier(geometric(MODES), torch.as_tensor(w["alpha"]), torch.as_tensor(w["beta"]))
    phi, psi = lanes(prior, torch.as_tensor(w["u"]), PLACES, PLACES)
    q = torch.as_tensor(x @ content.T)
    return np.pad(stated, ((0, 0), (0, 1))), extend(q, q, phi[0].detach(), psi[0].detach())[0].numpy()


def table(modes: int, length: int) -> tuple[np.ndarray, tuple[torch.Tensor, torch.Tensor]]:
    """K_ij = kappa(i - j) + u(j) entry by entry (equations 12 and 19), and the library's coordinates of it."""
    draw, places = np.random.default_rng(modes), torch.arange(length)
    alpha, beta = draw.uniform(0.5, 1.5, (2, modes)) * draw.choice([-1, 1], (2, modes))
    u, omega = draw.standard_normal(length), 2 * np.pi / np.geomspace(4, length / 2, modes)
    phase = np.multiply.outer(np.subtract.outer(np.arange(length), np.arange(length)), omega)
    bias = np.cos(phase) @ alpha + np.sin(phase) @ beta + u
    prior = Fourier(omega, torch.as_tensor(alpha[None]), torch.as_tensor(beta[None]))
    phi, psi = lanes(prior, torch.as_tensor(u[None]), places, places)
    return bias, (phi[0].detach(), psi[0].detach())


def rank(matrix: np.ndarray) -> int:
    """Singular values above 1e-9 of the largest."""
    values = np.linalg.svd(matrix, compute_uv=False)
    return int((values > 1e-9 * values[0]).sum())


def even_rank(modes: int) -> int:
    """Rank of the written-out table, made even."""
    found = rank(table(modes, 64)[0])
    return found + found % 2


def reserved(modes: int) -> int:
    """Coordinates of the library that give the written-out table."""
    bias, (phi, psi) = table(modes, 64)
    return phi.shape[-1] if np.abs((phi @ psi.T).numpy() - bias).max() < 1e-12 else 0


def room(bias: np.ndarray, head: int) -> int:
    """The most content coordinates, an even number, whose logits together with this bias have rank `head` at most."""
    q, k = np.random.default_rng(2).standard_normal((2, len(bias), head))
    return max(c for c in range(0, head + 1, 2) if rank(q[:, :c] @ k[:, :c].T + bias) <= head)


def widths(says: Callable, head: int, position: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Width of q', ranks of content logits and of outputs for (content, values) = says(d_h, d_p): (found, expected).

    torch's attention on the composite vectors, run on the unit matrix, gives the logits back: without the bias their
    rank is that of content, up to the constant of a row that softmax takes.
    """
    bias, features = table((position - 2) // 2, 200)
    content, values = says(head, position)
    draw = np.random.default_rng(2)
    q, k = extend(*(torch.as_tensor(draw.standard_normal((200, content))) for _ in "qk"), *features)
    v = torch.as_tensor(draw.standard_normal((200, values)))
    weights, out = (functional.scaled_dot_product_attention(q, k, x) for x in (torch.eye(200).double(), v))
    logits = np.log(weights.numpy()) - bias
    found = q.shape[-1], rank(logits - logits.mean(axis=1, keepdims=True)), rank(out.numpy())
    return found, (head, room(bias, head), head)


# Algorithm 1: the key bias and the gradients


def sink(seed: int) -> Sink:
    """With slopes 0 and a network that says something."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        found = Sink(torch.zeros(HEADS)).double()
        torch.nn.init.normal_(found.network[-1].weight)
    return found


def network(waves: np.ndarray, share: np.ndarray, weights: list[np.ndarray], sign: int = 1) -> np.ndarray:
    """Two layers with GELU on the key's sinusoids and j/L, in numpy."""
    first, bias, second, last = weights
    hidden = np.concatenate([sign * waves, share[:, None]], 1) @ first.T + bias
    return (hidden * special.ndtr(hidden) @ second.T + last).T


def key_bias(says: Callable, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(says(sinusoids, j/L, weights), the library's u(j))."""
    phases = np.multiply.outer(np.arange(LENGTH), 10_000.0 ** (-np.arange(8) / 8))
    waves = np.stack([np.sin(phases), np.cos(phases)], -1).reshape(LENGTH, -1)
    weights = [p.detach().numpy() for p in sink(seed).network.parameters()]
    with torch.no_grad():
        return says(waves, np.arange(LENGTH) / LENGTH, weights), sink(seed).log_prior(PLACES, LENGTH).numpy()


def gradients(seed: int) -> np.ndarray:
    """Autograd through the one call: the loss and its derivatives in one entry of every parameter tensor."""
    t = {name: torch.as_tensor(value) for name, value in world(seed).items()}
    prior, key = Fourier(geometric(MODES), t["alpha"], t["beta"]), sink(seed)
    q, k = extend(t["q"], t["k"], *lanes(prior, key.log_prior(PLACES, LENGTH), PLACES, PLACES))
    out = functional.scaled_dot_product_attention(q[None], k[None], t["v"][None], is_causal=True)[0]
    loss = (out * torch.cos(torch.arange(out.numel()).view_as(out).double())).sum()
    found = torch.autograd.grad(loss, [prior.alpha, prior.beta, key.slopes, *key.network.parameters()])
    return np.array([loss.item(), *(each.flatten()[0].item() for each in found)])


def differences(says: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(the autograd result with derivatives times `says`, central differences of the softmax written out)."""
    w, key = world(seed), sink(seed)
    up = np.cos(np.arange(w["v"].size)).reshape(w["v"].shape)

    def loss(**changed: np.ndarray) -> float:
        with torch.no_grad():
            return float((written_out(w | {"u": key.log_prior(PLACES, LENGTH).numpy()} | changed) * up).sum())

    found = [loss()]
    for name in ("alpha", "beta"):
        step = np.zeros_like(w[name])
        step[0, 0] = 1e-5
        found.append((loss(**{name: w[name] + step}) - loss(**{name: w[name] - step})) / 2e-5)
    for leaf in (key.slopes, *key.network.parameters()):
        ends = []
        for step in (1e-5, -2e-5):
            leaf.data.view(-1)[0] += step
            ends.append(loss())
        leaf.data.view(-1)[0] += 1e-5
        found.append((ends[0] - ends[1]) / 2e-5)
    return gradients(seed) * np.array([1.0] + [says] * (len(found) - 1)), np.array(found)


CHECKS = claims(
    claim(
        "GOAT-DIM",
        Law(
            "Position takes d_p = 2R + 2 coordinates: 2R for the waves, one for the sink, one of padding,",
            lambda modes: 2 * modes + 2,
            even_rank,
            COUNTS,
            wrong=lambda modes: 2 * modes + 1,
        ),
        Law(
            "which is what the library gives it.",
            lambda modes: 2 * modes + 2,
            reserved,
            COUNTS,
            wrong=lambda modes: 2 * modes,
        ),
        Law(
            "Content keeps d_c = d_h - d_p coordinates, values keep d_h.",
            lambda head, position: (head - position, head),
            widths,
            HEAD_WIDTHS,
            wrong=lambda head, position: (head - position + 2, head),
        ),
        Law(
            "The projections are block-diagonal: content on its own, a 2x2 block [[a, b], [-b, a]] a mode.",
            block_diagonal,
            projected,
            [{"seed": 1}],
            wrong=lambda x, a, b: block_diagonal(x, a, -b),
            tolerance=1e-12,
        ),
        practice="Position is paid for in content: the rank of a head's content logits falls from d_h to "
        "d_h - d_p. Compare at equal d_h, and count it.",
    ),
    claim(
        "GOAT-ALG1",
        Law(
            "Rotated coefficients, Fourier features, u(j), the scaling trick and one flash attention call give the "
            "masked softmax with the bias.",
            extend,
            one_call,
            [{"seed": 2}],
            wrong=lambda q, k, phi, psi: extend(q, k, phi, -psi),
            tolerance=1e-12,
        ),
        Law(
            "u is a network of the key's sinusoids (here with j/L as a further input).",
            network,
            key_bias,
            [{"seed": 1}],
            wrong=partial(network, sign=-1),
            tolerance=1e-6,
        ),
        Law(
            "Coefficients and network receive the gradients of that softmax.",
            1.0,
            differences,
            [{"seed": 3}],
            wrong=-1.0,
            tolerance=1e-6,
        ),
        practice="Section 4 adds a learned slope and the input j/L; Algorithm 1 prints sinusoids only.",
    ),
)
