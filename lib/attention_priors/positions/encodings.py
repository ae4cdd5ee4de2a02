"""The encodings of the field as rows of one table.

An encoding is where position enters attention: an absolute embedding, a rotation, an additive log-prior, a scale on the
logits, a window of visibility. ENCODINGS["bam-ssmax"] is a row; `encoding(name)` looks one up and explains a miss.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from .absolute import Sinusoidal
from .priors import GeneralizedGaussian, Laplace, Prior, alibi_slopes
from .rotary import Rotary, rope
from .scaling import Constant, ScalableSoftmax


@dataclass(frozen=True)
class Encoding:
    """One encoding: factories for its parts, called by the model with the number of heads or a width."""

    name: str
    label: str
    absolute: Callable[[int], nn.Module] | None = None  # model width -> positions to embeddings
    rotary: Callable[[int], nn.Module] | None = None  # head width -> rotation of q and k
    prior: Callable[[int], Prior] | None = None  # heads -> additive log-prior
    shared: bool = False  # one prior for all layers instead of one each
    scale: Callable[[int], nn.Module] = Constant  # heads -> factor per row
    scales_prior: bool = False  # the row factor multiplies the log-prior too
    local: bool = False  # evaluated with a sliding window of the training length
    trained_as: str | None = None  # evaluated with the weights of another encoding

    def parts(self) -> list[Callable]:
        """The code behind this row, for fingerprints."""
        return [part for part in (self.absolute, self.rotary, self.prior, self.scale) if part is not None]


def _rope(width: int, base: float = 10_000.0) -> Rotary:
    return Rotary(rope(width, base))


def _alibi(heads: int) -> Laplace:
    return Laplace(alibi_slopes(heads))


_PLAIN = [
    Encoding("nope", "NoPE"),
    Encoding("sinusoidal", "Sinusoidal", absolute=Sinusoidal),
    Encoding("rope", "RoPE", rotary=_rope),
    Encoding("rope-local", "RoPE Local", rotary=_rope, local=True, trained_as="rope"),
    Encoding("alibi", "ALiBi", prior=_alibi),
    Encoding("bam", "BAM", prior=GeneralizedGaussian.uniform),
]
_ALL = ("theta_alpha", "theta_beta", "theta_mu")


def _ssmax(row: Encoding, **changes: object) -> Encoding:
    trained_as = f"{row.trained_as}-ssmax" if row.trained_as else None
    name, label = f"{row.name}-ssmax", f"{row.label} SSMax"
    return replace(row, **{"name": name, "label": label, "scale": ScalableSoftmax, "trained_as": trained_as, **changes})


_BAM, _ALIBI = _PLAIN[-1], _PLAIN[-2]
_SSMAX = [_ssmax(row, scales_prior=row.name == "bam") for row in _PLAIN]
_VARIANTS = [
    _ssmax(_BAM, name="bam-ssmax-content", label="BAM SSMax (content only)"),
    _ssmax(_ALIBI, name="alibi-ssmax-prior", label="ALiBi SSMax (prior too)", scales_prior=True),
    _ssmax(_BAM, name="bam-laplace-ssmax", label="BAM SSMax (Laplace start)", prior=GeneralizedGaussian.laplace,
           scales_prior=True),
    _ssmax(_BAM, name="bam-location-ssmax", label="BAM SSMax (with θμ)", scales_prior=True,
           prior=partial(GeneralizedGaussian.uniform, trainable=_ALL)),
    _ssmax(_BAM, name="bam-shared-ssmax", label="BAM SSMax (one prior)", scales_prior=True, shared=True),
]  # fmt: skip

ENCODINGS: dict[str, Encoding] = {row.name: row for row in _PLAIN + _SSMAX + _VARIANTS}


def encoding(name: str) -> Encoding:
    """The row `name`; an unknown name raises a ValueError with the nearest one."""
    if name not in ENCODINGS:
        near = difflib.get_close_matches(name, ENCODINGS, n=1, cutoff=0.0)
        raise ValueError(f"unknown encoding {name!r}; nearest is {near[0]!r}; all: {', '.join(ENCODINGS)}")
    return ENCODINGS[name]
