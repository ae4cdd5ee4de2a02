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
from ..tasks import passkey
from ..training import Run, RunSpec
from .grid import Job, run_all
from .passkeys import spec

FIGURE_FILLER = 768  # BAM Fig. 4: 32 + 25 + 768 + 16 = 841 tokens
FIGURE_LENGTH = passkey.SHORTEST + FIGURE_FILLER
RECENT = 32
PROMPTS = 8
EDITS = ("as trained", "negative to uniform", "all uniform", "positive to uniform")


def study(profile: Profile, runs: Path, name: str = "bam-ssmax") -> dict[str, pd.DataFrame]:
    """Frames `learned_heads`, `learned_maps` and `learned_edits` over the seeds of an encoding."""
    lengths = tuple(profile.passkey.evaluation.lengths)
    jobs = []
    for seed in profile.seeds_for(name):
        run = spec(profile, name, seed)
        jobs.append(Job(f"learned/{name}/{seed}", examine, (run, str(runs), profile.device, lengths)))
    results = run_all(jobs, profile.workers, profile.threads, "learned priors")
    frames = {}
    for table in ("heads", "maps", "edits"):
        rows = [row for result in results for row in result[table]]
        frames[f"learned_{table}"] = pd.DataFrame(rows)
    return frames


def examine(run_spec: RunSpec, runs: str, device: str, lengths: tuple[int, ...]) -> dict[str, list[dict[str, Any]]]:
    """Heads, attention maps and edits of one trained model, kept beside it in the store."""
    run = Run(run_spec, runs, runtime.device(device))
    run.train()
    code = store.fingerprint(heads_and_maps, edited, passkey_samples, Transformer)
    path = run.path / f"learned-{store.key(lengths, EDITS, PROMPTS, FIGURE_LENGTH, code)}.json"
    return store.kept_json(path, lambda: _examined(run, lengths))


def _examined(run: Run, lengths: tuple[int, ...]) -> dict[str, list[dict[str, Any]]]:
    run_spec = run.spec
    heads, maps = heads_and_maps(run.model(), run_spec.seed)
    edits = []
    for edit in EDITS:
        model = edited(run.model(), edit)
        for length in lengths:
            rows = passkey_samples(model, length, 10, run_spec.seed)
            accuracy = sum(row["correct"] for row in rows) / len(rows)
            edits.append({"seed": run_spec.seed, "edit": edit, "length": length, "samples": 10, "accuracy": accuracy})
    return {"heads": heads, "maps": maps, "edits": edits}


@torch.no_grad()
def heads_and_maps(model: Transformer, seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Per head: its prior, and how much attention the answering queries give to the key sentence and to what is near.

    The prompt is BAM's Fig. 4: the key sentence stands before 768 tokens of filler. Maps are means over the answering
    queries and over prompts with different keys; `passkey_lift` is the mass on the key sentence relative to uniform.
    """
    drawn = passkey.prompts(FIGURE_LENGTH, torch.zeros(PROMPTS), runtime.generator(seed, "learned"))
    tokens = drawn.tokens[:, :-1].to(next(model.parameters()).device)
    start = int(drawn.starts[0])
    heads, maps = [], []
    for layer, weights in enumerate(model.attention_maps(tokens, passkey.DIGITS)):
        mean = weights.double().mean((0, 2)).cpu().numpy()  # [heads, length]
        prior, scale = model.blocks[layer].attention.prior, model.blocks[layer].attention.scale
        for head, row in enumerate(mean):
            mass = float(row[start : start + passkey.KEY_TOKENS].sum())
            heads.append({
                "seed": seed, "layer": layer, "head": head,
                "theta_alpha": round(float(prior.theta_alpha[head]), 6), "beta": round(float(prior.beta[head]), 6),
                "scale": round(float(scale.scale[head]), 6), "passkey_mass": round(mass, 7),
                "passkey_lift": round(mass * len(row) / passkey.KEY_TOKENS, 5),
                "recent_mass": round(float(row[-RECENT:].sum()), 7),
                "entropy": round(float(-(row * np.log(np.maximum(row, 1e-300))).sum()), 6),
            })  # fmt: skip
            for key, weight in enumerate(row):
                maps.append({"seed": seed, "layer": layer, "head": head, "key": key, "weight": round(float(weight), 8)})
    return heads, maps


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
