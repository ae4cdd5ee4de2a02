"""BAM's training recipe (appendix C): what arithmetic and its table 1 say, and whether ours follows it."""

from __future__ import annotations

import math

import torch

from attention_priors import config
from attention_priors.checks.language.decoding import LENGTHS, document_ids, small_model, text
from attention_priors.checks.language.parameters import MODELS, cells_of_table1
from attention_priors.claims.law import Law, claim, claims
from attention_priors.training import optimizers, rate_at

STEPS, TOKENS = 19_251, 589_824
RATES = {"120M": 1e-3, "432M": 5e-4, "1.1B": 3e-4}


def paper() -> config.Recipe:
    """The recipe of the profile `paper`."""
    return config.profile("paper").language.recipe


def rate(step: int) -> float:
    return rate_at(step, paper())


def cosine(floor: float):
    """From 1e-3 to `floor` of it after all steps."""
    return lambda step: 1e-3 * (floor + (1 - floor) * (1 + math.cos(math.pi * step / STEPS)) / 2)


def weight_left(steps: int) -> float:
    """Of a matrix of ones without gradients, after so many steps of the recipe's optimiser."""
    layer = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.ones_(layer.weight)
    layer.weight.grad = torch.zeros_like(layer.weight)
    whole = torch.nn.Module()
    whole.blocks = torch.nn.ModuleList([layer])
    optimiser = optimizers(whole, paper())[0]
    for _ in range(steps):
        optimiser.step()
    return float(layer.weight[0, 0].detach())


@torch.no_grad()
def seen(query: int) -> set[int]:
    """Tokens of a packed sequence whose exchange moves the logits at `query`."""
    built, tokens, ids = small_model("bam-ssmax"), text(sum(LENGTHS)), document_ids()
    before, found = built(tokens, document_ids=ids)[0, query], set()
    for index in range(tokens.shape[1]):
        other = tokens.clone()
        other[0, index] = (other[0, index] + 1) % 17
        if not torch.equal(built(other, document_ids=ids)[0, query], before):
            found.add(index)
    return found


def own_document(query: int) -> set[int]:
    """Up to the query; documents of 5, 1, 9 and 8 tokens start at 0, 5, 6 and 15."""
    return set(range(max(start for start in (0, 5, 6, 15) if start <= query), query + 1))


CHECKS = claims(
    claim(
        "BAM-C17",
        Law("589,824 tokens are whole sequences of 512, 1024 and 2048, equally many on 6 GPUs.",
            TOKENS, lambda sequences, length, devices: sequences * length * devices,
            [{"sequences": n, "length": length, "devices": 6} for n, length in ((192, 512), (96, 1024), (48, 2048))],
            wrong=589_284, tolerance=0),
        Law("Ours (profile paper): a cosine takes the rate from 1e-3 down to a tenth in 19,251 steps.",
            cosine(0.1), rate, [{"step": step} for step in (0, 1, 4812, 9625, 19_250, STEPS)], wrong=cosine(0.0),
            tolerance=1e-12),
        Law("Ours: RAdam with a decoupled weight decay of 0.1, so that rate 1e-3 leaves 1 - 1e-4 a step.",
            lambda steps: (1 - 1e-4) ** steps, weight_left, [{"steps": n} for n in (1, 20)],
            wrong=lambda steps: (1 - 1e-5) ** steps, tolerance=1e-6),
        Law("Ours: packed documents are masked from each other, token by token.",
            own_document, seen, [{"query": i} for i in (4, 5, 14, 22)], wrong=lambda query: set(range(query + 1))),
        Law("The rate starts at 1e-3 for the models.",
            1e-3, lambda rate: rate, [{"model": m, "rate": cells_of_table1()["learning_rate", m]} for m in MODELS],
            wrong=1e-4, tolerance=0),
        corrected=Law("The rate starts at 1e-3 for 120M, at 5e-4 for 432M and at 3e-4 for 1.1B (Table 1).",
                      lambda model: RATES[model], lambda model: cells_of_table1()["learning_rate", model],
                      [{"model": name} for name in MODELS], wrong=lambda model: RATES[model] / 10, tolerance=1e-12),
        practice="1e-3 is the rate of the 120M model, the only one that the main text reports. The steps pass over "
                 "11.35 billion tokens.",
    ),
)  # fmt: skip
