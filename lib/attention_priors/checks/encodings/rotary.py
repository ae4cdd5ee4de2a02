"""The survey on sinusoids and rotations: where embeddings are added, RoPE's equations beside its code, xPos's signs.

Independent evidence: transformers' tables, its XLM, its coding of RoPE and frequencies, scipy's matrix exponential,
mpmath; for xPos scores at shifted places, complex numbers in numpy against the library's damped rotation.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import mpmath
import numpy as np
import torch
from scipy.linalg import expm

from attention_priors.checks.rotations import oracles
from attention_priors.checks.rotations.laws import LAWS
from attention_priors.claims.law import Law, claim, claims, grid
from attention_priors.config import ModelConfig
from attention_priors.model import Transformer
from attention_priors.positions.absolute import Sinusoidal

WIDTHS = (2, 8, 64)
TABLES = grid(table=("RoFormer", "ours"), width=WIDTHS, position=(0, 1, 2, 7, 39))


def row(width: int, position: int, first: Callable = math.sin, second: Callable = math.cos) -> np.ndarray:
    """PE(position, 2i) = first(position / 10000^(2i/width)), PE(position, 2i + 1) = second of the same."""
    angles = [position / 10_000 ** (2 * i / width) for i in range(width // 2)]
    return np.array([f(angle) for angle in angles for f in (first, second)])


def tabled(table: str, width: int, position: int) -> np.ndarray:
    """A row of transformers' RoFormer (sines, then cosines) or of our module, both float32."""
    return _table(table, width)[position]


@functools.cache
def _table(table: str, width: int) -> np.ndarray:
    from transformers.models.roformer.modeling_roformer import RoFormerSinusoidalPositionalEmbedding as Table

    if table == "ours":
        return Sinusoidal(width)(torch.arange(40)).double().numpy()
    halves = Table(40, width).create_weight().double().numpy()
    return np.stack([halves[:, : width // 2], halves[:, width // 2 :]], axis=-1).reshape(40, width)


def with_additions(says: Sequence[int], model: str) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of three layers: positions taken away and the formula's rows added below the layers said; as they are."""
    tokens, rows = torch.arange(1, 13)[None], torch.tensor(np.stack([row(8, p) for p in range(12)]))
    with torch.no_grad():
        network, remove, inputs = MODELS[model]()
        actual = network(tokens)[0]
        remove()
        for layer in says:
            inputs[layer].register_forward_hook(lambda module, given, out: out + rows)
        return network(tokens)[0].numpy(), actual.numpy()


def xlm() -> tuple[torch.nn.Module, Callable, list[torch.nn.Module]]:
    """XLM of transformers, what takes its positions away, the modules whose outputs enter layer 0, 1, 2."""
    from transformers import XLMConfig, XLMModel

    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "emb_dim": 8, "n_layers": 3, "n_heads": 2, "max_position_embeddings": 32}
    found = XLMModel(XLMConfig(sinusoidal_embeddings=True, embed_init_std=1.0, pad_index=0, **sizes)).double().eval()
    return found, found.position_embeddings.weight.zero_, [found.embeddings, *found.layer_norm2]


def ours() -> tuple[torch.nn.Module, Callable, list[torch.nn.Module]]:
    torch.manual_seed(0)
    sizes = {"vocabulary": 16, "width": 8, "layers": 3, "heads": 2, "hidden": 16}
    found = Transformer(ModelConfig(encoding="sinusoidal", **sizes)).double()
    return found, lambda: setattr(found, "absolute", None), [found.embedding, *found.blocks]


MODELS = {"XLM": xlm, "ours": ours}


PLANES = [{"width": d, "plane": i} for d in (2, 4, 8, 64) for i in range(d // 2)]
ENTRIES = [
    {"width": d, "position": m, "unit": u, "component": c}
    for d, m in product((2, 4, 8), (1, 7))
    for u, c in product(range(d), repeat=2)
]
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def frequencies(width: int) -> np.ndarray:
    return 10_000.0 ** (-np.arange(0, width, 2) / width)


def near(width: int, plane: int) -> float:
    """float32's error of a frequency."""
    return 1e-5 * 10_000 ** (-2 * plane / width)


def neighbours(width: int) -> list[list[int]]:
    return [[2 * i, 2 * i + 1] for i in range(width // 2)]


def halves(width: int) -> list[list[int]]:
    return [[i, i + width // 2] for i in range(width // 2)]


def entry_of(pairs: Callable, last_first: bool = False) -> Callable:
    """A component of the turned unit vector: R with M_i on the i-th of these pairs."""

    def entry(width: int, position: int, unit: int, component: int) -> float:
        for (first, second), theta in zip(pairs(width)[:: -1 if last_first else 1], frequencies(width), strict=True):
            if {unit, component} <= {first, second}:
                sign = 0 if unit == component else 1 if component == second else -1
                return sign * math.sin(position * theta) if sign else math.cos(position * theta)
        return 0.0

    return entry


def rotate_half(width: int, position: int, unit: int, component: int) -> float:
    """Of q * cos + rotate_half(q) * sin as transformers runs it."""
    return float(_rotate_half(width, position)[unit, component])


@functools.cache
def _rotate_half(width: int, position: int) -> np.ndarray:
    units = torch.eye(width, dtype=torch.float64)[None]
    angles = position * torch.from_numpy(frequencies(width)).expand(width, -1)
    return oracles.rotate_half(units, units, angles)[0][0].numpy()


def matrix(angle: float, sign: int = 1) -> np.ndarray:
    cos, sin = math.cos(angle), sign * math.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def exact_angles(position: int) -> list[float]:
    """m θ_i at width 8, in 40 digits."""
    with mpmath.workdps(40):
        return [float(position / mpmath.mpf(10_000) ** (mpmath.mpf(2 * i) / 8)) for i in range(4)]


Encode = Callable[[float, float, int], complex]
PLACES = [
    {"xi": xi, "theta": theta, "m": m, "n": n, "shift": s}
    for xi, theta in product((-0.1, 0.01), (0.0, 0.7))
    for m, n, s in ((1, 1, 1), (10, 3, 100), (200, 0, 30))
]
FACTORS = [{"xi": xi, "theta": theta, "n": n} for theta, xi, n in product((0.0, 2.0), (1.0, -0.3), (1, 4))]


def growing(xi: float, theta: float, n: int) -> complex:
    """e^{ξn + iθn}, what queries are multiplied by."""
    return cmath.exp((xi + 1j * theta) * n)


def inverse(xi: float, theta: float, n: int) -> complex:
    """e^{-λn}, λ = ξ + iθ."""
    return cmath.exp(-(xi + 1j * theta) * n)


def without_conjugation(xi: float, theta: float, m: int, n: int) -> list[float]:
    """The product of the encoded q = k = 1, as [real part, imaginary part]."""
    found = growing(xi, theta, m) * inverse(xi, theta, n)
    return [found.real, found.imag]


def apart(xi: float, theta: float, m: int, n: int) -> list[float]:
    """e^{(ξ + iθ)(m - n)} from its modulus and angle, as [real part, imaginary part]."""
    size, angle = math.exp(xi * (m - n)), theta * (m - n)
    return [size * math.cos(angle), size * math.sin(angle)]


def shifted(inner: Callable[[complex, complex], float]) -> Callable:
    """Score of q = k = 1 at (m, n), and at (m + shift, n + shift)."""

    def scores(says: tuple[Encode, Encode], xi: float, theta: float, m: int, n: int, shift: int) -> tuple[float, float]:
        query, key = says
        here, there = (inner(query(xi, theta, m + s), key(xi, theta, n + s)) for s in (0, shift))
        return here, there

    return scores


def factor_of(sign: tuple[int, int]) -> Callable:
    """e^{(aξ + ibθ)n} as [real part, imaginary part]."""

    def factor(xi: float, theta: float, n: int) -> list[float]:
        found = cmath.exp((sign[0] * xi + sign[1] * 1j * theta) * n)
        return [found.real, found.imag]

    return factor


CHECKS = claims(
    claim(
        "PE-SIN",
        Law(
            "PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same.",
            row,
            tabled,
            TABLES,
            wrong=lambda width, position: row(width, position, math.cos, math.sin),
            tolerance=1e-6,
        ),
        Law(
            "It is added to the embeddings once, below the first layer.",
            (0,),
            with_additions,
            [{"model": "XLM"}, {"model": "ours"}],
            wrong=(0, 1, 2),
            tolerance=1e-5,
        ),
        practice="The formula needs an even width; the printed code fails at an odd one, where sine has a column more "
        "than cosine. The exponent belongs in float64 for long contexts.",
    ),
    claim(
        "PE-ROPE-MAP",
        Law(
            "θ_i = 10000^(-2i/d) is inv_freq.",
            lambda width, plane: 1 / 10_000 ** (2 * plane / width),
            lambda width, plane: float(oracles.scaled("linear", width, 1.0, 2048)[0][plane]),
            PLANES,
            wrong=lambda width, plane: 1 / 10_000 ** (plane / width),
            tolerance=near,
        ),
        Law(
            "The angles m θ_i are einsum('i,j->ij', t, inv_freq).",
            lambda position: np.einsum("i,j->ij", [position], frequencies(8))[0].tolist(),
            exact_angles,
            grid(position=(0, 1, 7, 59)),
            wrong=lambda position: np.einsum("i,j->ij", [position], frequencies(8)[::-1])[0].tolist(),
        ),
        Law(
            "R is the pair cos, sin.",
            matrix,
            lambda angle: expm(angle * TURN),
            grid(angle=(0.0, 0.3, 2.0, 40.0)),
            wrong=lambda angle: matrix(angle, -1),
        ),
        Law(
            "x' = R x is q * cos + rotate_half(q) * sin, R as the listing makes it: cat((freqs, freqs)) turns the "
            "components i and i + d/2 by m θ_i.",
            entry_of(halves),
            rotate_half,
            ENTRIES,
            wrong=entry_of(halves, last_first=True),
            tolerance=1e-12,
            quote=r"$x_m' = R_{m\theta} \cdot x_m$ (q * cos) + (rotate_half(q) * sin)",
            place="Notes:",
        ),
        Law(
            "(Ours) So it is with the derivation's matrix in the place of R, too: with Θ_m, whose blocks turn "
            "neighbouring components.",
            entry_of(neighbours),
            rotate_half,
            ENTRIES,
            wrong=entry_of(neighbours, last_first=True),
            tolerance=1e-12,
            ours=True,
        ),
        practice="The rows hold with rotate_half's own pairing, which the table does not name. Mixed with the matrix "
        "equation's pairing it is another rotation, equal at d = 2 only; a permutation of components leads from one to "
        "the other, as comments in the survey's later listings say.",
    ),
    claim(
        "PE-XPOS",
        Law(
            "f_q = q e^(ξn + iθn) with f_k = k e^(ξn + iθn): scores depend on m - n (the real inner product, as for "
            "RoPE).",
            (growing, growing),
            shifted(lambda q, k: (q * k.conjugate()).real),
            PLACES,
            wrong=(growing, lambda xi, theta, n: growing(2 * xi, theta, n)),
            repaired=(growing, lambda xi, theta, n: growing(-xi, theta, n)),
            quote=r"$&{}:= ke^{\xi n + i\theta n}$",
            place="xPos",
        ),
        Law(
            "f_k = k e^(ξn + iθn) is A_k k e^(-λn), λ = ξ + iθ, without A_k.",
            factor_of((1, 1)),
            factor_of((-1, -1)),
            FACTORS,
            wrong=factor_of((1, -1)),
            quote=r"$&{}:= ke^{\xi n + i\theta n}$",
            place="xPos",
        ),
        Law(
            "The line before, A_q q e^(λn) with A_k k e^(-λn), is relative (the product without conjugation).",
            (growing, inverse),
            shifted(lambda q, k: (q * k).real),
            PLACES,
            wrong=(growing, growing),
        ),
        corrected=(
            Law(
                "f_k = k e^(-ξn - iθn), as the line before: without conjugation the score of f_q and f_k is "
                "q k e^((ξ + iθ)(m - n)).",
                without_conjugation,
                apart,
                PLACES,
                wrong=lambda xi, theta, m, n: without_conjugation(xi, -theta, m, n),
                answers=(1, 2),
            ),
            replace(
                LAWS["xPos"],
                text="With the conjugate (Re[q conj(k)], as for RoPE) it is f_k = k e^(-ξn + iθn): the score is "
                "e^(ξ(m-n)) Re[q conj(k) e^(iθ(m-n))], falling with the lag for ξ < 0.",
                answers=(1,),
            ),
        ),
        practice="With the printed sign scores shrink as e^(ξ(m+n)): not with distance, but with how late both tokens "
        "are. Implementations divide keys by the scale that multiplies queries.",
        severity="editorial",
    ),
)
