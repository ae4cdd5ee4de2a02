"""One measurement in a process of its own: `measure NAME [ARGUMENT]` prints JSON.

Peak memory belongs to a process, so that each figure gets a fresh one; what Python and torch take before the measured
work is subtracted.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from .. import config, runtime
from ..attention import attention
from ..config import ModelConfig
from ..evaluation import passkey_samples
from ..model import Transformer
from ..parallel import condense, open_reader
from ..parallel.chunks import Options
from ..positions.encodings import encoding
from ..positions.priors import GeneralizedGaussian
from ..tasks import passkey
from ..training.runs import Run, load
from .arms import OURS, changed, passkey_run
from .memory import in_turn
from .times import register


def training_step(backend: str, repeats: int = 3) -> dict[str, Any]:
    """A training step of BAM-SSMax: 6 layers, width 512, 16 heads, vocabulary 4096, one sequence of 2,048 tokens."""
    register()
    torch.manual_seed(0)
    size = {"vocabulary": 4096, "width": 512, "layers": 6, "heads": 16, "hidden": 1024}
    model = Transformer(ModelConfig(encoding="bam-ssmax", **size))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(4096, (1, 2049), generator=runtime.generator(0, "bench"))

    def step() -> float:
        loss = F.cross_entropy(model(tokens[:, :-1], backend=backend).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return _timed(step, repeats)


def long_prompt(length: str, repeats: int = 1) -> dict[str, Any]:
    """A passkey prompt of `length` tokens through the trained model: only the answer's queries in the last layer.

    Read by backend "sdpa_skip", which leaves out the blocks that weigh nothing.
    """
    model = load("passkey/bam-ssmax/0").eval()
    tokens = passkey.prompts(int(length), torch.tensor([0.5]), runtime.generator(0, "bench")).tokens[:, :-1]

    @torch.inference_mode()
    def step() -> float:
        return model(tokens, last=passkey.DIGITS, backend="sdpa_skip").sum().item()

    return _timed(step, repeats, warm=False)


def chunked_prompt(length: str, repeats: str = "3") -> dict[str, Any]:
    """A text of `length` tokens in chunks of the model's training length, three of which stay, and a question.

    Three layers of width 64 with RoPE, as on passkeys; new weights, on which the cost does not depend. `value`: the
    keys and values that are left, in bytes.
    """
    torch.manual_seed(0)
    profile = config.profile("cpu")
    size, window = profile.passkey.size.model_dump(), profile.passkey.recipe.length
    model = Transformer(ModelConfig(vocabulary=len(passkey.VOCABULARY), encoding="rope", **size)).eval()
    drawn = torch.randint(len(passkey.VOCABULARY), (int(length),), generator=runtime.generator(0, "bench"))
    asked, options = 2 * passkey.DIGITS, Options(window=window, reserve=passkey.DIGITS, keep=3)

    def step() -> float:
        found = condense(open_reader(model), drawn[:-asked], drawn[-asked:], options)
        found.feed(drawn[-asked:])
        return float(found.cache.bytes)

    return _timed(step, int(repeats))


def attention_call(backend: str, length: str, backward: str, repeats: int = 3) -> dict[str, Any]:
    """One call of attention, 8 heads of width 64, with a learned generalised Gaussian; `backward` "1" adds gradients.

    Backend "none" is torch's own attention without any prior, "flex" FlexAttention without compilation.
    """
    register()
    torch.manual_seed(0)
    count = int(length)
    q, k, v = (torch.randn(1, 8, count, 64).requires_grad_(backward == "1") for _ in range(3))
    prior = GeneralizedGaussian(torch.linspace(-2, 0, 8), torch.linspace(0.3, 1, 8))

    def step() -> float:
        with torch.set_grad_enabled(backward == "1"):
            if backend == "none":
                out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            elif backend == "flex":
                out = flex(q, k, v, prior)
            else:
                out = attention(q, k, v, prior=prior, backend=backend)
            if backward == "1":
                out.sum().backward()
        return out.sum().item()

    return _timed(step, repeats)


def composite_call(length: str, backward: str, repeats: int = 9) -> dict[str, Any]:
    """One call with Goat's prior inside beside torch's own attention at the same width without any, in turn.

    8 heads of width 64, of which the prior's coordinates take 10. `value`: the median of the rounds' ratios.
    """
    torch.manual_seed(0)
    row = encoding("goat-composite")
    prior, count, learns = row.prior(8), int(length), backward == "1"
    drawn = (torch.randn(1, 8, count, 64) for _ in range(3))
    places = torch.arange(count)
    q, k, v = (*row.rotary(64, 10_000.0)(next(drawn), next(drawn), places, places), next(drawn))
    q, k, v = (x.detach().requires_grad_(learns) for x in (q, k, v))

    def step(way: Callable[..., torch.Tensor], **how: Any) -> None:
        with torch.set_grad_enabled(learns):
            out = way(q, k, v, **how)
            if learns:
                out.sum().backward()

    before, ways = (
        _peak(),
        {
            "ours": lambda: step(attention, prior=prior, backend="composite"),
            "theirs": lambda: step(F.scaled_dot_product_attention, is_causal=True),
        },
    )
    taken = [milliseconds / 1000 for *_, milliseconds in in_turn(ways, repeats, torch.device("cpu"))]
    ratios = [ours / theirs for ours, theirs in zip(taken[::2], taken[1::2], strict=True)]
    return {
        "seconds": statistics.median(taken[::2]),
        "all_ratios": ratios,
        "peak_bytes": _peak() - before,
        "value": statistics.median(ratios),
    }


def flex(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, prior: GeneralizedGaussian) -> torch.Tensor:
    """FlexAttention with the prior as a power per score."""
    from torch.nn.attention.flex_attention import flex_attention

    def score(s: torch.Tensor, b: Any, h: Any, i: Any, j: Any) -> torch.Tensor:
        bias = prior.theta_alpha[h].exp() * ((i - j).abs() + prior.epsilon) ** prior.theta_beta[h]
        return torch.where(i >= j, s - bias, -torch.inf)

    return flex_attention(q, k, v, score_mod=score)


# The loop that one would write first: every step with AdamW, a batch of 32 and a cosine to the end.
STRAIGHTFORWARD = {
    "optimizer": "adamw",
    "rate": 0.002,
    "prior_rate": 10.0,
    "steps": 1000,
    "batch": 32,
    "target": None,
    "cooldown": 0,
}


def training_run(profile: str, seed: str, recipe: str) -> dict[str, Any]:
    """Trains one seed of the profile's BAM-SSMax on passkeys from nothing, in a store of its own.

    `recipe`: "own" or "straightforward". `value` holds steps, answer loss and the share of 20 prompts answered at 16
    times the training length.
    """
    spec = passkey_run(config.profile(profile), OURS, int(seed))
    if recipe == "straightforward":
        spec = changed(spec, **STRAIGHTFORWARD)
    before = _peak()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(spec, folder, torch.device("cpu"))
        record = run.train()
        peak = _peak() - before
        answers = passkey_samples(run.model(), 16 * spec.recipe.length, 20, spec.seed)
    found = {
        "steps": record["steps"],
        "loss": record["loss"][-1],
        "accuracy": sum(answer["correct"] for answer in answers) / len(answers),
    }
    return {"seconds": record["seconds"], "peak_bytes": peak, "value": found}


def _timed(step: Callable[[], float], repeats: int, warm: bool = True) -> dict[str, Any]:
    before = _peak()
    value = step() if warm else None
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = step()
        seconds.append(time.perf_counter() - start)
    peak = _peak() - before
    return {"seconds": statistics.median(seconds), "all_seconds": seconds, "peak_bytes": peak, "value": value}


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


MEASURES = {
    each.__name__: each
    for each in (training_step, training_run, long_prompt, chunked_prompt, attention_call, composite_call)
}

if __name__ == "__main__":
    runtime.configure(int(sys.argv[1]))
    torch.set_deterministic_debug_mode("default")
    print(json.dumps(MEASURES[sys.argv[2]](*sys.argv[3:])))
