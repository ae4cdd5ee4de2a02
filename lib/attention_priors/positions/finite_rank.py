"""Relative priors that split into an inner product of query and key features: what a plain attention call can carry."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from .priors import RelativePrior


class FiniteRank(RelativePrior):
    """log π(i - j) = <φ(i), ψ(j)> with features of `rank` coordinates (Goat, Definition F.1).

    Appended to queries and keys the features carry the prior through attention without any bias table (`extend`).
    """

    rank: int

    @abstractmethod
    def features(
        self, positions: Int[Tensor, " positions"]
    ) -> tuple[Float[Tensor, "heads positions rank"], Float[Tensor, "heads positions rank"]]:
        """(φ, ψ) at the given positions, for queries and for keys."""

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        phi, _ = self.features(lags)
        _, psi = self.features(torch.zeros_like(lags[:1]))
        return torch.einsum("hlr,hor->hl", phi, psi)


class ExponentialPolynomial(FiniteRank):
    """log π(d) = <c, A^d b> with an invertible A: φ(i) = (A^i)ᵀ c, ψ(j) = A^(-j) b.

    A sum of P_m(d) λ_m^d over the eigenvalues λ_m of A, deg P_m below the size of λ_m's Jordan block. Every finite-rank
    relative prior on the integers is one (Goat, proof of Theorem 2 before boundedness is used). A rotation A is
    Goat's Fourier mode, a contraction a damped one, [[1, 1], [0, 1]] with c = (0, -m) the slope -m d.
    """

    def __init__(
        self,
        transition: Float[Tensor, "heads rows columns"],
        start: Float[Tensor, "heads start"],
        readout: Float[Tensor, "heads readout"],
        trainable: bool = False,
    ) -> None:
        """A [heads rank rank], b and c [heads rank], in float64: a damped mode has features like |λ|^-j.

        ValueError unless the shapes fit and A is invertible.
        """
        super().__init__()
        tensors = {"transition": transition, "start": start, "readout": readout}
        heads, rank = transition.shape[0], transition.shape[-1]
        shapes = {"transition": (heads, rank, rank), "start": (heads, rank), "readout": (heads, rank)}
        for name, tensor in tensors.items():
            if tuple(tensor.shape) != shapes[name] or 0 in tensor.shape:
                raise ValueError(f"{name} has shape {list(tensor.shape)}; give {list(shapes[name])}, none of them 0")
            if not (tensor.is_meta or tensor.isfinite().all()):
                raise ValueError(f"{name} = {tensor.tolist()}, but every entry must be finite")
        if not transition.is_meta and (torch.linalg.matrix_rank(transition.double()) < rank).any():
            raise ValueError(f"transition = {transition.tolist()} is singular; keys need its inverse, give full rank")
        self.heads, self.rank = heads, rank
        for name, tensor in tensors.items():
            setattr(self, name, nn.Parameter(tensor.double().clone(), requires_grad=trainable))

    def features(
        self, positions: Int[Tensor, " positions"]
    ) -> tuple[Float[Tensor, "heads positions rank"], Float[Tensor, "heads positions rank"]]:
        queries = torch.einsum("hprs,hr->hps", powers(self.transition, positions), self.readout)
        keys = torch.einsum("hprs,hs->hpr", powers(self.transition, -positions), self.start)
        return queries, keys


def powers(
    matrices: Float[Tensor, "heads rank rank"], exponents: Int[Tensor, " exponents"]
) -> Float[Tensor, "heads exponents rank rank"]:
    """A^d for integers d of either sign, by repeated squaring: log2 |d| products."""
    heads, rank, _ = matrices.shape
    identity = torch.eye(rank, dtype=matrices.dtype, device=matrices.device)
    results = []
    for base, remaining in (
        (matrices, exponents.clamp(min=0)),
        (torch.linalg.inv(matrices), (-exponents).clamp(min=0)),
    ):
        result = identity.expand(heads, len(exponents), rank, rank)
        while (remaining > 0).any():
            odd = (remaining % 2 == 1)[None, :, None, None]
            result = torch.where(odd, result @ base[:, None], result)
            base, remaining = base @ base, remaining // 2
        results.append(result)
    return results[0] @ results[1]


def extend(
    q: Float[Tensor, "*shape queries width"],
    k: Float[Tensor, "*shape keys key_width"],
    phi: Float[Tensor, "#*shape queries rank"],
    psi: Float[Tensor, "#*shape keys key_rank"],
) -> tuple[Float[Tensor, "*shape queries total"], Float[Tensor, "*shape keys total"]]:
    """q' = [q sqrt(D/d), φ sqrt(D)] and k' = [k, ψ]: <q', k'> / sqrt(D) = <q, k> / sqrt(d) + <φ, ψ>, D = d + rank.

    An unmodified scaled dot-product attention over q' and k' is attention with the log-prior <φ(i), ψ(j)> (Goat,
    equation 20 and appendix E.1). φ takes the dtype of q, ψ that of k: half precision would round them. ValueError
    where widths do not fit.
    """
    width, total = q.shape[-1], q.shape[-1] + phi.shape[-1]
    if k.shape[-1] != width or psi.shape[-1] != phi.shape[-1]:
        widths = f"q {width}, k {k.shape[-1]}, phi {phi.shape[-1]}, psi {psi.shape[-1]}"
        raise ValueError(f"widths are {widths}; q and k must agree, and so must phi and psi")
    phi = (phi * math.sqrt(total)).to(q.dtype).expand(*q.shape[:-1], -1)
    psi = psi.to(k.dtype).expand(*k.shape[:-1], -1)
    return torch.cat([q * math.sqrt(total / width), phi], -1), torch.cat([k, psi], -1)
