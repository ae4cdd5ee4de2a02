"""Longer contexts for a trained rotation: functions from a spectrum to a spectrum, the identity at factor 1.

`factor` is how many times longer the context becomes, `trained` the length the model was trained on, `length` the
current one. A plane makes `length` ω / 2π turns within a context. `training.extension.extend` puts the rotations at the
end into a model; by themselves they do not know the training length, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from .rotary import DampedRotary, KeyAt, Keys, Queries, QueryAt, Rotation, Spectrum

Stretch = Callable[[Spectrum, int, int], Spectrum]  # (spectrum, current length, trained length)


# Functions below as a `Stretch`, by what they ask for: `functools.partial` of these can be pickled, a lambda cannot.
def fixed(spectrum: Spectrum, length: int, trained: int, *, how: Callable[..., Spectrum], by: float) -> Spectrum:
    """how(spectrum, by), whatever the lengths are."""
    return how(spectrum, by)


def from_trained(spectrum: Spectrum, length: int, trained: int, *, how: Callable[..., Spectrum], by: float) -> Spectrum:
    """how(spectrum, by, trained)."""
    return how(spectrum, by, trained)


def from_length(
    spectrum: Spectrum, length: int, trained: int, *, how: Callable[..., Spectrum], **settings: float
) -> Spectrum:
    """how(spectrum, length=length, trained=trained), with settings."""
    return how(spectrum, length=length, trained=trained, **settings)


def interpolate(spectrum: Spectrum, factor: float) -> Spectrum:
    """ω'_i = ω_i / factor: every position is divided by the factor (Chen et al. 2023, eq. 4).

    Position p turns as position p / factor did before. ValueError unless 1 <= factor < infinity.
    """
    _check_factor(factor)
    return replace(spectrum, omega=tuple(omega / factor for omega in spectrum.omega))


def dynamic_linear(spectrum: Spectrum, length: int, trained: int) -> Spectrum:
    """ω'_i = ω_i min(1, trained / length): interpolation by what the current length asks for, and no more.

    The identity up to the trained length; beyond it equal to `interpolate` by length / trained. ValueError for lengths
    below 1.
    """
    _check_length("length", length)
    _check_length("trained", trained)
    return interpolate(spectrum, max(1.0, length / trained))


def ntk(spectrum: Spectrum, factor: float) -> Spectrum:
    """base' = base factor^(d/(d-2)), that is ω'_i = ω_i factor^(-i/(d/2-1)) (NTK-aware scaling, bloc97 2023).

    The fastest plane is left alone, the slowest is divided by the factor, those between lie on a geometric line.
    ValueError unless 1 <= factor < infinity, and for a single plane.
    """
    _check_factor(factor)
    last = len(spectrum.omega) - 1
    if last < 1:
        raise ValueError(f"spectrum has {last + 1} plane, but the exponent d / (d - 2) needs at least 2")
    return replace(spectrum, omega=tuple(omega * factor ** (-i / last) for i, omega in enumerate(spectrum.omega)))


def dynamic_ntk(spectrum: Spectrum, factor: float, length: int, trained: int) -> Spectrum:
    """`ntk` by α' = factor · length / trained - (factor - 1), 1 up to the trained length (emozilla 2023).

    Keys that were rotated with an older α' do not fit queries rotated with a newer one: a cache must hold keys before
    the rotation, or be recomputed. ValueError as for `ntk`, and for lengths below 1.
    """
    _check_factor(factor)
    _check_length("length", length)
    _check_length("trained", trained)
    return ntk(spectrum, factor * max(1.0, length / trained) - (factor - 1))


def rebase(spectrum: Spectrum, factor: float) -> Spectrum:
    """base' = factor · base, that is ω'_i = ω_i factor^(-2i/d): a longer base by hand (Code Llama: 10⁴ to 10⁶).

    Unlike `ntk` the slowest plane is slowed by factor^(1-2/d) only. ValueError unless 1 <= factor < infinity.
    """
    _check_factor(factor)
    planes = len(spectrum.omega)
    return replace(spectrum, omega=tuple(omega * factor ** (-i / planes) for i, omega in enumerate(spectrum.omega)))


def p_rope(spectrum: Spectrum, share: float) -> Spectrum:
    """ω'_i = ω_i for the fastest `share` of the planes, 0 for the others (p-RoPE, Barbero et al. 2024); 1: unchanged.

    ValueError for a share outside of (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError(f"share = {share}, but it is the part of the planes that turn: above 0, at most 1")
    kept = round(share * len(spectrum.omega))
    return replace(spectrum, omega=spectrum.omega[:kept] + (0.0,) * (len(spectrum.omega) - kept))


def partial_ntk(spectrum: Spectrum, factor: float, trained: int) -> Spectrum:
    """Three spectra blended by the turns that a plane makes in the trained length (bloc97 2023, "NTK by parts").

    At least 16 turns: unchanged. 2 to 1.25 turns: `ntk`. At most .75 turns: `interpolate`. Between 16 and 2 and between
    1.25 and .75 turns the blend is linear in the plane's index, from the rounded index of one end to that of the other.
    ValueError as for `ntk` and `plane_of`.
    """
    _check_factor(factor)
    linear, nonlinear = interpolate(spectrum, factor).omega, ntk(spectrum, factor).omega
    slow, fast = _ramp(spectrum, 1.25, 0.75, trained), _ramp(spectrum, 16, 2, trained)
    mixed = [n + r * (x - n) for n, x, r in zip(nonlinear, linear, slow, strict=True)]
    return replace(spectrum, omega=tuple(w + r * (m - w) for w, m, r in zip(spectrum.omega, mixed, fast, strict=True)))


def yarn(
    spectrum: Spectrum, factor: float, trained: int, *, fast: float = 32.0, slow: float = 1.0, truncate: bool = True
) -> Spectrum:
    """ω'_i = (1 - γ_i) ω_i / factor + γ_i ω_i, and 1/√t = 0.1 ln(factor) + 1 (YaRN, Peng et al. 2023, eq. 13-15).

    γ falls from 1 at `fast` turns in the trained length to 0 at `slow` turns, linearly in the plane's index (rounded
    outwards unless `truncate` is false), as in the published code. The temperature divides the logits. ValueError
    unless 1 <= factor < infinity and 0 < slow < fast, and as for `plane_of`.
    """
    _check_factor(factor)
    if not 0 < slow < fast:
        raise ValueError(f"slow = {slow}, fast = {fast}, but 0 < slow < fast is needed (turns in the trained length)")
    ramp = _ramp(spectrum, fast, slow, trained, truncate)
    omega = tuple(w + r * (w / factor - w) for w, r in zip(spectrum.omega, ramp, strict=True))
    return replace(spectrum, omega=omega, temperature=spectrum.temperature * (0.1 * math.log(factor) + 1) ** -2)


def llama3(spectrum: Spectrum, factor: float, trained: int, *, slow: float = 1.0, fast: float = 4.0) -> Spectrum:
    """ω'_i = (1 - s) ω_i / factor + s ω_i with s = (turns - slow) / (fast - slow) cut to [0, 1] (Llama 3.1).

    Linear in the turns that a plane makes in the trained length, where YaRN is linear in the index; no temperature.
    ValueError unless 1 <= factor < infinity, trained >= 1 and 0 < slow < fast.
    """
    _check_factor(factor)
    _check_length("trained", trained)
    if not 0 < slow < fast:
        raise ValueError(f"slow = {slow}, fast = {fast}, but 0 < slow < fast is needed (turns in the trained length)")
    keep = [min(1.0, max(0.0, (turn - slow) / (fast - slow))) for turn in turns(spectrum, trained)]
    omega = tuple(w + (1 - s) * (w / factor - w) for w, s in zip(spectrum.omega, keep, strict=True))
    return replace(spectrum, omega=omega)


def turns(spectrum: Spectrum, length: int) -> tuple[float, ...]:
    """length ω_i / 2π: how often each plane turns within `length` positions."""
    return tuple(length * omega / (2 * math.pi) for omega in spectrum.omega)


def plane_of(spectrum: Spectrum, turned: float, length: int) -> float:
    """The (fractional) index of the plane that turns `turned` times within `length`.

    ValueError unless the spectrum is geometric, with two planes or more.
    """
    first, last, planes = spectrum.omega[0], spectrum.omega[-1], len(spectrum.omega)
    if planes < 2 or not 0 < last < first:
        raise ValueError(f"spectrum.omega = {spectrum.omega}, but at least 2 falling positive frequencies are needed")
    step = math.log(first / last) / (planes - 1)
    if any(abs(math.log(first / omega) - i * step) > 1e-9 for i, omega in enumerate(spectrum.omega)):
        raise ValueError("spectrum.omega is not geometric; extend the spectrum of rope(), not one extended before")
    return math.log(length * first / (2 * math.pi * turned)) / step


class ExtendedRotary(Rotation):
    """The rotation by stretch(spectrum, n, T) for a context of n tokens, T = `trained`, temperature included."""

    def __init__(self, spectrum: Spectrum, stretch: Stretch) -> None:
        super().__init__()
        self.spectrum, self.stretch = spectrum, stretch
        self.trained: int | None = None

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """q and k rotated for the current length, which is the last position + 1: keys are cached unrotated.

        ValueError where `trained` is not known.
        """
        length = int(k_positions.max()) + 1
        spectrum = self.stretch(self.spectrum, length, known(self.trained))
        return DampedRotary(spectrum).to(q.device)(q, k, q_positions, k_positions)


class RectifiedRotary(Rotation):
    """ReRoPE and Leaky ReRoPE (Su 2023): beyond a window of T/2 lags grow 1 / `factor` as fast; infinite: not at all.

    No pair of rotations does that; `extension.RectifiedAttention` computes the scores (theory.rerope).
    """

    def __init__(self, spectrum: Spectrum, factor: float = math.inf) -> None:
        """ValueError for a factor below 1."""
        super().__init__()
        if not factor >= 1:
            raise ValueError(f"factor = {factor}, but it must be at least 1")
        self.spectrum, self.factor = spectrum, factor
        self.trained: int | None = None

    @property
    def window(self) -> int:
        """Half of the training length: lags up to it are as in training. ValueError where that is not known."""
        return known(self.trained) // 2

    def forward(self, q: Queries, k: Keys, q_positions: QueryAt, k_positions: KeyAt) -> tuple[Queries, Keys]:
        """ValueError always: see the class."""
        raise ValueError(
            "ReRoPE is no rotation of q and k; open the model with attention_priors.training.extension.extend"
        )


def known(trained: int | None) -> int:
    """The training length; ValueError where nobody has given it."""
    if trained is None:
        raise ValueError(
            "the length the model was trained on is not known; set rotary.trained, or open a model of this package "
            "with attention_priors.training.extension.extend"
        )
    return trained


def _ramp(spectrum: Spectrum, many: float, few: float, trained: int, truncate: bool = True) -> list[float]:
    """0 up to the plane with `many` turns, 1 from the one with `few` turns on, linear in the index between."""
    _check_length("trained", trained)
    low, high = plane_of(spectrum, many, trained), plane_of(spectrum, few, trained)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    # The published bounds: the upper one is the head width, twice the number of planes.
    low, high = max(low, 0), min(high, 2 * len(spectrum.omega) - 1)
    width = high - low or 1e-3
    return [min(1.0, max(0.0, (i - low) / width)) for i in range(len(spectrum.omega))]


def _check_factor(factor: float) -> None:
    if not factor >= 1 or not math.isfinite(factor):
        raise ValueError(f"factor = {factor}, but an extension needs a finite factor of at least 1")


def _check_length(name: str, length: int) -> None:
    if not length >= 1 or not math.isfinite(length):
        raise ValueError(f"{name} = {length}, but a length is at least 1")
