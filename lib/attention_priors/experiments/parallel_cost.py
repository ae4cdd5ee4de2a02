"""What reading in chunks costs: seconds, milliseconds a token and bytes by chunks that are read at once.

ParallelComp's Table 7 by proxy. The cost does not depend on what a model has learned, so that its weights are random.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd
import torch

from .. import runtime
from ..config import ModelConfig, Profile, Size
from ..model import Transformer
from ..parallel import condense
from ..parallel.chunks import Options, chunk_size
from ..parallel.ours import Ours
from ..tasks.passkey import VOCABULARY
from .experiment import Experiment, Frames
from .grid import Rows
from .memory import peak, timed

AT_ONCE = (1, 4, 8, 16)
WHOLE, HALF = "all keys", "half of the keys"
QUESTION, ANSWER, ROUNDS = 16, 16, 3


def cost(size: Size, window: int, length: int, device: torch.device, rounds: int = ROUNDS) -> Rows:
    """A row for each number of chunks at once, with all keys of a chunk or half of them, and round, all ways in turn.

    `prefill`: seconds to read the text. `token`: milliseconds for each of the tokens that follow. `cache`: MB that
    stay. `memory`: MB that reading takes at most. Every chunk stays, as in the table. One round warms up.
    """
    torch.manual_seed(0)
    model = Transformer(ModelConfig(vocabulary=len(VOCABULARY), encoding="rope", **size.model_dump())).to(device).eval()
    drawn = torch.randint(len(VOCABULARY), (length,), generator=runtime.generator(0, "parallel-cost"))
    text, question = drawn[:-QUESTION], drawn[-QUESTION:]
    reader, plain = Ours(model), Options(window=window, reserve=ANSWER, keep=None)
    half = chunk_size(len(text), QUESTION, plain) // 2
    ways = {
        (count, kept): replace(plain, budget=budget, at_once=count)
        for count in AT_ONCE
        for kept, budget in ((WHOLE, None), (HALF, half))
    }
    held = {way: peak(lambda how=how: condense(reader, text, question, how), device) for way, how in ways.items()}
    made = []
    for turn in range(-1, rounds):
        for (count, kept), how in ways.items():
            prefill, found = timed(lambda how=how: condense(reader, text, question, how), device)
            size_of_cache = found.cache.bytes
            found.feed(question)
            token, _ = timed(lambda found=found: [found.feed(each[None]) for each in text[:ANSWER]], device)
            if turn >= 0:
                about = {"at_once": count, "kept": kept, "length": length, "window": window, "round": turn}
                seconds = {"prefill": prefill, "token": 1000 * token / ANSWER}
                sizes = {"cache": size_of_cache / 2**20, "memory": held[count, kept] / 2**20}
                made.append(about | seconds | sizes)
    return made


def measure(profile: Profile, *_: Any) -> Frames:
    """`parallel_cost`: the rows of `cost` at the largest length at which chunks are asked to find needles."""
    section = profile.parallel_needles
    length = max(*section.evaluation.lengths, *section.far.lengths)
    rows = cost(profile.passkey.size, profile.passkey.recipe.length, length, runtime.device(profile.device))
    return {"parallel_cost": pd.DataFrame(rows)}


EXPERIMENT = Experiment(
    name="parallel_cost",
    sections=("passkey", "parallel_needles"),
    trained=("random",),
    measure=measure,
    frames=("parallel_cost",),
)
