"""Log-priors over key positions.

With lag = query position - key position, attention with a prior is p_ij ∝ exp(<q_i, k_j> / sqrt(d)) π(i, j)
(Bianchessi et al., Bayesian Attention Mechanism, Theorem 1). Logs are unnormalised: a constant added to a log-prior
changes nothing. A product of priors adds their logs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

FLOOR = -1e9  # finite, so that 0 * FLOOR is 0; exp(FLOOR) is 0 in every dtype
DEEPEST = -1e30  # where tables end: below FLOOR only the order of values matters
FAR = 1024.0  # a float32 log-prior of this size leaves 1e-4 to what is added to it
EDGE = 40.0  # sigmoid(40) is 1 in float64: the exponent 2 has a finite logit


class Power(NamedTuple):
    """The numbers, [heads] each, of log π(lag) = -s (|lag + μ| + ε)^β; β = 1 and μ = 0 where `beta` and `mu` are None.

    `exponential`: s = exp(strength) and μ = 2 sinh(mu), else s = strength. Parameters as they are, so that a kernel
    that needs no table needs no other operation either.
    """

    strength: Float[Tensor, " heads"]
    beta: Float[Tensor, " heads"] | None = None
    mu: Float[Tensor, " heads"] | None = None
    epsilon: float = 0.0
    exponential: bool = False

    def heads(self, start: int, stop: int) -> Power:
        """Those of the heads start .. stop - 1."""
        some = (None if x is None else x[start:stop] for x in self[:3])
        return Power(*some, *self[3:])


class Prior(nn.Module, ABC):
    """A prior over the keys that each query may attend to, one per head."""

    headwise = False  # every parameter is one number per head, which moves that head's log-prior alone

    @cached_property
    def heads(self) -> int:
        """How many heads it has; every prior sets it in __init__. ValueError where one does not."""
        raise ValueError(f"{type(self).__name__} has no heads; set self.heads in __init__")

    def __mul__(self, other: Prior) -> Product:
        if not isinstance(other, Prior):
            return NotImplemented
        return Product(self, other)

    @abstractmethod
    def split(self) -> tuple[list[RelativePrior], list[KeyPrior]]:
        """The factors that depend on the lag and the factors that depend on the key alone."""

    def table(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"] | None:
        """T[h, lag], the sum of log π over the factors that depend on the lag; None where there is none.

        Unrounded where the formulas are. A head whose peak is beyond ±FAR is moved to the peak 0; values below FLOOR
        keep their order and have no gradient. ValueError for a wrong shape, and for NaN and infinity (not in compiled
        code, nor on a GPU, which would have to wait).
        """
        relative, _ = self.split()
        return _settled(relative, [factor.exact(lags) for factor in relative], len(lags))

    def of_keys(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"] | None:
        """u[h, j], the sum of log π over the factors that depend on the key alone, as in `table`; None without any."""
        _, own = self.split()
        return _settled(own, [factor.log_prior(keys, length) for factor in own], len(keys))


class RelativePrior(Prior):
    """A prior that depends on the lag alone (a Toeplitz bias)."""

    @abstractmethod
    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        """log π(lag), unnormalised. Lags are integers, negative for keys after the query; every lag has a value."""

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        """The same, neither rounded nor cut off where the formula is evaluated in float64."""
        return self.log_prior(lags)

    def power(self) -> Power | None:
        """The parameters of log π where it is a power of the lag, so that a kernel needs no table; None elsewhere."""
        return None

    def split(self) -> tuple[list[RelativePrior], list[KeyPrior]]:
        return [self], []


class ClosedForm(RelativePrior):
    """A relative prior whose formula is evaluated in float64 (`exact`) and rounded at the end."""

    @abstractmethod
    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        """log π(lag) in float64."""

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        dtype = next((p.dtype for p in self.parameters()), torch.float32)
        return self.exact(lags).clamp(min=FLOOR).to(_at_least_single(dtype))


class KeyPrior(Prior):
    """A prior that depends on the key's position alone, such as an attention sink."""

    @abstractmethod
    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        """log π(key) for key positions in a context of `length` keys, unnormalised."""

    def split(self) -> tuple[list[RelativePrior], list[KeyPrior]]:
        return [], [self]


class Product(Prior):
    """log π = Σ_f log π_f over the factors f, all with the same heads."""

    def __init__(self, *factors: Prior) -> None:
        """ValueError without a factor, and where their heads differ."""
        super().__init__()
        if not factors:
            raise ValueError("a product needs at least one factor; Uniform(heads) is the prior that says nothing")
        heads = {factor.heads for factor in factors}
        if len(heads) != 1:
            raise ValueError(f"the factors of a product have {sorted(heads)} heads; give all of them the same number")
        self.heads = heads.pop()
        self.factors = nn.ModuleList(factors)

    def split(self) -> tuple[list[RelativePrior], list[KeyPrior]]:
        relative: list[RelativePrior] = []
        keys: list[KeyPrior] = []
        for factor in self.factors:
            more_relative, more_keys = factor.split()
            relative += more_relative
            keys += more_keys
        return relative, keys


class Uniform(RelativePrior):
    """log π(lag) = 0: no preference beyond what is visible (BAM Lemma 1; NoPE, Kazemnejad et al. 2023)."""

    def __init__(self, heads: int) -> None:
        """ValueError for less than one head."""
        super().__init__()
        self.heads = _positive("heads", heads)
        self.register_buffer("zero", torch.zeros(heads), persistent=False)

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return self.zero[:, None].expand(self.heads, lags.shape[0])


class Laplace(RelativePrior):
    """log π(lag) = -m |lag| with one slope m > 0 per head (ALiBi, Press et al. 2022; BAM Lemma 2, scale 1/m).

    Slopes are above 0 at the start; nothing keeps trained ones there, and with m < 0 far keys weigh more than near
    ones. `GeneralizedGaussian.laplace(heads, trainable=("theta_alpha",))` trains the slope's logarithm.
    """

    headwise = True

    def __init__(self, slopes: Iterable[float] | Tensor, trainable: bool = False) -> None:
        """One slope per head. ValueError unless all are finite and above 0."""
        super().__init__()
        (given,) = _per_head(instead=", alibi_slopes(heads) for ALiBi's", slopes=slopes)
        self.heads = len(given)
        self.slopes = nn.Parameter(given.float(), requires_grad=trainable)

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return -self.slopes[:, None] * lags.abs().to(_at_least_single(self.slopes.dtype))

    def power(self) -> Power:
        return Power(self.slopes)


class GeneralizedGaussian(ClosedForm):
    """log π(lag) = -exp(θ_α) (|lag + μ| + ε)^θ_β with μ = 2 sinh θ_μ: GGD-BAM (BAM §2.3 and App. C).

    In the paper's symbols β = θ_β, α = exp(-θ_α / θ_β) and j - i - μ = -(lag + μ), so that a negative μ moves the peak
    to the lag -μ in the past. θ_β = 0 is the uniform prior, θ_β = 1 with θ_α = ln m is ALiBi's Laplace, θ_β = 2 a
    Gaussian; θ_β < 0 weighs the vicinity of the query down. α is undefined at θ_β = 0 (NaN here), the prior is not.
    """

    NAMES = ("theta_alpha", "theta_beta", "theta_mu")
    headwise = True

    def __init__(
        self,
        theta_alpha: Iterable[float] | Tensor,
        theta_beta: Iterable[float] | Tensor,
        theta_mu: Iterable[float] | Tensor | None = None,
        epsilon: float = 1e-5,
        trainable: Iterable[str] = ("theta_alpha", "theta_beta"),
    ) -> None:
        """Each θ has shape [heads]; `trainable` names those that receive gradients. ValueError outside the domain."""
        super().__init__()
        if isinstance(trainable, str | bool):
            raise ValueError(f"trainable = {trainable!r}; give a tuple of names, such as ('theta_alpha',)")
        trainable = tuple(trainable)
        for name in trainable:
            if name not in self.NAMES:
                raise ValueError(f"trainable contains {name!r}; choose among {', '.join(self.NAMES)}")
        if not epsilon > 0 or not math.isfinite(epsilon):
            raise ValueError(f"epsilon = {epsilon}, but it must be finite and above 0: 0 raised to θ_β < 0 is infinite")
        given = {"theta_alpha": theta_alpha, "theta_beta": theta_beta}
        given |= {} if theta_mu is None else {"theta_mu": theta_mu}
        tensors = _per_head(positive=False, instead=", or use GeneralizedGaussian.uniform(heads)", **given)
        if theta_mu is None:
            tensors.append(torch.zeros_like(tensors[0]))
        for name, tensor in zip(self.NAMES, tensors, strict=True):
            setattr(self, name, nn.Parameter(tensor.float(), requires_grad=name in trainable))
        self.heads = len(tensors[0])
        self.epsilon = epsilon

    @classmethod
    def uniform(cls, heads: int, trainable: Iterable[str] = ("theta_alpha", "theta_beta")) -> GeneralizedGaussian:
        """θ_α = θ_β = θ_μ = 0: training starts from NoPE (BAM App. F.1). ValueError for less than one head."""
        zeros = torch.zeros(_positive("heads", heads))
        return cls(zeros, zeros, trainable=trainable)

    @classmethod
    def laplace(cls, heads: int, trainable: Iterable[str] = ("theta_alpha", "theta_beta")) -> GeneralizedGaussian:
        """θ_β = 1 and θ_α = ln m_h: training starts from ALiBi's slopes m_h (BAM App. F.1).

        ValueError for less than one head.
        """
        slopes = torch.tensor(alibi_slopes(heads))
        return cls(slopes.log(), torch.ones(heads), trainable=trainable)

    @property
    def alpha(self) -> Float[Tensor, " heads"]:
        """Scale α = exp(-θ_α / θ_β); NaN where θ_β = 0."""
        return torch.where(self.theta_beta == 0, torch.nan, (-self.theta_alpha / self.theta_beta).exp())

    @property
    def beta(self) -> Float[Tensor, " heads"]:
        """Shape β = θ_β."""
        return self.theta_beta

    @property
    def mu(self) -> Float[Tensor, " heads"]:
        """Location μ = 2 sinh θ_μ = exp(θ_μ) - exp(-θ_μ)."""
        return 2 * self.theta_mu.sinh()

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        # Lags are exact in float64, and lag + μ keeps μ's digits at lags of half a million.
        distance = (lags.double() + self.mu.double()[:, None]).abs() + self.epsilon
        return -self.theta_alpha.double().exp()[:, None] * distance.pow(self.theta_beta.double()[:, None])

    def power(self) -> Power:
        return Power(self.theta_alpha, self.theta_beta, self.theta_mu, self.epsilon, exponential=True)


def alibi_slopes(heads: int) -> list[float]:
    """ALiBi's slopes: 2^(-8 h / H) for h = 1..H where H is a power of two.

    For other H: the slopes of the next lower power of two, then every second one of the next higher's, as in the
    authors' released code (Press et al. 2022). ValueError for less than one head.
    """
    _positive("heads", heads)
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8.0 * h / power) for h in range(1, power + 1)]
    return slopes + [2.0 ** (-4.0 * h / power) for h in range(1, 2 * (heads - power), 2)]


class KerplePower(ClosedForm):
    """log π(lag) = -r1 |lag|^r2, r1 > 0, 0 < r2 <= 2 (Chi et al. 2022, eq. 5: the power variant).

    r1 = exp(θ_1) and r2 = 2 sigmoid(θ_2) keep training inside the domain; at the edge r2 = 2 the exponent has no
    gradient. r2 = 1 is ALiBi with slope r1, r2 = 2 a Gaussian; it is the generalised Gaussian of scale r1^(-1/r2)
    without location. Conditionally positive definite exactly for these r2.
    """

    headwise = True

    def __init__(self, r1: Iterable[float] | Tensor, r2: Iterable[float] | Tensor, trainable: bool = True) -> None:
        """One r1 and one r2 per head. ValueError outside the domain."""
        super().__init__()
        first, second = _per_head(r1=r1, r2=r2)
        if not (second.is_meta or (second <= 2).all()):
            raise ValueError(f"r2 = {second.tolist()}, but a power of the distance needs 0 < r2 <= 2 in every head")
        self.heads = len(first)
        self.log_r1 = nn.Parameter(first.log().float(), requires_grad=trainable)
        self.logit_r2 = nn.Parameter((second / 2).logit().clamp(max=EDGE).float(), requires_grad=trainable)

    @property
    def r1(self) -> Float[Tensor, " heads"]:
        """Scale exp(θ_1), in float64."""
        return self.log_r1.double().exp()

    @property
    def r2(self) -> Float[Tensor, " heads"]:
        """Exponent 2 sigmoid(θ_2), in float64."""
        return 2 * self.logit_r2.double().sigmoid()

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return -self.r1[:, None] * lags.double().abs().pow(self.r2[:, None])


class KerpleLog(ClosedForm):
    """log π(lag) = -r1 log(1 + r2 |lag|), r1, r2 > 0 (Chi et al. 2022, eq. 5: the logarithmic variant).

    π(lag) = (1 + r2 |lag|)^(-r1): a power law of exponent r1 beyond the lag 1/r2. Its normaliser over all lags d >= 0
    is r2^(-r1) ζ(r1, 1/r2) (Hurwitz) for r1 > 1; for r1 <= 1 it grows without bound with the context. r1 = exp(θ_1),
    r2 = exp(θ_2).
    """

    headwise = True

    def __init__(self, r1: Iterable[float] | Tensor, r2: Iterable[float] | Tensor, trainable: bool = True) -> None:
        """One r1 and one r2 per head. ValueError outside the domain."""
        super().__init__()
        first, second = _per_head(r1=r1, r2=r2)
        self.heads = len(first)
        self.log_r1 = nn.Parameter(first.log().float(), requires_grad=trainable)
        self.log_r2 = nn.Parameter(second.log().float(), requires_grad=trainable)

    @property
    def r1(self) -> Float[Tensor, " heads"]:
        """Scale exp(θ_1), in float64."""
        return self.log_r1.double().exp()

    @property
    def r2(self) -> Float[Tensor, " heads"]:
        """Rate exp(θ_2) per position, in float64."""
        return self.log_r2.double().exp()

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return -self.r1[:, None] * (self.r2[:, None] * lags.double().abs()).log1p()


def bucket_starts(buckets: int = 32, farthest: int = 128) -> list[int]:
    """The first lag of every bucket: 0, 1, .., n/2, then the least d with n/2 + (n/2) ln(2d/n) / ln(2D/n) >= b.

    n = `buckets`, D = `farthest`. In whole numbers, so that no rounding of a logarithm moves an edge. With n = 32 and
    D = 128 the last bucket starts at lag 113; a bucket that no lag falls into starts with the next. ValueError unless
    n >= 2 and D > n/2.
    """
    exact = buckets // 2
    if buckets < 2 or farthest <= exact:
        raise ValueError(f"buckets = {buckets}, farthest = {farthest}: give at least 2 buckets and farthest > {exact}")
    coarse = buckets - exact
    starts = list(range(exact))
    for step in range(coarse):
        # (d / exact)^coarse >= (farthest / exact)^step
        bound, lag = exact**coarse * farthest**step, starts[-1] if step else exact
        while lag**coarse * exact**step < bound:
            lag += 1
        starts.append(lag)
    return starts


def t5_bucket(
    lags: Int[Tensor, " lags"], buckets: int = 32, farthest: int = 128, bidirectional: bool = False
) -> Int[Tensor, " lags"]:
    """Bucket of each lag. Causal: keys after the query go to bucket 0. Bidirectional: they have the upper half.

    Each half of a bidirectional table is a causal one with n/2 buckets. ValueError as for `bucket_starts`.
    """
    side = buckets // 2 if bidirectional else buckets
    starts = torch.tensor(bucket_starts(side, farthest), device=lags.device)
    distance = lags.abs() if bidirectional else lags.clamp(min=0)
    bucket = torch.bucketize(distance, starts, right=True) - 1
    return bucket + side * (lags < 0) if bidirectional else bucket


class T5Buckets(RelativePrior):
    """log π(lag) = b[bucket(lag)], one learned number per head and bucket; b = 0 at the start: uniform.

    A histogram over lags, constant from the last bucket on (Raffel et al. 2020: 32 buckets, 128 lags, one table shared
    by all layers).
    """

    def __init__(
        self, heads: int, buckets: int = 32, farthest: int = 128, bidirectional: bool = False, trainable: bool = True
    ) -> None:
        """ValueError without a head, for an odd number of buckets in two directions, and as for `bucket_starts`."""
        super().__init__()
        _positive("heads", heads)
        if bidirectional and buckets % 2:
            raise ValueError(f"buckets = {buckets}, but two directions need an even number")
        bucket_starts(buckets // 2 if bidirectional else buckets, farthest)
        self.heads, self.buckets, self.farthest, self.bidirectional = heads, buckets, farthest, bidirectional
        self.values = nn.Parameter(torch.zeros(heads, buckets), requires_grad=trainable)

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        chosen = self.values[:, t5_bucket(lags, self.buckets, self.farthest, self.bidirectional)]
        return chosen.to(_at_least_single(self.values.dtype))


class LagTable(RelativePrior):
    """log π(lag) = b[lag], one learned number per head and lag; b = 0 at the start: uniform.

    T5's histogram (`T5Buckets`) with a bin for each lag: a lag that never occurs in training keeps its start. Lags from
    `longest` - 1 on share the last number, keys after the query the first.
    """

    def __init__(self, heads: int, longest: int) -> None:
        """ValueError for less than one head or lag."""
        super().__init__()
        if heads < 1 or longest < 1:
            raise ValueError(f"heads = {heads}, longest = {longest}, but a table needs at least 1 of each")
        self.heads, self.longest = heads, longest
        self.values = nn.Parameter(torch.zeros(heads, longest))

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        chosen = self.values[:, lags.clamp(0, self.longest - 1)]
        return chosen.to(_at_least_single(self.values.dtype))


class Sandwich(ClosedForm):
    """log π(lag) = (1/r_h) Σ_{i=0}^{w/2-1} cos(lag ω_i), ω_i = B^(-2i/w), r_h = 8 h / H for h = 1..H.

    w = `width` is a free number, not the head's width (128 in Chi et al. 2023); the sum is <p_m, p_n> of two sinusoidal
    embeddings, so that the kernel is positive definite and has rank <= w. Averaged over lags it falls like
    (w/2) (1 - (ln lag + γ) / ln B), a power law of exponent w / (2 r_h ln B) below the lag B. Nothing is learned.
    """

    def __init__(self, heads: int, width: int = 128, base: float = 10_000.0) -> None:
        """ValueError unless `width` is even and at least 2, 1 < base < infinity, and heads >= 1."""
        super().__init__()
        if width < 2 or width % 2:
            raise ValueError(f"width = {width}, but sines and cosines come in pairs: give an even width of at least 2")
        if not base > 1 or not math.isfinite(base):
            raise ValueError(f"base = {base}, but it must be finite and above 1")
        self.heads = _positive("heads", heads)
        self.omega = tuple(base ** (-2 * i / width) for i in range(width // 2))
        self.ratios = tuple(8 * h / heads for h in range(1, heads + 1))

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        shared = torch.zeros(lags.shape, dtype=torch.float64, device=lags.device)
        for omega in self.omega:  # a sum in place: the table [lags planes] of a long context would not fit
            shared += (lags.double() * omega).cos()
        ratios = torch.tensor(self.ratios, dtype=torch.float64, device=lags.device)
        return shared / ratios[:, None]


class RelativeShare(RelativePrior):
    """log π(lag) of the heads start .. stop - 1 of a relative prior, whose parameters it shares."""

    def __init__(self, whole: RelativePrior, start: int, stop: int) -> None:
        super().__init__()
        self.whole, self.start, self.stop, self.heads = whole, start, stop, stop - start

    def log_prior(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return self.whole.log_prior(lags)[self.start : self.stop]

    def exact(self, lags: Int[Tensor, " lags"]) -> Float[Tensor, "heads lags"]:
        return self.whole.exact(lags)[self.start : self.stop]

    def power(self) -> Power | None:
        power = self.whole.power()
        return None if power is None else power.heads(self.start, self.stop)


class KeyShare(KeyPrior):
    """log π(key) of the heads start .. stop - 1 of a prior over keys, whose parameters it shares."""

    def __init__(self, whole: KeyPrior, start: int, stop: int) -> None:
        super().__init__()
        self.whole, self.start, self.stop, self.heads = whole, start, stop, stop - start

    def log_prior(self, keys: Int[Tensor, " keys"], length: int) -> Float[Tensor, "heads keys"]:
        return self.whole.log_prior(keys, length)[self.start : self.stop]


def share(prior: Prior, start: int, stop: int) -> Product:
    """The prior of the heads start .. stop - 1. ValueError where it has no such heads."""
    if not 0 <= start < stop <= prior.heads:
        raise ValueError(f"heads {start} to {stop} of {prior.heads}; give 0 <= start < stop <= {prior.heads}")
    relative, keys = prior.split()
    return Product(
        *(RelativeShare(factor, start, stop) for factor in relative),
        *(KeyShare(factor, start, stop) for factor in keys),
    )


def _settled(factors: list[Prior], terms: list[Tensor], length: int) -> Tensor | None:
    """The sum of the factors' logs, [heads, length], finite: see `Prior.table`."""
    for factor, term in zip(factors, terms, strict=True):
        if term.shape != (factor.heads, length):
            raise ValueError(
                f"the log-prior of {type(factor).__name__} has shape {list(term.shape)}, but [heads, positions] = "
                f"{[factor.heads, length]} is needed"
            )
    if not terms:
        return None
    total = sum(terms)
    peak = total.amax(-1, keepdim=True)
    if total.device.type == "cpu" and not torch.compiler.is_compiling():
        if not peak.isfinite().all():
            names = " * ".join(type(factor).__name__ for factor in factors)
            raise ValueError(f"the log-prior of {names} reaches {peak.flatten().tolist()}; give it finite parameters")
        if peak.abs().amax() <= FAR and total.amin() >= FLOOR:
            return total
    total = torch.where(peak.abs() > FAR, total - peak, total)
    return torch.where(total < FLOOR, total.detach(), total).clamp(min=DEEPEST)


def _at_least_single(dtype: torch.dtype) -> torch.dtype:
    """Half-precision parameters give float32 logs: bfloat16 has no lag 257, float16 no lag 70,000 and no FLOOR."""
    return torch.promote_types(dtype, torch.float32)


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} = {value}, but at least 1 is needed")
    return value


def _per_head(
    *, positive: bool = True, instead: str = "", **values: Iterable[float] | Tensor
) -> list[Float[Tensor, " heads"]]:
    """The values in float64, after checks; `instead` ends the message about a single number."""
    for name, value in values.items():
        if not isinstance(value, Iterable):
            raise ValueError(f"{name} = {value!r}; give one number per head{instead}")
    given = [v if isinstance(v, Tensor) else torch.tensor(list(v), dtype=torch.float64) for v in values.values()]
    tensors = [tensor.detach().double() for tensor in given]
    shapes = {tuple(tensor.shape) for tensor in tensors}
    if len(shapes) != 1 or tensors[0].ndim != 1 or not len(tensors[0]):
        listed = ", ".join(f"{name} {list(t.shape)}" for name, t in zip(values, tensors, strict=True))
        raise ValueError(f"shapes are {listed}, but all must be [heads] with at least one head")
    for name, tensor in zip(values, tensors, strict=True):
        good = tensor.isfinite() & (tensor > 0) if positive else tensor.isfinite()
        if not (tensor.is_meta or good.all()):
            needed = "finite and above 0" if positive else "finite"
            raise ValueError(f"{name} = {tensor.tolist()}, but it must be {needed} in every head")
    return tensors
