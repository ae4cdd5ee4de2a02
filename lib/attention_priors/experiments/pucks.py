"""Which puck will be furthest? A task that needs the product of content and lag (post on one-parameter groups, OPG-19).

Pucks slide without friction: at time s one is seen at x with velocity v. A query (direction u, time t) asks which of
those it has seen is furthest along u now: argmax_j <u, x_j + (t - s_j) v_j>. That score is qᵀ A(t - s) k with
q = (u, 0), k = (x, v) and the defective block A(t) = [[1, t], [0, 1]], at every lag. No rotation and no bias of the lag
alone is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import runtime
from ..config import Profile
from ..positions.generators import LearnedGroup, LearnedRotary
from ..positions.priors import KeyPrior, Laplace, RelativePrior
from ..positions.rotary import Rotary, rope
from .experiment import Experiment
from .grid import Job, Rows, run_all

WIDTH, PUCKS, TRAINED = 8, 8, 32  # head width, pucks in view, longest lag in training
MULTIPLES = (1, 2, 4, 8)
SEEDS = tuple(range(10))  # its own: what training makes of a head does not depend on the profile
BATCH, RATE, QUESTIONS = 128, 0.02, 2000
CHANCE = 1 / PUCKS
STARTED = 0.01 * TRAINED  # the coupling of a defective block over TRAINED steps before training


def _laplace() -> Laplace:
    return Laplace([0.1])


# name: label, rotation of q and k, log-prior
ENCODINGS: dict[str, tuple[str, Callable[[], nn.Module] | None, Callable[[], RelativePrior | KeyPrior] | None]] = {
    "nope": ("NoPE", None, None),
    "alibi": ("ALiBi", None, _laplace),
    "rope": ("RoPE", lambda: Rotary(rope(WIDTH)), None),
    "rope-learned": ("RoPE, learned frequencies", lambda: LearnedRotary(rope(WIDTH)), None),
    "group-damped": ("Learned group, damped", lambda: LearnedGroup(WIDTH), None),
    "group-defective": ("Learned group, defective", lambda: LearnedGroup(WIDTH, defective=True), None),
}


class Watcher(nn.Module):
    """One head: logits [batch, pucks] of a direction [batch, 2] for pucks [batch, pucks, 4] seen at integer times."""

    def __init__(self, name: str) -> None:
        super().__init__()
        _, rotary, prior = ENCODINGS[name]
        self.query, self.key = nn.Linear(2, WIDTH, bias=False), nn.Linear(4, WIDTH, bias=False)
        self.rotary, self.prior = rotary and rotary(), prior and prior()

    def forward(self, direction: Tensor, pucks: Tensor, now: Tensor, seen: Tensor) -> Tensor:
        q, k = self.query(direction)[:, None, None], self.key(pucks)[:, None]
        if self.rotary is not None:
            q, k = self.rotary(q, k, now[None], seen)
        logits = (q @ k.mT)[:, 0, 0]
        return logits if self.prior is None else logits + self.prior.log_prior(now - seen)


def questions(count: int, longest: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """(directions, pucks, now, times, answers) with lags up to `longest`; velocities are per TRAINED steps."""
    now = torch.tensor(longest)
    times = torch.randperm(longest, generator=generator)[:PUCKS].sort().values
    angle = 2 * torch.pi * torch.rand(count, generator=generator)
    direction = torch.stack([angle.cos(), angle.sin()], -1)
    pucks = torch.randn(count, PUCKS, 4, generator=generator)
    place = pucks[..., :2] + ((now - times) / TRAINED)[:, None] * pucks[..., 2:]
    return direction, pucks, now, times, (place @ direction[..., None])[..., 0].argmax(-1)


def watch(name: str, seed: int, steps: int) -> Rows:
    """Train one head on lags up to TRAINED and ask at multiples of it: accuracy, and what its generator became."""
    torch.manual_seed(runtime.seed_for(seed, f"pucks/{name}"))
    model = Watcher(name)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = runtime.generator(seed, "pucks")
    for _ in range(steps):
        *given, answer = questions(BATCH, TRAINED, generator)
        loss = F.cross_entropy(model(*given), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return [row | {"encoding": name, "seed": seed} for row in _asked(model.eval(), seed)]


@torch.no_grad()
def _asked(model: Watcher, seed: int) -> Rows:
    group = model.rotary if isinstance(model.rotary, LearnedGroup) else None
    coupling = 0.0 if group is None or group.coupling is None else float(group.coupling.abs().max()) * TRAINED
    decay = 0.0 if group is None else float(group.decay.min()) * TRAINED
    rows = []
    for multiple in MULTIPLES:
        generator = runtime.generator(seed, f"pucks/{multiple}")
        hits = asked = 0
        for _ in range(20):  # other times of sight each time
            *given, answer = questions(QUESTIONS // 20, multiple * TRAINED, generator)
            hits += int((model(*given).argmax(-1) == answer).sum())
            asked += len(answer)
        rows.append({"multiple": multiple, "correct": hits, "samples": asked, "coupling": coupling, "decay": decay})
    return rows


def accuracies(profile: Profile) -> pd.DataFrame:
    """A row per encoding, seed and multiple of the longest lag in training.

    `coupling` and `decay` are those of the learned group over TRAINED steps: its largest coupling, its slowest decay.
    """
    cells = itertools.product(ENCODINGS, SEEDS)
    jobs = [Job(f"{name}/{seed}", watch, (name, seed, profile.theory.puck_steps)) for name, seed in cells]
    frame = pd.DataFrame([row for rows in run_all(jobs, profile.workers, 1, "pucks") for row in rows])
    return frame[["encoding", "seed", "multiple", "correct", "samples", "coupling", "decay"]]


EXPERIMENT = Experiment(
    name="pucks",
    sections=("theory",),
    trained=("pucks",),
    measure=lambda profile, runs, cache: {"groups_pucks": accuracies(profile)},
    frames=("groups_pucks",),
)
