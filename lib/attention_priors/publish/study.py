"""What a notebook opens: its profile, its results, and one verb for each thing that a cell does.

    study = Study(PROFILE, "passkeys", RESULTS, seed=SEED, device=DEVICE)
    study.measure("passkeys")             trains what is missing and writes the metrics of an experiment
    study.draw("passkey_by_length")       simulates where the figure does, draws, writes and shows it with its caption
    study.table("passkey_reach")          the same for a table
    study.claim("BAM-F2", "BAM-C7")       decides claims: a line each that opens into its table
    study.also("PE-NTK-E")                says what is found here about claims that other notebooks decide
    study.verdicts()                      the notebook's part of the ledger

Keys, folders, run records and the evidence of verdicts are made here, so that no notebook makes them.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from IPython.display import Markdown, display
from matplotlib.figure import Figure

from attention_priors import checks, claims, config, runtime, store
from attention_priors.claims.law import claim as decides
from attention_priors.experiments import EXPERIMENTS, archive
from attention_priors.figures import FIGURES, TABLES, FigureSpec, NotCompared
from attention_priors.figures.words import bounded
from attention_priors.publish.report import EXACT, Report, screen, together
from attention_priors.store import manifest
from attention_priors.store.layout import Layout
from attention_priors.store.notebooks import NOTEBOOKS, file_name
from attention_priors.store.registry import LIBRARY
from attention_priors.training.runs import RunSpec

PIXELS = 96  # of a screen, to the inch
SHOWN = ["verdict", "outcome", "severity", "measured", "relation", "expected_value", "interval"]
OPTIONS = ("display.max_colwidth", None, "display.precision", 4, "display.max_rows", 100, "display.max_columns", 20)


@dataclass(frozen=True)
class Picture:
    """A drawn figure; a notebook shows the file that was written, and the caption under it."""

    figure: Figure
    png: bytes
    caption: str  # as it is printed
    notes: str
    alt: str

    def _ipython_display_(self) -> None:
        _show(self.png, round(PIXELS * self.figure.get_figwidth()), self.alt)
        display(Markdown(f"{self.caption}\n\n*Notes.* {self.notes}"))


@dataclass(frozen=True)
class Settings:
    """What stands for sliders where nobody can move them: one figure with each of a few settings, in one picture."""

    figures: tuple[Figure, ...]
    alt: str

    def _ipython_display_(self) -> None:
        png, inches = together(self.figures)
        _show(png, round(PIXELS * inches), self.alt)


def _show(png: bytes, width: int, alt: str) -> None:
    image = {"image/png": base64.b64encode(png).decode(), "text/plain": alt}
    display(image, metadata={"image/png": {"width": width, "alt": alt}}, raw=True)


@dataclass(frozen=True, repr=False)
class Printed:
    """A built table, shown as its Markdown, in which formulas are set, between caption and footer."""

    frame: pd.DataFrame
    text: str

    def _repr_markdown_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.frame.to_string()


@dataclass(frozen=True)
class Audited:
    """What an appendix shows beside a verdict: the claim as registered, and the source of a check in the library."""

    statement: str
    place: str
    source: str


@dataclass(frozen=True, repr=False)
class Decided:
    """Decided claims: (line, table) each; in an appendix, what is audited by the same order."""

    claims: tuple[tuple[str, pd.DataFrame], ...]
    audited: tuple[Audited, ...] = ()

    def __and__(self, other: Decided) -> Decided:
        """Both: what a cell shows that decides two claims."""
        return Decided(self.claims + other.claims, self.audited + other.audited)

    def _repr_html_(self) -> str:
        shown = [_folded(line, table.to_html()) for line, table in self.claims]
        for number, each in enumerate(self.audited):
            check = _folded(f"the check: {each.place}", f"<pre>{html.escape(each.source)}</pre>") if each.source else ""
            shown[number] = f"<blockquote>{html.escape(each.statement)}</blockquote>{shown[number]}{check}"
        return "\n".join(shown)

    def __repr__(self) -> str:
        """Line by line: a table as wide as its longest statement would be mostly blanks."""
        said = [(line, table if "found" in table else table[:0]) for line, table in self.claims]
        return "\n\n".join(
            "\n".join([line, *(f"  {row['found']}: {row['statement']}" for _, row in table.iterrows())])
            for line, table in said
        )


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{html.escape(summary)}</summary>{body}</details>"


@dataclass(frozen=True, repr=False)
class LeftOut:
    """In place of what a profile leaves to larger ones: why it is not there."""

    reason: str

    def _repr_markdown_(self) -> str:
        return f"*{self.reason}.*"

    def __repr__(self) -> str:
        return self.reason


@dataclass(frozen=True)
class Open(LeftOut):
    """The check of a claim whose metrics a profile leaves out: not run, and why."""

    id: str
    practice: str = ""
    metrics: tuple[str, ...] = ()

    def fixed(self, frames: Any) -> Open:
        return self

    def verdict(self, profile: str, frames: Any = None, evidence: Any = ()) -> claims.Verdict:
        return claims.Verdict(id=self.id, verdict="not run", profile=profile, opposite=self.reason)

    def summary(self, frames: Any = None) -> str:
        return self.reason

    def frame(self, frames: Any = None) -> pd.DataFrame:
        return pd.DataFrame({"claim": [claims.find(self.id).statement], "why it is open": [self.reason]})


class Measured(dict[str, pd.DataFrame]):
    """The frames of an experiment by metric; shown as their sizes."""

    def __init__(self, name: str, frames: Mapping[str, pd.DataFrame], left_out: str) -> None:
        super().__init__(frames)
        self.name, self.left_out = name, left_out

    def __missing__(self, metric: str) -> pd.DataFrame:
        raise KeyError(f"{metric}: {self.left_out}" if self.left_out else f"{self.name} measures no {metric}")

    def _repr_markdown_(self) -> str:
        return f"*{self.left_out}.*" if self.left_out else self._sizes("`{}`: {} rows")

    def __repr__(self) -> str:
        return self.left_out or self._sizes("{}: {} rows")

    def _sizes(self, each: str) -> str:
        return ", ".join(each.format(metric, len(frame)) for metric, frame in self.items())


class Study:
    """One notebook under one profile. ValueError for an unknown profile, notebook or device."""

    def __init__(
        self, profile: str, notebook: str, results: Path | str, *, seed: int = 0, device: str = "auto"
    ) -> None:
        file_name(notebook)
        self.notebook, self.seed = notebook, seed
        self.profile = config.profile(profile).on(device)
        self.size = self.profile.theory
        self.layout = Layout(Path(results), self.profile.name)
        self.store, self.corpora = config.CACHE / "runs", config.CACHE / "corpora"
        self.frames: dict[str, pd.DataFrame] = {}  # metrics that this notebook made or read
        self._report = Report(self.layout, notebook)
        self._written: set[str] = set()
        self._drawn: dict[str, FigureSpec] = {}
        self._runs: dict[str, RunSpec] = {}
        self._absent: dict[str, str] = {}  # experiments that this machine cannot run, and why
        self._checks: dict[str, Any] = {}  # claims that were decided: the check with its finding
        runtime.configure(self.profile.threads)
        torch.manual_seed(runtime.seed_for(seed, f"notebook/{notebook}"))  # of models that a cell makes for itself
        pd.set_option(*OPTIONS)

    def draw(self, name: str) -> Picture | LeftOut:
        """FIGURES[name] from its rows or metrics, written to figures/ and shown with its caption."""
        figure = self._made("figure", name)
        if isinstance(figure, LeftOut):
            return figure
        self._drawn[name] = FIGURES[name]
        return Picture(figure, screen(figure), *self._report.caption(name), FIGURES[name].alt)

    def table(self, name: str) -> Printed | LeftOut:
        """TABLES[name] from its rows or metrics, written to tables/ and shown with its caption."""
        frame = self._made("table", name)
        if isinstance(frame, LeftOut):
            return frame
        markdown = next(path for path in self._report.files("table", name) if path.suffix == ".md")
        return Printed(frame, markdown.read_text(encoding="utf-8"))

    def says(self, metric: str, found: Callable[[pd.DataFrame], list]) -> Markdown | LeftOut:
        """What was found, as a sentence with its number, computed from a metric: a row of `findings.COLUMNS`."""
        if reason := self._left_out(metric):
            return LeftOut(f"No finding: {reason}")
        sentence, _, measured, value, low, high, *_ = found(self.read(metric))
        number = f" *{measured[0].upper()}{measured[1:]}: {bounded(value, low, high)}.*" if value == value else ""
        return Markdown(f"**Found in profile `{self.profile.name}`.** {sentence}{number}")

    def measure(self, name: str) -> Measured:
        """The frames of EXPERIMENTS[name], by metric, as they are read back; none where the profile leaves it out.

        Trains and asks what the store lacks, writes metrics and derived metrics, and the records of the runs.
        None either where this machine lacks what it needs.
        """
        experiment = EXPERIMENTS[name]
        if name in self.profile.without:
            return Measured(name, {}, self._without(name))
        try:
            found = experiment.measured(self.profile, self.store, self.corpora)
        except runtime.NotHere as reason:
            self._absent[name] = str(reason)
            if runtime.headless():
                runtime.say(str(reason))
            return Measured(name, {}, str(reason))
        found |= experiment.derived(found | {metric: self._report.source(metric) for metric in experiment.needs})
        key, recipe = experiment.key(self.profile, self.corpora), experiment.recipe(self.profile)
        for metric, frame in found.items():
            self._write(metric, frame, key, EXACT if metric in experiment.exact else recipe)
        if experiment.answers:
            folder = experiment.answers(self.profile, self.store)
            manifest.add(self.layout, archive.archive_answers(folder, self.layout))
        runs = experiment.runs(self.profile, self.corpora)
        manifest.add(self.layout, archive.archive(runs, self.store, self.layout, self.profile.device))
        self._runs |= runs
        return Measured(name, {metric: self.frames[metric] for metric in found}, "")

    def read(self, metric: str, notebook: str | None = None) -> pd.DataFrame:
        """A metric of this notebook or of another. NotMeasured, in one line, where it has not run."""
        if metric not in self.frames:
            self.frames[metric] = self._report.read(metric, notebook)[0]
        return self.frames[metric]

    def records(self, task: str, encoding: str) -> list[dict[str, Any]]:
        """The records of the runs of one task and encoding that this notebook has measured, by seed."""
        device = runtime.device(self.profile.device).type
        kind = (task, encoding)
        wanted = {name: spec for name, spec in self._runs.items() if (spec.task, spec.model.encoding) == kind}
        found = [archive.record(self.layout, name, spec.key(device)) for name, spec in wanted.items()]
        return sorted(found, key=lambda record: record["spec"]["seed"])

    def claim(self, *identifiers: Any, **said: Any) -> Decided:
        """Decide claims, each once in a notebook: "3 of 4 statements hold", opening into the statements.

        In a cell tagged `law`: one id, then its laws, and what else `claims.law.claim` takes (corrected, severity, ..).
        """
        if said or not all(isinstance(each, str) for each in identifiers):
            identifier, *laws = identifiers
            self._checks[identifier] = decides(identifier, *laws, file=f"notebooks/{file_name(self.notebook)}", **said)
            identifiers = (identifier,)
        appendix = NOTEBOOKS[self.notebook].appendix
        return Decided(self._lines(identifiers), tuple(map(_audited, identifiers)) if appendix else ())

    def also(self, *identifiers: str) -> Decided:
        """What this notebook finds about claims that others decide; their verdicts stay as they are."""
        return Decided(self._lines(identifiers))

    def practice(self) -> pd.DataFrame:
        """Where the notebook's claims matter to somebody who trains models."""
        mine = {name: check.practice for name, check in checks.belonging(self.notebook).items() if check.practice}
        return pd.DataFrame({"in practice": mine.values()}, index=pd.Index(mine, name="claim"))

    def verdicts(self) -> pd.DataFrame:
        """Decide what is left of the notebook's claims, write its part of the ledger, and return what it says.

        Evidence: the figures drawn in this notebook that show a claim, and the metrics that its check reads.
        """
        found = []
        for name in checks.belonging(self.notebook):
            check, frames = self._decide(name)
            shown = [f"figures/{figure}.png" for figure, spec in self._drawn.items() if name in spec.claims]
            found.append(check.verdict(self.layout.label(self.notebook), frames, shown))
        label, also = self.layout.label(self.notebook), checks.witnessed(self.notebook)
        more = [check.verdict(label, frames) for check, frames in map(self._decide, also)]
        path = claims.write_part(self.layout.results, self.layout.profile, self.notebook, found, also=more)
        manifest.add(self.layout, [path])
        return claims.frame(claims.read(path)).set_index("id")[SHOWN].dropna(axis=1, how="all").fillna("")

    def ledger(self) -> dict[str, claims.Verdict]:
        """All notebooks' parts joined, by claim, written to claims.json and claims.md."""
        ledger = claims.merge(self.layout.results, self.layout.profile)
        manifest.add(self.layout, [self.layout.own / "claims.json", self.layout.own / "claims.md"])
        return ledger

    def explore(
        self, function: Callable[..., Any], *, settings: Sequence[Mapping[str, Any]] = (), **values: Any
    ) -> Settings | None:
        """Sliders (ipywidgets) that draw `function`; where nobody can move them, its figures in a few settings.

        The first setting is where the sliders start, the others are what `settings` change of it.
        """
        import ipywidgets as widgets

        if not runtime.headless():
            widgets.interact(function, **values)
            return None
        start = {name: getattr(value, "value", value) for name, value in values.items()}
        sliders = {
            name: value.description or name for name, value in values.items() if not isinstance(value, widgets.fixed)
        }
        drawn = {}
        for setting in ({}, *settings):
            chosen = start | setting
            said = ", ".join(f"{label} = {_value(chosen[name])}" for name, label in sliders.items())
            drawn[said] = function(**chosen)
        if None in drawn.values():  # it prints
            return None
        for said, figure in drawn.items():
            figure.suptitle(said)
        return Settings(tuple(drawn.values()), f"{function.__doc__.splitlines()[0]} Here with {'; '.join(drawn)}.")

    def _made(self, kind: str, name: str) -> Figure | pd.DataFrame | LeftOut:
        """A figure or table, written; its rows, where it has any, are simulated once in a notebook."""
        spec = (FIGURES if kind == "figure" else TABLES)[name]
        if spec.rows and spec.metrics not in self._written:
            key = store.key(spec.metrics, self.size.model_dump(mode="json"), self.seed)
            self._write(spec.metrics, pd.DataFrame(spec.rows(self.size, self.seed)), key, EXACT, theory=True)
        if reason := self._left_out(spec.metrics):
            return LeftOut(f"No {kind} {name}: {reason}")
        try:
            made = self._report.figure(name) if kind == "figure" else self._report.table(name)
        except NotCompared as alone:
            return LeftOut(str(alone))
        manifest.add(self.layout, self._report.files(kind, name))
        return made

    def _write(self, metric: str, frame: pd.DataFrame, key: str, recipe: str, theory: bool = False) -> None:
        early = [name for name, check in self._checks.items() if metric in check.metrics]
        if early:
            raise ValueError(f"{early[0]} was decided before {metric!r} was measured; move its cell below")
        self.frames[metric] = self._report.metrics(metric, frame, key, recipe, theory=theory)
        path = self._report.place(metric)
        names = (f"{metric}.csv", f"{metric}.csv.xz", f"{metric}.json")  # the one that is not there leaves the sums
        manifest.add(self.layout, [path.with_name(name) for name in names])
        self._written.add(metric)

    def _lines(self, identifiers: Iterable[str]) -> tuple[tuple[str, pd.DataFrame], ...]:
        lines = []
        for identifier in identifiers:
            check, frames = self._decide(identifier)
            verdict = check.verdict(self.layout.label(self.notebook), frames)
            said = ", ".join(filter(None, (verdict.verdict, verdict.outcome)))
            lines.append((f"{identifier}: {check.summary(frames)} ({said})", check.frame(frames)))
        return tuple(lines)

    def _decide(self, identifier: str) -> tuple[Any, dict[str, pd.DataFrame]]:
        """The check of a claim, decided once, and the frames that it reads."""
        second = self.notebook == checks.WITNESS and identifier in checks.ALSO
        check = self._checks.get(identifier) or (checks.ALSO if second else checks.CHECKS)[identifier]
        if reasons := list(filter(None, map(self._left_out, check.metrics))):
            check = Open(reasons[0], identifier, check.practice)
        frames = {metric: self.read(metric) for metric in check.metrics}
        self._checks.setdefault(identifier, check.fixed(frames))
        return self._checks[identifier], frames

    def _left_out(self, metric: str) -> str | None:
        """Why there is no such metric, where the profile or this machine leaves out the experiment that measures it."""
        left = {name: self._without(name) for name in self.profile.without} | self._absent
        return next((why for name, why in left.items() if metric in EXPERIMENTS[name].metrics), None)

    def _without(self, experiment: str) -> str:
        return f"profile {self.profile.name} leaves {experiment} to larger profiles"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:.6g}"


def _audited(identifier: str) -> Audited:
    claim, (path, _, source) = claims.find(identifier), checks.CHECKS.source(identifier)
    place = path.relative_to(LIBRARY.parent).as_posix() if path.is_relative_to(LIBRARY) else ""  # else the cell itself
    return Audited(f"{claim.source}: {claim.statement}", place, source if place else "")
