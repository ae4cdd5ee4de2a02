"""What a profile costs: its models built without memory, its batches and lengths checked, nothing read or trained.

    python -m attention_priors.commands.train --dry-run --profile paper

Per token a model with N parameters (without the embedding), L layers of width d and a text of n tokens takes

    2 N + 2 L d n   operations to read,   three times as many to train (6 N + 6 L d n),

half of n^2 pairs being visible. Hours are those of one GPU of the H100 class that reaches UTILISATION of its peak: in
bfloat16 to train, in float32 to read; a step of training takes FLOOR seconds a layer at least, which small models need
to launch their kernels. Stopping rules make training shorter: with a target, all this is the most that it can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd
import torch
from torch.overrides import TorchFunctionMode

from ..config import ModelConfig, Profile
from ..corpora import hub
from ..evaluation import TOKENS_AT_ONCE
from ..model import PAPER_MODELS, Transformer, count
from ..positions.encodings import encoding
from ..positions.grids import GRIDS
from ..training.runs import RunSpec
from ..training.vision import VisionConfig, VisionModel
from . import EXPERIMENTS
from .arms import unread
from .experiment import Asked, Reading

PEAK, READING_PEAK = 989e12, 67e12  # H100 SXM: bfloat16 without sparsity, float32
UTILISATION = 0.2
FLOOR = 0.002
MEMORY = 80e9
STATE = 18  # bytes a parameter: weight, gradient and two moments in float32, and the bfloat16 copy of autocast
LETTERS = 4.0  # characters a token, about


@dataclass
class Budget:
    """A row per part, what stands in the way, and what a reader should know."""

    parts: pd.DataFrame
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def work(profile: Profile) -> dict[str, Asked]:
    """Everything that a profile trains and reads, by experiment; a run of several is in each of them."""
    corpus, made = unread(profile), {}
    for name, experiment in EXPERIMENTS.items():
        if name not in profile.without and (asked := experiment.asked(profile, corpus)):
            made[name] = asked
    return made


class _Shapes(TorchFunctionMode):
    """Weights of layers have a shape and no memory; what positions need is small, is checked when made, and is real."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.empty:
            kwargs["device"] = "meta"
        return function(*args, **kwargs)


@cache
def parameters(model: ModelConfig) -> dict[str, int]:
    """Parameters by part (`model.count`) of a model that is built on the meta device."""
    with _Shapes():
        return count(VisionModel(model) if isinstance(model, VisionConfig) else Transformer(model))


def operations(model: ModelConfig, length: int) -> float:
    """To read one token of a text of `length`, on average."""
    return 2 * parameters(model)["transformer"] + 2 * model.layers * model.width * length


def training(spec: RunSpec) -> tuple[float, float, float]:
    """(tokens, operations, hours) of a run, without the one that it starts from."""
    recipe, model = spec.recipe, spec.model
    tokens = float(recipe.steps * recipe.batch * recipe.length)
    needed = 3 * tokens * operations(model, recipe.length)
    launched = recipe.steps * recipe.accumulate * model.layers * FLOOR
    return tokens, needed, max(needed / (PEAK * UTILISATION), launched) / 3600


def reading(model: ModelConfig, asked: Reading) -> tuple[float, float, float]:
    """(tokens, operations, hours) of what a model is asked."""
    tokens = float(asked.length * asked.texts)
    needed = tokens * operations(model, asked.length)
    return tokens, needed, needed / (READING_PEAK * UTILISATION) / 3600


def training_memory(spec: RunSpec, processes: int) -> float:
    """Bytes of a process under DDP: states, then what the backward pass of one part of a batch keeps.

    A layer keeps, a token, 32 bytes for each of its d channels and 8 for each of the h of its SwiGLU; the loss 16 for
    each word of the vocabulary.
    """
    model, recipe = spec.model, spec.recipe
    tokens = recipe.batch // (processes * recipe.accumulate) * recipe.length
    kept = model.layers * (32 * model.width + 8 * model.hidden) + 16 * model.vocabulary
    return STATE * sum(parameters(model).values()) + tokens * kept


def reading_memory(model: ModelConfig, asked: Reading) -> float:
    """Bytes: weights, then the widest layer of the texts that are read at once, in float32."""
    tokens = max(asked.length, min(TOKENS_AT_ONCE, asked.length * asked.texts))
    return 4 * sum(parameters(model).values()) + tokens * max(8 * model.width + 16 * model.hidden, 28 * model.width)


def estimate(profile: Profile) -> Budget:
    """The budget of a profile. Problems are collected, not raised."""
    made = Budget(pd.DataFrame())
    rows, trained, answered = [], set(), set()
    for part, runs in work(profile).items():
        chain = list(dict.fromkeys(one for spec in runs for one in _chain(spec)))
        new = [spec for spec in chain if spec not in trained]
        asked = [(spec, one) for spec, each in runs.items() for one in each if _defined(one)]
        asked = [pair for pair in dict.fromkeys(asked) if pair not in answered]
        trained.update(new)
        answered.update(asked)
        sizes = [sum(parameters(spec.model).values()) for spec in chain]
        costs = [training(spec) for spec in new]
        read = [reading(spec.model, one) for spec, one in asked]
        rows.append(
            {
                "part": part,
                "runs": len(new),
                "parameters": f"{min(sizes) / 1e6:.3g}M to {max(sizes) / 1e6:.3g}M",
                "tokens": sum(c[0] for c in costs),
                "operations": sum(c[1] for c in costs),
                "hours": sum(c[2] for c in costs),
                "read": sum(c[0] for c in read),
                "read_hours": sum(c[2] for c in read),
                "memory": max(training_memory(spec, processes(profile, spec)) for spec in chain),
                "read_memory": max((reading_memory(spec.model, one) for spec, one in asked), default=0.0),
            }
        )
        made.problems += [f"{part}: {problem}" for spec in chain for problem in _problems(spec, profile)]
        made.problems += [f"{part}: {problem}" for spec, one in asked for problem in _too_large(spec, one)]
        made.notes += _undefined(part, runs)
    made.parts = pd.DataFrame(rows)
    made.problems = list(dict.fromkeys((*made.problems, *_whole(profile))))
    made.notes += _corpus(profile, [spec for spec in trained if spec.task == "language"])
    return made


def processes(profile: Profile, spec: RunSpec) -> int:
    """Language models are trained by as many processes as the profile has, all else by one."""
    return profile.processes if spec.task.startswith("language") else 1


def _chain(spec: RunSpec) -> Iterator[RunSpec]:
    """A run after those that it starts from."""
    if spec.start is not None:
        yield from _chain(spec.start)
    yield spec


def _longest(name: str) -> int | None:
    """Positions of an encoding that ends; those of a grid never do."""
    return None if name in GRIDS else encoding(name).longest


def _defined(asked: Reading) -> bool:
    longest = _longest(asked.name)
    return longest is None or asked.length <= longest


def _problems(spec: RunSpec, profile: Profile) -> Iterator[str]:
    """Why a run cannot be trained as it stands."""
    recipe, longest, many = spec.recipe, _longest(spec.model.encoding), processes(profile, spec)
    if recipe.batch % (many * recipe.accumulate):
        yield (
            f"{spec.name}: batch = {recipe.batch} is not a multiple of {many} processes x accumulate = "
            f"{recipe.accumulate}"
        )
    if longest is not None and recipe.length > longest:
        yield f"{spec.name}: trained at {recipe.length}, but it has {longest} positions"
    if (needed := training_memory(spec, many)) > MEMORY:
        yield f"{spec.name}: training takes {needed / 1e9:.0f} GB of {MEMORY / 1e9:.0f}; raise accumulate"


def _too_large(spec: RunSpec, asked: Reading) -> Iterator[str]:
    if (needed := reading_memory(spec.model, asked)) > MEMORY:
        yield (
            f"{spec.model.width} x {spec.model.layers} at {asked.length}: reading takes {needed / 1e9:.0f} GB of "
            f"{MEMORY / 1e9:.0f}; leave the length out"
        )


def _undefined(part: str, runs: Asked) -> Iterator[str]:
    """Rows that end before the longest texts."""
    ends = {one.name: _longest(one.name) for each in runs.values() for one in each if not _defined(one)}
    for name, longest in ends.items():
        yield f"{part}: {name} is undefined beyond {longest} tokens"


def _whole(profile: Profile) -> Iterator[str]:
    """What concerns no single run."""
    if profile.name == "paper":
        known = [{k: v for k, v in shape.items() if k != "vocabulary"} for shape in PAPER_MODELS.values()]
        for size in (profile.language.size, profile.passkey.size, *profile.ablations.sizes):
            if size.model_dump() not in known:
                yield f"{size} is no model of the paper: {', '.join(PAPER_MODELS)}"


def _corpus(profile: Profile, trained: list[RunSpec]) -> Iterator[str]:
    """How often a hub corpus is passed over."""
    name = profile.language.corpus
    if hub.is_remote(name):
        row = next(iter(hub.remotes(name).values()))
        yield f"{name}: fetch it first, see attention_priors.corpora.hub"
        if trained:
            passes = max(training(spec)[0] for spec in trained) * LETTERS / row.train.characters
            yield f"{name}: a language model passes {passes:.2g} times over the packed text"


def shown(budget: Budget, profile: Profile) -> str:
    """The budget as a page."""
    heads = ("part", "runs", "parameters", "tokens", "FLOPs", "train h", "read", "read h", "GB train", "GB read")
    columns = "{:<19}{:>6}  {:<18}{:>9}{:>9}{:>8}{:>9}{:>8}{:>10}{:>9}"
    lines = [f"profile {profile.name}: hours of one GPU of the H100 class at {UTILISATION:.0%} of its peak, at most"]
    lines.append(columns.format(*heads))

    def line(part: str, row: Any, parameters: str = "", *memory: float) -> str:
        work = (f"{row.tokens:.2g}", f"{row.operations:.2g}", f"{row.hours:.1f}", f"{row.read:.2g}")
        sizes = [f"{each / 1e9:.1f}" for each in memory] or ("", "")
        return columns.format(part, int(row.runs), parameters, *work, f"{row.read_hours:.1f}", *sizes)

    for row in budget.parts.itertuples():
        lines.append(line(row.part, row, row.parameters, row.memory, row.read_memory))
    total = budget.parts[["runs", "tokens", "operations", "hours", "read", "read_hours"]].sum()
    lines.append(line("all", total))
    together = total["hours"] + total["read_hours"]
    lines.append(f"together {together:.1f} hours; language models are meant for {profile.processes} process(es)")
    return "\n".join([*lines, *(f"note: {note}" for note in budget.notes)])
