"""What an experiment is: its settings, the runs it trains, what they are asked, the frames that come of it.

What a finished run's model is asked is asked once; the answer lies beside the run and is committed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from .. import runtime, store
from ..config import Profile
from ..model import Transformer
from ..positions.encodings import encoding
from ..store.registry import nearest
from ..training.extension import extend
from ..training.runs import Run, RunSpec
from .arms import Corpus, corpus, unread

Frames = dict[str, pd.DataFrame]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Reading:
    """Texts of one length that a model answers under one name."""

    name: str
    length: int
    texts: int


Asked = dict[RunSpec, list[Reading]]


@dataclass(frozen=True)
class Experiment:
    """Runs and the frames that are measured on them.

    `sections` are those of the profile that it takes its settings from. `measure(profile, runs, cache)` trains what the
    store `runs` lacks, asks what was not asked yet and returns `frames`; corpora lie below `cache`. `asked` gives
    the runs, and what each is asked, from the corpus and the file that holds it, or from `arms.unread`. `naming` is for
    runs that go by another name than their own. `derive` gives more metrics: a source, which is a frame, a metric of
    another experiment in `needs`, or several of these, and a function of it. `exact` are the frames that no training
    enters, `optional` those of `needs` that a profile may lack: an empty frame stands there. `version`: raise it when
    the same answers would give other frames. `trained`: the sections whose recipes are behind the frames, or a word for
    what is; else the first section that has a recipe.
    `answers`: the folder of the store where answers lie that belong to no run, None where they are not committed.
    Where a profile leaves it out (`Profile.without`), it has no runs and no frames.

    ValueError for a derived metric whose source is unknown.
    """

    name: str
    sections: tuple[str, ...] = ()
    trained: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    measure: Callable[[Profile, Path, Path], Frames] = lambda profile, runs, cache: {}
    asked: Callable[[Profile, Corpus], Asked] = lambda profile, corpus: {}
    naming: Callable[[Profile, Corpus], Mapping[RunSpec, str]] | None = None
    derive: Mapping[str, tuple[str | tuple[str, ...], Callable[..., pd.DataFrame]]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    answers: Callable[[Profile, Path], Path | None] | None = None
    version: int = 1

    def __post_init__(self) -> None:
        known = {*self.frames, *self.needs}
        for metric, (source, _) in self.derive.items():
            for name in sources(source):
                if name not in known:
                    raise ValueError(
                        f"experiment {self.name!r} derives {metric!r} from {name!r}, which it neither "
                        f"measures nor needs{nearest(name, known)}; correct its `derive`"
                    )
            known.add(metric)

    def plan(self, profile: Profile, corpus: Corpus) -> dict[str, RunSpec]:
        """Every training run by name; a corpus that was not read is enough to name them."""
        if self.name in profile.without:
            return {}
        names = self.naming(profile, corpus) if self.naming else {}
        return {names.get(spec, spec.name): spec for spec in self.asked(profile, corpus)}

    def measured(self, profile: Profile, runs: Path, cache: Path) -> Frames:
        """The frames of `measure`. ValueError where they are not those that were declared."""
        if self.name in profile.without:
            return {}
        found = self.measure(profile, runs, cache)
        for name in dict.fromkeys((*found, *self.frames)):
            if name not in self.frames:
                raise ValueError(
                    f"experiment {self.name!r} measured {name!r}, which it does not declare"
                    f"{nearest(name, self.frames)}; add it to its `frames`"
                )
            if name not in found:
                raise ValueError(
                    f"experiment {self.name!r} declares {name!r}, which it did not measure; take it out of its `frames`"
                )
        return {name: found[name] for name in self.frames}

    def recipe(self, profile: Profile) -> str:
        """The recipes behind the frames by name, or the word for what is."""
        sections = {name: getattr(profile, name) for name in self.sections}
        known = {name: own.recipe.name for name, own in sections.items() if hasattr(own, "recipe")}
        return ", ".join(known.get(name, name) for name in self.trained or list(known)[:1])

    @property
    def metrics(self) -> tuple[str, ...]:
        """The frames and what is derived from them."""
        return (*self.frames, *self.derive)

    def derived(self, frames: Mapping[str, pd.DataFrame]) -> Frames:
        """Every derived metric, from the measured frames and those in `needs`."""
        made = dict(frames)
        for metric, (source, function) in self.derive.items():
            made[metric] = function(*(made[name] for name in sources(source)))
        return {metric: made[metric] for metric in self.derive}

    def runs(self, profile: Profile, cache: Path) -> dict[str, RunSpec]:
        """`plan` with the corpus where some run reads one; it is built only then."""
        found = self.plan(profile, unread(profile))
        if any(spec.corpus is not None for spec in found.values()):
            found = self.plan(profile, corpus(profile, cache))
        return found

    def key(self, profile: Profile, cache: Path | None) -> str:
        """The identifier of all metrics: the settings, the runs behind them, its version. `cache`: of corpora, whose
        sums are in the runs' keys; None: whatever the corpora hold."""
        settings = [getattr(profile, section).settings() for section in self.sections]
        specs = set((self.runs(profile, cache) if cache else self.plan(profile, unread(profile))).values())
        keys = sorted(spec.key(runtime.device(profile.device).type) for spec in specs)
        return store.key(self.name, self.version, settings, keys)


def sources(source: str | tuple[str, ...]) -> tuple[str, ...]:
    """The metrics that a derived one is made from."""
    return (source,) if isinstance(source, str) else source


@dataclass(frozen=True)
class Question:
    """`name`: begins the name of the answer's file. `version`: raise it when the same model would answer otherwise."""

    name: str
    version: int = 1

    def put(self, run: Run, given: Any, ask: Callable[[], Answer]) -> Answer:
        """What `ask()` gives, or gave before. `given`: all that it depends on beside the weights, as plain data."""
        key = store.key(self.name, self.version, given)
        return store.kept_json(run.path / f"{self.name}-{key}.json", ask)


class Opened:
    """A finished run's model as it is read under one name; it is opened when the first question needs it.

    `local`: the context of a row that reads its own weights with less; `extension`: the settings of one that extends
    the weights of another.
    """

    def __init__(self, run: Run, name: str) -> None:
        self.run, self.name = run, name
        row = encoding(name)
        self.local = run.spec.recipe.length if row.local else None
        self.extends = name != run.spec.model.encoding and not row.local
        self.extension = row.settings if self.extends else None

    @cached_property
    def model(self) -> Transformer:
        model = self.run.model()
        return extend(model, self.name, self.run.spec.recipe.length) if self.extends else model
