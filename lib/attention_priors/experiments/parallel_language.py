"""Text read in chunks: the loss of the same last tokens, by way to read what stands before (ParallelComp, Table 3).

A document's last `scored` tokens are the targets, and the tokens right before them the question. Text is what remains
of the context; the reserve is the targets, so that no position leaves the window of the training length. At that length
there is one chunk, and all ways read alike.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from .. import runtime
from ..config import Encodings, Frozen, Lengths, Profile
from ..model import Transformer
from ..parallel.methods import METHODS, Method, Text
from ..training.runs import RunSpec
from .arms import Corpus, check_methods, corpus, language_run, trained
from .documents import Reader, gate
from .experiment import Asked, Experiment, Frames, Question, Reading
from .grid import Rows, gather, per_run
from .seeds import over_seeds

QUESTION = 16  # tokens that choose chunks
BY_TARGETS = "k3-by-targets"  # chunks chosen by the very tokens that are scored
LOSSES = Question("parallel-language")


class Settings(Frozen):
    """Encodings, ways to read and context lengths; `far_methods` are asked the `far` lengths too."""

    encodings: Encodings
    methods: tuple[str, ...] = Field(min_length=1)
    scored: int = Field(ge=1, description="last tokens of a document, the targets")
    lengths: Lengths
    far: Lengths
    far_methods: tuple[str, ...]

    @model_validator(mode="after")
    def _known(self) -> Self:
        known = [name for name in (*METHODS, BY_TARGETS) if name != "oracle"]  # no place in a text answers
        check_methods(self.methods, self.far_methods, known)
        return self

    def asked(self, name: str, method: str) -> tuple[int, ...]:
        """The lengths at which a model is read through a method; none where the method is not for its encoding."""
        if method in METHODS and METHODS[method].rope and name != "rope":
            return ()
        return self.lengths + self.far * (method in self.far_methods)


def specs(profile: Profile, found: Corpus) -> list[RunSpec]:
    """Models of the experiment on language, with the profile's seeds."""
    settings = profile.parallel_language
    return [language_run(profile, name, seed, *found) for name in settings.encodings for seed in profile.seeds]


def asked(profile: Profile, found: Corpus) -> Asked:
    """For the budget: a text in chunks costs no more than as it is."""
    settings, texts = profile.parallel_language, profile.language.documents
    return {
        spec: [
            Reading(spec.model.encoding, length, texts)
            for method in settings.methods
            for length in settings.asked(spec.model.encoding, method)
        ]
        for spec in specs(profile, found)
    }


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    """`parallel_losses`: a row per encoding, seed, method, length and document, and if the model passed its gate."""
    scored, window = profile.parallel_language.scored, profile.language.recipe.length
    if window - scored - QUESTION < 1:
        raise ValueError(
            f"scored = {scored} and a question of {QUESTION} tokens leave no room in a "
            f"window of {window}; score fewer tokens"
        )
    jobs = per_run(read, specs(profile, corpus(profile, cache)), runs, profile)
    return {"parallel_losses": gather(jobs, profile, "text in chunks").assign(trained=window, scored=scored)}


def read(spec: RunSpec, runs: str, profile: Profile) -> Rows:
    """One model through every method: train it if the store lacks it, then measure what was not measured yet."""
    run, record = trained(spec, runs, profile.device)
    settings, language = profile.parallel_language, profile.language
    reader = Reader(run, spec.model.encoding, profile)
    passed = gate(reader, profile)["passed"]
    documents = reader.texts(language.domains[0])
    common = {"encoding": spec.model.encoding, "seed": spec.seed, "run": record["key"], "passed": passed}
    rows = []
    for method in settings.methods:
        how = METHODS.get(method, METHODS["k3"])
        lengths = settings.asked(spec.model.encoding, method)
        if not lengths:
            continue
        texts = language.documents, settings.scored, max(language.lengths)
        about = method, lengths, *texts

        def measured(how: Method = how, lengths: tuple[int, ...] = lengths, by: bool = method == BY_TARGETS) -> list:
            return losses(reader.model, how, documents, lengths, settings.scored, spec.recipe.length, spec.seed, by)

        found = LOSSES.put(run, about, measured)
        rows += [common | {"method": method} | row for row in found]
    return rows


@torch.inference_mode()
def losses(
    model: Transformer,
    method: Method,
    documents: Int[Tensor, "documents tokens"],
    lengths: tuple[int, ...],
    scored: int,
    window: int,
    seed: int,
    by_targets: bool = False,
) -> Rows:
    """Mean loss (nats) of each document's last `scored` tokens, after a context of each length is read by a method."""
    open_, rows, device = method.prepare(model, window), [], next(model.parameters()).device
    for length in lengths:
        generator = runtime.generator(seed, f"parallel/language/{length}")
        for index, document in enumerate(documents):
            tokens = document[-length - 1 :]
            text, question, targets = tokens.split([length + 1 - scored - QUESTION, QUESTION, scored])
            fed, reserve = torch.cat([question, targets[:-1]]), scored - 1
            if by_targets:
                question, reserve = fed, 0
            session = open_(Text(text, question, reserve, (0, 0), generator))
            found = session.feed(fed.to(device))[-scored:]
            loss = F.cross_entropy(found.float(), targets.to(device)).item()
            rows.append({"length": length, "document": index, "loss": round(loss, 7)})
    return rows


def by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean loss over documents per encoding, method, seed and length, and its growth since the training length."""
    trained = int(frame["trained"].iloc[0])

    def say(group: pd.DataFrame) -> dict[str, Any]:
        return {"loss": group["loss"].mean(), "documents": len(group), "passed": bool(group["passed"].iloc[0])}

    made = over_seeds(frame, ("encoding", "method", "seed", "length"), say, "trained", "scored")
    base = made[made["length"] == trained].set_index(["encoding", "method", "seed"])["loss"]
    own = pd.MultiIndex.from_frame(made[["encoding", "method", "seed"]])
    return made.assign(growth=made["loss"].to_numpy() - base.reindex(own).to_numpy())


EXPERIMENT = Experiment(
    name="parallel_language",
    sections=("parallel_language", "language"),
    asked=asked,
    measure=measure,
    frames=("parallel_losses",),
    derive={"parallel_losses_by_seed": ("parallel_losses", by_seed)},
)
