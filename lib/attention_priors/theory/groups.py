"""One-parameter matrix groups: the linear encodings of time whose scores depend on the lag alone.

q(t) and k(s) become F(t) q(t) and G(s) k(s), and their score q^T F(t)^T G(s) k = q^T A(t - s) k with A(t) = e^{tX}. The
generator X is, in a suitable real basis, a direct sum of `Block`s (the post on one-parameter groups; real Jordan form).
Time is real; lags t - s are positive towards the past, as everywhere in this library.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

Matrix = NDArray[np.float64]
LARGEST = {"fp16": 65504.0, "bf16": 2.0**127 * (2 - 2.0**-7), "fp32": 2.0**127 * (2 - 2.0**-23)}


@dataclass(frozen=True)
class Block:
    """e^{λt} times sum_k (t^k / k!) N^k ⊗ R(ωt), N the shift of a chain of `size`, k < size: one real Jordan block.

    Without a frequency R is the number 1 and the block has `size` coordinates, with one R(ωt) = [[cos, -sin], [sin,
    cos]] and twice as many. Size 1: NoPE (λ = ω = 0), decay (ω = 0), RoPE (λ = 0), RetNet's and xPos's damped
    rotation. Size 2: [[1, t], [0, 1]] e^{λt}, whose corner at λ = 0 is ALiBi's slope.
    """

    rate: float
    frequency: float = 0.0
    size: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and math.isfinite(self.frequency)):
            raise ValueError(f"rate = {self.rate}, frequency = {self.frequency}: both must be finite")
        if self.size < 1:
            raise ValueError(f"size = {self.size}: a chain has at least one vector")

    @property
    def width(self) -> int:
        return self.size * (2 if self.frequency else 1)

    @property
    def defective(self) -> bool:
        return self.size > 1

    def generator(self) -> Matrix:
        """X of this block: λ and ±ω on the diagonal blocks, identities beside them."""
        own = np.array([[self.rate, -self.frequency], [self.frequency, self.rate]])[: self._plane, : self._plane]
        return np.kron(np.eye(self.size), own) + np.kron(np.eye(self.size, k=1), np.eye(self._plane))

    def group(self, t: ArrayLike) -> NDArray[np.float64]:
        """e^{tX} in closed form: [*t, width, width]."""
        t = np.asarray(t, dtype=np.float64)[..., None, None]
        chain = sum(t**k / math.factorial(k) * np.eye(self.size, k=k) for k in range(self.size))
        cos, sin = np.cos(self.frequency * t), np.sin(self.frequency * t)
        turn = np.block([[cos, -sin], [sin, cos]])[..., : self._plane, : self._plane]
        product = np.einsum("...ab,...cd->...acbd", np.exp(self.rate * t) * chain, turn)
        return product.reshape(*product.shape[:-4], self.width, self.width)

    @property
    def _plane(self) -> int:
        return 2 if self.frequency else 1


def direct_sum(blocks: Iterable[Block]) -> Matrix:
    """The generator with these blocks on its diagonal."""
    return linalg.block_diag(*(block.generator() for block in blocks))


def exponential(generator: ArrayLike, t: ArrayLike) -> NDArray[np.float64]:
    """A(t) = e^{tX}: [*t, n, n], by scaling and squaring (scipy). ValueError unless X is square and all is finite."""
    x, t = np.asarray(generator, dtype=np.float64), np.asarray(t, dtype=np.float64)
    if x.ndim != 2 or x.shape[0] != x.shape[1] or not x.size:
        raise ValueError(f"generator has shape {list(x.shape)}; give a square matrix")
    for name, values in (("generator", x), ("t", t)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} = {values.tolist()}, but every number must be finite")
    return linalg.expm(t[..., None, None] * x)


def query_factor(generator: ArrayLike, t: ArrayLike) -> NDArray[np.float64]:
    """F(t) = e^{tX^T}: [*t, n, n]."""
    return exponential(np.asarray(generator, dtype=np.float64).T, t)


def key_factor(generator: ArrayLike, s: ArrayLike) -> NDArray[np.float64]:
    """G(s) = e^{-sX} = F(s)^{-T}: [*s, n, n]. It grows where F decays."""
    return exponential(generator, -np.asarray(s, dtype=np.float64))


def score_table(queries: ArrayLike, keys: ArrayLike) -> NDArray[np.float64]:
    """F(t)^T G(s) for all pairs of times: factors [times, n, n] -> [t, s, n, n]."""
    return np.einsum("tba,sbc->tsac", np.asarray(queries, dtype=np.float64), np.asarray(keys, dtype=np.float64))


def drift(table: ArrayLike) -> float:
    """Largest difference of neighbours along a diagonal of a table [t, s, ...]: 0 when only t - s is observable."""
    table = np.asarray(table, dtype=np.float64)
    return float(np.abs(table[1:, 1:] - table[:-1, :-1]).max())


def has_real_logarithm(step: Sequence[Sequence]) -> bool:
    """Is A(1) = e^X for some real X? Exactly when A(1) is invertible and every Jordan block of a negative eigenvalue
    occurs an even number of times (Culver 1966). Entries are whole numbers or fractions.

    In integer time every invertible A(1) gives a group A(n) = A(1)^n; this says which are samples of real time.
    """
    import sympy

    matrix = sympy.Matrix([[sympy.Rational(e.numerator, e.denominator) for e in row] for row in step])
    if matrix.det() == 0:
        return False
    cells = [(cell[0, 0], cell.shape[0]) for cell in matrix.jordan_form()[1].get_diag_blocks()]
    return all(cells.count(cell) % 2 == 0 for cell in cells if cell[0].is_real and cell[0] < 0)


def realise(samples: ArrayLike, spacing: float = 1.0) -> tuple[Matrix, Matrix, Matrix]:
    """(C, X, E) of least size with B(d) = C^T e^{dX} E, from B(0), B(h), .., B(2mh): [2m + 1, n, n], m >= rank.

    Ho and Kalman's algorithm on the block Hankel matrix of the samples. ValueError when the shift has no real principal
    logarithm (a frequency at or beyond π / h, or an eigenvalue 0).
    """
    b = np.asarray(samples, dtype=np.float64)
    m, n = (len(b) - 1) // 2, b.shape[-1]
    hankel = np.block([[b[i + j] for j in range(m + 1)] for i in range(m + 1)])
    u, values, v = np.linalg.svd(hankel)
    rank = int((values > 1e-10 * values[0]).sum())
    root = np.sqrt(values[:rank])
    observe, reach = u[:, :rank] * root, root[:, None] * v[:rank]
    shift = np.linalg.lstsq(observe[:-n], observe[n:], rcond=None)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an inaccurate or infinite logarithm: tested in the next lines
        generator = np.real(linalg.logm(shift))
    eigenvalues = np.linalg.eigvals(shift)
    singular = np.abs(eigenvalues).min() < 1e-9 or not np.isfinite(generator).all()
    if singular or np.abs(linalg.expm(generator) - shift).max() > 1e-6:
        raise ValueError(
            f"the shift has eigenvalues {eigenvalues.tolist()} and no real principal logarithm; sample "
            "more densely than half a period, if it is invertible at all"
        )
    return observe[:n].T, generator / spacing, reach[:, :n]


def admissible(scores: Callable[[int, int], ArrayLike], known: range = range(12, 37), last: int = 100) -> bool:
    """Are scores(t, s), numbers or matrices, of the form C^T e^{(t-s)X} E at whole times t >= s?

    C, X and E come from the `known` lags (`realise`). A group runs both ways: they must tell the lags before these as
    well as those after them up to `last`, at s = 0 and at s = 7. (Scores that are constant after a few lags are told
    by a generator that forgets fast, if it is taken from lag 0 on; taken from later lags, it is constant.)
    """
    lags = np.arange(last + 1)
    values = np.array([[np.atleast_2d(scores(s + d, s)) for d in lags] for s in (0, 7)], dtype=np.float64)
    try:
        c, x, e = realise(values[0, known])
    except ValueError:  # no real logarithm
        return False
    error = np.abs(c.T @ exponential(x, lags - known.start) @ e - values)
    return bool((error < 1e-4 * np.abs(values) + 1e-7 * np.abs(values).max()).all())


def overflow_position(rate: float, dtype: str) -> int:
    """The first whole position s at which e^{|λ|s} exceeds the largest number of fp16, bf16 or fp32."""
    if dtype not in LARGEST:
        raise ValueError(f"dtype = {dtype!r}; choose among {', '.join(LARGEST)}")
    if rate == 0 or not math.isfinite(rate):
        raise ValueError(f"rate = {rate}: an undamped factor never overflows; give a finite rate other than 0")
    return math.floor(math.log(LARGEST[dtype]) / abs(rate)) + 1
