"""Profiles, models and recipes as typed, frozen values that reject unknown keys."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

try:
    from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"models and their settings need {error.name}, which is not there; in a clone, pip install '.[models]'",
        name=error.name,
    ) from None

from .store.layout import ROOT
from .store.notebooks import NOTEBOOKS
from .store.registry import Table, nearest

PROFILES = ROOT / "notebooks" / "profiles"
MODEL = os.environ.get("ATTENTION_PRIORS_MODEL", "")  # folder of a pretrained model: MODEL= of the Makefile
CACHE = Path(os.environ.get("ATTENTION_PRIORS_CACHE", ROOT / ".cache"))  # runs and corpora: never committed

# The sections of a profile are defined beside the experiments that they set; they are opened when a profile is read.
SECTIONS = Table(
    "section",
    "attention_priors.experiments",
    {
        "passkey": "passkeys:Settings",
        "confound": "confound:Settings",
        "robustness": "robustness:Settings",
        "benchmark": "benchmark:Settings",
        "stretches": "stretches:Settings",
        "ablations": "ablations:Settings",
        "language": "languages:Settings",
        "language_scale": "language_scale:Settings",
        "readings": "readings:Settings",
        "algorithms": "algorithms:Settings",
        "nope": "nope:Settings",
        "needles": "needles:Settings",
        "recall": "recall:Settings",
        "division": "division:Settings",
        "copying": "copying:Settings",
        "sinks": "sinks:Settings",
        "goat_passkey": "goat_passkeys:Settings",
        "goat_language": "goat_languages:Settings",
        "goat_offsets": "goat_offsets:Settings",
        "resolution": "resolution:Settings",
        "digits": "resolution:Settings",
        "genomes": "genomes:Settings",
        "parallel_needles": "parallel_needles:Settings",
        "parallel_language": "parallel_language:Settings",
        "pretrained": "pretrained:Settings",
    },
)
_KNOWN = Table(
    "row",
    "attention_priors",
    {"encoding": "positions.encodings:encoding", "experiments": "experiments:EXPERIMENTS"},
)


class _OneLine(type(BaseModel)):
    """Models whose calls refuse a bad value in one line, as `parse` does."""

    def __call__(cls, **values: Any) -> Any:
        try:
            return super().__call__(**values)
        except ValidationError as error:
            raise ValueError(_explained(cls, cls.__name__, error)) from None


class Frozen(BaseModel, metaclass=_OneLine):
    """A finite value that cannot change and has no keys but its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def settings(self, *without: str) -> dict[str, Any]:
        """Every field as plain data, defaults included, for keys.

        One that came later says with `Field(json_schema_extra={"before": x})` what it was before it could be set; at x
        it is left out, so that older keys stay.
        """
        found = {}
        for name, field in type(self).model_fields.items():
            value, late = getattr(self, name), field.json_schema_extra or {}
            if name not in without and not ("before" in late and value == late["before"]):
                found[name] = _plain(value)
        return found

    @classmethod
    def model_validate(cls, values: Any, **how: Any) -> Self:
        return parse(cls, values, cls.__name__, **how)


def _plain(value: Any) -> Any:
    if isinstance(value, Frozen):
        return value.settings()
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return {name: _plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def _encoding(name: str) -> str:
    _KNOWN["encoding"](name)
    return name


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if twice := sorted({value for value in values if values.count(value) > 1}):
        raise ValueError(f"{', '.join(map(str, twice))} stands there twice; name each once")
    return values


def known_device(name: str) -> str:
    """`name`, which need not be there. ValueError where it is no device."""
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ValueError(f"unknown device {name!r}; use 'auto', 'cpu', 'cuda' or 'cuda:<number>'")
    return name


def _notebook(name: str) -> str:
    if name not in NOTEBOOKS:
        raise ValueError(f"unknown notebook {name!r}{nearest(name, NOTEBOOKS)}")
    return name


NotebookName = Annotated[str, AfterValidator(_notebook)]
EncodingName = Annotated[str, AfterValidator(_encoding)]
Encodings = Annotated[tuple[EncodingName, ...], AfterValidator(_distinct)]
Length = Annotated[int, Field(ge=1)]
Lengths = Annotated[tuple[Length, ...], Field(min_length=1), AfterValidator(_distinct)]
Seeds = Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1), AfterValidator(_distinct)]
Count = Annotated[int, Field(ge=1, le=1024)]  # of threads or processes of one machine
Momentum = Annotated[float, Field(ge=0, lt=1)]


class Size(Frozen):
    """The part of a model's configuration that a profile fixes for all encodings. `hidden`: width of the SwiGLU.

    `rope_base` is that of Su et al. 2024 unless told otherwise; the authors of BAM use 500,000, as profiles gpu and
    paper do. cpu, full and smoke keep 10,000: at 128 tokens three of the eight planes of a head turn by less than a
    radian with it, and five with 500,000, so that a RoPE of that size would be more NoPE than RoPE.
    """

    width: int = Field(ge=2)
    layers: int = Field(ge=1)
    heads: int = Field(ge=1)
    hidden: int = Field(ge=1)
    rope_base: float = Field(default=10_000.0, gt=1)

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"width = {self.width} is not a multiple of heads = {self.heads}")
        return self


class ModelConfig(Size):
    """A Llama-style decoder."""

    vocabulary: int = Field(ge=2)
    kv_heads: int | None = Field(default=None, ge=1)
    encoding: EncodingName
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
    betas: tuple[Momentum, Momentum]
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


class Extension(Frozen):
    """A short training on longer texts from where a run ended; else as in its recipe, with as many tokens a step."""

    factor: int = Field(ge=2, description="times the training length")
    steps: int = Field(ge=1)
    warmup: int = Field(ge=0)
    rate: float = Field(gt=0, description="multiplies the recipe's rate")


class Evaluation(Frozen):
    """Context lengths of an evaluation and the samples at each."""

    lengths: Lengths
    samples: int = Field(ge=1)
    give_up: int = Field(default=0, ge=0, description="ask no more after so many lengths without a hit; 0: ask all")


class TheoryProfile(Frozen):
    """Sizes of the numerical derivations, the same wherever numbers mean something."""

    draws: int = Field(default=200_000, ge=1)
    length: int = Field(default=512, ge=8)
    puck_steps: int = Field(default=1500, ge=1, description="training steps of a head in experiments.pucks")


class Profile(Frozen):
    """Everything that a notebook may take from its profile; each row of SECTIONS is an attribute too."""

    model_config = ConfigDict(extra="allow")

    name: str
    seeds: Seeds
    main: Encodings = Field(description="rows of the main comparison: rivals have the same seeds")
    main_seeds: Seeds
    without: tuple[str, ...] = Field(default=(), description="experiments that it leaves to larger profiles")
    threads: Count
    workers: Count
    processes: Count = Field(default=1, description="of torchrun, that its language models are meant for")
    device: Annotated[str, AfterValidator(known_device)]
    minutes: dict[NotebookName, Annotated[float, Field(ge=0)]] = Field(
        description="expected wall time of each notebook on two cores, by its slug"
    )
    theory: TheoryProfile = TheoryProfile()

    def on(self, device: str) -> Self:
        """The profile on another device; "auto" leaves its own. ValueError for a device that there is not."""
        return self if device == "auto" else self.model_copy(update={"device": known_device(device)})

    def seeds_for(self, encoding: str) -> tuple[int, ...]:
        """The rows of the main comparison have more seeds than the others: most claims are about them."""
        return self.main_seeds if (_KNOWN["encoding"](encoding).trained_as or encoding) in self.main else self.seeds

    @model_validator(mode="after")
    def _leaves_out(self) -> Self:
        known = _KNOWN["experiments"]
        if unknown := [name for name in self.without if name not in known]:
            raise ValueError(f"without = {', '.join(unknown)}; the experiments are {', '.join(known)}")
        return self


def read_yaml(text: str) -> Any:
    """The values of a YAML text, by the parser in C where it was built, which is ten times as fast.

    A key that stands twice is an error. `yes` and `true` stay words: a field for a truth value understands them, while
    one for a number would take True for 1.
    """
    import yaml  # here: a model needs none of it

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen = set()
            for key, _ in node.value:
                if isinstance(key.value, str) and (key.tag, key.value) in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"{key.value!r} stands there twice; name it once", problem_mark=key.start_mark
                    )
                seen.add((key.tag, str(key.value)))
            return super().construct_mapping(node, deep)

    Loader.add_constructor("tag:yaml.org,2002:bool", Loader.construct_yaml_str)
    return yaml.load(text, Loader=Loader)


def profile(name: str, folder: Path = PROFILES) -> Profile:
    """Read notebooks/profiles/<name>.yaml; ValueError names the file, the key and the nearest valid key.

    A file with `base: full` has the keys and sections of full.yaml where it has none of its own.
    """
    if not folder.is_dir():
        raise ValueError(
            f"no profiles in {folder}; a clone of the repository has them, an installed library not; run this in one"
        )
    values = _written(name, folder)
    if isinstance(values, dict) and "base" in values:
        own = values.pop("base")
        if own == name:
            raise ValueError(f"{name}.yaml: base: {own} names itself; name another profile")
        base = _written(own, folder)
        if isinstance(base, dict):
            if "base" in base:
                raise ValueError(
                    f"{name}.yaml: base: that profile rests on another one; name {base['base']!r} or one "
                    "that has no base"
                )
            values = base | values
    return _profile(values, f"{name}.yaml")


def _written(name: str, folder: Path) -> Any:
    """What stands in the file of a profile."""
    import yaml  # here: a model needs none of it

    path = folder / f"{name}.yaml"
    known = sorted(file.stem for file in folder.glob("*.yaml"))
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
        raise ValueError(f"unknown profile {name!r}; nearest is {near[0] if near else None!r}; all: {', '.join(known)}")
    try:
        return read_yaml(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        reason = f"{error.reason} at byte {error.start}"
        raise ValueError(f"{path.name} is not UTF-8 text ({reason}); save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not valid YAML; correct it: {' '.join(str(error).split())}") from None


def _profile(values: Any, source: str) -> Profile:
    """A profile whose sections are opened and validated, all problems in one line."""
    if not isinstance(values, dict):
        raise ValueError(f"{source}: a profile is a mapping of keys to values (got {values!r})")
    own, problems = {key: value for key, value in values.items() if key not in SECTIONS}, []
    known = (*Profile.model_fields, *SECTIONS)
    for key in [key for key in own if key not in known]:
        problems.append(_unknown(source, key, key, known))
        del own[key]
    sections = {}
    for key in SECTIONS:
        try:
            sections[key] = parse(SECTIONS[key], values[key], source, key)
        except KeyError:
            problems.append(f"{source}: {key}: Field required")
        except ValueError as error:
            problems.append(str(error))
    try:
        made = parse(Profile, own, source)
        if source != f"{made.name}.yaml":
            problems.append(
                f"{source}: name: the file is called {source}; call it {made.name}.yaml, or the profile "
                f"{source.removesuffix('.yaml')!r} (got {made.name!r})"
            )
    except ValueError as error:
        problems.append(str(error))
    if problems:
        raise ValueError("; ".join(problems))
    return made.model_copy(update=sections)


def parse(model: type[Frozen], values: Any, source: str, *inside: str, **how: Any) -> Any:
    """Validate plain data; the error names the source, the key and, for an unknown key, the nearest valid one."""
    try:
        return model.__pydantic_validator__.validate_python(values, **how)
    except ValidationError as error:
        raise ValueError(_explained(model, source, error, *inside)) from None


def _explained(model: type[BaseModel], source: str, error: ValidationError, *inside: str) -> str:
    return "; ".join(_explain(model, source, item, inside) for item in error.errors() if not _counted_alone(item))


def _counted_alone(item: dict[str, Any]) -> bool:
    """A list that is too short only because items were refused, each in an error of its own."""
    return item["type"] == "too_short" and len(item["input"]) >= item["ctx"]["min_length"]


def _explain(model: type[BaseModel], source: str, item: dict[str, Any], inside: tuple[str, ...]) -> str:
    where = ".".join(str(part) for part in (*inside, *item["loc"]) if part != "[key]")
    if item["type"] != "extra_forbidden":
        said, given = item["msg"].removeprefix("Value error, "), item.get("input")
        if item["type"] == "tuple_type" and isinstance(given, str | int | float):
            said = f"write a list, {item['loc'][-1]}: [{given}]"
        place = f"{source}: {where}" if where else source
        return f"{place}: {said}" + ("" if isinstance(given, dict) else f" (got {given!r})")
    owner: Any = model
    for part in item["loc"][:-1]:
        owner = get_args(owner)[0] if isinstance(part, int) else owner.model_fields[part].annotation
    return _unknown(source, where, str(item["loc"][-1]), owner.model_fields)


def _unknown(source: str, where: str, key: str, known: Any) -> str:
    near = difflib.get_close_matches(str(key), list(known), n=1, cutoff=0.0)
    return f"{source}: unknown key {where!r}; the nearest valid key is {near[0]!r}"
