"""The encodings of the field as rows of one table.

An encoding is where position enters attention: an absolute embedding, a rotation, an additive log-prior, a scale on the
logits, a window of visibility. ENCODINGS["bam-ssmax"] is a row; `encoding(name)` looks one up and explains a miss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from ..store.registry import nearest
from . import composite, extensions, variants
from .absolute import Learned, Sinusoidal
from .extensions import ExtendedRotary, RectifiedRotary
from .generators import LearnedGroup, LearnedRotary
from .maps import RandomisedRotary, RandomisedSinusoidal
from .pairs import Adaptive, Counts, Fire, LearnedSink, PairBias, StickBreaking
from .priors import (
    GeneralizedGaussian,
    KerpleLog,
    KerplePower,
    LagTable,
    Laplace,
    Prior,
    Product,
    Sandwich,
    T5Buckets,
    alibi_slopes,
)
from .rotary import DampedRotary, Rotary, Rotation, Spectrum, Undivided, rope, xpos
from .scaling import Constant, ScalableSoftmax
from .spectral import Fourier, Sink, geometric

LONGEST = 8192  # positions of learned tables and randomised positions
FACTOR = 16.0  # of the extensions that are set once for all lengths
MODES = 8  # of Goat's spectral prior
_UNSAID = ("label", "form_of", "unscaled", "trained_as", "absolute", "rotary", "prior", "pairs")  # in a run's key
FAMILIES = ("none", "absolute", "rotation", "prior", "composition")


@dataclass(frozen=True)
class Encoding:
    """One encoding: factories for its parts, called by the model with the number of heads or a width.

    ValueError for a module in the place of its factory, and for parts that exclude each other.
    """

    name: str
    label: str
    absolute: Callable[[int], nn.Module] | None = None  # model width -> positions to embeddings
    rotary: Callable[[int, float], Rotation] | None = None  # head width, base of RoPE -> rotation of q and k
    prior: Callable[[int], Prior] | None = None  # heads -> additive log-prior
    biased: bool = False  # learned vectors are added to queries and keys before the rotation
    shared: bool = False  # one prior for all layers instead of one each
    ssmax: bool = False  # scalable softmax: a factor per row, s ln n
    scales_prior: bool = False  # the row factor multiplies the log-prior too
    local: bool = False  # evaluated with a window of the T keys of the training length (BAM's code: T + 1 keys)
    trained_as: str | None = None  # evaluated with the weights of another encoding (local, or extension.extend)
    longest: int | None = None  # context length beyond which it is not defined
    whole: bool = False  # depends on how long the context is, not only on where its keys are
    form_of: str | None = None  # the encoding of the field that it is a form of
    unscaled: str | None = None  # the encoding that lacks SSMax and is otherwise the same
    rotated_layers: tuple[int, ...] = ()  # the layers that rotate, counted from 1; none named: all
    rotated_heads: float = 1.0  # the share of a layer's heads that rotate, the first ones
    version: int = 1  # raise it when the same row would train or answer otherwise
    window: float | None = None  # what heads that rotate see, as a share of the training length; in training too
    forgets: bool = False  # a gate on every key, set by its content, fades the keys before it (`positions.forget`)
    slowest: int | None = None  # how many keys its slowest gate remembers at the start; None: all forget half
    pairs: Callable[[int, int], PairBias] | None = None  # heads, head width -> a bias of each pair, perhaps a sink

    def __post_init__(self) -> None:
        for part in ("absolute", "rotary", "prior", "pairs"):
            if isinstance(made := getattr(self, part), nn.Module):
                raise ValueError(
                    f"encoding {self.name!r} has a module {type(made).__name__} as its {part}; give the class, or a "
                    "function that makes one for each layer"
                )
        if self.forgets and (self.prior or self.rotary or self.ssmax):
            raise ValueError(f"encoding {self.name!r} has a forget gate beside a prior, a rotation or SSMax; give one")
        if self.pairs and (self.window or self.forgets):
            raise ValueError(f"encoding {self.name!r} has pair biases beside a window or a forget gate; give one")

    @property
    def base(self) -> str:
        """The encoding of the field that this is or that it is a form of: "bam" for all of BAM's, "rope" for YaRN."""
        return self.form_of or self.name

    @property
    def family(self) -> str:
        """Where position enters, one of FAMILIES: nowhere but the mask, added to embeddings, a rotation, a prior.

        A composition is a rotation beside a prior, or in some of the layers or heads only.
        """
        if self.rotary and (self.prior or self.rotated_layers or self.rotated_heads < 1 or self.window):
            return FAMILIES[-1]
        parts = zip(FAMILIES[1:], (self.absolute, self.rotary, self.prior or self.forgets or self.pairs), strict=False)
        return next((name for name, part in parts if part), FAMILIES[0])

    def turned(self, layer: int, heads: int, kv_heads: int) -> tuple[int, int]:
        """How many of the heads, and of their key heads, the layer (from 0) rotates: always the first ones.

        ValueError where a key head would serve heads that rotate and heads that do not.
        """
        if self.rotary is None or (self.rotated_layers and layer + 1 not in self.rotated_layers):
            return 0, 0
        keys = self.rotated_heads * kv_heads
        if keys != int(keys):
            raise ValueError(
                f"encoding {self.name!r} rotates {self.rotated_heads:g} of the heads, which {heads} heads with "
                f"{kv_heads} key heads cannot do; give key heads of which that share is a whole number"
            )
        return int(keys) * (heads // kv_heads), int(keys)

    @property
    def scale(self) -> Callable[[int], nn.Module]:
        """heads -> factor per row."""
        return ScalableSoftmax if self.ssmax else Constant

    @property
    def settings(self) -> dict[str, Any]:
        """The row as plain data, for keys, without labels and kinship; of its parts, what they are called with."""
        said = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _UNSAID}
        for name, usual in (("forgets", False), ("slowest", None)):  # came later: no older run is renamed
            if said[name] == usual:
                del said[name]
        for name in ("absolute", "rotary", "prior", *(["pairs"] if self.pairs else [])):
            given = getattr(getattr(self, name), "keywords", {})
            said[name] = {key: value for key, value in given.items() if not callable(value)}
        return said


def _alibi(heads: int) -> Laplace:
    return Laplace(alibi_slopes(heads))


def _kerple_power(heads: int) -> KerplePower:
    """Scales uniform in [0, 1], exponents in [0, 2], as in the authors' code; at least 0.01."""
    return KerplePower(torch.rand(heads).clamp(min=0.01), (2 * torch.rand(heads)).clamp(min=0.01))


def _kerple_log(heads: int) -> KerpleLog:
    """r1 uniform in [0, 2], r2 in [0, 1], as in the authors' code; at least 0.01."""
    return KerpleLog((2 * torch.rand(heads)).clamp(min=0.01), torch.rand(heads).clamp(min=0.01))


def _goat(heads: int) -> Product:
    return Product(Fourier.uniform(heads, geometric(MODES)), Sink(torch.zeros(heads)))


def _xpos(width: int, base: float) -> DampedRotary:
    return DampedRotary(xpos(width, base))


def _rope(width: int, base: float, kind: Callable[..., Rotation], **settings: float) -> Rotation:
    return kind(rope(width, base), **settings)


def _p_rope(width: int, base: float, share: float) -> Rotary:
    return Rotary(extensions.p_rope(rope(width, base), share))


def still(width: int, base: float) -> Rotary:
    """A rotation that turns nothing: what it leaves of a composition is the window."""
    return Rotary(Spectrum((0.0,) * (width // 2)))


def _undivided(width: int, base: float) -> Undivided:
    return Undivided(width)


def _rope_undivided(width: int, base: float) -> Undivided:
    return Undivided(width, Rotary(rope(width, base)))


# Extensions of RoPE by what their stretch asks for: nothing but the factor, the trained length, the current one.
def _fixed(width: int, base: float, stretch: Callable, factor: float = FACTOR) -> ExtendedRotary:
    return ExtendedRotary(rope(width, base), partial(extensions.fixed, how=stretch, by=factor))


def _from_length(width: int, base: float, stretch: Callable, factor: float = FACTOR) -> ExtendedRotary:
    return ExtendedRotary(rope(width, base), partial(extensions.from_trained, how=stretch, by=factor))


def _dynamic(width: int, base: float, stretch: Callable, **settings: float) -> ExtendedRotary:
    return ExtendedRotary(rope(width, base), partial(extensions.from_length, how=stretch, **settings))


_PLAIN = [
    Encoding("nope", "NoPE"),
    Encoding("sinusoidal", "Sinusoidal", absolute=Sinusoidal),
    _ROPE := Encoding("rope", "RoPE", rotary=partial(_rope, kind=Rotary)),
    replace(_ROPE, name="rope-local", label="RoPE Local", local=True, trained_as="rope", form_of="rope"),
    _ALIBI := Encoding("alibi", "ALiBi", prior=_alibi),
    _BAM := Encoding("bam", "BAM", prior=GeneralizedGaussian.uniform),
]
_MORE = [
    Encoding("learned", "Learned", absolute=partial(Learned, longest=LONGEST), longest=LONGEST),
    Encoding("xpos", "xPos", rotary=_xpos),
    Encoding("rope-learned", "RoPE, learned frequencies", rotary=partial(_rope, kind=LearnedRotary), form_of="rope"),
    replace(_ROPE, name="rope-bias", label="RoPE with bias", biased=True, form_of="rope"),
    Encoding("group-damped", "Learned group, damped", rotary=LearnedGroup),
    Encoding("group-defective", "Learned group, defective", rotary=partial(LearnedGroup, defective=True)),
    Encoding("rope-randomised", "RoPE, randomised positions", whole=True, longest=LONGEST, form_of="rope",
             rotary=partial(_rope, kind=RandomisedRotary, longest=LONGEST)),
    Encoding("t5", "T5 buckets", prior=T5Buckets, shared=True),
    Encoding("lag-table", "One bias per lag", prior=partial(LagTable, longest=LONGEST), shared=True),
    Encoding("kerple-power", "KERPLE power", prior=_kerple_power),
    Encoding("kerple-log", "KERPLE log", prior=_kerple_log),
    Encoding("sandwich", "Sandwich", prior=Sandwich),
    Encoding("goat", "Goat", prior=_goat, whole=True),
    Encoding("bam-laplace", "BAM (Laplace start)", prior=GeneralizedGaussian.laplace, form_of="bam"),
    Encoding("bam-bounded", "BAM (0 < β ≤ 2)", prior=variants.Bounded, form_of="bam"),
]  # fmt: skip
# Evaluated on the weights of RoPE; each name and label with that of the form it extends in front.
_EXTENSIONS = {
    "pi": ("position interpolation", partial(_fixed, stretch=extensions.interpolate)),
    "pi-4": ("position interpolation by 4", partial(_fixed, stretch=extensions.interpolate, factor=4.0)),
    "dynamic-linear": ("dynamic linear", partial(_dynamic, stretch=extensions.dynamic_linear)),
    "ntk": ("NTK-aware", partial(_fixed, stretch=extensions.ntk)),
    "ntk-2": ("NTK-aware by 2", partial(_fixed, stretch=extensions.ntk, factor=2.0)),
    "ntk-4": ("NTK-aware by 4", partial(_fixed, stretch=extensions.ntk, factor=4.0)),
    "ntk-8": ("NTK-aware by 8", partial(_fixed, stretch=extensions.ntk, factor=8.0)),
    "dynamic-ntk": ("dynamic NTK", partial(_dynamic, stretch=extensions.dynamic_ntk, factor=2.0)),
    "partial-ntk": ("NTK by parts", partial(_from_length, stretch=extensions.partial_ntk)),
    "yarn": ("YaRN", partial(_from_length, stretch=extensions.yarn)),
    "yarn-4": ("YaRN by 4", partial(_from_length, stretch=extensions.yarn, factor=4.0)),
    "llama3": ("Llama 3", partial(_from_length, stretch=extensions.llama3)),
    "base-50": ("base × 50", partial(_fixed, stretch=extensions.rebase, factor=50.0)),
    "base-100": ("base × 100", partial(_fixed, stretch=extensions.rebase, factor=100.0)),
    "rerope": ("ReRoPE", partial(_rope, kind=RectifiedRotary)),
    "leaky-rerope": ("Leaky ReRoPE", partial(_rope, kind=RectifiedRotary, factor=FACTOR)),
}
# Compositions of RoPE with a prior over all heads: which layers and heads rotate, and how far those see. Alternating
# layers are Command A's, with three layers: two that rotate within a window, one that does neither.
_DIVIDED = {
    "rope": ("RoPE", {}),
    "rope-layer-1": ("RoPE in layer 1", {"rotated_layers": (1,)}),
    "rope-layer-2": ("RoPE in layer 2", {"rotated_layers": (2,)}),
    "rope-layers-1-2": ("RoPE in layers 1 and 2", {"rotated_layers": (1, 2)}),
    "half-rope": ("Half RoPE", {"rotated_heads": 0.5}),
    "half-rope-window": ("Half RoPE (window T/4)", {"rotated_heads": 0.5, "window": 0.25}),
    "alternating": ("Alternating layers", {"rotated_layers": (1, 2), "window": 0.25}),
    "half-window": ("Window T/4 on half, no rotation", {"rotated_heads": 0.5, "window": 0.25, "rotary": still}),
}
_ALL = ("theta_alpha", "theta_beta", "theta_mu")
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


def _drawn(longest: int) -> list[Encoding]:
    """Randomised positions for short texts: Ruoss et al. 2023 draw from 2048 for lengths up to 500."""
    parts = {
        "sinusoidal": {"absolute": partial(RandomisedSinusoidal, longest=longest)},
        "rope": {"rotary": partial(_rope, kind=RandomisedRotary, longest=longest)},
    }
    return [
        Encoding(
            f"{row.name}-randomised-{longest}",
            f"{row.label}, positions below {longest}",
            longest=longest,
            whole=True,
            form_of=row.name,
            **parts[row.name],
        )
        for row in _PLAIN
        if row.name in parts
    ]


def _ssmax(row: Encoding, **changes: object) -> Encoding:
    """`row` with scalable softmax, which multiplies BAM's prior too unless told otherwise."""
    changes = {"scales_prior": row.base == "bam", "form_of": row.base} | changes
    return replace(row, ssmax=True, **changes)


def _with_ssmax(row: Encoding) -> Encoding:
    trained_as = f"{row.trained_as}-ssmax" if row.trained_as else None
    return _ssmax(row, name=f"{row.name}-ssmax", label=f"{row.label} SSMax", trained_as=trained_as, unscaled=row.name)


def _extended(row: Encoding) -> list[Encoding]:
    return [
        replace(
            row,
            name=f"{row.name}-{name}",
            label=f"{row.label} + {label}",
            rotary=rotary,
            trained_as=row.name,
            whole=rotary.func is _dynamic,
            form_of=row.base,
            unscaled=row.unscaled and f"{row.unscaled}-{name}",
        )
        for name, (label, rotary) in _EXTENSIONS.items()
    ]


_VARIANTS = [
    Encoding("t5-quarter", "T5 buckets to lag 32", prior=partial(T5Buckets, farthest=32), shared=True, form_of="t5"),
    _FOX := Encoding("fox", "FoX", forgets=True),
    replace(_FOX, name="fox-slow", label="FoX (slow gates)", slowest=512, form_of="fox"),
    Encoding("fire", "FIRE", pairs=partial(Fire, threshold=32)),  # T/4; up to its authors' 512 it would be a table
    Encoding("cope", "CoPE", pairs=partial(Counts, longest=64)),
    Encoding("stick-breaking", "Stick-breaking", pairs=StickBreaking),
    Encoding("dape", "DAPE × KERPLE log", pairs=partial(Adaptive, prior=_kerple_log)),
    replace(_ROPE, name="rope-sinks", label="RoPE with learned sinks", pairs=LearnedSink, form_of="rope"),
    replace(
        _ROPE,
        name="rope-partial",
        label="p-RoPE (three quarters turn)",
        form_of="rope",
        rotary=partial(_p_rope, share=0.75),
    ),
    _ssmax(_BAM, name="bam-ssmax-content", label="BAM SSMax (content only)", scales_prior=False),
    _ssmax(_ALIBI, name="alibi-ssmax-prior", label="ALiBi SSMax (prior too)", scales_prior=True),
    *(
        _ssmax(row, name=f"{row.name}-ssmax-prior", label=f"{row.label} SSMax (prior too)", scales_prior=True)
        for row in _MORE
        if row.name in ("t5", "kerple-power", "kerple-log", "sandwich")
    ),
    _ssmax(
        _BAM,
        name="bam-location-ssmax",
        label="BAM SSMax (with θμ)",
        prior=partial(GeneralizedGaussian.uniform, trainable=_ALL),
    ),
    _ssmax(_BAM, name="bam-shared-ssmax", label="BAM SSMax (one prior)", shared=True),
    *(
        _ssmax(_BAM, name=name, label=f"BAM SSMax ({label})", prior=prior, shared=name == "bam-code-a-ssmax")
        for name, (label, prior) in _ABLATED.items()
    ),
]
_PRIORS = {"": ("", None), "-bam": (" × BAM", _BAM.prior), "-kerple-power": (" × KERPLE power", _kerple_power)}
_COMPOSED = [
    Encoding(name + suffix, label + more, prior=prior, **{"rotary": _ROPE.rotary} | parts)
    for name, (label, parts) in _DIVIDED.items()
    for suffix, (more, prior) in _PRIORS.items()
    if prior or name != _ROPE.name
]
# Goat with heads that content and position share: the starts and forms of its paper and of its public code.
_GOAT = Encoding("goat-composite", "Goat composite", rotary=composite.content, prior=composite.uniform, whole=True)
_EIGHT = {"modes": 8, "shortest": 2.0}
_COMPOSITE = [
    _GOAT,
    replace(_GOAT, name="goat-bump", label="Goat + bump at key 0", prior=partial(composite.uniform, bump=True)),
    replace(_GOAT, name="goat-seeded", label="Goat from ALiBi", prior=composite.seeded),
    replace(_GOAT, name="goat-code", label="Goat (authors' code)", prior=composite.coded, whole=False),
    *(
        replace(
            _GOAT,
            name=f"goat-code-{length}",
            label=f"Goat (authors' code, L = {length})",
            whole=False,
            prior=partial(composite.coded, length=length),
        )
        for length in (256, 1024, 2048)
    ),
    replace(_GOAT, name="goat-no-sink", label="Goat without sink", prior=composite.without_sink, whole=False),
    replace(_GOAT, name="goat-rope", label="Goat with RoPE in the content", rotary=composite.rotated_content),
    *(
        replace(
            _GOAT,
            name=f"goat-eight{name}",
            label=f"Goat composite, 8 modes{label}",
            rotary=partial(composite.content, modes=8),
            prior=partial(composite.uniform, **_EIGHT, bump=bool(name)),
        )
        for name, label in (("", ""), ("-bump", " + bump at key 0"))
    ),
]
# Baselines whose logits are not divided by sqrt(d), as in Goat's public code.
_UNDIVIDED = [
    replace(
        row,
        name=f"{row.name}-undivided",
        label=f"{row.label} without 1/√d",
        form_of=form,
        rotary=_rope_undivided if row is _ROPE else _undivided,
    )
    for row, form in ((_PLAIN[1], "sinusoidal"), (_ROPE, "rope"), (_ALIBI, None))
]
_ROWS = [
    *_PLAIN,
    *_MORE,
    *_drawn(128),
    *_drawn(512),
    *_drawn(2048),
    *map(_with_ssmax, _PLAIN + _MORE),
    *_VARIANTS,
    *_extended(_ROPE),
    *_extended(_with_ssmax(_ROPE)),
    *_COMPOSED,
    *_COMPOSITE,
    *_UNDIVIDED,
]


class _Table(dict[str, Encoding]):
    """Rows by name. A name that is added later brings its form with SSMax, `<name>-ssmax`, as those below do."""

    def __init__(self, rows: Iterable[Encoding]) -> None:
        super().__init__((row.name, row) for row in rows)
        self.shipped = frozenset(self)

    def __setitem__(self, name: str, row: Encoding) -> None:
        if not isinstance(row, Encoding):
            raise ValueError(f"ENCODINGS[{name!r}] = {row!r} is no row; give Encoding({name!r}, label, prior=...)")
        if row.name != name:
            raise ValueError(f"ENCODINGS[{name!r}] calls itself {row.name!r}; give it one name")
        super().__setitem__(name, row)
        if not (row.ssmax or row.trained_as or {name, f"{name}-ssmax"} & self.shipped):
            super().__setitem__(f"{name}-ssmax", _with_ssmax(row))


ENCODINGS: dict[str, Encoding] = _Table(_ROWS)


def encoding(name: str) -> Encoding:
    """The row `name`. ValueError for an unknown one, with the row whose name or label is nearest."""
    if name not in ENCODINGS:
        near = nearest(name, ENCODINGS, {row.label: row.name for row in ENCODINGS.values()})
        raise ValueError(f"unknown encoding {name!r}{near}; list(ENCODINGS) has all {len(ENCODINGS)}")
    return ENCODINGS[name]


def stretched(row: Encoding, factor: float) -> Callable[[int, float], Rotation] | None:
    """`row.rotary` set for contexts `factor` times as long as in training; None where a row has no factor of its own.

    Dynamic extensions go by the current length, ReRoPE by its window.
    """
    fixed = isinstance(row.rotary, partial) and row.rotary.func in (_fixed, _from_length)
    return partial(row.rotary, factor=factor) if fixed else None
