"""What a sink is made of: the first key in models whose prior can hold it, and in others (Goat, Fig. 2b, 2c).

Two kinds of model: language models, of which text, recipe and gate are those of the section `language`, and those of
the section `copying`, whose task asks for the first key. Attention is p ∝ π e^z: with the prior known, the content
logits z of a row are ln p - ln π up to a constant, and what heads would do with less or more of them follows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from .. import runtime
from ..config import Encodings, Frozen, Profile, Seeds
from ..model import Transformer
from ..positions.composite import Content
from ..tasks import copying
from ..training.runs import RunSpec
from .arms import Corpus, copying_run, corpus, language_run, trained
from .documents import Reader, gate
from .experiment import Asked, Experiment, Frames, Question, Reading
from .grid import Tables, gather_tables, per_run
from .induced import induced, sides

NEXT = 8  # keys after the first that its peak in u has to rise above
EVERY = 4  # of the keys whose u is kept, after the first ones
SINK = 0.3  # of a head's attention on the first key, from which on it counts as a sink; ours
OWN = ("alibi",)  # encodings whose prior prefers the query's own key
FLAT = 1e-9
TINY = 1e-300  # of a weight
SINKS, EXCESS = Question("sinks"), Question("sinks-loss")


class Settings(Frozen):
    """Language models' rows and seeds, documents; `factors` multiply the content logits. The rest as in `language`."""

    encodings: Encodings
    seeds: Seeds
    documents: int = Field(ge=1)
    factors: tuple[Annotated[float, Field(ge=0)], ...] = Field(min_length=2)


def wanted(profile: Profile, found: Corpus) -> list[RunSpec]:
    """Every training run; most are those of Goat as a language model, and all of copying's are that experiment's."""
    settings, mixture = profile.sinks, profile.copying
    read = [language_run(profile, name, seed, *found) for name in settings.encodings for seed in settings.seeds]
    return read + [copying_run(profile, name, seed) for name in mixture.encodings for seed in mixture.seeds]


def asked(profile: Profile, found: Corpus) -> Asked:
    """The texts of the training length that are read, and those of the gate's reading of order."""
    texts = profile.sinks.documents
    return {spec: [Reading(spec.model.encoding, spec.recipe.length, texts)] for spec in wanted(profile, found)}


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frames `sinks_heads` (a row per model and head), `sinks_factors` (and factor), `sinks_keys` (and key: u)."""
    jobs = per_run(train_and_look, wanted(profile, corpus(profile, cache)), runs, profile)
    return {f"sinks_{part}": frame for part, frame in gather_tables(jobs, profile, "sinks").items()}


def train_and_look(spec: RunSpec, runs: str, profile: Profile) -> Tables:
    """One model, trained and measured where the store lacks it."""
    run, record = trained(spec, runs, profile.device)
    settings, task = profile.sinks, "copying" if spec.task == "copying" else "language"
    if task == "copying":
        tokens = mixed(spec, settings.documents)
        asked = settings.documents, settings.factors
        parts = SINKS.put(run, asked, lambda: look(run.model(), tokens, settings.factors))
        loss = EXCESS.put(run, settings.documents, lambda: excess(run.model(), tokens))
        passed = loss <= copying.NEAR
    else:
        reader, domain = Reader(run, spec.model.encoding, profile), profile.language.domains[0]
        wanted = (settings.documents, settings.factors, domain, spec.inputs, profile.language.documents)

        def measured() -> Tables:
            texts = reader.texts(domain)[: settings.documents, -spec.recipe.length - 1 : -1]
            return look(reader.model, texts, settings.factors)

        parts = SINKS.put(run, wanted, measured)
        own = reader(domain, (spec.recipe.length,))
        passed, loss = gate(reader, profile)["passed"], sum(row["loss"] for row in own) / len(own)
    about = {"task": task, "encoding": spec.model.encoding, "seed": spec.seed, "trained": spec.recipe.length}
    more = {"heads": {"loss": loss, "run": record["key"]}}
    return {
        name: [about | {"passed": passed} | row | more.get(name, {}) for row in rows] for name, rows in parts.items()
    }


def mixed(spec: RunSpec, texts: int) -> Int[Tensor, "texts length"]:
    """Held-out texts of the mixture of copies."""
    return copying.texts(texts, spec.recipe.length, runtime.generator(spec.seed, "sinks/copying"))


@torch.no_grad()
def excess(model: Transformer, tokens: Int[Tensor, "texts length"]) -> float:
    """Nats above the best prediction of the mixture of copies."""
    targets, _ = copying.answers(tokens)
    nll = F.cross_entropy(model(tokens).float().mT, targets, reduction="none")[:, 1:-1].double()
    return float((nll - copying.bayes(tokens)).mean())


@torch.no_grad()
def look(model: Transformer, tokens: Int[Tensor, "texts length"], factors: tuple[float, ...]) -> Tables:
    """The rows of one model, means over texts and over the queries of the second half.

    Per head: mass on the first key (`mass`), what content alone and the prior alone would put there, the prior's mass
    on the query's own key (`own_prior`), `omega`, the range of the content logits of a row, `norm`, the first key's
    norm over the median of the others', and of u its `spike` (the first key over the highest of the next) and `rise`
    (from the middle to the end). Per factor: both masses, with the content logits multiplied, and the least and most
    that content of that range could make of them.
    """
    model, length = model.double(), tokens.shape[1]
    queries = length // 2
    norms, maps = _norms(model, tokens), model.attention_maps(tokens, queries)
    heads, scaled, keys = [], [], []
    rows = torch.arange(length - queries, length)
    hidden = torch.arange(length) > rows[:, None]
    for layer, p in enumerate(maps):
        prior = model.blocks[layer].attention.prior
        pi = induced(prior, p.shape[1], length)[:, rows]  # [heads, queries, keys]
        # Where a steep prior leaves nothing at all, content logits cannot be told: 0.
        z = (p.clamp(min=TINY).log() - pi.clamp(min=TINY).log()).masked_fill(hidden, 0.0)
        omega = z.masked_fill(hidden, -torch.inf).amax(-1) - z.masked_fill(hidden, torch.inf).amin(-1)
        alone = z.masked_fill(hidden, -torch.inf).softmax(-1)
        u = None if prior is None else prior.of_keys(torch.arange(length), length)
        flat = sides(prior, p.shape[1], length)[1]
        for head in range(p.shape[1]):
            own = {"layer": layer, "head": head}
            row = {
                "mass": p[:, head, :, 0].mean(),
                "content_mass": alone[:, head, :, 0].mean(),
                "prior_mass": pi[head, :, 0].mean(),
                "own_prior": pi[head, range(queries), rows].mean(),
                "omega": omega[:, head].mean(),
                "norm": norms[layer][:, head].mean(),
            }
            if u is not None:
                row |= {
                    "spike": flat[head, 0] - flat[head, 1 : NEXT + 1].amax(),
                    "rise": u[head, -1] - u[head, length // 2],
                }
                kept = [j for j in range(length) if j <= NEXT or j % EVERY == 0 or j == length - 1]
                keys += [own | {"key": j, "u": round(float(u[head, j] - u[head].mean()), 5)} for j in kept]
            heads.append(own | {name: round(float(value), 6) for name, value in row.items()})
            for factor in factors:
                logits = factor * z[:, head] + pi[head].log().masked_fill(hidden, -torch.inf)
                moved, reach = logits.softmax(-1), factor * omega[:, head]
                found = {"omega": reach.mean()}
                for name, mass, before in (
                    ("first", moved[..., 0], pi[head, :, 0]),
                    ("own", moved[:, range(queries), rows], pi[head, range(queries), rows]),
                ):
                    low, high = (torch.sigmoid(before.logit() + sign * reach) for sign in (-1, 1))
                    found |= {name: mass.mean(), f"{name}_low": low.mean(), f"{name}_high": high.mean()}
                scaled.append(own | {"factor": factor} | {key: round(float(x), 6) for key, x in found.items()})
    return {"heads": heads, "factors": scaled, "keys": keys}


def _norms(model: Transformer, tokens: Tensor) -> list[Float[Tensor, "texts heads"]]:
    """By layer: the norm of the first key over the median of the others', of the components that hold content."""
    found: list[Tensor] = []

    def keep(attention: Any) -> Any:
        def hook(_: Any, __: Any, out: Tensor) -> None:
            k = out.unflatten(-1, (2, attention.kv_heads, attention.head_width))[..., 0, :, :]
            rotary = attention.rotary
            k = k[..., : rotary.content] if isinstance(rotary, Content) else k
            norms = k.norm(dim=-1)  # [texts, length, kv_heads]
            ratio = norms[:, 0] / norms[:, 1:].median(1).values
            found.append(ratio.repeat_interleave(attention.heads // attention.kv_heads, 1))

        return hook

    hooks = [block.attention.key_value.register_forward_hook(keep(block.attention)) for block in model.blocks]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return found


def followed(frame: pd.DataFrame) -> pd.DataFrame:
    """One head of each model by factor: `mass` on the key that its prior prefers, between `least` and `most`.

    The key is the first, for ALiBi the query's own; the head is the one whose prior gives it most. Where the priors are
    uniform it is the one that attends to it most.
    """
    kept = []
    for (_, name, _), own in frame.groupby(["task", "encoding", "seed"], sort=False):
        key = "own" if name in OWN else "first"
        at = own[own["factor"] == 0]
        if at[key].max() - at[key].min() < FLAT:
            at = own[own["factor"] == 1]
        best = at.loc[at[key].idxmax()]
        mine = own[(own["layer"] == best["layer"]) & (own["head"] == best["head"])]
        renamed = {key: "mass", f"{key}_low": "least", f"{key}_high": "most"}
        columns = ["task", "encoding", "seed", "passed", "layer", "head", "factor", "omega", *renamed, "trained"]
        kept.append(mine[columns].rename(columns=renamed).assign(key=key))
    return pd.concat(kept, ignore_index=True)


EXPERIMENT = Experiment(
    name="sinks",
    sections=("sinks", "language", "copying"),
    asked=asked,
    measure=measure,
    frames=("sinks_heads", "sinks_factors", "sinks_keys"),
    derive={"sinks_band": ("sinks_factors", followed)},
)
