"""What the kernels should reach on an H100 or H200, as ratios of two rows of one measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

GRAPH = "CUDA graph"
Where = Mapping[str, Any]


@dataclass(frozen=True)
class Goal:
    """`theirs` / `ours`, each a sum of medians over the passes it selects, and what it is to be at least.

    With `most`, `ours` / `theirs` is to be at most that; without `theirs`, the milliseconds of `ours` are.
    """

    label: str
    ours: Where
    theirs: Where | None = None
    least: float | None = None
    most: float | None = None
    passes: tuple[str, ...] = ("forward",)
    both: Where = field(default_factory=dict)

    def measured(self, frame: pd.DataFrame) -> float | None:
        """The number that is compared; None where one of its rows was not measured."""
        ours = self._milliseconds(frame, self.ours)
        if self.theirs is None or ours is None:
            return ours
        theirs = self._milliseconds(frame, self.theirs)
        return None if theirs is None else theirs / ours if self.least is not None else ours / theirs

    def reached(self, value: float) -> bool:
        """Whether a measured number is good enough."""
        return value >= self.least if self.least is not None else value <= self.most

    def _milliseconds(self, frame: pd.DataFrame, where: Where) -> float | None:
        if "milliseconds" not in frame:
            return None
        part = frame[frame["milliseconds"].notna()]
        for name, value in {**self.both, **where}.items():
            part = part[part[name] == value]
        found = [part.loc[part["pass"] == name, "milliseconds"] for name in self.passes]  # the best of their modes
        return None if any(times.empty for times in found) else float(sum(times.min() for times in found))


def _prefill(label: str, theirs: str, least: float, length: int, passes: tuple[str, ...], width: int = 128) -> Goal:
    both = {"part": "prefill", "length": length, "width": width}
    ours = {"method": "ours, learned prior", "mode": "eager"}
    return Goal(f"{label}, {length:,}", ours, {"method": theirs}, least, passes=passes, both=both)


def _decode(length: int, mode: str, most: float) -> Goal:
    both = {"part": "decode", "length": length, "mode": mode}
    label = f"decoding over SDPA without bias, {length:,}, {mode}"
    return Goal(label, {"method": "ours, formula"}, {"method": "SDPA, no bias"}, most=most, both=both)


FLASH, ONCE, BACK, BOTH = "SDPA flash, no bias", ("forward",), ("backward",), ("forward", "backward")
GOALS = (
    *(_prefill("flash without bias over ours, forward", FLASH, least, length, ONCE)
      for length, least in ((2048, 0.9), (8192, 1.1), (32768, 1.2))),
    *(_prefill("flash without bias over ours, backward", FLASH, 0.9, length, BACK) for length in (2048, 8192, 32768)),
    _prefill("the same at width 64, forward", FLASH, 0.85, 8192, ONCE, 64),
    _prefill("the same at width 64, backward", FLASH, 0.85, 8192, BACK, 64),
    _prefill("FlexAttention, frozen prior, over ours", "FlexAttention, frozen prior", 4.0, 8192, BOTH),
    _prefill("FlexAttention, learned prior, over ours", "FlexAttention, learned prior", 200, 8192, BOTH),
    _prefill("bias in memory over ours", "SDPA, bias in memory", 4.0, 2048, BOTH),
    _prefill("bias in memory over ours", "SDPA, bias in memory", 11.0, 8192, BOTH),
    _decode(8192, "eager", 5.0),
    _decode(8192, GRAPH, 1.4),
    _decode(131072, "eager", 1.3),
    _decode(131072, GRAPH, 1.15),
    _decode(524288, GRAPH, 1.05),
    Goal("a table over the formula in decoding, 524,288", {"method": "ours, table"}, {"method": "ours, formula"},
         most=1.3, both={"part": "decode", "length": 524288, "mode": GRAPH}),
    Goal("flash without bias over ours, local heads, 32,768", {"method": "ours, tolerance 2^-10"}, {"method": FLASH},
         least=6.0, both={"part": "local"}),
    Goal("a training step of BAM-SSMax, milliseconds", {"part": "training", "method": "bam-ssmax"}, most=40.0,
         passes=("step",)),
)  # fmt: skip


def summary(frame: pd.DataFrame, goals: tuple[Goal, ...] = GOALS) -> pd.DataFrame:
    """A row per goal: what was measured, what is asked for, and "pass", "fail" or "not measured"."""
    rows = []
    for goal in goals:
        value = goal.measured(frame)
        asked = f">= {goal.least:g}" if goal.least is not None else f"<= {goal.most:g}"
        said = "not measured" if value is None else "pass" if goal.reached(value) else "fail"
        rows.append({"measure": goal.label, "value": value, "goal": asked, "said": said})
    return pd.DataFrame(rows)
