"""What BAM's heads learned for passkeys: their exponents, where they look, and what happens when they are edited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from .. import runtime, store
from ..config import Profile
from ..evaluation import passkey_samples
from ..model import Transformer
from ..positions.priors import GeneralizedGaussian
from ..training import Run, RunSpec
from .arms import OURS, Corpus, passkey_run
from .experiment import Asked, Experiment, Frames
from .grid import Job, run_all
from .heads import FIGURE_LENGTH, PROMPTS, heads_and_maps

EDITS = ("as trained", "negative to uniform", "all uniform", "positive to uniform")
EDITED = 10  # prompts a length


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    """Runs of the passkey experiment; what they are asked hardly costs anything."""
    return {passkey_run(profile, OURS, seed): [] for seed in profile.seeds_for(OURS)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frames `learned_heads`, `learned_maps` (three heads of the first seed) and `learned_edits`."""
    lengths = tuple(profile.passkey.evaluation.lengths)
    jobs = [Job(f"learned/{OURS}/{run.seed}", examine, (run, str(runs), profile.device, lengths))
            for run in asked(profile)]  # fmt: skip
    results = run_all(jobs, profile.workers, profile.threads, "learned priors")
    heads, maps, edits = (pd.DataFrame([row for result in results for row in result[table]])
                          for table in ("heads", "maps", "edits"))  # fmt: skip
    chosen = chosen_maps(heads, maps, profile.seeds_for(OURS)[0])
    return {"learned_heads": heads, "learned_maps": chosen, "learned_edits": edits}


def examine(spec: RunSpec, runs: str, device: str, lengths: tuple[int, ...]) -> dict[str, list[dict[str, Any]]]:
    """Heads, attention maps and edits of one trained model, kept beside it in the store."""
    run = Run(spec, runs, runtime.device(device))
    run.train()
    code = store.fingerprint(heads_and_maps, edited, passkey_samples, Transformer)
    path = run.path / f"learned-{store.key(lengths, EDITS, PROMPTS, FIGURE_LENGTH, code)}.json"
    return store.kept_json(path, lambda: _examined(run, lengths))


def _examined(run: Run, lengths: tuple[int, ...]) -> dict[str, list[dict[str, Any]]]:
    seed = run.spec.seed
    heads, maps = heads_and_maps(run.model(), seed)
    edits = []
    for edit in EDITS:
        model = edited(run.model(), edit)
        for length in lengths:
            rows = passkey_samples(model, length, EDITED, seed)
            accuracy = sum(row["correct"] for row in rows) / len(rows)
            edits.append({"seed": seed, "edit": edit, "length": length, "samples": EDITED, "accuracy": accuracy})
    return {"heads": heads, "maps": maps, "edits": edits}


@torch.no_grad()
def edited(model: Transformer, edit: str) -> Transformer:
    """The model with some heads' priors replaced by the uniform one (β = 0), in place.

    "negative to uniform" removes the local suppression of heads with β < 0, "positive to uniform" the locality of heads
    with β > 0, "all uniform" both; the content weights stay as trained.
    """
    if edit not in EDITS:
        raise ValueError(f"unknown edit {edit!r}; choose one of {', '.join(EDITS)}")
    chosen = {"as trained": lambda beta: beta != beta, "negative to uniform": lambda beta: beta < 0,
              "positive to uniform": lambda beta: beta > 0, "all uniform": lambda beta: beta == beta}[edit]  # fmt: skip
    for module in model.modules():
        if isinstance(module, GeneralizedGaussian):
            module.theta_beta[chosen(module.theta_beta)] = 0.0
    return model


PANELS = {"β ≤ 0": -np.inf, "0 < β < 1": 0.5, "β ≈ 1": 1.0}


def chosen_maps(heads: pd.DataFrame, maps: pd.DataFrame, seed: int) -> pd.DataFrame:
    """The maps of three heads of one seed picked by β alone: the lowest, the nearest to 0.5 and the nearest to 1.

    Each head is used once; the three stand for the panels of BAM's Fig. 4 (the printed β says how well each fits).
    """
    left = heads[heads["seed"] == seed]
    if len(left) < len(PANELS):
        raise ValueError(f"seed {seed} has {len(left)} heads, but {len(PANELS)} are needed; use a larger model")
    parts = []
    for panel, target in PANELS.items():
        far = left["beta"] if target == -np.inf else (left["beta"] - target).abs()
        head = left.loc[far.idxmin()]
        left = left.drop(index=head.name)
        same = (maps["seed"] == seed) & (maps["layer"] == head["layer"]) & (maps["head"] == head["head"])
        parts.append(maps[same].assign(panel=panel, beta=head["beta"]))
    return pd.concat(parts, ignore_index=True)


EXPERIMENT = Experiment(
    name="learned",
    sections=("passkey",),
    recipe=lambda profile: profile.passkey.recipe.name,
    asked=asked,
    measure=measure,
    frames=("learned_heads", "learned_maps", "learned_edits"),
)
