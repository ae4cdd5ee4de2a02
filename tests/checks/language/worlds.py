"""Losses, senses of order and attention that models might have had: worlds in which claims hold or fail."""

import functools
import math

import numpy as np
import pandas as pd

from attention_priors import config
from attention_priors.experiments import readings
from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS, LONGER, SMALL, TUNED

TRAINED, TIMES, SEEDS = 128, 4, (0, 1, 2)
MULTIPLES = (1, 2, 4, 8, 16, 64)
PROFILE = config.profile("full")
ROWS = PROFILE.readings
BASES = ("nope", "sinusoidal", "rope", "rope-local", "alibi", "bam")
SIX = (*BASES, *(f"{base}-ssmax" for base in BASES))
# slopes per doubling of the length
GROWING = {
    "nope": 0.3,
    "sinusoidal": 0.3,
    "learned": 0.35,
    "rope": 0.2,
    "rope-ssmax": 0.2,
    "rope-bias": 0.05,
    "xpos": 0.1,
    "rope-learned": 0.1,
    "group-damped": 0.1,
    "group-defective": 0.1,
    "lag-table": 0.1,
    "rope+": 0.1,
    "rope-ssmax-base-50": 0.2,
    "rope-ssmax-base-100": 0.02,
    "rope-dynamic-linear": 0.115,
    "rope-dynamic-ntk": 0.05,
    "rope-rerope": 0.03,
    "rope-leaky-rerope": 0.04,
}
# extensions by a factor: loss at the training length, slope up to the factor, the factor; 0.4 per doubling beyond
FIXED = {"rope-pi-4": (0.3, 0.0, 4), "rope-ntk-4": (0.05, 0.025, 4), "rope-ntk-2": (0.03, 0.02, 2),
         "rope-ntk-8": (0.08, 0.02, 8), "rope-pi": (0.8, 0.0, 16), "rope-ntk": (0.2, 0.0, 16)}  # fmt: skip
KEPT = {"rope": 0.5, "rope-pi": 0.1, "rope-pi-4": 0.3, "rope-ntk": 0.4}  # cost of exchanging neighbours (nats)
LOST = {"rope": 0.5, "rope-pi": 0.5, "rope-ntk": 0.1}
FADES = {"nope": 0.4, "bam": 0.3, "bam-ssmax": 0.05}  # ln(largest weight) lost per doubling
STEADY = {"alibi": 0.5, "rope-local": 0.5, "bam-ssmax": 0.5}


def printed(name, multiple):
    """As printed: log-priors are level, embeddings and RoPE break, SSMax serves BAM, NTK beats interpolation."""
    doublings = math.log2(multiple)
    if name in FIXED:
        start, slope, factor = FIXED[name]
        within = min(doublings, math.log2(factor))
        return start + slope * within + 0.4 * (doublings - within)
    base = name.removesuffix("-ssmax")
    start = {"nope": 0.06, "alibi": 0.0, "bam": 0.03}.get(base, 0.04 if name == "rope-ssmax" else 0.02)
    beyond = 0.02 * (base in ("bam", "t5", "t5-quarter")) if multiple > 1 else 0.0
    return start + GROWING.get(name, GROWING.get(base, 0.0)) * doublings + beyond - 0.01 * (name == "bam-ssmax")


def relative_is_enough(name, multiple):
    """The same, but RoPE and its relatives are level too."""
    return 0.02 if name.startswith(("rope", "xpos", "group")) and name not in FIXED else printed(name, multiple)


def as_summed_up(name, multiple):
    """The same, but xPos is level."""
    return 0.02 if name == "xpos" else printed(name, multiple)


def reverse(name, multiple):
    """Embeddings are level, everything relative breaks; interpolation is free and further training spoils it."""
    if name.startswith("nope"):
        return 0.0
    if name in ("sinusoidal", "learned", "lag-table"):
        return 0.2
    if name in ("rope-pi", "rope-pi-4", "rope-dynamic-linear"):
        return 0.2
    if name in FIXED or name.startswith(("rope-dynamic", "rope-rerope", "rope-leaky", "rope-ssmax-base")):
        return 3.0
    slope = 0.4 if name == "rope-bias" else 0.1 if name == "rope+" else 0.2
    more = 2.0 * (name == "rope-pi-4+") + 0.5 * (name == "bam-ssmax") + 0.2 * (name == "alibi")
    return 0.2 + slope * math.log2(multiple) + more


@functools.lru_cache(maxsize=64)
def read(rule, seeds=SEEDS, multiples=MULTIPLES, noise=0.001):
    """language_readings of models whose loss above 1 nat is rule(name, length / training length), tuned at TIMES T."""
    rng, rows = np.random.default_rng(0), []
    swaps = LOST if rule is reverse else KEPT

    def add(part, name, trained, wanted, known=None):
        for seed in seeds:
            for multiple in wanted:
                jitter = noise * rng.standard_normal()
                rows.append(
                    {
                        "part": part,
                        "encoding": name,
                        "seed": seed,
                        "trained": trained,
                        "documents": 8,
                        "length": int(multiple * (known or trained)),
                        "domain": "docstrings",
                        "run": "r",
                        "swap": swaps.get(name, 1.0) + jitter,
                        "passed": True,
                        "loss": 1 + rule(name + "+" * (part == TUNED), multiple) + jitter,
                    }
                )

    near = [multiple for multiple in multiples if multiple <= 16]
    for name in dict.fromkeys((*PROFILE.language.encodings, *ROWS.encodings)):
        add(BENCHMARK, name, TRAINED, multiples)
    for name in ROWS.extensions:
        add(EXTENSIONS, name, TRAINED, near)
    for name in ROWS.tuned:
        add(TUNED, name, TIMES * TRAINED, near, TRAINED)
    for name in ROWS.small:
        add(SMALL, name, TRAINED, (1,))
    for name in dict.fromkeys((*ROWS.longer, "sinusoidal", "rope-local", "rope-ssmax-base-100")):
        add(LONGER, name, 2 * TRAINED, [multiple for multiple in (1, 2, 4, 32) if multiple <= max(multiples)])
    return readings.growth(pd.DataFrame(rows)).assign(unigram=300.0, scored=64)


def perplexity(rule, seeds=SEEDS, multiples=MULTIPLES, noise=0.001):
    """language_perplexity and language_losses in two domains; documents scatter around their mean."""
    rows, documents, rng = [], [], np.random.default_rng(0)
    for domain in ("docstrings", "source"):
        for name in SIX:
            for seed in seeds:
                jitter = noise * rng.standard_normal()
                for multiple in multiples:
                    loss, base = 1 + rule(name, multiple) + jitter, 1 + rule(name, 1) + jitter
                    common = {
                        "domain": domain,
                        "encoding": name,
                        "times": 1,
                        "seed": seed,
                        "passed": True,
                        "length": multiple * TRAINED,
                        "trained": TRAINED,
                    }
                    rows.append(common | {"loss": loss, "growth": loss - base, "trained_on": domain == "docstrings"})
                    documents += [common | {"document": d, "loss": loss + (-1) ** d} for d in range(4)]
    return {"language_perplexity": pd.DataFrame(rows), "language_losses": pd.DataFrame(documents)}


def passkeys(far=0.0):
    """ALiBi and RoPE Local find every passkey up to T and a share `far` beyond."""
    return pd.DataFrame(
        {
            "form": "plain",
            "encoding": name,
            "seed": seed,
            "length": int(m * TRAINED),
            "correct": round(20 * share),
            "samples": 20,
            "accuracy": share,
            "trained": TRAINED,
        }
        for name in ("alibi", "rope-local")
        for seed in SEEDS
        for m, share in ((0.75, 1.0), (1, 1.0), (32, far))
    )


def frames(rule, **how):
    slopes = STEADY if rule is reverse else FADES
    fading = pd.DataFrame(
        {
            "encoding": name,
            "seed": seed,
            "length": multiple * TRAINED,
            "layer": 0,
            "head": head,
            "passed": True,
            "peak": -slopes.get(name, 0.0) * math.log2(multiple) + 0.1 * head,
        }
        for name in ROWS.fading
        for seed in how.get("seeds", SEEDS)
        for multiple in (1, 4, 16)
        for head in (0, 1)
    )
    return {
        "language_readings": read(rule, **how),
        "language_fading": fading,
        "passkey_by_length": passkeys(),
        **perplexity(rule, **how),
    }
