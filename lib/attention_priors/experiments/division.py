"""Dividing the work: rotations tell places, priors reach far, and a model needs both in different heads.

Every encoding is trained twice, on passkeys (retrieval: what stood anywhere) and on addresses (which symbol stood k
from the end), and asked far beyond the training length T. The passkey models are then opened: which heads copy the
digits, what a model loses with each, and what a window put on the rotated heads after training changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pandas as pd
import torch
from pydantic import Field, PositiveFloat, model_validator

from .. import runtime
from ..config import Encodings, Evaluation, Frozen, Profile, Recipe, Seeds
from ..evaluation import passkey_samples
from ..model import Transformer
from ..positions.encodings import encoding, still
from ..tasks import addressing, passkey
from ..training.runs import Run, RunSpec
from .answers import Answers, addressed
from .arms import Corpus, address_run, passkey_run, trained
from .experiment import Asked, Experiment, Frames, Question, Reading
from .gate import gated
from .grid import Rows, Tables, gather_tables, per_run

RETRIEVAL, NEAR, FAR = "retrieval", "near addresses", "far addresses"  # near: inside a window of T/4
AS_TRAINED, LATE = "as trained", "window of T"
# Models without a window in training, and the encoding that has one, as which they can be read.
WINDOWED = {
    "half-rope": "half-rope-window",
    "half-rope-bam": "half-rope-window-bam",
    "half-rope-kerple-power": "half-rope-window-kerple-power",
}
FIRST_MENTION = 3  # tokens of the key sentence before the key's first digit
PROMPTS = 8  # whose attention is averaged
ADDRESSED, OPENED = Question("addressing"), Question("division")


class Settings(Frozen):
    """Which encodings do both tasks; sizes, and how passkeys are trained, are those of the section `passkey`.

    `recipe`, `prior_rate` and `evaluation` are for addresses, which reach to half of the recipe's length.
    """

    encodings: Encodings
    seeds: Seeds
    recipe: Recipe
    prior_rate: PositiveFloat | None = Field(
        None, description="in place of the recipe's; trials: data/tuning/rates.csv"
    )
    evaluation: Evaluation
    multiple: int = Field(ge=2, description="times the training length, at which heads and edits are asked")
    prompts: int = Field(ge=1, description="passkeys that a model is asked without a head, and with a late window")

    @property
    def reach(self) -> int:
        """The farthest address."""
        return self.recipe.length // 2

    @model_validator(mode="after")
    def _holds_every_address(self) -> Self:
        needed = addressing.shortest(self.reach)
        lengths = [("evaluation.lengths", length) for length in self.evaluation.lengths]
        if self.recipe.varied is not None:
            lengths.append(("recipe.varied.shortest", self.recipe.varied.shortest))
        for name, length in lengths:
            if length < needed:
                raise ValueError(f"{name} = {length}, but addresses up to {self.reach} need at least {needed} tokens")
        if self.recipe.gate and (missing := sorted(set(self.recipe.gate.lengths) - set(self.evaluation.lengths))):
            raise ValueError(f"evaluation.lengths lack {missing}, at which the gate asks; add them")
        return self


def spec(profile: Profile, name: str, seed: int) -> RunSpec:
    """The run of an encoding on addresses."""
    settings, recipe = profile.division, profile.division.recipe
    recipe = recipe.model_copy(update={"prior_rate": settings.prior_rate or recipe.prior_rate})
    return address_run(profile, profile.passkey.size, recipe, name, seed)


def retrieval(profile: Profile) -> list[Evaluation]:
    """What every model is asked on passkeys: the same prompts as in the section `passkey`."""
    return [profile.passkey.evaluation, profile.passkey.far]


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    settings, made = profile.division, {}
    for name in settings.encodings:
        for seed in settings.seeds:
            made[passkey_run(profile, name, seed)] = [
                Reading(name, length, each.samples) for each in retrieval(profile) for length in each.lengths
            ]
            made[spec(profile, name, seed)] = [
                Reading(name, length, settings.evaluation.samples) for length in settings.evaluation.lengths
            ]
    return made


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """Frames `division_answers` (both tasks), `division_heads` and `division_edits` (passkey models, opened)."""
    jobs = per_run(train_and_ask, asked(profile), runs, profile.device, profile.division, retrieval(profile))
    found = gather_tables(jobs, profile, "dividing the work")
    return {name: frame.assign(trained=profile.passkey.recipe.length) for name, frame in found.items()}


def train_and_ask(run_spec: RunSpec, runs: str, device: str, settings: Settings, asked: list[Evaluation]) -> Tables:
    """One model, trained and asked where the store lacks it."""
    run, record = trained(run_spec, runs, device)
    of_addresses = run_spec.task == "addressing"
    found = addresses(run, settings.evaluation) if of_addresses else passkeys(run, settings, asked)
    common = {
        "encoding": run_spec.model.encoding,
        "seed": run_spec.seed,
        "steps": record["steps"],
        "run": record["key"],
    }
    return {name: [common | row for row in rows] for name, rows in found.items()}


def addresses(run: Run, asked: Evaluation) -> Tables:
    """What a model of addresses answers."""
    rows = ADDRESSED.put(run, asked.model_dump(mode="json"), lambda: by_distance(run.model(), run.spec, asked))
    return {"division_answers": rows}


def by_distance(model: Transformer, run_spec: RunSpec, evaluation: Evaluation) -> Rows:
    """Right answers at each length, near addresses (a symbol less than T/4 back) and far ones apart."""
    near, rows = run_spec.recipe.length // 4, []
    for length in evaluation.lengths:
        addresses, right = addressed(model, run_spec, length, evaluation.samples, "addressed")
        back = addresses + torch.arange(addressing.QUERIES)
        for task, which in ((NEAR, back < near), (FAR, back >= near)):
            counts = {"correct": int(right[which].sum()), "samples": int(which.sum())}
            rows.append({"task": task, "length": length} | counts)
    return rows


def passkeys(run: Run, settings: Settings, evaluations: list[Evaluation]) -> Tables:
    """What a model of passkeys answers, and what is found in it."""
    rows, answers = [], Answers(run, run.spec.model.encoding, "plain")
    for length, samples in ((length, each.samples) for each in evaluations for length in each.lengths):
        right = sum(row["correct"] for row in answers(length, samples))
        rows.append({"task": RETRIEVAL, "length": length, "correct": right, "samples": samples})
    asked = settings.multiple, settings.prompts, PROMPTS
    opened = OPENED.put(run, asked, lambda: _opened(run.model(), run.spec, settings))
    return {"division_answers": rows} | opened


def _opened(model: Transformer, run_spec: RunSpec, settings: Settings) -> Tables:
    seed, length = run_spec.seed, run_spec.recipe.length
    far = settings.multiple * length
    here, there = copied(model, length, seed), copied(model, far, seed)
    whole, heads = _right(model, length, settings.prompts, seed), []
    for layer, block in enumerate(model.blocks):
        for head in range(block.attention.heads):
            with without(model, layer, head):
                left = _right(model, length, settings.prompts, seed)
            about = {"layer": layer, "head": head, "rotated": int(head < block.attention.turned)}
            about |= {"copied": round(float(here[layer, head]), 6), "far": far}
            about |= {"copied_far": round(float(there[layer, head]), 6)}
            heads.append(about | {"whole": whole, "without": left, "samples": settings.prompts})
    name, edits = run_spec.model.encoding, []
    readings = {AS_TRAINED: model}
    if name in WINDOWED:
        readings[LATE] = windowed(model, WINDOWED[name], length)
    for edit, edited in readings.items():
        for asked in (length, far):
            right = _right(edited, asked, settings.prompts, seed)
            edits.append({"edit": edit, "length": asked, "correct": right, "samples": settings.prompts})
    return {"division_heads": heads, "division_edits": edits}


def _right(model: Transformer, length: int, prompts: int, seed: int) -> int:
    return sum(row["correct"] for row in passkey_samples(model, length, prompts, seed))


@torch.no_grad()
def copied(model: Transformer, length: int, seed: int) -> torch.Tensor:
    """The attention of each head on the digit that a row is about to say, at both mentions of the key: [layers, heads].

    A mean over the five answering rows and over prompts with keys at equidistant depths. A head that has most of its
    attention there is one that retrieves.
    """
    drawn = passkey.prompts(length, passkey.equidistant(PROMPTS), runtime.generator(seed, f"division/{length}"))
    tokens = drawn.tokens[:, :-1].to(next(model.parameters()).device)
    digits = torch.arange(passkey.DIGITS)
    places = [drawn.starts[:, None] + mention + digits for mention in (FIRST_MENTION, passkey.SECOND_MENTION)]
    found = []
    for weights in model.attention_maps(tokens, passkey.DIGITS):
        every = [place[:, None, :, None].expand(-1, weights.shape[1], -1, 1) for place in places]
        found.append(sum(weights.cpu().gather(3, place) for place in every).double().mean((0, 2, 3)))
    return torch.stack(found)


@contextmanager
def without(model: Transformer, layer: int, head: int) -> Iterator[None]:
    """The model with nothing coming out of one head."""
    attention = model.blocks[layer].attention
    columns = attention.output.weight.data[:, head * attention.head_width : (head + 1) * attention.head_width]
    kept = columns.clone()
    columns.zero_()
    try:
        yield
    finally:
        columns.copy_(kept)


def windowed(model: Transformer, name: str, window: int) -> Transformer:
    """A copy that is read as the encoding `name`: heads that rotate see the `window` latest keys, weights are the same.

    ValueError where the encoding has no window.
    """
    share = encoding(name).window
    if share is None:
        raise ValueError(f"encoding {name!r} has no window; take one of {', '.join(WINDOWED.values())}")
    made = Transformer(model.config.model_copy(update={"encoding": name})).to(next(model.parameters()))
    made.load_state_dict(model.state_dict())
    made.trained = round(window / share)
    return made.eval()


def models(answers: pd.DataFrame, heads: pd.DataFrame) -> pd.DataFrame:
    """A row per encoding and seed: both tasks at T and far beyond, and where the copying stands.

    `rotated` is the share of the copying attention at T that rotated heads have, `lost` that of what single heads are
    worth (prompts lost without them). `exception`: the model passes the gate and does not do as the hypothesis says: it
    copies through rotated heads and answers half or more of the prompts at `far`, or through others and fewer. A
    `control` came after the hypothesis and is no exception to it: it rotates nothing, so that the heads with a window
    stand in place of those that rotate, or its layers alternate.
    """
    trained = int(answers["trained"].iloc[0])
    plain = answers[answers["task"] == RETRIEVAL]
    passed = gated(plain).set_index(["encoding", "seed"])["passed"]
    counts = answers.set_index(["task", "encoding", "seed", "length"])[["correct", "samples"]].sort_index()
    far = int(heads["far"].iloc[0])
    if far not in set(plain["length"]):
        raise ValueError(
            f"passkeys were not asked at {far} tokens, where heads were; ask them there, or set division.multiple anew"
        )
    ends = answers.groupby("task")["length"].max()
    steps = plain.groupby(["encoding", "seed"])["steps"].first()
    rows = []
    for (name, seed), own in heads.groupby(["encoding", "seed"], sort=False):
        row = {
            "encoding": name,
            "seed": seed,
            "passed": bool(passed[name, seed]),
            "far": far,
            "longest": int(ends[RETRIEVAL]),
            "longest_address": int(ends[NEAR]),
            "steps": steps[name, seed],
        }
        wanted = {"at": (RETRIEVAL, trained), "at_far": (RETRIEVAL, far), "at_longest": (RETRIEVAL, ends[RETRIEVAL])}
        for task, column in ((NEAR, "near"), (FAR, "beyond")):
            wanted |= {column: (task, trained), f"{column}_longest": (task, ends[task])}
        for column, (task, length) in wanted.items():
            right, n = counts.loc[task, name, seed, length]
            row |= {column: right / n, f"{column}_correct": int(right), f"{column}_samples": int(n)}
        turned = own["rotated"] == 1
        worth = (own["whole"] - own["without"]).clip(lower=0)
        row |= {
            "rotated": _share(own["copied"], turned),
            "lost": _share(worth, turned),
            "rotated_heads": int(turned.sum()),
            "heads": len(own),
        }
        how = encoding(name)
        row["control"] = how.rotary is still or bool(how.window and how.rotated_layers)
        row["exception"] = row["passed"] and not row["control"] and (row["rotated"] > 0.5) == (row["at_far"] >= 0.5)
        rows.append(row)
    return pd.DataFrame(rows).assign(trained=trained)


def _share(values: pd.Series, chosen: pd.Series) -> float:
    """The part of a sum that is chosen; 0 where there is nothing to share."""
    total = float(values.sum())
    return float(values[chosen].sum()) / total if total else 0.0


FRAMES = ("division_answers", "division_heads", "division_edits")
EXPERIMENT = Experiment(
    name="division",
    sections=("division", "passkey"),
    trained=("passkey", "division"),
    asked=asked,
    measure=measure,
    frames=FRAMES,
    derive={"division_models": (("division_answers", "division_heads"), models)},
)
