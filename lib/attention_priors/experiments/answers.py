"""What trained models answer to passkey prompts, each length asked once and kept beside the run; and to addresses."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from .. import runtime
from ..config import Evaluation, Profile
from ..evaluation import TOKENS_AT_ONCE, passkey_samples, reader
from ..model import Transformer
from ..positions.encodings import encoding
from ..positions.priors import GeneralizedGaussian
from ..positions.variants import Misread
from ..tasks import addressing, passkey
from ..training.runs import Run, RunSpec
from .arms import trained
from .experiment import Asked, Opened, Question, Reading
from .grid import Job, Rows, gather

Wanted = dict[RunSpec, dict[str, list[Evaluation]]]  # runs, the names under which each is asked, and what


class Answers(Opened):
    """The answers of a finished run's model under one name."""

    question = Question("passkey")

    def __init__(self, run: Run, name: str, form: passkey.Form) -> None:
        super().__init__(run, name)
        self.form = form

    def __call__(self, length: int, samples: int) -> Rows:
        """The rows of `passkey_samples`."""

        def measure() -> Rows:
            return passkey_samples(self.model, length, samples, self.run.spec.seed, self.form, self.local)

        return self.question.put(self.run, (length, samples, self.form, self.local, self.extension), measure)


class MisreadAnswers(Answers):
    """The answers of a model whose priors are evaluated by the formula of `variants.Misread`."""

    question = Question("passkey-misread")

    @cached_property
    def model(self) -> Transformer:
        return misread(super().model)


def misread(model: Transformer) -> Transformer:
    """The model with every prior of the generalised Gaussian replaced by `Misread`, in place."""
    for block in model.blocks:
        if isinstance(block.attention.prior, GeneralizedGaussian):
            block.attention.prior = Misread(block.attention.prior)
    return model


def cost(run: RunSpec, evaluations: int) -> tuple[int, bool, bool]:
    """Larger for longer jobs, which come first, so that no worker is left alone with one at the end.

    Reading far takes longest; then a prior, and SSMax, make both training and reading slower.
    """
    row = encoding(run.model.encoding)
    return evaluations, row.prior is not None, row.ssmax


def train_and_answer(
    spec: RunSpec, runs: str, device: str, wanted: dict[str, list[Evaluation]], about: dict[str, Any] | None = None
) -> Rows:
    """One model, trained and answered where the store lacks it.

    `wanted` maps the names under which the model is evaluated (RoPE Local uses RoPE's weights) to evaluations. Lengths
    beyond what an encoding is defined for are left out, and those beyond `give_up` lengths in a row without a hit.
    `about` stands in every row.
    """
    run, record = trained(spec, runs, device)
    form = "hard" if spec.task.endswith("hard") else "plain"
    rows = []
    for name, evaluations in wanted.items():
        answers = Answers(run, name, form)
        longest = encoding(name).longest or math.inf
        missed = 0
        for asked, length in ((each, length) for each in evaluations for length in each.lengths):
            if length > longest or 0 < asked.give_up <= missed:
                break
            found = answers(length, asked.samples)
            common = (about or {}) | {"form": form, "encoding": name, "seed": spec.seed, "length": length}
            rows += [common | row | {"run": record["key"]} for row in found]
            missed = 0 if any(row["correct"] for row in found) else missed + 1
    return rows


def answers(profile: Profile, runs: Path, wanted: Wanted, label: str, *more: Job) -> pd.DataFrame:
    """Train what is missing, then ask; then `more`. The longest jobs come first."""
    order = sorted(wanted, key=lambda run: cost(run, sum(map(len, wanted[run].values()))), reverse=True)
    jobs = [Job(run.name, train_and_answer, (run, str(runs), profile.device, wanted[run])) for run in order]
    return gather([*jobs, *more], profile, label)


def readings(runs: Wanted) -> Asked:
    """What runs are asked, for the budget."""
    return {
        spec: [
            Reading(name, length, each.samples)
            for name, asked in names.items()
            for each in asked
            for length in each.lengths
        ]
        for spec, names in runs.items()
    }


@torch.inference_mode()
def addressed(
    model: Transformer, spec: RunSpec, length: int, samples: int, stream: str
) -> tuple[Int[Tensor, "texts queries"], Bool[Tensor, "texts queries"]]:
    """Addresses, all asked equally often, and which are answered; texts depend on (seed, stream, length) alone."""
    reach, generator = spec.model.vocabulary - addressing.SYMBOLS, runtime.generator(spec.seed, f"{stream}/{length}")
    questions = addressing.questions(length, addressing.even(samples, reach, generator), reach, generator)
    step = max(1, TOKENS_AT_ONCE // length)
    parts = [questions.part(start, start + step) for start in range(0, samples, step)]
    return questions.addresses, torch.cat([addressing.right(model, part, backend=reader(model)) for part in parts])


def reached(accuracies: pd.Series, accuracy: float) -> int:
    """The longest length (the index) up to which accuracies never fell below `accuracy`; 0: not at the first."""
    below = accuracies.sort_index() < accuracy
    good = below.index[~below.cummax()]
    return int(good.max()) if len(good) else 0
