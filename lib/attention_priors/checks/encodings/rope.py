"""The survey on RoPE: its forms, its derivation, its indices, two dimensions, its code and a drawing.

Independent evidence: scipy's matrix exponential, transformers' codings and frequencies, complex numbers in numpy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import product

import mpmath
import numpy as np
import torch
from scipy.linalg import expm

from attention_priors.checks.encodings.sinusoids import UNSEEN
from attention_priors.checks.rotations import oracles
from attention_priors.claims.law import Law, claim, claims
from attention_priors.positions.rotary import GridRotary, rope

FORMS = [{"width": d, "position": m} for d, m in product((2, 8, 64), (0, 1, 7, 150))]
SHIFTS = [{"width": d, "m": m, "n": n} for d in (2, 8) for m, n in ((0, 0), (1, 0), (700, 690), (5, 300))]
PHASES = [{"re": re, "im": im, "angle": a} for a in (0.0, 0.3, 4.0) for re, im in ((1.0, 0.0), (0.0, 1.0), (-0.6, 2.0))]
PLANES = [{"width": d, "plane": i} for d in (2, 4, 8, 64) for i in range(d // 2)]
ENTRIES = [
    {"width": d, "position": m, "unit": u, "component": c}
    for d, m in product((2, 4, 8), (1, 7))
    for u, c in product(range(d), repeat=2)
]
SINGLE = 1e-5  # transformers computes in float32
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def frequencies(width: int) -> np.ndarray:
    return 10_000.0 ** (-np.arange(0, width, 2) / width)


def content(width: int, which: int = 0) -> np.ndarray:
    """A vector of queries (0) or of keys (1)."""
    return np.random.default_rng(width).standard_normal((2, width))[which]


# The forms, on neighbouring pairs


def as_complex(width: int, position: int, sign: int = 1) -> np.ndarray:
    q = content(width)
    turned = (q[::2] + 1j * q[1::2]) * np.exp(sign * 1j * position * frequencies(width))
    return np.stack([turned.real, turned.imag], axis=1).ravel()


def as_blocks(width: int, position: int, sign: int = 1) -> np.ndarray:
    angles = sign * position * frequencies(width)
    blocks = np.array([[[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]] for a in angles])
    return np.einsum("jab,jb->ja", blocks, content(width).reshape(-1, 2)).ravel()


def elementwise(width: int, position: int, which: int = 0, swapped: tuple[int, int] = (-1, 1)) -> np.ndarray:
    q, angles = content(width, which), np.repeat(position * frequencies(width), 2)
    partner = np.stack([swapped[0] * q[1::2], swapped[1] * q[::2]], axis=1).ravel()
    return q * np.cos(angles) + partner * np.sin(angles)


def exponential(width: int, position: int) -> np.ndarray:
    """exp(m Σ θ_j J_j), J_j the quarter turn of coordinates 2j and 2j + 1."""
    return expm(position * np.kron(np.diag(frequencies(width)), TURN))


def turned(width: int, position: int) -> np.ndarray:
    return exponential(width, position) @ content(width)


def score_and_norm(width: int, m: int, n: int, later: int = 0) -> list[float]:
    q, k = elementwise(width, m), elementwise(width, n + later, 1)
    return [float(q @ k), float(np.linalg.norm(q))]


def by_lag(width: int, m: int, n: int) -> list[float]:
    """q^T exp((n - m) X) k, and |q|."""
    q = content(width)
    return [float(q @ exponential(width, n - m) @ content(width, 1)), float(np.linalg.norm(q))]


# The chain of equalities, one plane, as [real part, imaginary part]


def parts(z: complex) -> list[float]:
    return [round(z.real, 12) + 0.0, round(z.imag, 12) + 0.0]


def middle(re: float, im: float, angle: float, sign: int = 1) -> list[float]:
    """q e^{i(Θ(q) + mθ)}."""
    q = complex(re, im)
    return parts(sign * q * np.exp(1j * (np.angle(q) + angle)))


def polar(re: float, im: float, angle: float) -> list[float]:
    """R_f e^{iΘ_f} with R_f = |q|, Θ_f = Θ(q) + mθ: what the derivation arrives at."""
    q = complex(re, im)
    return parts(abs(q) * np.exp(1j * (np.angle(q) + angle)))


def rotated(re: float, im: float, angle: float) -> list[float]:
    """q_j e^{imθ_j}."""
    return parts(complex(re, im) * np.exp(1j * angle))


# Indices, codings


def transformers_frequency(width: int, plane: int) -> float:
    return float(oracles.scaled("linear", width, 1.0, 2048)[0][plane])


def near(width: int, plane: int) -> float:
    """float32's error of a frequency."""
    return 1e-5 * 10_000 ** (-2 * plane / width)


def angles_at(width: int, positions: Sequence[float]) -> torch.Tensor:
    return torch.outer(torch.as_tensor(positions).double(), torch.from_numpy(frequencies(width)))


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
    return oracles.rotate_half(units, units, angles_at(width, [position] * width))[0][0].numpy()


def matrix(angle: float, sign: int = 1) -> np.ndarray:
    cos, sin = math.cos(angle), sign * math.sin(angle)
    return np.array([[cos, -sin], [sin, cos]])


def exact_angles(position: int) -> list[float]:
    """m θ_i at width 8, in 40 digits."""
    with mpmath.workdps(40):
        return [float(position / mpmath.mpf(10_000) ** (mpmath.mpf(2 * i) / 8)) for i in range(4)]


# Two dimensions


def grid_score(seed: int, axes: tuple[int, int] = (0, 1)) -> float:
    """Half of the coordinates turned by the first place, half by the second, elementwise, then one dot product."""
    content_, here, there = grid(seed)
    sides = []
    for x, place in zip(content_, (here, there), strict=True):
        planes = (x[::2] + 1j * x[1::2]).reshape(2, 4)
        sides.append((planes * np.exp(1j * np.outer(place[list(axes)], frequencies(8)))).ravel())
    return float((sides[0] * sides[1].conj()).sum().real)


def grid(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q and k of width 16, and their places (m, i) and (n, j)."""
    draw = np.random.default_rng(seed)
    return draw.standard_normal((2, 16)), *draw.integers(0, 60, (2, 2))


def two_terms(seed: int, by: str) -> float:
    """g_1(m - n) + g_2(i - j), each from the exponential of its lag; or our module's score."""
    (q, k), here, there = grid(seed)
    if by == "exponentials":
        lags = zip((slice(0, 8), slice(8, 16)), there - here, strict=True)
        return float(sum(q[half] @ exponential(8, lag) @ k[half] for half, lag in lags))
    order = [half + c for half in (0, 8) for c in (0, 2, 4, 6, 1, 3, 5, 7)]  # it pairs c with c + 4 in each half
    rows = (torch.from_numpy(x[order])[None, None, None] for x in (q, k))
    turned_ = GridRotary(rope(8))(*rows, *(torch.from_numpy(p)[None] for p in (here, there)))
    return float(turned_[0].flatten() @ turned_[1].flatten())


# The drawing


def llama(width: int, position: int) -> np.ndarray:
    """e^(i angle) of each pair: what transformers' Llama does to the unit vectors (1, 0)."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

    layer = LlamaRotaryEmbedding(LlamaConfig(hidden_size=width, num_attention_heads=1))
    first = torch.cat([torch.ones(width // 2), torch.zeros(width // 2)])[None, None, None]
    found = apply_rotary_pos_emb(first, first, *layer(first, torch.tensor([[position]])))[0][0, 0, 0].double().numpy()
    return found[: width // 2] + 1j * found[width // 2 :]


CHECKS = claims(
    claim(
        "PE-ROPE",
        Law(
            "As a complex product: q_j e^(i m θ_j), θ_j = 10000^(-2j/d).",
            as_complex,
            turned,
            FORMS,
            wrong=lambda width, position: as_complex(width, position, -1),
        ),
        Law(
            "As a block-diagonal matrix of M_j.",
            as_blocks,
            turned,
            FORMS,
            wrong=lambda width, position: as_blocks(width, position, -1),
        ),
        Law(
            "Elementwise, with ⊙.",
            elementwise,
            turned,
            FORMS,
            wrong=lambda width, position: elementwise(width, position, 0, (1, -1)),
        ),
        Law(
            "Scores depend on m - n, and norms are kept.",
            score_and_norm,
            by_lag,
            SHIFTS,
            wrong=lambda width, m, n: score_and_norm(width, m, n, 1),
        ),
        practice="Three codings of one rotation; the elementwise one is what runs.",
    ),
    claim(
        "PE-E-ROPE1",
        Law(
            "R_f e^(iΘ_f) = q e^(i(Θ(q) + mθ)).",
            middle,
            polar,
            PHASES,
            wrong=lambda re, im, angle: middle(re, im, angle, -1),
            quote=r"$R_f(\mathbf{q}, m)e^{i\Theta_f(\mathbf{q}, "
            r"m)}=\mathbf{q}e^{i(\Theta(\mathbf{q})+m\mathbf{\theta})}$",
            place="Derivation",
        ),
        Law(
            "q e^(i(Θ(q) + mθ)) = Σ q_j e^(imθ_j) e_j.",
            middle,
            rotated,
            PHASES,
            wrong=lambda re, im, angle: middle(re, im, angle, -1),
            quote=r"$\mathbf{q}e^{i(\Theta(\mathbf{q})+m\mathbf{\theta})} = \sum_{j=1}^{d/2} "
            r"q_je^{im\theta_j} \vec{e_j}$",
            place="Derivation",
        ),
        corrected=Law(
            "In each plane the middle is |q_j| e^(i(Θ(q_j) + mθ_j)): the printed one, with the complex q "
            "itself, counts the phase of q twice. The two ends of the chain agree.",
            polar,
            rotated,
            PHASES,
            wrong=lambda re, im, angle: polar(re, im, -angle),
            answers=(1, 2),
        ),
        practice="Code written from the middle expression would rotate by the content's own angle; the sum on the "
        "right is what everybody implements.",
        severity="editorial",
    ),
    claim(
        "PE-2D",
        Law(
            "Half of the coordinates turn with (m, n), half with (i, j): the score is g_1(m-n) + g_2(i-j).",
            grid_score,
            two_terms,
            [{"seed": s, "by": by} for s in range(20) for by in ("exponentials", "our module")],
            wrong=lambda seed: grid_score(seed, (1, 0)),
        ),
        practice="The axes never interact: distance along a diagonal is not seen as such, and a picture turned by 45 "
        "degrees is another picture.",
    ),
    claim(
        "PE-E2",
        Law(
            "Matrix form: blocks j = 1 .. d/2 with θ_j = 10000^(-2j/d).",
            lambda width, plane: 10_000 ** (-2 * (plane + 1) / width),
            transformers_frequency,
            PLANES,
            wrong=lambda width, plane: 10_000 ** (-(plane + 1) / width),
            tolerance=near,
            quote=r"where $M_j=\begin{pmatrix}\cos m\theta_j & -\sin m\theta_j \\ \sin m\theta_j & "
            r"\cos m\theta_j\end{pmatrix}$",
            place="Derivation",
        ),
        Law(
            "Elementwise form: pairs j = 0 .. d/2 - 1 with the same θ_j.",
            lambda width, plane: 10_000 ** (-2 * plane / width),
            transformers_frequency,
            PLANES,
            wrong=lambda width, plane: 10_000 ** (-plane / width),
            tolerance=near,
        ),
        corrected=Law(
            "With blocks counted from 1, θ_j = 10000^(-2(j-1)/d).",
            lambda width, plane: 10_000 ** (-2 * ((plane + 1) - 1) / width),
            transformers_frequency,
            PLANES,
            wrong=lambda width, plane: 10_000 ** (-2 * (plane + 2) / width),
            tolerance=near,
        ),
        practice="Off by one, every plane turns 10000^(2/d) times slower (1.15 at d = 128, 10 at d = 8), and the "
        "fastest is missing: a checkpoint does not survive it.",
        severity="editorial",
    ),
    claim(
        "PE-ROPE-MAP",
        Law(
            "θ_i = 10000^(-2i/d) is inv_freq.",
            lambda width, plane: 1 / 10_000 ** (2 * plane / width),
            transformers_frequency,
            PLANES,
            wrong=lambda width, plane: 1 / 10_000 ** (plane / width),
            tolerance=near,
        ),
        Law(
            "The angles m θ_i are einsum('i,j->ij', t, inv_freq).",
            lambda position: np.einsum("i,j->ij", [position], frequencies(8))[0].tolist(),
            exact_angles,
            [{"position": m} for m in (0, 1, 7, 59)],
            wrong=lambda position: np.einsum("i,j->ij", [position], frequencies(8)[::-1])[0].tolist(),
        ),
        Law(
            "R is the pair cos, sin.",
            matrix,
            lambda angle: expm(angle * TURN),
            [{"angle": a} for a in (0.0, 0.3, 2.0, 40.0)],
            wrong=lambda angle: matrix(angle, -1),
        ),
        Law(
            "x' = R x, R as in the survey's matrix equation (neighbouring coordinates), is q * cos + rotate_half(q) * "
            "sin.",
            entry_of(neighbours),
            rotate_half,
            ENTRIES,
            wrong=entry_of(neighbours, last_first=True),
            tolerance=1e-12,
            quote=r"$x_m' = R_{m\theta} \cdot x_m$ (q * cos) + (rotate_half(q) * sin)",
            place="Notes:",
        ),
        corrected=Law(
            "q * cos + rotate_half(q) * sin is R x with the planes (x_i, x_(i + d/2)): the matrix equation's "
            "rotation after "
            "a fixed permutation of coordinates, which the survey's later listings name, with the same scores.",
            entry_of(halves),
            rotate_half,
            ENTRIES,
            wrong=entry_of(halves, last_first=True),
            tolerance=1e-12,
        ),
        practice="The first three rows hold for every coding; the last needs rotate_half's own pairing. Mixed with the "
        "equation's pairing it is another rotation, equal at d = 2 only.",
        severity="editorial",
    ),
    claim(
        "PE-F2",
        Law(
            "Pair i of a vector at position m is turned by m 10000^(-2i/d) and keeps its length.",
            lambda width, position: np.exp(1j * position * 10_000 ** (-np.arange(0, width, 2) / width)),
            llama,
            [{"width": d, "position": m} for d in (8, 64) for m in (0, 1, 5, 100)],
            wrong=lambda width, position: np.exp(1j * position * 10_000 ** (-np.arange(0, width, 2) / (2 * width))),
            tolerance=SINGLE,
            ours=True,
        ),
        Law(
            "Between two positions it turns by the lag times that frequency, wherever they are.",
            lambda lag: np.exp(1j * lag * frequencies(8)),
            lambda start, lag: llama(8, start + lag) / llama(8, start),
            [{"start": s, "lag": d} for s in (0, 3, 40) for d in (1, 2, 7)],
            wrong=lambda lag: np.exp(-1j * lag * frequencies(8)),
            tolerance=1e-4,
            ours=True,
        ),
        missing=UNSEEN,
        practice="the first pairs tell neighbours apart and wrap within 7 tokens; the last hardly move",
    ),
)
