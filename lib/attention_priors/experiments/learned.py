"""What BAM's heads learned for passkeys: exponents, where they look, what edits do, and how sharp SSMax made them.

Sharpness is s σ, which says beyond which length a head freezes. What the theory of priors predicts of the heads stands
beside what was measured.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from .. import runtime
from ..config import Profile
from ..evaluation import passkey_samples
from ..model import Transformer
from ..positions.priors import GeneralizedGaussian
from ..tasks import passkey
from ..training.runs import Run, RunSpec
from .arms import OURS, Corpus, passkey_run, trained
from .experiment import Asked, Experiment, Frames, Question
from .grid import Rows, Tables, gather, gather_tables, per_run
from .heads import FIGURE_LENGTH, PROMPTS, content_masses, content_weights, heads_and_maps, key_prompts

EDITS = ("as trained", "negative to uniform", "random to uniform", "positive to uniform", "all uniform")
EDITED = 10  # prompts a length
FARTHEST = 32  # multiples of the training length: edited models are asked from T to there
SHARP_AT, SHARP_PROMPTS = (1, 4, 16), 4  # of sharpness: multiples of the training length, prompts
PREDICTED = ["seed", "layer", "head", "beta", "predicted", "measured", "required", "supplied"]
LEARNED, SHARP = Question("learned"), Question("sharpness")


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    """Runs of the passkey experiment; what they are asked hardly costs anything."""
    return {passkey_run(profile, OURS, seed): [] for seed in profile.seeds_for(OURS)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frames `learned_heads`, `learned_maps` (three heads of the first seed) and `learned_edits`."""
    length = profile.passkey.recipe.length
    lengths = tuple(n for n in profile.passkey.evaluation.lengths if length <= n <= FARTHEST * length)
    jobs = per_run(examine, asked(profile), runs, profile.device, lengths)
    found = gather_tables(jobs, profile, "learned priors")
    return {
        "learned_heads": found["heads"],
        "learned_maps": chosen_maps(found["heads"], found["maps"], profile.seeds_for(OURS)[0]),
        "learned_edits": found["edits"].assign(trained=length),
    }


def examine(spec: RunSpec, runs: str, device: str, lengths: tuple[int, ...]) -> Tables:
    """Heads, attention maps and edits of one trained model, kept beside it in the store."""
    run, _ = trained(spec, runs, device)
    return LEARNED.put(run, (lengths, EDITS, PROMPTS, FIGURE_LENGTH), lambda: _examined(run, lengths))


def _examined(run: Run, lengths: tuple[int, ...]) -> Tables:
    seed = run.spec.seed
    heads, maps = heads_and_maps(run.model(), seed)
    content = content_masses(run.model(), seed)
    heads = [row | {"content_mass": round(content[row["layer"], row["head"]], 7)} for row in heads]
    edits = []
    for edit in EDITS:
        model = edited(run.model(), edit, seed)
        for length in lengths:
            rows = passkey_samples(model, length, EDITED, seed)
            accuracy = sum(row["correct"] for row in rows) / len(rows)
            edits.append({"seed": seed, "edit": edit, "length": length, "samples": EDITED, "accuracy": accuracy})
    return {"heads": heads, "maps": maps, "edits": edits}


@torch.no_grad()
def edited(model: Transformer, edit: str, seed: int) -> Transformer:
    """The model with some heads' priors replaced by the uniform one (β = 0), in place; content weights stay as trained.

    "negative to uniform" removes the local suppression of heads with β < 0, "positive to uniform" the locality of heads
    with β > 0, "all uniform" both. "random to uniform" is the control of the first: as many heads, drawn by the seed.
    """
    if edit not in EDITS:
        raise ValueError(f"unknown edit {edit!r}; choose one of {', '.join(EDITS)}")
    priors = [module for module in model.modules() if isinstance(module, GeneralizedGaussian)]
    beta = torch.cat([prior.theta_beta for prior in priors])
    order = torch.randperm(len(beta), generator=runtime.generator(seed, "learned/random"))
    chosen = {
        "as trained": torch.zeros_like(beta, dtype=torch.bool),
        "negative to uniform": beta < 0,
        "random to uniform": (order < int((beta < 0).sum())).to(beta.device),
        "positive to uniform": beta > 0,
        "all uniform": torch.ones_like(beta, dtype=torch.bool),
    }[edit]
    for prior, own in zip(priors, chosen.split([len(prior.theta_beta) for prior in priors]), strict=True):
        prior.theta_beta[own] = 0.0
    return model


# What β is held against, and whether heads are compared within their layer alone.
CORRELATED = {
    "attention on the key, all heads": ("passkey_mass", False),
    "attention on the key, within layers": ("passkey_mass", True),
    "content alone on the key, within layers": ("content_mass", True),
}


def correlations(heads: pd.DataFrame) -> pd.DataFrame:
    """Spearman's ρ over the heads of a seed between β and what they give the key sentence, a row per seed and reading.

    Attention contains the prior, so that β is in both columns; the mass that content alone gives is free of it. Within
    layers ranks are taken in each layer by itself: a layer that looks at the key and has low exponents throughout adds
    nothing. NaN where all heads are alike.
    """
    rows = []
    for seed, own in heads.groupby("seed"):
        for reading, (column, within) in CORRELATED.items():
            layers = own["layer"] if within else pd.Series(0, index=own.index)
            ranks = own[["beta", column]].groupby(layers).rank()
            ranks -= ranks.groupby(layers).transform("mean")
            spread = np.sqrt((ranks**2).sum().prod())
            rho = float(ranks.prod(axis=1).sum() / spread) if spread > 0 else np.nan
            rows.append({"seed": seed, "reading": reading, "rho": rho, "heads": len(own)})
    return pd.DataFrame(rows)


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
    asked=asked,
    measure=measure,
    frames=("learned_heads", "learned_maps", "learned_edits"),
    derive={"learned_correlations": ("learned_heads", correlations)},
)


def measure_sharpness(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frame `ssmax_heads`: a row per seed, head and length."""
    jobs = per_run(examine_sharpness, asked(profile), runs, profile.device)
    return {"ssmax_heads": gather(jobs, profile, "sharpness").assign(trained=profile.passkey.recipe.length)}


def examine_sharpness(spec: RunSpec, runs: str, device: str) -> Rows:
    """The rows of one trained model, kept beside it in the store."""
    run, _ = trained(spec, runs, device)
    lengths = tuple(multiple * spec.recipe.length for multiple in SHARP_AT)
    asked = lengths, SHARP_PROMPTS
    return SHARP.put(run, asked, lambda: [row for n in lengths for row in sharpness(run.model(), n, spec.seed)])


@torch.no_grad()
def sharpness(model: Transformer, length: int, seed: int) -> Rows:
    """s, σ and s σ of every head at the queries that answer a passkey prompt.

    σ is the standard deviation of the content logits of a query over the keys that it sees, without the key sentence,
    which it looks for; the mean square over queries and prompts. Content attention is e^(a z) / Z with a = s ln n, so
    that the deviation of its logarithm is a σ, and s σ that divided by ln n.
    """
    drawn = key_prompts(length, SHARP_PROMPTS, seed)
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
            found = {"beta": float(own.prior.beta[head]), "scale": scale}
            found |= {"sigma": product / abs(scale), "product": product}
            about = {"seed": seed, "layer": layer, "head": head, "length": length}
            rows.append(about | {name: round(value, 6) for name, value in found.items()})
    return rows


SHARPNESS = Experiment(
    name="sharpness",
    sections=("passkey",),
    asked=asked,
    measure=measure_sharpness,
    frames=("ssmax_heads",),
)


@torch.no_grad()
def predicted(learned: pd.DataFrame) -> pd.DataFrame:
    """Per head of bam-ssmax: mass that its prior alone puts on the key sentence, and the attention measured there.

    The prompt is that of `heads.heads_and_maps`. The prior of a head is exp(s ln(n) b(lag)) over the n visible keys
    of each answering query; `required` is the lead in content that half of the weight takes, `supplied` the one that
    the measured mass shows: logit measured - logit predicted.
    """
    start = passkey.DESCRIPTION_TOKENS
    rows = []
    for head in learned.to_dict("records"):
        prior = GeneralizedGaussian([head["theta_alpha"]], [head["beta"]])
        masses = []
        for query in range(FIGURE_LENGTH - passkey.DIGITS, FIGURE_LENGTH):
            lags = torch.arange(query + 1)
            bias = head["scale"] * np.log(query + 1) * prior.log_prior(lags)[0].double()
            sentence = (query - lags >= start) & (query - lags < start + passkey.KEY_TOKENS)
            masses.append(float(bias.softmax(0)[sentence].sum()))
        alone, measured = _inside(np.mean(masses)), _inside(head["passkey_mass"])
        required = -_logit(alone)
        rows.append(
            {
                **{name: head[name] for name in ("seed", "layer", "head", "beta")},
                "predicted": alone,
                "measured": measured,
                "required": required,
                "supplied": _logit(measured) + required,
            }
        )
    return pd.DataFrame(rows, columns=PREDICTED)


def _inside(mass: float) -> float:
    """A probability away from 0 and 1: metrics keep seven digits."""
    return float(np.clip(mass, 1e-7, 1 - 1e-7))


def _logit(p: float) -> float:
    return float(np.log(p) - np.log1p(-p))


PREDICTIONS = Experiment(
    name="predictions",
    sections=("passkey",),
    needs=("learned_heads",),
    derive={"phase_heads": ("learned_heads", predicted)},
)
