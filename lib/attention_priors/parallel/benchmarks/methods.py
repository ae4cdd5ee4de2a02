"""Ways to read a benchmark's text with a causal model of transformers, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from jaxtyping import Int
from torch import Tensor

from ... import runtime
from ..baselines import by_interpolation, by_ntk, by_yarn, halves, last_window
from ..chunks import Calibration, Options
from ..read import Condensed, condense
from ..select import at_random, lexical
from ..unrotated import Unrotated, rectified, streaming, stretched
from .task import Known, Row, Task

SEED = 0  # of chunks at random, and of prompts that are made
Tokens = Int[Tensor, " tokens"]
Open = Callable[..., Condensed | Unrotated]  # of reader, text, question, options, progress


@dataclass(frozen=True)
class Settings:
    """Sizes that methods share: positions of a chunk with question and answer, K (None: the task's), B, and positions
    of the methods that cut the text (None: as many). `at_once`: chunks in one batch."""

    window: int
    keep: int | None = None
    budget: int | None = None
    cut: int | None = None
    at_once: int = 4


@dataclass(frozen=True)
class Method:
    """`changes` are those of the options, `open` what reads the text. `whole`: the text is one chunk; `cut`: it is cut
    to fit; `streams`: it passes through a cache of that size; `budget`: B keys stay of a chunk; `chooses`: chunks are
    picked before they are read."""

    label: str
    open: Open = condense
    whole: bool = False
    cut: bool = False
    streams: bool = False
    budget: bool = False
    calibrated: bool = False
    chooses: str | None = None
    keep: int | None = 0  # 0: that of the settings

    def options(self, task: Task, settings: Settings, bos: int | None, row: Row) -> Options:
        """What the text of a row is read with. ValueError where the method needs a B and there is none."""
        keep = (settings.keep or task.keep) if self.keep == 0 else self.keep
        made = Options(window=settings.window, reserve=task.answer, keep=keep, at_once=settings.at_once, bos=bos)
        if self.cut or self.streams:
            return replace(made, window=settings.cut or settings.window)
        if self.budget and settings.budget is None:
            raise ValueError(f"budget = None, but the method {self.label!r} keeps some of the keys; give --budget")
        changes: dict[str, Any] = {}
        if self.budget:
            changes["budget"] = settings.budget * keep if self.whole else settings.budget
        if self.calibrated:
            changes["calibration"] = Calibration()
        if self.whole:
            changes |= {"window": None, "keep": None}
        if self.chooses == "lexical":
            changes["choose"] = lexical
        elif self.chooses == "random":
            changes["choose"] = at_random(runtime.generator(SEED, f"{task.name}/{row.id}"))
        return replace(made, **changes)


METHODS: Known[Method] = Known(
    "method",
    {
        "plain": Method("whole text", whole=True, keep=None),
        "last-window": Method("last window", last_window, cut=True),
        "halves": Method("first and last half", halves, cut=True),
        "streaming": Method("StreamingLLM", streaming, streams=True),
        "pi": Method("position interpolation", partial(stretched, how=by_interpolation, number=1.0), whole=True),
        "dynamic-ntk": Method("dynamic NTK", partial(stretched, how=by_ntk, number=2.0), whole=True),
        "yarn": Method("YaRN", partial(stretched, how=by_yarn, number=1.0), whole=True),
        "rerope": Method("ReRoPE", rectified, whole=True),
        "all": Method("all chunks", keep=None),
        "k1": Method("K = 1", keep=1),
        "k3": Method("K = 3", keep=3),
        "chunks": Method("ParallelComp"),
        "chunks-budget": Method("ParallelComp, B keys", budget=True),
        "chunks-calibrated": Method("ParallelComp, calibrated", calibrated=True),
        "chunks-budget-calibrated": Method("ParallelComp, B keys, calibrated", budget=True, calibrated=True),
        "random": Method("K chunks at random", chooses="random"),
        "lexical": Method("K chunks by BM25", chooses="lexical"),
        "snapkv": Method("SnapKV, K B keys", whole=True, budget=True),
    },
)
