"""The laws that every encoding obeys, tried on a reader's own before it is trained."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ... import runtime
from ...attention import attention
from ...config import ModelConfig, Profile
from ...experiments.arms import passkey_run
from ...model import Cache, Transformer
from ...positions.encodings import ENCODINGS, Encoding
from ...positions.priors import FLOOR, KeyPrior, Prior, RelativePrior
from ...tasks import SOURCES
from ...training.runs import build, loss_of
from .source import Own

HEADS = (1, 4, 6)  # that a prior is made with
TOEPLITZ, SAME = 1e-5, 1e-6  # largest relative gap of one log-prior asked twice, and of outputs in float64
CONSTANT = 5.0
KEYS = 64  # at which a prior over keys is asked
STEPS = 4  # timed training steps
PATIENCE = 960.0  # seconds that training may take from checkpoint to checkpoint


@dataclass(frozen=True)
class Held:
    """A law that held: what was tried, and what was found."""

    law: str
    tried: str
    found: str


class Raised(RelativePrior):
    """A prior with a constant added to its log."""

    def __init__(self, prior: RelativePrior) -> None:
        super().__init__()
        self.prior, self.heads = prior, prior.heads

    def log_prior(self, lags: Tensor) -> Tensor:
        return self.prior.exact(lags) + CONSTANT


def hold(own: Own, profile: Profile, farthest: int) -> list[Held]:
    """Every law in turn. `Wrong` at the first that fails, with the line of the method behind it."""
    row = ENCODINGS[own.name]
    found: list[Held] = []
    if row.prior:
        prior = made(own, row, profile.passkey.size.heads)
        for factor in prior.split()[0]:
            found += _of_lags(own, factor, profile.passkey.recipe.length, farthest)
        for factor in prior.split()[1]:
            found.append(
                Held("a prior says what it depends on", f"`{type(factor).__name__}`", "over keys: not Toeplitz")
            )
        found += _attended(own, prior)
    return [*found, *_model(own, row, profile)]


def made(own: Own, row: Encoding, heads: int) -> Prior:
    """The prior of a row for each of HEADS and for `heads`, which is returned."""
    for count in (*HEADS, heads):
        torch.manual_seed(0)
        with own.at(f"making the prior for {count} heads"):
            prior = row.prior(count)
        if not isinstance(prior, Prior):
            raise own.wrong(
                f"the prior of {own.name!r} is {type(prior).__name__}, no Prior; derive it from "
                "RelativePrior, and give prior= a function of the number of heads"
            )
        for factor in (part for parts in prior.split() for part in parts):
            with own.at(f"making the prior for {count} heads"):
                has = factor.heads
            if has != count:
                raise own.wrong(
                    f"{type(factor).__name__} has heads = {has!r}, but was made for {count}; set self.heads = heads",
                    own.line(factor, "__init__"),
                )
    return prior


def asked(own: Own, factor: RelativePrior | KeyPrior, places: Tensor) -> Tensor:
    """The log-prior of a factor at lags, or of one over keys at all keys: [heads, lags or keys], finite."""
    name, line, kind = type(factor).__name__, own.line(factor), "key" if isinstance(factor, KeyPrior) else "lag"
    with own.at(f"the log-prior of {name}"), torch.no_grad():
        if kind == "key":
            found = factor.log_prior(places, len(places))
        else:
            found = (factor.log_prior if type(factor).exact is RelativePrior.exact else factor.exact)(places)
    if not isinstance(found, Tensor):
        given = "None" if found is None else type(found).__name__
        raise own.wrong(f"the log-prior of {name} returns {given}, not a tensor; return it", line)
    if found.shape != (factor.heads, len(places)):
        raise own.wrong(
            f"the log-prior of {name} has shape {list(found.shape)} for {len(places)} {kind}s, but [heads, {kind}s] = "
            f"{[factor.heads, len(places)]} is needed; give each head "
            "a row, as in scale[:, None]",
            line,
        )
    if not found.dtype.is_floating_point:
        raise own.wrong(f"the log-prior of {name} is of {found.dtype}; return floating-point numbers", line)
    bad = (~found.isfinite()).nonzero()
    if len(bad):
        head, at = bad[0].tolist()
        value = float(found[head, at])
        remedy = f"clamp it at {FLOOR:g}, which no key survives" if value == -float("inf") else "make it finite there"
        if places[at] < 0:
            remedy = "keys after the query are asked, too, before they are hidden: use lags.abs()"
        where = f"{kind} {int(places[at])} (head {head})"
        raise own.wrong(f"the log-prior of {name} is {value:g} at {where}; {remedy}", line)
    return found.double()


def _of_lags(own: Own, factor: RelativePrior, trained: int, farthest: int) -> Iterator[Held]:
    name, line = type(factor).__name__, own.line(factor)
    whole = asked(own, factor, torch.arange(farthest))
    asked(own, factor, torch.arange(-trained, 0))
    tried = f"`{name}`, lags -{trained} to {farthest - 1:,}"
    yield Held("shape", tried, f"[{factor.heads}, {farthest + trained:,}], finite")
    shuffled = torch.randperm(trained, generator=runtime.generator(0, "own/lags"))
    ways = {
        f"the lags 0 to {trained - 1} alone": torch.arange(trained),
        "the same lags in another order": shuffled,
        "the lags from 7 on": torch.arange(7, 7 + trained),
        "the same lags again": torch.arange(trained),
        "one lag alone": torch.tensor([trained // 2]),
    }
    worst = 0.0
    for way, lags in ways.items():
        gap = (asked(own, factor, lags) - whole[:, lags]).abs() / (1 + whole[:, lags].abs())
        worst = max(worst, float(gap.max()))
        if worst > TOEPLITZ:
            head, at = divmod(int(gap.argmax()), len(lags))
            lag = int(lags[at])
            now = float(asked(own, factor, lags)[head, at])
            raise own.wrong(
                f"the log-prior of {name} at lag {lag} is {float(whole[head, lag]):.6g} among {farthest:,} "
                f"lags, but {now:.6g} when asked for {way} (head {head}): it depends on more than the lag; "
                "compute it from each lag alone, or derive it from KeyPrior",
                line,
            )
    yield Held("Toeplitz: the lag alone", f"`{name}`, {len(ways)} ways to ask for a lag", f"largest gap {worst:.1g}")


def _inputs(heads: int, queries: int) -> list[Tensor]:
    stream = runtime.generator(0, "own/inputs")
    return [torch.randn(1, heads, queries, 16, dtype=torch.float64, generator=stream) for _ in range(3)]


def _attended(own: Own, prior: Prior) -> Iterator[Held]:
    """What attention makes of a prior: a constant, gradients, the ways to compute it."""
    heads = prior.heads
    relative, keys = prior.split()
    for factor in keys:
        asked(own, factor, torch.arange(KEYS))
    q, k, v = _inputs(heads, 40)
    with own.at("attention with the prior"), torch.no_grad():
        for factor in relative:
            gap = _apart(attention(q, k, v, prior=Raised(factor)), attention(q, k, v, prior=factor))
            if gap > TOEPLITZ:
                raise own.wrong(
                    f"a constant added to the log-prior of {type(factor).__name__} moves the output by "
                    f"{gap:.2g}: its values are too large "
                    "for their dtype; compute it in float64",
                    own.line(factor),
                )
            yield Held("a constant changes nothing", f"log-prior + {CONSTANT:g}", f"largest change {gap:.1g}")
        far = _inputs(heads, 600)
        slow = attention(*far, prior=prior, backend="reference")
        for backend in ("sdpa", "sdpa_skip"):
            gap = _apart(attention(*far, prior=prior, backend=backend), slow)
            if gap > TOEPLITZ:
                raise own.wrong(
                    f"backend {backend!r} gives outputs that differ by {gap:.2g} from the definition; let "
                    "the log-prior depend on the "
                    "lags and its parameters alone",
                    own.line((relative or keys)[0]),
                )
            yield Held(f"backend `{backend}` equals the definition", "600 tokens", f"largest difference {gap:.1g}")
    x = [each.requires_grad_() for each in _inputs(heads, 128)]
    with own.at("the gradient of attention with the prior"):
        attention(*x, prior=prior).square().sum().backward()
    silent = []
    for name, tensor in (*zip("qkv", x, strict=True), *prior.named_parameters()):
        if tensor.requires_grad and tensor.grad is None:
            silent.append(name)
        elif tensor.requires_grad and not bool(tensor.grad.isfinite().all()):
            owner = next(
                part for part in (*relative, *keys) if name in "qkv" or any(p is tensor for p in part.parameters())
            )
            raise own.wrong(
                f"the gradient of {name!r} is not finite: a root, a logarithm or a quotient at 0 has none; "
                "add a small number inside, or use torch.where twice",
                own.line(owner),
            )
    count = sum(p.numel() for p in prior.parameters() if p.requires_grad)
    said = f"; none for {', '.join(silent)}" if silent else ""
    if silent:
        runtime.say(f"[encoding] {own.name}: no gradient reaches {', '.join(silent)}; is it detached?")
    yield Held("finite gradients", f"q, k, v and {count} parameters of the prior in a layer", f"all finite{said}")


@torch.no_grad()
def _model(own: Own, row: Encoding, profile: Profile) -> Iterator[Held]:
    """Decoding token by token gives what the whole text gives."""
    size = profile.passkey.size.model_dump()
    for name in (own.name, own.scaled):
        torch.manual_seed(0)
        with own.at(f"a model with {name!r}"):
            model = Transformer(ModelConfig(vocabulary=31, encoding=name, **size)).double().eval()
            model.trained = profile.passkey.recipe.length
            tokens = torch.randint(31, (2, 24), generator=runtime.generator(0, "own/tokens"))
            whole, cache = model(tokens), Cache()
            parts = [model(tokens[:, :9], cache=cache)]
            parts += [model(tokens[:, i : i + 1], cache=cache) for i in range(9, 24)]
        if not bool(whole.isfinite().all()):
            raise own.wrong(
                f"a model with {name!r} gives logits that are not finite before it is trained: look for a "
                "quotient, a root or a logarithm in what it makes of positions",
                None,
            )
        gap = _apart(torch.cat(parts, 1), whole)
        if not row.whole and gap > SAME:
            factors = model.blocks[0].attention.prior.split()[0] if row.prior else []
            raise own.wrong(
                f"a model with {name!r} gives logits that differ by {gap:.2g} when it decodes token by "
                "token: the encoding depends on how long the context is; let it depend on positions "
                "alone, or say whole=True",
                own.line(factors[0]) if factors else None,
            )
        said = f"largest difference {gap:.1g}" + (", as `whole` says" if row.whole and gap > SAME else "")
        yield Held("decode equals prefill", f"`{name}`, 24 tokens", said)


def _apart(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max() / (1 + other.abs().max()))


def price(own: Own, name: str, profile: Profile) -> tuple[float, float]:
    """Seconds of a training step here and now, and how many of NoPE's that is: the median of a few, in turn.

    `Wrong` where a checkpoint would take longer than PATIENCE: what is stopped before it begins anew.
    """
    specs = [passkey_run(profile, each, profile.seeds[0]) for each in (name, "nope")]
    models = [build(spec) for spec in specs]
    longest = specs[0].recipe.model_copy(update={"varied": None})
    source = SOURCES[specs[0].task](specs[0].model_copy(update={"recipe": longest}))
    spent: list[list[float]] = [[], []]
    for step in range(STEPS):
        for model, times in zip(models, spent, strict=True):
            batch, began = source(step), time.perf_counter()
            with own.at("a training step"):
                loss_of(model, batch, longest)[0].backward()
            times.append(time.perf_counter() - began)
    ours, theirs = (sorted(times[1:])[len(times[1:]) // 2] for times in spent)
    if (steps := longest.checkpoint_every) * ours > PATIENCE:
        factors = [part for part in models[0].modules() if isinstance(part, RelativePrior)]
        said = f"a training step takes {ours:.1f} s, {ours / theirs:.0f} times NoPE's, and {steps} steps from "
        said += f"checkpoint to checkpoint more than {PATIENCE / 60:.0f} min; compute all lags at once, without loops"
        raise own.wrong(said, own.line(factors[0]) if factors else None)
    return ours, ours / theirs
