"""How sharp SSMax made the heads of trained models: s σ, which says beyond which length a head freezes."""

from __future__ import annotations

from pathlib import Path

import torch

from .. import runtime
from ..config import Profile
from ..model import Transformer
from ..tasks import passkey
from ..training.runs import Run, RunSpec
from .arms import OURS, Corpus, passkey_run
from .experiment import Asked, Experiment, Frames
from .grid import Job, Rows, gather
from .heads import content_weights, key_prompts
from .question import Question

MULTIPLES = (1, 4, 16)  # of the training length
PROMPTS = 4
SHARPNESS = Question("sharpness")


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    """Runs of the passkey experiment; what they are asked hardly costs anything."""
    return {passkey_run(profile, OURS, seed): [] for seed in profile.seeds_for(OURS)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frame `ssmax_heads`: a row per seed, head and length."""
    jobs = [Job(f"sharpness/{OURS}/{run.seed}", examine, (run, str(runs), profile.device)) for run in asked(profile)]
    return {"ssmax_heads": gather(jobs, profile, "sharpness").assign(trained=profile.passkey.recipe.length)}


def examine(spec: RunSpec, runs: str, device: str) -> Rows:
    """The rows of one trained model, kept beside it in the store."""
    run = Run(spec, runs, runtime.device(device))
    run.train()
    lengths = tuple(multiple * spec.recipe.length for multiple in MULTIPLES)
    asked = lengths, PROMPTS
    return SHARPNESS.put(run, asked, lambda: [row for n in lengths for row in sharpness(run.model(), n, spec.seed)])


@torch.no_grad()
def sharpness(model: Transformer, length: int, seed: int) -> Rows:
    """s, σ and s σ of every head at the queries that answer a passkey prompt.

    σ is the standard deviation of the content logits of a query over the keys that it sees, without the key sentence,
    which it looks for; the mean square over queries and prompts. Content attention is e^(a z) / Z with a = s ln n, so
    that the deviation of its logarithm is a σ, and s σ that divided by ln n.
    """
    drawn = key_prompts(length, PROMPTS, seed)
    tokens, start = drawn.tokens[:, :-1].to(next(model.parameters()).device), int(drawn.starts[0])
    rows = []
    for layer, weights in enumerate(content_weights(model, tokens, passkey.DIGITS)):
        logs = weights.double().clamp(min=torch.finfo(torch.float32).tiny).log()
        variances = torch.zeros(logs.shape[1], dtype=torch.float64)
        for query in range(passkey.DIGITS):
            seen = length - passkey.DIGITS + 1 + query
            others = torch.cat([logs[:, :, query, :start], logs[:, :, query, start + passkey.KEY_TOKENS : seen]], -1)
            deviation = others.std(-1) / torch.tensor(seen).log()
            variances += (deviation**2).mean(0).cpu() / passkey.DIGITS
        own = model.blocks[layer].attention
        for head, product in enumerate(variances.sqrt().tolist()):
            scale = float(own.scale.scale[head])
            rows.append(
                {
                    "seed": seed,
                    "layer": layer,
                    "head": head,
                    "length": length,
                    "beta": round(float(own.prior.beta[head]), 6),
                    "scale": round(scale, 6),
                    "sigma": round(product / abs(scale), 6),
                    "product": round(product, 6),
                }
            )
    return rows


EXPERIMENT = Experiment(
    name="sharpness",
    sections=("passkey",),
    asked=asked,
    measure=measure,
    frames=("ssmax_heads",),
)
