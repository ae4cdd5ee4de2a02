"""Passkeys read in chunks: ParallelComp on the models of the passkey experiment, beside other ways to read further.

The window w is the training length T. Every method reads the same prompts, keeps as many positions free for the answer
and is asked in the same way: each digit from the true ones before it. A model that misses the gate decides nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from pydantic import Field, model_validator

from .. import runtime
from ..config import Encodings, Evaluation, Frozen, Profile
from ..evaluation import difference_interval, share_interval
from ..model import Transformer
from ..parallel import condense
from ..parallel.methods import METHODS, Method, Text, options
from ..parallel.ours import Ours
from ..parallel.read import Condensed
from ..tasks import passkey
from ..training.runs import RunSpec
from .answers import Answers
from .arms import Corpus, check_methods, check_prompts, passkey_run, trained
from .experiment import Asked, Experiment, Frames, Question, Reading
from .gate import gated
from .grid import Rows, Tables, gather_tables, per_run
from .seeds import answered, over_seeds

ASKED = passkey.QUESTION_TOKENS + passkey.DIGITS  # tokens at the end of a prompt that are no text
BANDS = 5  # of depth
RANKED = {"no overlap": 0, "overlap": passkey.KEY_TOKENS}  # how chunks are cut where their ranks are recorded
# question: pairs of methods, the one that has more of it first
QUESTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "K = 3 against ways without chunks": tuple(("k3", name) for name, how in METHODS.items() if not how.chunks),
    "how many chunks": (("k3", "k1"), ("k3", "all")),
    "which chunks": (("k3", "random"), ("k3", "lexical"), ("oracle", "k3")),
    "overlap": (("k3-overlap", "k3"),),
    "eviction": (("k3-half", "k3"), ("k3-quarter", "k3")),
    "the pool over neighbours": (("k3-half", "k3-half-printed"),),
    "calibration": (("k3-calibrated", "k3"), ("k3-half-calibrated", "k3-half")),
}
COLUMNS = ("question", "encoding", "ours", "theirs", "length", "trained", "seeds", "difference", "low", "high")
BANDED, RANKS = Question("parallel"), Question("parallel-ranks")


class Settings(Frozen):
    """Encodings, ways to read, lengths. `far_methods` are asked `far` too: those whose cost is linear, or all."""

    encodings: Encodings
    methods: tuple[str, ...] = Field(min_length=1)
    evaluation: Evaluation
    far: Evaluation
    far_methods: tuple[str, ...]

    @model_validator(mode="after")
    def _known(self) -> Self:
        check_methods(self.methods, self.far_methods, tuple(METHODS))
        check_prompts(evaluation=self.evaluation, far=self.far)
        pairs = [pair for each in QUESTIONS.values() for pair in each]
        if not any(set(pair) <= set(self.methods) for pair in pairs):
            raise ValueError(
                f"methods: {', '.join(self.methods)} have no pair to compare, such as k3 and plain; add one"
            )
        return self

    def asked(self, name: str, method: str) -> list[Evaluation]:
        """What a model is asked through a method: nothing where the method is not for its encoding."""
        if METHODS[method].rope and name != "rope":
            return []
        return [self.evaluation] + [self.far] * (method in self.far_methods)


def specs(profile: Profile) -> list[RunSpec]:
    """Models of the passkey experiment, with the profile's seeds."""
    return [passkey_run(profile, name, seed) for name in profile.parallel_needles.encodings for seed in profile.seeds]


def asked(profile: Profile, _: Corpus | None = None) -> Asked:
    """For the budget: a text in chunks costs as many texts of the window as it has chunks."""
    settings, window, made = profile.parallel_needles, profile.passkey.recipe.length, {}
    for spec in specs(profile):
        name, made[spec] = spec.model.encoding, []
        for method in settings.methods:
            for each in settings.asked(name, method):
                for length in each.lengths:
                    pieces = -(-length // (window - ASKED)) if METHODS[method].chunks else 1
                    made[spec].append(Reading(name, length if pieces == 1 else window, pieces * each.samples))
    return made


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """`parallel_gate`: accuracy up to T. `parallel_prompts`: hits by method, length and depth. `parallel_ranks`: how
    the question's self-information ranks the chunk with the key. With the gate stand the FLOPs that a token takes in
    all layers and those of a pair of query and key (2 for each weight, 4 for each width of a head)."""
    settings = profile.parallel_needles
    gate = [length for length in profile.passkey.evaluation.lengths if length <= profile.passkey.recipe.length]
    jobs = per_run(read, specs(profile), runs, profile.device, settings, gate, profile.passkey.evaluation.samples)
    found = gather_tables(jobs, profile, "reading in chunks")
    return {name: frame.assign(trained=profile.passkey.recipe.length) for name, frame in found.items()}


def read(spec: RunSpec, runs: str, device: str, settings: Settings, gate: list[int], samples: int) -> Tables:
    """One model through every method: train it if the store lacks it, then ask what was not asked yet."""
    run, record = trained(spec, runs, device)
    name, window = spec.model.encoding, spec.recipe.length
    common = {"encoding": name, "seed": spec.seed, "run": record["key"]}
    answers, tables = Answers(run, name, "plain"), {each: [] for each in FRAMES}
    size = {
        "per_token": 2 * record["parameters"]["transformer"],
        "per_pair": 4 * spec.model.layers * spec.model.width,
    }
    for length in gate:
        right = sum(row["correct"] for row in answers(length, samples))
        tables["parallel_gate"].append(common | {"length": length, "correct": right, "samples": samples} | size)
    for method in settings.methods:
        how = METHODS[method]
        for each in settings.asked(name, method):
            given = each.model_dump(mode="json"), method
            rows = BANDED.put(run, given, lambda each=each, how=how: banded(run.model(), how, each, spec.seed, window))
            tables["parallel_prompts"] += [common | {"method": method} | row for row in rows]
    for each in (settings.evaluation, settings.far):
        given = each.model_dump(mode="json")
        rows = RANKS.put(run, given, lambda each=each: ranked(run.model(), each, spec.seed, window))
        tables["parallel_ranks"] += [common | row for row in rows]
    return tables


def prompts(length: int, samples: int, seed: int) -> list[tuple[Text, torch.Tensor, float]]:
    """(text, answer, depth) of the prompts that the passkey experiment asks at a length."""
    drawn = passkey.prompts(length, passkey.equidistant(samples), runtime.generator(seed, f"prompts/plain/{length}"))
    generator = runtime.generator(seed, f"parallel/{length}")
    made = []
    for row, start, depth in zip(drawn.tokens, drawn.starts.tolist(), drawn.depths.tolist(), strict=True):
        question = row[-ASKED : -passkey.DIGITS]
        text = Text(row[:-ASKED], question, passkey.DIGITS - 1, (start, start + passkey.KEY_TOKENS), generator)
        made.append((text, row[-passkey.DIGITS :], depth))
    return made


@torch.inference_mode()
def banded(model: Transformer, method: Method, asked: Evaluation, seed: int, window: int) -> Rows:
    """Hits by length and fifth of the depth; the entries that the question attends to (a mean), and for chunks how
    many are read, how often the one that holds most of the key stayed, and the keys that a border cuts."""
    open_, rows = method.prepare(model, window), []
    for length in asked.lengths:
        found: dict[int, list[dict[str, float]]] = {}
        for text, answer, depth in prompts(length, asked.samples, seed):
            session = open_(text)
            one = {"entries": session.entries}
            if method.chunks:
                holding, cut = holder(session, text)
                read = int((~session.information.isnan()).sum())
                one |= {"kept": float(holding in session.kept), "cut": float(cut), "chunks": read}
            logits = session.feed(torch.cat([text.question, answer[:-1]]))
            one["correct"] = float((logits[-passkey.DIGITS :].argmax(-1).cpu() == answer).all())
            found.setdefault(min(int(depth * BANDS), BANDS - 1), []).append(one)
        for band, each in sorted(found.items()):
            frame = pd.DataFrame(each)
            cut = frame.get("cut", pd.Series(0.0, frame.index)) == 1
            rows.append(
                {
                    "length": length,
                    "band": band,
                    "correct": int(frame["correct"].sum()),
                    "samples": len(frame),
                    "cut": int(cut.sum()),
                    "cut_correct": int(frame.loc[cut, "correct"].sum()),
                    "kept": int(frame["kept"].sum()) if method.chunks else None,
                    "chunks": float(frame["chunks"].mean()) if method.chunks else None,
                    "entries": round(float(frame["entries"].mean()), 1),
                }
            )
    return rows


@torch.inference_mode()
def ranked(model: Transformer, asked: Evaluation, seed: int, window: int) -> Rows:
    """Of every prompt beyond one chunk: the rank (1: lowest self-information) of the chunk that holds most of the key,
    of how many, and whether a border cuts the key. Without and with overlap."""
    reader, rows = Ours(model), []
    for length in asked.lengths:
        for text, _, depth in prompts(length, asked.samples, seed):
            for cutting, overlap in RANKED.items():
                how = options(window, text, keep=None, overlap=overlap)
                session = condense(reader, text.tokens, text.question, how)
                if len(session.spans) == 1:
                    continue
                holding, cut = holder(session, text)
                rank = int((session.information < session.information[holding]).sum()) + 1
                first = int(session.information.argmin() == 0)
                about = {"length": length, "depth": round(depth, 6), "cutting": cutting}
                rows.append(about | {"rank": rank, "chunks": len(session.spans), "first": first, "cut": int(cut)})
    return rows


def holder(session: Condensed, text: Text) -> tuple[int, bool]:
    """The chunk that holds most of the key sentence, and whether none holds all of it."""
    start, stop = text.wanted
    held = [min(b, stop) - max(a, start) for a, b in session.spans]
    most = max(range(len(held)), key=held.__getitem__)
    return most, held[most] < stop - start


def flops(method: str, chunks: float, length: int, window: int, per_token: float, per_pair: float) -> float:
    """Of reading a prompt of `length` with the question, before the answer: C rows of the window for what reads
    `chunks` = C of them, one row for what reads one, N squared for what reads all as it is."""
    row = min(window, length) - passkey.DIGITS + 1
    if METHODS[method].chunks:
        return chunks * (per_token * row + per_pair * row**2 / 2)
    if method in ("last-window", "halves"):
        return per_token * row + per_pair * row**2 / 2
    text = length - passkey.DIGITS
    pairs = text**2 / 2
    if method == "streaming" and text > window:
        pairs = window**2 / 2 + (text - window) * window
    return per_token * text + per_pair * pairs


def by_length(prompts: pd.DataFrame, gate: pd.DataFrame) -> pd.DataFrame:
    """Accuracy per encoding, method, seed and length with its exact binomial interval; `passed`: the model's gate;
    `flops` of reading a prompt."""
    passed = gated(gate).set_index(["encoding", "seed"])["passed"]
    sizes = gate.groupby("encoding")[["per_token", "per_pair"]].first()
    window = int(prompts["trained"].iloc[0])

    def say(group: pd.DataFrame) -> dict[str, Any]:
        n = int(group["samples"].sum())
        weights = group["samples"] / n
        found = answered(int(group["correct"].sum()), n) | {
            "kept": float((group["kept"] / n).sum(min_count=1)),
            "cut": int(group["cut"].sum()),
            "cut_correct": int(group["cut_correct"].sum()),
            "chunks": float((group["chunks"] * weights).sum(min_count=1)),
            "entries": float((group["entries"] * weights).sum(min_count=1)),
        }
        name, method, length = (group[column].iloc[0] for column in ("encoding", "method", "length"))
        found["flops"] = flops(method, found["chunks"], int(length), window, *sizes.loc[name])
        return found | {"passed": bool(passed[name, group["seed"].iloc[0]])}

    return over_seeds(prompts, ("encoding", "method", "seed", "length"), say, "trained")


def over_models(by_length: pd.DataFrame) -> pd.DataFrame:
    """Per encoding, method and length over all seeds: mean accuracy with `evaluation.share_interval`, how many of the
    models `passed` their gate, entries, chunks read, FLOPs, and the share of prompts whose key's chunk stayed."""

    def say(group: pd.DataFrame) -> dict[str, Any]:
        low, high = share_interval(group["correct"], group["samples"])
        counts = {"seeds": len(group), "passed": int(group["passed"].sum())}
        found = {"mean": group["accuracy"].mean(), "low": low, "high": high}
        means = {column: group[column].mean() for column in ("kept", "entries", "chunks", "flops")}
        return counts | found | means | {"samples": int(group["samples"].iloc[0])}

    return over_seeds(by_length, ("encoding", "method", "length"), say, "trained")


def differences(by_length: pd.DataFrame) -> pd.DataFrame:
    """What each part contributes: accuracy of `ours` less that of `theirs`, of each pair of QUESTIONS that was asked at
    a length, over the seeds that passed their gate (`evaluation.difference_interval`, not corrected for the pairs).
    Where none passed: 0 `seeds` and NaN."""
    made = []
    for (name, length), each in by_length.groupby(["encoding", "length"], sort=False):
        counts = {
            method: own[own["passed"].astype(bool)].set_index("seed")[["correct", "samples"]]
            for method, own in each.groupby("method")
        }
        for question, pairs in QUESTIONS.items():
            for ours, theirs in (pair for pair in pairs if counts.keys() >= set(pair)):
                both = counts[ours].merge(counts[theirs], left_index=True, right_index=True)
                right, asked, other_right, other_asked = columns = both.to_numpy().T
                found = [np.nan] * 3
                if len(both):
                    value = float((right / asked - other_right / other_asked).mean())
                    found = [value, *difference_interval(*columns)]
                made.append((question, name, ours, theirs, length, each["trained"].iloc[0], len(both), *found))
    return pd.DataFrame(made, columns=COLUMNS)


FRAMES = ("parallel_gate", "parallel_prompts", "parallel_ranks")
EXPERIMENT = Experiment(
    name="parallel_needles",
    sections=("parallel_needles", "passkey"),
    asked=asked,
    measure=measure,
    frames=FRAMES,
    derive={
        "parallel_by_length": (("parallel_prompts", "parallel_gate"), by_length),
        "parallel_over_seeds": ("parallel_by_length", over_models),
        "parallel_differences": ("parallel_by_length", differences),
    },
)
