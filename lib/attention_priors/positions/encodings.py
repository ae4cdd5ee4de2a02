"""The encodings of the field as rows of one table.

An encoding is where position enters attention: an absolute embedding, a rotation, an additive log-prior, a scale on the
logits, a window of visibility. ENCODINGS["bam-ssmax"] is a row; `encoding(name)` looks one up and explains a miss.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import nn

from . import extensions, variants
from .absolute import Learned, Sinusoidal
from .buckets import T5Buckets
from .extended import ExtendedRotary, RectifiedRotary
from .generators import LearnedGroup, LearnedRotary, RandomisedRotary
from .kerple import KerpleLog, KerplePower
from .lags import LagTable
from .priors import GeneralizedGaussian, Laplace, Prior, Product, alibi_slopes
from .randomised import RandomisedSinusoidal
from .rotary import Rotary, Spectrum, rope
from .sandwich import Sandwich
from .scaling import Constant, ScalableSoftmax
from .spectral import Fourier, Sink, geometric
from .xpos import DampedRotary, xpos

LONGEST = 8192  # positions of learned tables and randomised positions
FACTOR = 16.0  # of the extensions that are set once for all lengths
MODES = 8  # of Goat's spectral prior


@dataclass(frozen=True)
class Encoding:
    """One encoding: factories for its parts, called by the model with the number of heads or a width."""

    name: str
    label: str
    absolute: Callable[[int], nn.Module] | None = None  # model width -> positions to embeddings
    rotary: Callable[[int], nn.Module] | None = None  # head width -> rotation of q and k
    prior: Callable[[int], Prior] | None = None  # heads -> additive log-prior
    biased: bool = False  # learned vectors are added to queries and keys before the rotation
    shared: bool = False  # one prior for all layers instead of one each
    scale: Callable[[int], nn.Module] = Constant  # heads -> factor per row
    scales_prior: bool = False  # the row factor multiplies the log-prior too
    local: bool = False  # evaluated with a sliding window of the training length
    trained_as: str | None = None  # evaluated with the weights of another encoding (local, or extension.extend)
    longest: int | None = None  # context length beyond which it is not defined
    whole: bool = False  # depends on how long the context is, not only on where its keys are

    def parts(self) -> list[Callable]:
        """The code behind this row, for fingerprints."""
        return [part for part in (self.absolute, self.rotary, self.prior, self.scale) if part is not None]


def _rope(width: int, base: float = 10_000.0) -> Rotary:
    return Rotary(rope(width, base))


def _alibi(heads: int) -> Laplace:
    return Laplace(alibi_slopes(heads))


def _xpos(width: int) -> DampedRotary:
    return DampedRotary(xpos(width))


def _learned_rope(width: int) -> LearnedRotary:
    return LearnedRotary(rope(width))


def _randomised_rope(width: int) -> RandomisedRotary:
    return RandomisedRotary(rope(width), LONGEST)


def _rope_below(width: int, longest: int) -> RandomisedRotary:
    return RandomisedRotary(rope(width), longest)


def _kerple_power(heads: int) -> KerplePower:
    """Scales uniform in [0, 1], exponents in [0, 2], as in the authors' code; at least 0.01."""
    return KerplePower(torch.rand(heads).clamp(min=0.01), (2 * torch.rand(heads)).clamp(min=0.01))


def _kerple_log(heads: int) -> KerpleLog:
    """r1 uniform in [0, 2], r2 in [0, 1], as in the authors' code; at least 0.01."""
    return KerpleLog((2 * torch.rand(heads)).clamp(min=0.01), torch.rand(heads).clamp(min=0.01))


def _goat(heads: int) -> Product:
    return Product(Fourier.uniform(heads, geometric(MODES)), Sink(torch.zeros(heads)))


def _by_interpolation(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.interpolate(spectrum, FACTOR)


def _by_interpolation_4(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.interpolate(spectrum, 4.0)


def _by_ntk(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.ntk(spectrum, FACTOR)


def _by_ntk_2(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.ntk(spectrum, 2.0)


def _by_ntk_4(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.ntk(spectrum, 4.0)


def _by_ntk_8(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.ntk(spectrum, 8.0)


def _by_partial_ntk(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.partial_ntk(spectrum, FACTOR, trained)


def _by_yarn(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.yarn(spectrum, FACTOR, trained)


def _by_llama3(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.llama3(spectrum, FACTOR, trained)


def _by_dynamic_ntk(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.dynamic_ntk(spectrum, 2.0, length, trained)


def _by_base_50(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.rebase(spectrum, 50.0)


def _by_base_100(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    return extensions.rebase(spectrum, 100.0)


def _stretched(width: int, stretch: Callable) -> ExtendedRotary:
    return ExtendedRotary(rope(width), stretch)


def _rectified(width: int, factor: float = math.inf) -> RectifiedRotary:
    return RectifiedRotary(rope(width), factor)


_PLAIN = [
    Encoding("nope", "NoPE"),
    Encoding("sinusoidal", "Sinusoidal", absolute=Sinusoidal),
    Encoding("rope", "RoPE", rotary=_rope),
    Encoding("rope-local", "RoPE Local", rotary=_rope, local=True, trained_as="rope"),
    Encoding("alibi", "ALiBi", prior=_alibi),
    Encoding("bam", "BAM", prior=GeneralizedGaussian.uniform),
]
_MORE = [
    Encoding("learned", "Learned", absolute=partial(Learned, longest=LONGEST), longest=LONGEST),
    Encoding("xpos", "xPos", rotary=_xpos),
    Encoding("rope-learned", "RoPE, learned frequencies", rotary=_learned_rope),
    Encoding("rope-bias", "RoPE with bias", rotary=_rope, biased=True),
    Encoding("group-damped", "Learned group, damped", rotary=LearnedGroup),
    Encoding("group-defective", "Learned group, defective", rotary=partial(LearnedGroup, defective=True)),
    Encoding("rope-randomised", "RoPE, randomised positions", rotary=_randomised_rope, longest=LONGEST, whole=True),
    Encoding("t5", "T5 buckets", prior=T5Buckets, shared=True),
    Encoding("lag-table", "One bias per lag", prior=partial(LagTable, longest=LONGEST), shared=True),
    Encoding("kerple-power", "KERPLE power", prior=_kerple_power),
    Encoding("kerple-log", "KERPLE log", prior=_kerple_log),
    Encoding("sandwich", "Sandwich", prior=Sandwich),
    Encoding("goat", "Goat", prior=_goat, whole=True),
    Encoding("bam-laplace", "BAM (Laplace start)", prior=GeneralizedGaussian.laplace),
]
# Evaluated on the weights of RoPE; each name and label with that of the form it extends in front.
_EXTENSIONS = {
    "pi": ("position interpolation", partial(_stretched, stretch=_by_interpolation), False),
    "pi-4": ("position interpolation by 4", partial(_stretched, stretch=_by_interpolation_4), False),
    "dynamic-linear": ("dynamic linear", partial(_stretched, stretch=extensions.dynamic_linear), True),
    "ntk": ("NTK-aware", partial(_stretched, stretch=_by_ntk), False),
    "ntk-2": ("NTK-aware by 2", partial(_stretched, stretch=_by_ntk_2), False),
    "ntk-4": ("NTK-aware by 4", partial(_stretched, stretch=_by_ntk_4), False),
    "ntk-8": ("NTK-aware by 8", partial(_stretched, stretch=_by_ntk_8), False),
    "dynamic-ntk": ("dynamic NTK", partial(_stretched, stretch=_by_dynamic_ntk), True),
    "partial-ntk": ("NTK by parts", partial(_stretched, stretch=_by_partial_ntk), False),
    "yarn": ("YaRN", partial(_stretched, stretch=_by_yarn), False),
    "llama3": ("Llama 3", partial(_stretched, stretch=_by_llama3), False),
    "base-50": ("base × 50", partial(_stretched, stretch=_by_base_50), False),
    "base-100": ("base × 100", partial(_stretched, stretch=_by_base_100), False),
    "rerope": ("ReRoPE", _rectified, False),
    "leaky-rerope": ("Leaky ReRoPE", partial(_rectified, factor=FACTOR), False),
}
_ALL = ("theta_alpha", "theta_beta", "theta_mu")


def _drawn(longest: int) -> list[Encoding]:
    """Randomised positions for short texts: Ruoss et al. 2023 draw from 2048 for lengths up to 500."""
    absolute, rotary = partial(RandomisedSinusoidal, longest=longest), partial(_rope_below, longest=longest)
    ending = f", positions below {longest}"
    return [
        Encoding(f"sinusoidal-randomised-{longest}", f"Sinusoidal{ending}", absolute, longest=longest, whole=True),
        Encoding(f"rope-randomised-{longest}", f"RoPE{ending}", rotary=rotary, longest=longest, whole=True),
    ]


def _ssmax(row: Encoding, **changes: object) -> Encoding:
    trained_as = f"{row.trained_as}-ssmax" if row.trained_as else None
    name, label = f"{row.name}-ssmax", f"{row.label} SSMax"
    return replace(row, **{"name": name, "label": label, "scale": ScalableSoftmax, "trained_as": trained_as, **changes})


def _extended(row: Encoding) -> list[Encoding]:
    return [
        replace(row, name=f"{row.name}-{name}", label=f"{row.label} + {label}", rotary=rotary, trained_as=row.name,
                whole=whole)
        for name, (label, rotary, whole) in _EXTENSIONS.items()
    ]  # fmt: skip


_BAM, _ALIBI, _ROPE = _PLAIN[-1], _PLAIN[-2], _PLAIN[2]
_SSMAX = [_ssmax(row, scales_prior=row.name.startswith("bam")) for row in _PLAIN + _MORE]
_VARIANTS = [
    _ssmax(_BAM, name="bam-ssmax-content", label="BAM SSMax (content only)"),
    _ssmax(_ALIBI, name="alibi-ssmax-prior", label="ALiBi SSMax (prior too)", scales_prior=True),
    _ssmax(_BAM, name="bam-location-ssmax", label="BAM SSMax (with θμ)", scales_prior=True,
           prior=partial(GeneralizedGaussian.uniform, trainable=_ALL)),
    _ssmax(_BAM, name="bam-shared-ssmax", label="BAM SSMax (one prior)", scales_prior=True, shared=True),
]  # fmt: skip
# Ablations of BAM: which parameters are trained, from which start, and with which signs of β.
_ABLATED = {
    "bam-shape-ssmax": ("θβ alone", partial(GeneralizedGaussian.uniform, trainable=("theta_beta",))),
    "bam-scale-ssmax": ("θα alone", partial(GeneralizedGaussian.uniform, trainable=("theta_alpha",))),
    "bam-laplace-shape-ssmax": ("Laplace start, θβ alone",
                                partial(GeneralizedGaussian.laplace, trainable=("theta_beta",))),
    "bam-laplace-scale-ssmax": ("Laplace start, θα alone",
                                partial(GeneralizedGaussian.laplace, trainable=("theta_alpha",))),
    "bam-code-a-ssmax": ("code A", partial(GeneralizedGaussian.laplace, trainable=_ALL)),
    "bam-code-b-ssmax": ("code B", partial(variants.unlogged, trainable=_ALL)),
    "bam-code-c-ssmax": ("code C", variants.unlogged),
    "bam-negative-ssmax": ("β < 0", partial(variants.signed, sign="negative")),
    "bam-positive-ssmax": ("β > 0", partial(variants.signed, sign="positive")),
    "bam-mixed-ssmax": ("β of both signs", partial(variants.signed, sign="mixed")),
}  # fmt: skip
_VARIANTS += [
    _ssmax(_BAM, name=name, label=f"BAM SSMax ({label})", scales_prior=True, prior=prior,
           shared=name == "bam-code-a-ssmax")
    for name, (label, prior) in _ABLATED.items()
]  # fmt: skip

_DRAWN = _drawn(128) + _drawn(512) + _drawn(2048)
_BORROWED = _extended(_ROPE) + _extended(_SSMAX[2])

ENCODINGS: dict[str, Encoding] = {row.name: row for row in _PLAIN + _MORE + _DRAWN + _SSMAX + _VARIANTS + _BORROWED}


def encoding(name: str) -> Encoding:
    """The row `name`; an unknown name raises a ValueError with the nearest one."""
    if name not in ENCODINGS:
        near = difflib.get_close_matches(name, ENCODINGS, n=1, cutoff=0.0)
        raise ValueError(f"unknown encoding {name!r}; nearest is {near[0]!r}; all: {', '.join(ENCODINGS)}")
    return ENCODINGS[name]
