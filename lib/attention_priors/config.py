"""Profiles, models and recipes as typed, frozen values that reject unknown keys."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "notebooks" / "profiles"
CACHE = Path(os.environ.get("ATTENTION_PRIORS_CACHE", ROOT / ".cache"))  # runs and corpora: never committed


class Frozen(BaseModel):
    """A value that cannot change and has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Size(Frozen):
    """The part of a model's configuration that a profile fixes for all encodings. `hidden`: width of the SwiGLU."""

    width: int = Field(ge=2)
    layers: int = Field(ge=1)
    heads: int = Field(ge=1)
    hidden: int = Field(ge=1)

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width = {self.width} is not a multiple of heads = {self.heads}")
        return self


class ModelConfig(Size):
    """A Llama-style decoder."""

    vocabulary: int = Field(ge=2)
    kv_heads: int | None = Field(default=None, ge=1)
    encoding: str
    causal: bool = Field(default=True, description="false: every token sees every other, as in an encoder")

    @model_validator(mode="after")
    def _grouped(self) -> Self:
        if self.heads % (self.kv_heads or self.heads):
            raise ValueError(f"heads = {self.heads} is not a multiple of kv_heads = {self.kv_heads}")
        return self


class Varied(Frozen):
    """Training texts of a retrieval task that are not all alike; a recipe's `length` is the longest."""

    shortest: int = Field(ge=2, description="each batch has one length, drawn from this one on")
    cut: float = Field(ge=0, lt=1, description="share of texts that begin inside the description")
    keyless: float = Field(ge=0, lt=1, description="share of texts without key and question")


class Gate(Frozen):
    """Held-out prompts that are asked while a model is trained: it has learned when two turns in a row are right."""

    lengths: tuple[int, ...] = Field(min_length=1)
    samples: int = Field(ge=1, description="prompts at each length")
    accuracy: float = Field(gt=0, le=1, description="share that has to be right")
    every: int = Field(ge=1, description="steps between two turns")


class Recipe(Frozen):
    """How a model is trained: along a cosine over `steps`, or until the answers are learned and then to rest.

    With a `target` the rate stays where it is until the answer loss, a mean over the last `training.SETTLED` batches
    that no step has seen before, is at most `target`; with a `gate`, until held-out prompts are answered. Then it falls
    linearly over `cooldown` steps and training ends (warm-up, stable, decay: Hu et al. 2024). `steps` is the most
    either way, and `final_rate` x rate the end.
    """

    name: str
    optimizer: Literal["radam", "adamw", "muon"]
    rate: float = Field(gt=0)
    prior_rate: float = Field(gt=0, description="multiplies the rate of prior parameters")
    steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    accumulate: int = Field(default=1, ge=1, description="parts of a batch whose gradients are added up")
    length: int = Field(ge=2)
    warmup: int = Field(ge=0)
    final_rate: float = Field(ge=0, le=1)
    weight_decay: float = Field(ge=0)
    betas: tuple[float, float]
    clip: float = Field(gt=0)
    text_weight: float = Field(ge=0, description="weight of the loss on tokens that are not an answer")
    checkpoint_every: int = Field(ge=1)
    target: float | None = Field(default=None, gt=0, description="answer loss (nats) at which the rate starts to fall")
    cooldown: int = Field(default=0, ge=0, description="steps over which it then falls")
    varied: Varied | None = None
    gate: Gate | None = Field(default=None, description="in place of a target")

    @property
    def stops(self) -> bool:
        """Whether training ends when the task is learned."""
        return self.target is not None or self.gate is not None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.target is not None and self.gate is not None:
            raise ValueError(f"target = {self.target} and a gate; one of them decides when training ends: give one")
        if self.stops != (self.cooldown > 0):
            raise ValueError(f"target = {self.target} and cooldown = {self.cooldown}; give both or neither")
        if self.varied is not None and self.varied.shortest > self.length:
            raise ValueError(f"shortest = {self.varied.shortest}, but the longest text has {self.length} tokens")
        if self.gate is not None and max(self.gate.lengths) > self.length:
            raise ValueError(f"gate lengths {list(self.gate.lengths)} go beyond the training length {self.length}")
        if self.warmup + self.cooldown > self.steps:
            raise ValueError(f"warmup = {self.warmup} and cooldown = {self.cooldown} exceed steps = {self.steps}")
        return self


class Evaluation(Frozen):
    """Context lengths of an evaluation and the samples at each."""

    lengths: tuple[int, ...]
    samples: int = Field(ge=1)
    give_up: int = Field(default=0, ge=0, description="ask no more after so many lengths without a hit; 0: ask all")


class PasskeyProfile(Frozen):
    """Passkey experiments: which encodings, how trained, how far evaluated."""

    size: Size
    recipe: Recipe
    encodings: tuple[str, ...]
    evaluation: Evaluation
    far: Evaluation
    far_encodings: tuple[str, ...]
    hard: Evaluation
    hard_encodings: tuple[str, ...]


class BenchmarkProfile(Frozen):
    """All encodings on the plain passkey task: model and recipe are those of `PasskeyProfile`."""

    encodings: tuple[str, ...]
    evaluation: Evaluation
    far: Evaluation


class LanguageProfile(Frozen):
    """Language-model experiments on the offline corpus."""

    corpus: str
    domains: tuple[str, ...]
    vocabulary: int
    size: Size
    recipe: Recipe
    encodings: tuple[str, ...]
    lengths: tuple[int, ...]
    documents: int = Field(ge=1)
    scored: int = Field(ge=1)
    benchmark: LanguageBenchmark


class Extension(Frozen):
    """A short training on longer texts from where a run ended; else as in its recipe, with as many tokens a step."""

    factor: int = Field(ge=2, description="times the training length")
    steps: int = Field(ge=1)
    warmup: int = Field(ge=0)
    rate: float = Field(gt=0, description="multiplies the recipe's rate")


class LanguageBenchmark(Frozen):
    """All encodings as language models, and what becomes of a trained RoPE; size, recipe and texts as in its owner.

    Every encoding has the profile's seeds and is read on the domain of training.
    """

    encodings: tuple[str, ...] = Field(description="trained besides those of `LanguageProfile`")
    extensions: tuple[str, ...] = Field(description="ways to read those models without training")
    lengths: tuple[int, ...] = Field(description="that extensions are read at")
    tuned: tuple[str, ...] = Field(description="encodings with which a trained RoPE is trained further")
    tuning: Extension
    order: tuple[str, ...] = Field(description="encodings whose sense of order is measured")
    pairs: int = Field(ge=1, description="of neighbours that are swapped for it")
    small: tuple[str, ...] = Field(description="encodings that are also trained at a second size")
    size: Size
    longer: tuple[str, ...] = Field(description="encodings that are also trained at twice the length")
    fading: tuple[str, ...] = Field(description="encodings whose attention is measured by length")
    fading_lengths: tuple[int, ...]
    fading_documents: int = Field(ge=1)


class AblationProfile(Frozen):
    """Ablations of BAM on the plain passkey task: model, recipe and lengths are those of `PasskeyProfile`.

    The first six are encodings by study; `misread` are read by another formula once more, and `language` also learn
    the language task. An encoding that `PasskeyProfile` has too is trained and asked only once.
    """

    start: tuple[str, ...]
    subset: tuple[str, ...]
    sign: tuple[str, ...]
    scaling: tuple[str, ...]
    version: tuple[str, ...]
    misread: tuple[str, ...]
    language: tuple[str, ...]
    length: tuple[str, ...] = Field(description="encodings that are trained at several lengths")
    multiples: tuple[int, ...] = Field(description="of the training length, with as many texts a step")
    sizes: tuple[Size, ...]
    extension: Extension = Field(description="of every size")
    interpolation: Extension = Field(description="of RoPE with position interpolation, and without")
    far: Evaluation = Field(description="of the studies of length and size, beyond the passkeys' lengths")
    give_up: int = Field(ge=0, description="as in `Evaluation`")


class AlgorithmsProfile(Frozen):
    """Algorithmic tasks for encoders: the length of a recipe is that of the longest string in training."""

    size: Size
    recipe: Recipe
    tasks: tuple[str, ...]
    encodings: tuple[str, ...]
    longest: int = Field(description="strings of every length up to this one are evaluated ...")
    every: int = Field(default=1, ge=1, description="... that is a multiple of this number")
    samples: int = Field(ge=1, description="strings of each length")

    @property
    def lengths(self) -> tuple[int, ...]:
        """Those of the evaluation, within training and beyond."""
        return tuple(range(self.every, self.longest + 1, self.every))

    @model_validator(mode="after")
    def _both_sides(self) -> Self:
        if not self.every <= self.recipe.length <= self.longest - self.every:
            raise ValueError(f"every = {self.every} and longest = {self.longest} leave no length within training or "
                             f"none beyond it; trained up to {self.recipe.length}")  # fmt: skip
        return self


class NopeProfile(Frozen):
    """Language models without an encoding beside others, causal and masked; the corpus is that of `LanguageProfile`."""

    size: Size
    recipe: Recipe
    encodings: tuple[str, ...]
    windows: int = Field(ge=2, description="of validation text, as long as those of training")

    @model_validator(mode="after")
    def _compared(self) -> Self:
        if self.encodings[:1] != ("nope",) or len(self.encodings) < 2:
            raise ValueError(f"encodings = {list(self.encodings)}, but 'nope' and then others to compare it with are "
                             "needed")  # fmt: skip
        return self


class Lesson(Frozen):
    """A stage of training: a recipe, and the weight of each task in its batches."""

    recipe: Recipe
    mixture: dict[str, int]

    @model_validator(mode="after")
    def _drawn(self) -> Self:
        if not self.mixture or min(self.mixture.values()) < 1:
            raise ValueError(f"mixture = {self.mixture}; give at least one task, each with a weight of 1 or more")
        return self


class NeedlesProfile(Frozen):
    """RULER's needle tasks: prose from the corpus of `LanguageProfile`, lessons that go on where the last one ended.

    The training length is that of the last lesson.
    """

    vocabulary: int = Field(ge=2, description="words of the tokenizer")
    size: Size
    lessons: tuple[Lesson, ...] = Field(min_length=1)
    encodings: tuple[str, ...]
    evaluation: Evaluation


class TheoryProfile(Frozen):
    """Sizes of the numerical derivations."""

    draws: int = Field(ge=1)
    length: int = Field(ge=8)
    puck_steps: int = Field(ge=1, description="training steps of a head in experiments.pucks")


class Profile(Frozen):
    """Everything that a notebook may take from its profile."""

    name: str
    seeds: tuple[int, ...] = Field(min_length=1)
    bam_seeds: tuple[int, ...] = Field(min_length=1)
    threads: int = Field(ge=1)
    workers: int = Field(ge=1)
    processes: int = Field(default=1, ge=1, description="of torchrun, that its language models are meant for")
    device: str
    minutes: dict[str, float] = Field(description="expected wall time of each notebook on two cores")
    theory: TheoryProfile
    passkey: PasskeyProfile
    benchmark: BenchmarkProfile
    ablations: AblationProfile
    language: LanguageProfile
    algorithms: AlgorithmsProfile
    nope: NopeProfile
    needles: NeedlesProfile

    def on(self, device: str) -> Self:
        """The profile on another device; "auto" leaves its own."""
        return self if device == "auto" else self.model_copy(update={"device": device})

    def seeds_for(self, encoding: str) -> tuple[int, ...]:
        """BAM's encodings have more seeds than the baselines: their spread is what the claims are about."""
        return self.bam_seeds if encoding.startswith("bam") else self.seeds


def profile(name: str, folder: Path = PROFILES) -> Profile:
    """Read notebooks/profiles/<name>.yaml; ValueError names the file, the key and the nearest valid key."""
    path = folder / f"{name}.yaml"
    known = sorted(file.stem for file in folder.glob("*.yaml"))
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
        raise ValueError(f"unknown profile {name!r}; nearest is {near[0] if near else None!r}; all: {', '.join(known)}")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not valid YAML: {' '.join(str(error).split())}") from None
    return parse(Profile, values, path.name)


def parse(model: type[Frozen], values: Any, source: str) -> Any:
    """Validate plain data; the error names the source, the key and, for an unknown key, the nearest valid one."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ValueError("; ".join(_explain(model, source, item) for item in error.errors())) from None


def _explain(model: type[BaseModel], source: str, item: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] != "extra_forbidden":
        return f"{source}: {where or 'file'}: {item['msg']} (got {item.get('input')!r})"
    owner: Any = model
    for part in item["loc"][:-1]:
        owner = owner.model_fields[part].annotation
    near = difflib.get_close_matches(str(item["loc"][-1]), list(owner.model_fields), n=1, cutoff=0.0)
    return f"{source}: unknown key {where!r}; the nearest valid key is {near[0]!r}"
