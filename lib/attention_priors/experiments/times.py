"""How long attention and models take where the notebook runs: every round times all of them in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from .. import config, runtime
from ..attention import BACKENDS, Visible, attention
from ..config import ModelConfig, Profile
from ..model import Transformer
from ..positions.priors import GeneralizedGaussian
from ..tasks import SOURCES
from ..training import runs
from .arms import passkey_run
from .experiment import Experiment, Frames
from .grid import Rows
from .memory import Peak, in_turn

SIZE = {"vocabulary": 512, "width": 256, "layers": 3, "heads": 8, "hidden": 512}
ENCODINGS = ("nope", "alibi", "bam", "nope-ssmax", "alibi-ssmax", "bam-ssmax")
ROUNDS = 25
STEPS = 30  # of training, half of which are timed
MULTIPLES = (0.5, 1, 2, 4)  # of the length of the derivations: contexts of one call of attention


def plain(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    prior: GeneralizedGaussian,
    logit_scale: Tensor | None,
    prior_scale: Tensor | None,
    visible: Visible,
    offset: int,
) -> Tensor:
    """The straightforward way to a learned prior, as the measure of ours: L x L biases, gathered from a table by lag.

    softmax(a_i <q_i, k_j> / sqrt(d) + b_i log π + mask) with log π and mask as [1, heads, L, L] tensors.
    """
    lags = torch.arange(offset + q.shape[2], device=q.device)
    distance = (lags + prior.mu[:, None]).abs() + prior.epsilon
    table = -prior.theta_alpha.exp()[:, None] * distance.pow(prior.theta_beta[:, None])
    bias = table[None, :, (lags[offset:, None] - torch.arange(k.shape[2], device=q.device)).clamp(min=0)]
    if prior_scale is not None:
        bias = bias * prior_scale[..., None]
    mask = torch.zeros(q.shape[2], k.shape[2], device=q.device).masked_fill(~visible.dense(k.shape[2]), -torch.inf)
    if logit_scale is not None:
        q = q * logit_scale[..., None]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias + mask)


def register() -> None:
    """Offer the plain version to the models of this process as backend "plain"."""
    BACKENDS["plain"] = plain


@torch.inference_mode()
def forward_times(
    length: int, rounds: int, device: str = "cpu", encodings: Iterable[str] = ENCODINGS, size: dict[str, int] = SIZE
) -> Rows:
    """Milliseconds of a forward pass of one sequence, per encoding and round (`memory.in_turn`)."""
    models = {}
    for name in encodings:
        torch.manual_seed(0)
        models[name] = Transformer(ModelConfig(encoding=name, **size)).eval().to(device)
    tokens = torch.randint(size["vocabulary"], (1, length), generator=runtime.generator(0, "inference")).to(device)
    where = {} if device == "cpu" else {"device": device}  # what is not said was timed on a CPU
    calls = {name: partial(model, tokens) for name, model in models.items()}
    return [
        {"encoding": name, "round": turn, "milliseconds": taken, **where}
        for name, turn, taken in in_turn(calls, rounds, torch.device(device), warm=2)
    ]


def speed(lengths: Iterable[int], repeats: int = 5) -> Rows:
    """Forward and backward of one call, 4 heads of width 64 with a learned prior, on the CPU: milliseconds (median of
    rounds in turn) and MB at the peak beyond inputs and results."""
    register()
    rows: Rows = []
    for length in lengths:
        q, k, v = (torch.randn(1, 4, length, 64).requires_grad_() for _ in range(3))
        theta = torch.linspace(-2, 0, 4)
        prior = GeneralizedGaussian(theta, 0.6 + theta / 4)
        ways = {
            "ours, learned prior": partial(attention, q, k, v, prior=prior, backend="sdpa"),
            "bias in memory": partial(attention, q, k, v, prior=prior, backend="plain"),
            "no prior": partial(F.scaled_dot_product_attention, q, k, v, is_causal=True),
        }
        calls = {name: lambda way=way: way().sum().backward() for name, way in ways.items()}
        taken = list(in_turn(calls, repeats, torch.device("cpu")))
        for name, call in calls.items():
            with Peak() as peak:
                call()
            times = sorted(milliseconds for way, _, milliseconds in taken if way == name)
            spread = {"milliseconds": statistics.median(times), "low": times[0], "high": times[-1]}
            rows.append({"method": name, "keys": length} | spread | {"memory": peak.bytes / 2**20})
    return rows


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    length, device = profile.theory.length, "cuda" if profile.device == "cuda" else "cpu"
    return {
        "kernel_backends": pd.DataFrame(speed([int(multiple * length) for multiple in MULTIPLES])),
        "kernel_inference": pd.DataFrame(forward_times(length, ROUNDS, device)),
    }


EXPERIMENT = Experiment(
    name="times",
    sections=("theory",),
    trained=("random",),
    measure=measure,
    frames=("kernel_backends", "kernel_inference"),
)


class Held:
    """One batch again and again, whose gate is never reached."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __call__(self, step: int) -> Any:
        return self.batch

    def accuracy(self, model: Transformer, gate: Any) -> float:
        """Nothing is asked."""
        return 0.0


def training_step(encoding: str, device: str, profile: Profile | None = None) -> Iterator[dict[str, Any]]:
    """A row of the kernels' benchmark: milliseconds of a training step on passkeys, everything included.

    Of profile gpu, on the longest of its first eight batches, as a run takes it: losses are read late.
    """
    spec = passkey_run(profile or config.profile("gpu"), encoding, 0)
    batches = SOURCES[spec.task](spec)
    batch = max((batches(step) for step in range(8)), key=lambda batch: batch[0].shape[1])
    torch.manual_seed(0)
    model = runs.build(spec).to(device)
    recipe = spec.recipe.model_copy(update={"steps": STEPS, "cooldown": 1, "warmup": 1})
    ended = [time.perf_counter() for _ in runs.fit(model, Held(batch), recipe, torch.device(device))]
    ended = ended[len(ended) // 2 :]  # the first half compiles and warms up
    row = {"part": "training", "method": encoding, "mode": "compiled", "pass": "step", "width": spec.model.width}
    milliseconds = 1e3 * (ended[-1] - ended[0]) / (len(ended) - 1)
    yield row | {"length": batch[0].shape[1], "batch": batch[0].shape[0], "milliseconds": milliseconds}
