"""Training runs: one function for every task and recipe, resumable at any moment, cached by what they depend on.

A run lives in <store>/<key>/: `checkpoint.safetensors` while it trains, then `model.safetensors` and `record.json`,
written last; beside them, as JSON, what its model was asked. A run without a record is unfinished and continues from
its checkpoint; every random stream is derived from (seed, step), so that a resumed run ends where an uninterrupted one
does.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from .. import runtime, store
from ..config import Frozen, ModelConfig, Recipe
from ..model import Transformer, count
from ..positions.encodings import ENCODINGS, Encoding, encoding
from ..positions.extensions import ExtendedRotary
from ..positions.forget import ForgetGate
from ..positions.pairs import PairBias
from ..positions.priors import Prior
from ..positions.rotary import Rotation
from ..positions.scaling import ScalableSoftmax
from ..store import code, manifest, shipped
from ..store.registry import nearest
from ..tasks import SOURCES
from . import checkpoints, sharding
from .muon import BatchedMuon, has_bfloat16

TRAINING_VERSION = 1  # of the trainer and the model: raise it when the same settings would train other weights
Batch = tuple[Tensor, Tensor, Tensor, Tensor | None]  # of a row of SOURCES
Marks = Sequence[tuple[int, float]]  # a gate's turns so far: step, share of held-out prompts answered before it
MARKS, SPENT = "gate", "seconds"  # beside a source's own state in a checkpoint
RESTORED = "restored"  # a file beside a record that was put there without the weights; with SEALED in it, for good
SEALED = "sealed"
SETTLED = 20  # batches over which the answer loss is averaged before it is held against a recipe's target


class RunSpec(Frozen):
    """Everything that a training run depends on, apart from code."""

    task: str  # a row of SOURCES
    model: ModelConfig
    recipe: Recipe
    seed: int
    inputs: tuple[str, ...] = ()  # content hashes of the data, names of the tasks that are mixed
    corpus: str | None = None  # path of a packed corpus; its hash is in inputs
    start: RunSpec | None = None  # fine-tuned from the weights of this run, not from new ones

    @property
    def name(self) -> str:
        return f"{self.task}/{self.model.encoding}/{self.seed}"

    def plain(self) -> dict[str, Any]:
        """As plain data, without paths of this machine."""
        return self.model_dump(mode="json", exclude={"corpus": True, "start": {"corpus"}})

    def key(self, device: str = "cpu") -> str:
        """The run's identifier: every setting, the data, class of device, what it starts from, and declared versions.

        Code is no part of it: who changes what a run trains raises TRAINING_VERSION, the version of its task or that of
        its encoding, and `make bless` tells whether that is needed.
        """
        start = self.start and self.start.key(device)
        return store.key(self.settings("corpus", "start"), self.row.settings, start, device, *self.versions)

    @property
    def row(self) -> Encoding:
        """The encoding that is trained."""
        return encoding(self.model.encoding)

    @property
    def versions(self) -> tuple[int, ...]:
        """TRAINING_VERSION, and that of the task."""
        return TRAINING_VERSION, SOURCES[self.task].version

    @property
    def family(self) -> str:
        """Runs of one kind of task, which are blessed together."""
        return self.task.partition("/")[0]

    @property
    def fingerprint(self) -> str:
        """Of the code that trains this run."""
        return code.fingerprint(*self._modules())

    def _modules(self) -> tuple[str, ...]:
        return "training.runs", SOURCES.module(self.task).partition(".")[2]


def optimizers(model: nn.Module, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Decoupled weight decay on matrices alone: norms, SSMax scales and parameters of positions are not decayed.

    Recipe "muon" steps the matrices of the blocks with Muon (Jordan et al. 2024), scaled to AdamW's step size, and all
    else with AdamW: plateaus are shorter, which matters where a run has a thousand steps. On a GPU they step many
    parameters at once.
    """

    def owned(*kinds: type[nn.Module]) -> set[int]:
        return {id(p) for module in model.modules() if isinstance(module, kinds) for p in module.parameters()}

    priors, plain = owned(Prior), owned(Rotation, ScalableSoftmax, ForgetGate, PairBias)
    inner = {id(p) for p in model.blocks.parameters()}
    settings: dict[str, dict[str, Any]] = {
        kind: {"params": [], "weight_decay": recipe.weight_decay if decayed else 0.0, "factor": factor}
        for kind, decayed, factor in (
            ("inner", True, 1.0),
            ("outer", True, 1.0),
            ("vectors", False, 1.0),
            ("prior", False, recipe.prior_rate),
        )
    }
    for p in model.parameters():
        if p.requires_grad:
            matrix = "inner" if id(p) in inner else "outer"
            kind = "prior" if id(p) in priors else "vectors" if p.ndim < 2 or id(p) in plain else matrix
            settings[kind]["params"].append(p)
    gpu = next(model.parameters()).is_cuda
    muon = []
    if recipe.optimizer == "muon":
        muon = [BatchedMuon([settings.pop("inner")], lr=recipe.rate, adjust_lr_fn="match_rms_adamw")]
    rest = [group for group in settings.values() if group["params"]]
    if recipe.optimizer == "radam":
        return [torch.optim.RAdam(rest, lr=recipe.rate, betas=recipe.betas, decoupled_weight_decay=True)]
    return [*muon, torch.optim.AdamW(rest, lr=recipe.rate, betas=recipe.betas, fused=gpu or None)]


def rate_at(step: int, recipe: Recipe, settled: int | None = None) -> float:
    """Linear warm-up, then to `final_rate` of the full rate: along a cosine, or along a line from step `settled` on."""
    if step < recipe.warmup:
        return recipe.rate * (step + 1) / recipe.warmup
    if not recipe.stops:
        done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
        left = (1 + math.cos(math.pi * done)) / 2
    else:
        left = 1.0 if settled is None else 1 - (step - settled) / recipe.cooldown
    return recipe.rate * (recipe.final_rate + (1 - recipe.final_rate) * left)


def settled_at(history: list[float], recipe: Recipe, since: int = 0, marks: Marks = ()) -> int | None:
    """The first step from `since` on at which the rate starts to fall, None where that is not yet known.

    `history` holds the answer losses so far. Every batch is new, so that its loss before the step is a validation loss.
    `marks` are the turns of a recipe's gate. Where either is met too late or never, the cooldown takes the last steps.
    """
    if not recipe.stops:
        return None
    passed = {step for step, accuracy in marks if recipe.gate and accuracy >= recipe.gate.accuracy}
    for step in range(since, len(history) + 1):
        if recipe.gate:
            learned = step in passed and step - recipe.gate.every in passed
        else:
            recent = history[max(0, step - SETTLED) : step]
            learned = step >= max(SETTLED, recipe.warmup) and sum(recent) / SETTLED <= recipe.target
        if learned or step == recipe.steps - recipe.cooldown:
            return step
    return None


def loss_of(model: nn.Module, batch: Batch, recipe: Recipe) -> tuple[Tensor, Tensor]:
    """(loss, answer loss): mean over answers + `text_weight` x mean over the rest, 0 where all are answers."""
    tokens, targets, answer, ids = batch
    logits = model(tokens, document_ids=ids)
    losses = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="none")
    answer = answer.flatten()
    main = (losses * answer).sum() / answer.sum().clamp(min=1)
    rest = (losses * ~answer).sum() / (~answer).sum().clamp(min=1)
    return main + recipe.text_weight * rest, main.detach()


def fit(
    model: nn.Module,
    batches: Callable[[int], Batch],
    recipe: Recipe,
    device: torch.device,
    resume: Callable[[nn.Module, list[torch.optim.Optimizer]], tuple[int, list[float]]] | None = None,
    save_checkpoint: Callable[[nn.Module, list[torch.optim.Optimizer], int, list[float]], None] | None = None,
    marks: list[tuple[int, float]] | None = None,
) -> Iterator[tuple[int, float]]:
    """Train in place, yielding (step, answer loss) after every step.

    Under torchrun each rank takes its share of the batch; a model that is not sharded already is replicated. `resume`
    fills `marks`, to which the turns of the recipe's gate are added.
    """
    optims, marks = optimizers(model, recipe), [] if marks is None else marks
    start, history = resume(model, optims) if resume else (0, [])
    wrapped, rank, world = model, 0, 1
    if sharding.together():
        rank, world = dist.get_rank(), dist.get_world_size()
        if not sharding.sharded(model):
            ids = [device.index] if device.type == "cuda" else None
            wrapped = nn.parallel.DistributedDataParallel(model, device_ids=ids)
    if recipe.batch % (world * recipe.accumulate):
        raise ValueError(
            f"batch = {recipe.batch} is not a multiple of {world} processes x accumulate = {recipe.accumulate}; "
            "choose one that is"
        )
    half = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    lossy = Compiled(loss_of) if device.type == "cuda" and world == 1 else loss_of
    # on a GPU a step's losses are read while the next one runs, unless they decide when the training ends
    losses = Losses(history, device.type == "cuda" and (recipe.gate is not None or not recipe.stops), recipe.rate)
    settled = settled_at(history, recipe, marks=marks)
    for step in range(start, recipe.steps):
        if recipe.gate and settled is None and step and step % recipe.gate.every == 0:
            marks.append((step, batches.accuracy(model, recipe.gate)))
        settled = settled_at(history, recipe, step, marks) if settled is None else settled
        if settled is not None and step >= settled + recipe.cooldown:
            break
        for group in (group for optim in optims for group in optim.param_groups):
            group["lr"] = rate_at(step, recipe, settled) * group["factor"]
        batch = batches(step)
        model.zero_grad()
        found = []
        for part in range(recipe.accumulate):
            own = slice(part * world + rank, None, recipe.accumulate * world)
            some = tuple(None if x is None else runtime.sent(x[own], device) for x in batch)
            with half:
                loss, answer_loss = lossy(wrapped, some, recipe)
            losses.refuse(loss, step)
            (loss / recipe.accumulate).backward()
            found.append(torch.stack([answer_loss, loss.detach()]))
        mean = torch.stack(found).mean(0)
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        for optim in optims:
            optim.step()
        if world > 1:
            dist.all_reduce(mean)
            mean /= world
        yield from losses.add(mean, step)
        if save_checkpoint and (step + 1) % recipe.checkpoint_every == 0 and step + 1 < recipe.steps:
            yield from losses.rest()
            save_checkpoint(model, optims, step + 1, history)
    yield from losses.rest()


class Compiled:
    """`loss_of` compiled for every length at once; as it is, with a word about it, where that cannot be done."""

    def __init__(self, function: Callable[..., tuple[Tensor, Tensor]]) -> None:
        torch.compiler.reset()  # of the models before, of which only a few are remembered
        self.function, self.compiled = function, torch.compile(function, dynamic=True)

    def __call__(self, model: nn.Module, batch: Batch, recipe: Recipe) -> tuple[Tensor, Tensor]:
        if self.compiled is not self.function:
            try:
                return self.compiled(model, batch, recipe)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:
                runtime.say(f"not compiled ({type(error).__name__}: {str(error).splitlines()[0][:120]})")
                self.compiled = self.function
        return self.function(model, batch, recipe)


class Losses:
    """Answer losses on their way into `history`: at once, or `late`, on their way while the device goes on.

    FloatingPointError at the first that is not finite.
    """

    def __init__(self, history: list[float], late: bool, rate: float) -> None:
        self.history, self.late, self.rate = history, late, rate
        self.pending: list[tuple[int, Tensor, torch.cuda.Event]] = []

    def refuse(self, loss: Tensor, step: int) -> None:
        """Look at a loss before its gradients are used, where looking costs nothing."""
        if not self.late and not bool(loss.isfinite()):
            raise FloatingPointError(f"the loss is {loss.item()} at step {step}; lower the rate ({self.rate})")

    def add(self, mean: Tensor, step: int) -> Iterator[tuple[int, float]]:
        """(answer loss, loss) of a step; yields the steps that are known by now."""
        if not self.late:
            self.history.append(mean[0].item())
            yield step, self.history[-1]
            return
        before = self.pending
        there, event = torch.empty(2, pin_memory=True), torch.cuda.Event()
        there.copy_(mean, non_blocking=True)
        event.record()
        self.history.append(math.nan)  # until it is read
        self.pending = [(step, there, event)]
        yield from self._read(before)

    def rest(self) -> Iterator[tuple[int, float]]:
        """The steps that are still on their way."""
        before, self.pending = self.pending, []
        yield from self._read(before)

    def _read(self, pending: list[tuple[int, Tensor, torch.cuda.Event]]) -> Iterator[tuple[int, float]]:
        for step, there, event in pending:
            event.synchronize()
            answer_loss, loss = there.tolist()
            if not math.isfinite(loss):
                raise FloatingPointError(f"the loss is {loss} at step {step}; lower the rate ({self.rate})")
            self.history[step] = answer_loss
            yield step, answer_loss


def build(spec: RunSpec) -> Transformer:
    """The model of a run with new weights. An extended rotation stretches from the length that the run starts from.

    Windows stay as they were there.
    """
    model = Transformer(spec.model)
    model.trained = (spec.start or spec).recipe.length
    for block in model.blocks:
        if spec.start is not None and isinstance(block.attention.rotary, ExtendedRotary):
            block.attention.rotary.trained = spec.start.recipe.length
    return model


class Run:
    """One training run in the store."""

    def __init__(self, spec: RunSpec, folder: str | Path, device: torch.device) -> None:
        self.spec, self.device = spec, device
        self.key = spec.key(device.type)
        self.path = Path(folder) / self.key

    @property
    def finished(self) -> bool:
        """True where record and model are there and readable."""
        try:
            return bool(self.record()) and checkpoints.readable(self.path / "model.safetensors")
        except FileNotFoundError:
            return False

    @property
    def restored(self) -> bool:
        """True where the record was put here without the weights (`experiments.archive.restore`)."""
        try:
            return (self.path / RESTORED).exists() and bool(self.record())
        except FileNotFoundError:
            return False

    def record(self) -> dict[str, Any]:
        """What was committed about the run; a damaged record counts as missing."""
        try:
            return store.read_json(self.path / "record.json")
        except store.DamagedFile:
            (self.path / "record.json").unlink(missing_ok=True)
            raise FileNotFoundError(self.path / "record.json") from None

    def train(self, heartbeat: Callable[[str], None] | None = None, parallel: str = "ddp") -> dict[str, Any]:
        """Train what is missing and return the record. `parallel`: how torchrun's processes share a model.

        A restored run counts as trained: its weights are made when `model` is asked for them.
        """
        return self.record() if self.finished or self.restored else self._train(heartbeat, parallel)

    def _train(self, heartbeat: Callable[[str], None] | None = None, parallel: str = "ddp") -> dict[str, Any]:
        spec = self.spec
        sharding.check(parallel, spec.recipe)
        torch.manual_seed(runtime.seed_for(spec.seed, f"init/{spec.model.encoding}"))
        model = build(spec).to(self.device)
        if spec.start is not None:
            started = Run(spec.start, self.path.parent, self.device)
            started.train(heartbeat, parallel)
            model.load_state_dict(started.model().state_dict())
        if parallel == "fsdp":
            sharding.shard(model)
        self._batches, self._marks = SOURCES[spec.task](spec), []
        if spec.recipe.gate and not hasattr(self._batches, "accuracy"):
            raise ValueError(
                f"task {spec.task!r} has no held-out prompts for a gate; give recipe {spec.recipe.name!r} "
                "a target or a number of steps alone"
            )
        return self._fit(model, heartbeat)

    def _fit(self, model: nn.Module, heartbeat: Callable[[str], None] | None) -> dict[str, Any]:
        self._began = last = time.monotonic()
        spec, keep = self.spec, (self._resume, self._checkpoint, self._marks)
        for step, loss in fit(model, self._batches, spec.recipe, self.device, *keep):
            if heartbeat and time.monotonic() - last > runtime.HEARTBEAT_SECONDS:
                last = time.monotonic()
                heartbeat(f"{spec.name} step {step + 1}/{spec.recipe.steps} loss {loss:.3f}")
        return self._finish(model)

    def model(self) -> Transformer:
        """The trained model, in evaluation mode. ValueError for a run that is not finished, or sealed."""
        if not self.finished:
            if not self.restored:
                raise ValueError(f"run {self.spec.name} ({self.key}) is not finished; run its notebook to train it")
            if (self.path / RESTORED).read_text() == SEALED:
                raise ValueError(
                    f"run {self.spec.name} ({self.key}) is asked what it has not answered; run its notebook anew"
                )
            self._train_again()
        return self._stored().to(self.device).eval()

    def _train_again(self) -> None:
        """Make the weights of a restored run. Where they come out otherwise, on another processor, answers go."""
        said = runtime.say if runtime.headless() else lambda line: None
        said(f"{self.spec.name}: its answers were restored, its weights are trained again")
        told = self.record()
        made = self._train(said)
        if not same_weights(told, made):
            said(f"{self.spec.name}: the weights differ from those that answered, so it is asked again")
            for path in self.answers():
                path.unlink()

    def answers(self) -> list[Path]:
        """The files of what the run's model was asked so far."""
        return sorted(path for path in self.path.glob("*.json") if path.name != "record.json")

    def _stored(self) -> Transformer:
        model = build(self.spec)
        model.load_state_dict(load_file(self.path / "model.safetensors"))
        return model

    def _finish(self, model: Transformer) -> dict[str, Any]:
        seconds = time.monotonic() - self._began
        checkpoints.write_model(self.path / "model.safetensors", model, {"spec": json.dumps(self.spec.plain())})
        checkpoints.wait()
        if sharding.sharded(model):
            model = self._stored()
        history = self._history
        stride = max(1, len(history) // 100)
        record = {
            "name": self.spec.name,
            "key": self.key,
            "fingerprint": self.spec.fingerprint,
            "torch": torch.__version__.partition("+")[0],
            "weights": checkpoints.digest(model),
            "spec": self.spec.plain(),
            "parameters": count(model),
            "steps": len(history),
            "loss": [
                round(sum(history[i : i + stride]) / len(history[i : i + stride]), 6)
                for i in range(0, len(history), stride)
            ],
            **({"gate": [[step, round(accuracy, 4)] for step, accuracy in self._marks]} if self._marks else {}),
            "learned": learned(model),
            "seconds": round(seconds, 1),
            "processor": runtime.processor(),
            "arithmetic": arithmetic(),
            "threads": torch.get_num_threads(),
        }
        if not checkpoints.follows():
            store.write_json(self.path / "record.json", record)
            for left in ("checkpoint.safetensors", RESTORED):
                (self.path / left).unlink(missing_ok=True)
        checkpoints.wait()
        return record

    def _checkpoint(
        self, model: nn.Module, optims: list[torch.optim.Optimizer], step: int, history: list[float]
    ) -> None:
        place = self._batches.state() if hasattr(self._batches, "state") else {}
        place |= {SPENT: torch.tensor(time.monotonic() - self._began, dtype=torch.float64)}
        if self._marks:
            place |= {MARKS: torch.tensor(self._marks, dtype=torch.float64)}
        checkpoints.write(self.path / "checkpoint.safetensors", model, optims, step, history, place)

    def _resume(self, model: nn.Module, optims: list[torch.optim.Optimizer]) -> tuple[int, list[float]]:
        self._history: list[float] = []
        found = checkpoints.read(self.path / "checkpoint.safetensors", model, optims)
        if found is None:
            return 0, self._history
        step, history, place = found
        self._began -= place.pop(SPENT, torch.zeros(())).item()  # what the parts before took
        self._marks.extend((int(at), accuracy) for at, accuracy in place.pop(MARKS, torch.empty(0, 2)).tolist())
        if place:
            self._batches.restore(step, place)
        self._history.extend(history)
        return step, self._history


def arithmetic() -> str:
    """What sums are taken with on this processor, whose name does not tell."""
    return torch.backends.cpu.get_cpu_capability() + (" with bfloat16" if has_bfloat16() else "")


def same_weights(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two records are of trainings that went the same way: losses, learned positions and, where both have it,
    the sum of all weights."""
    parts = ["key", "loss", "learned"] + ["weights"] * ("weights" in one and "weights" in other)
    return all(one.get(part) == other.get(part) for part in parts)


def learned(model: Transformer) -> list[dict[str, Any]]:
    """The trained position parameters of every layer, as plain data."""
    rows = []
    for block in model.blocks:
        row: dict[str, Any] = {}
        for owner in (block.attention.rotary, block.attention.prior, block.attention.scale):
            if owner is not None:
                row |= {name: _rounded(parameter.tolist()) for name, parameter in owner.named_parameters()}
        rows.append(row)
    return rows


def _rounded(values: Any) -> Any:
    return [_rounded(value) for value in values] if isinstance(values, list) else round(values, 6)


class Unregistered(ValueError):
    """A model's encoding is no row of ENCODINGS."""


def load(name: str, device: str = "cpu") -> Transformer:
    """Open a trained model that ships with the repository, such as "passkey/bam-ssmax/0", or a .safetensors path.

    ValueError for a name that does not ship, a file whose sum is not the committed one, one that is no model, and one
    whose encoding is not registered.
    """
    path = shipped.find(name)
    if path != Path(name):
        manifest.expect(path)
    if not path.exists():
        raise ValueError(f"no file {path}; give the path of a model.safetensors")
    try:
        with safe_open(path, "pt") as file:
            described = json.loads(file.metadata()["spec"])
        if (name := described["model"]["encoding"]) not in ENCODINGS:
            raise Unregistered(
                f"{path} was trained with the encoding {name!r}, which is not registered here"
                f"{nearest(name, ENCODINGS)}; run the file that puts it into ENCODINGS first, such as "
                "attention_priors.publish.own.read('my_encoding.py'), then load again"
            )
        spec = RunSpec.model_validate(described)
        model = build(spec)
        model.load_state_dict({name: value.float() for name, value in load_file(path).items()})
    except Unregistered:
        raise
    except (SafetensorError, OSError, TypeError, KeyError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is not a complete model file ({reason}); copy or train it again") from None
    return model.to(runtime.device(device)).eval()
