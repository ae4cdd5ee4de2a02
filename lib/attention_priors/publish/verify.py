"""Recompute and compare with what is committed: `python -m attention_priors.commands.verify --profile cpu`.

Classes of comparison, each with its count:

sealed     every file of results/theory, results/<profile>, results/runs and results/models: the sum in sha256.txt
exact      checks of claims, verdicts drawn from committed metrics, metrics derived from other metrics: equal, floating
           point within 1e-9 of size one or 1e-9 of the value, whichever is smaller
answers    metrics measured again from what the models answered to each prompt, where that is committed: as exact
bitwise    redrawn figures and tables with the same matplotlib; retrained runs on the same CPU model and thread count
tolerance  retrained runs elsewhere: the last losses within 0.05 nats and within 5 %
ordinal    retrained runs anywhere: the learned model beats chance where the committed one does

`make verify` retrains one seed of each family (`FULL=1`: every run) into an empty store, so that
nothing is taken from a cache.
"""

from __future__ import annotations

import io
import math
import statistics
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd

from attention_priors import claims, config, experiments, runtime, store
from attention_priors.checks import ALSO, CHECKS
from attention_priors.experiments import archive
from attention_priors.publish import report
from attention_priors.publish.pipeline import progress
from attention_priors.store import manifest
from attention_priors.store.layout import APART, DEFAULT, Layout
from attention_priors.training import blessed
from attention_priors.training.runs import RunSpec
from attention_priors.training.vision import opened

EXACT = 1e-9
RESIDUAL = 1e-3  # the largest bound under which a measured value is a residual
DERIVED = 1e-8  # of what was derived from numbers, and then written, with ten digits each
LOSS_ABSOLUTE, LOSS_RELATIVE = 0.05, 0.05
TAIL, STANDARD_ERRORS = 10, 3  # the losses that a record ends with: each is one batch's
CHANGED = "its settings, data or versions have changed; make reproduce trains it"


@dataclass
class Outcome:
    """What was compared, by class, and what differs."""

    compared: Counter = field(default_factory=Counter)
    differ: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, kind: str, what: str, same: bool, detail: str = "") -> None:
        self.compared[kind] += 1
        if not same:
            self.differ.append(f"{kind:9s} {what}{': ' + detail if detail else ''}")


def same(committed: Any, computed: Any, tolerance: float = EXACT) -> bool:
    """Equal plain data; numbers within `tolerance` absolutely and, above 1, relatively: never the looser of both."""
    both = committed, computed
    if all(isinstance(each, dict) for each in both):
        return committed.keys() == computed.keys() and all(
            same(committed[name], computed[name], tolerance) for name in committed
        )
    if all(isinstance(each, (list, tuple)) for each in both):
        return len(committed) == len(computed) and all(same(*pair, tolerance) for pair in zip(*both, strict=True))
    if not all(isinstance(each, (int, float)) for each in both) or any(isinstance(each, bool) for each in both):
        return committed == computed and isinstance(committed, bool) == isinstance(computed, bool)
    if not all(map(math.isfinite, both)):
        return committed == computed or all(map(math.isnan, both))
    zero = max(map(abs, both)) <= tolerance  # round-off of something that is zero
    return zero or abs(committed - computed) <= tolerance * min(1.0, max(abs(committed), tolerance))


def verify_files(layout: Layout, outcome: Outcome) -> None:
    """Hold the sum of every file against what was written down when it was made."""
    looked, wrong = manifest.problems(layout)
    ships = layout.profile in (DEFAULT, APART)  # models of other profiles do not
    for folder in layout.parts:
        if not (folder / manifest.NAME).is_file() and (ships or folder != layout.models):
            shown = f"{folder.relative_to(layout.results).as_posix()}/{manifest.NAME}"
            wrong.append(f"{shown}: is missing; restore the folder (git checkout), or run make reproduce")
    outcome.compared["sealed"] += looked
    outcome.differ += [f"{'sealed':9s} {line}" for line in wrong]


def verify_claims(layout: Layout, outcome: Outcome) -> None:
    """Join the notebooks' parts again, and decide every claim: by arithmetic, or from the committed metrics."""
    committed = claims.read(layout.own / "claims.json")
    joined = claims.gather(layout.results, layout.profile)
    outcome.add("exact", "claims.json", committed == joined, "is not what the notebooks' parts join to")
    text = (layout.own / "claims.md").read_text(encoding="utf-8")
    outcome.add("exact", "claims.md", text == claims.markdown(joined, layout.profile), "does not say what the parts do")
    reader = report.Report(layout, "verdicts")
    decided = [(name, verdict, CHECKS) for name, verdict in sorted(committed.items())]
    decided += [(name, verdict.also, ALSO) for name, verdict, _ in decided if verdict.also]
    for name, verdict, table in runtime.progress(decided, "claims"):
        if verdict.verdict == "not run":
            continue
        if name not in table:
            outcome.add("exact", name, False, "has a verdict but no check; remove it from the ledger")
            continue
        check = table[name]
        frames = {metric: reader.read(metric)[0] for metric in check.metrics}
        again = check.verdict(verdict.profile, frames)
        compared = ("verdict", "outcome", "relation")
        compared += ("measured", "interval", "seeds") if check.metrics else ("counterexample", "corrected")
        old, new = verdict.model_dump(mode="json"), again.model_dump(mode="json")
        # What is zero but for rounding is another number on another machine.
        rounding = isinstance(old["measured"], float) and abs(old["measured"]) < EXACT
        if not check.metrics and not rounding and not _residual(old):
            compared += ("measured",)
        wrong = [part for part in compared if not same(old[part], new[part])]
        detail = "; ".join(f"{part} {old[part]} committed, {new[part]} computed" for part in wrong)
        outcome.add("exact", name, not wrong, detail)


def _residual(row: dict[str, Any]) -> bool:
    """What an iteration left over, under a small bound: how much is another number on another machine."""
    bound = row["expected_value"]
    return row["relation"] == "<=" and isinstance(bound, float) and 0 < bound <= RESIDUAL


def verify_metrics(layout: Layout, outcome: Outcome) -> None:
    """Derive again what is derived from the rows behind it; columns that were added for drawing are left alone."""
    reader, unmeasured = report.Report(layout, "verdicts"), []
    for name, (source, derive) in experiments.derived().items():
        sources = experiments.sources(source)
        try:
            old, *rows = (reader.read(name)[0], *map(reader.source, sources))
        except report.NotMeasured:
            unmeasured.append(name)
            continue
        agree = _agree(old, derive(*rows))
        outcome.add("exact", f"metrics/{name}.csv from {', '.join(f'{each}.csv' for each in sources)}", agree)
    if unmeasured:
        outcome.notes.append(f"not measured under profile {layout.profile}: {', '.join(unmeasured)}")


def _agree(old: pd.DataFrame, new: pd.DataFrame) -> bool:
    """Whether a committed frame is what was computed, in the columns that both have."""
    columns = [column for column in new.columns if column in old.columns]
    pairs = zip(old[columns].to_dict("records"), new[columns].to_dict("records"), strict=False)
    return len(old) == len(new) and all(same(dict(a), _plain(b), DERIVED) for a, b in pairs)


def verify_answers(layout: Layout, profile: config.Profile, outcome: Outcome) -> None:
    """Measure again from the committed answers of all prompts. Nothing is trained, and no trained model is read."""
    reader, without = report.Report(layout, "verdicts"), []
    alone, corpora = profile.model_copy(update={"workers": 1}), config.CACHE / "corpora"
    device = runtime.device(profile.device)
    with tempfile.TemporaryDirectory() as folder:
        try:
            archive.restore(profile, Path(folder), layout, sealed=True)
        except ValueError as error:  # a damaged file, which its sum has told, too
            outcome.add("answers", "runs", False, runtime.said(error))
            return
        for name, experiment in experiments.EXPERIMENTS.items():
            specs = experiment.runs(profile, corpora).values()
            try:
                committed = (
                    {frame: reader.read(frame)[0] for frame in experiment.frames} if specs or experiment.answers else {}
                )
            except report.NotMeasured:
                continue
            if not all(opened(spec, folder, device).restored for spec in specs):
                without.append(name)
                continue
            try:
                found = experiment.measured(alone, Path(folder), corpora) if committed else {}
            except runtime.NotHere as reason:
                outcome.notes.append(f"{name}: {reason}")
                continue
            except (RuntimeError, ValueError) as error:  # of a job, or of what is read beside them
                outcome.add("answers", name, False, runtime.said(error))
                continue
            for frame, old in committed.items():
                new = pd.read_csv(io.StringIO(found[frame].to_csv(index=False)))
                outcome.add("answers", f"metrics/{frame}.csv", _agree(old, new), "is not what the models answered")
    if without:
        outcome.notes.append(f"answers are not committed of {', '.join(without)}")


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers as they are written to CSV, so that equal values stay equal."""
    return {name: float(f"{value:.10g}") if isinstance(value, float) else value for name, value in row.items()}


def verify_drawings(layout: Layout, outcome: Outcome) -> None:
    """Redraw every figure and table from its metrics."""
    mpl.use("agg")
    written, differ = report.differences(layout)
    drawn = _versions(layout)
    images = drawn <= {runtime.provenance()["versions"]["matplotlib"]}
    for path in written:
        absent = not (layout.results / path).exists()  # of a notebook that was not run; sha256.txt knows what is lost
        if absent or (path.suffix in (".png", ".pdf") and not images):
            continue
        outcome.add("bitwise" if path.suffix in (".png", ".pdf") else "exact", str(path), path not in differ)
    if not images:
        outcome.notes.append(
            f"figures were drawn with matplotlib {', '.join(drawn)}; another version draws other bytes"
        )


def families(profile: config.Profile, full: bool, cache: Path) -> dict[str, RunSpec]:
    """The runs to train again, by name: every run, or one of each family, the first of BAM with SSMax if it has any."""
    named = experiments.runs(profile, experiments.corpus(profile, cache))
    if full:
        return named
    chosen: dict[str, tuple[str, RunSpec]] = {}
    for name, spec in sorted(named.items(), key=lambda item: item[1].model.encoding != "bam-ssmax"):  # stable
        chosen.setdefault(spec.task.partition("/")[0], (name, spec))
    return dict(chosen.values())


def verify_runs(layout: Layout, profile: config.Profile, full: bool, outcome: Outcome) -> None:
    """Train again from nothing and compare with the committed records."""
    runtime.configure(profile.threads)
    device = runtime.device(profile.device)
    index = store.read_json(layout.own / archive.INDEX)
    if said := blessed.note(experiments.runs(profile, experiments.corpus(profile, config.CACHE / "corpora")).values()):
        outcome.notes.append(said)
    with tempfile.TemporaryDirectory() as folder:
        for name, spec in families(profile, full, config.CACHE / "corpora").items():
            if name not in index:
                outcome.notes.append(f"run {name} is not committed; run its notebook")
                continue
            old = archive.record(layout, name, index[name])
            if old["key"] != spec.key(device.type):
                outcome.add("exact", f"run {name}", False, CHANGED)
                continue
            runtime.say(f"[verify] training {name}, {old['seconds']:.0f} s when it was committed")
            compare_runs(old, opened(spec, folder, device).train(runtime.say), outcome)


def compare_runs(old: dict[str, Any], new: dict[str, Any], outcome: Outcome) -> None:
    """One retrained run against its committed record."""
    name = old["name"]
    if old["key"] != new["key"]:
        outcome.add("exact", f"run {name}", False, CHANGED)
        return
    parts = [part for part in ("loss", "learned", "parameters") if old[part] != new[part]]
    alike = all(old.get(part) == new.get(part) for part in ("processor", "arithmetic", "threads"))
    if alike or not parts:
        outcome.add("bitwise", f"run {name}", not parts, f"{', '.join(parts)} differ")
        return
    ends = [record["loss"][-TAIL:] for record in (old, new)]
    was, now = map(statistics.fmean, ends)
    noise = STANDARD_ERRORS * math.sqrt(sum(statistics.pvariance(end) / len(end) for end in ends))
    allowed = min(LOSS_ABSOLUTE, LOSS_RELATIVE * abs(was))
    near = abs(was - now) <= max(allowed, noise) or max(was, now) <= LOSS_ABSOLUTE
    outcome.add("tolerance", f"run {name}", near, f"loss at the end {was:.4f} committed, {now:.4f} computed")
    half = old["loss"][0] / 2
    outcome.add("ordinal", f"run {name}", near or (was < half) == (now < half), "learned in one case only")


def verify_corpus(profile: config.Profile, outcome: Outcome) -> None:
    """Say so where the data are not those behind the committed results."""
    packed, _ = experiments.corpus(profile, config.CACHE / "corpora")
    status = packed.status()
    if status["same"] is False:
        outcome.notes.append(
            f"corpus {status['corpus']} differs from the pinned one ({status['changed']}): language "
            "models are compared over different data"
        )


def _versions(layout: Layout) -> set[str]:
    """Of matplotlib, that drew the committed figures."""
    found = [progress.entries(folder / progress.PROVENANCE).values() for folder in (layout.own, layout.theory)]
    return {entry["versions"]["matplotlib"] for each in found for entry in each}
