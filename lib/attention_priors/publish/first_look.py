"""Train six encodings, two seeds each, and draw them beside the committed results: minutes on two cores.

python -m attention_priors.commands.first_look

The runs are those of the profile, so that `make reproduce` finds them trained; the prompts are fewer.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd

from .. import config, runtime, store
from ..claims.ledger import pipe_table
from ..config import Evaluation, Profile
from ..experiments import archive
from ..experiments.answers import train_and_answer
from ..experiments.archive import INDEX
from ..experiments.arms import passkey_run
from ..experiments.gate import gated
from ..experiments.grid import Job, run_all
from ..figures import curves, style
from ..figures.methods import label, named_seeds, paint
from ..figures.spec import Figure, Frame
from ..figures.words import CHANCE, bounded, prompts, times, tokens, trained_on
from ..store.layout import Layout
from ..training.runs import Run, RunSpec
from .pipeline.progress import span
from .report import NotMeasured, Report

# A rotation and five priors, from the lightest tail to the heaviest, that learn the task soonest.
SIX = ("rope", "alibi", "t5", "sandwich", "kerple-power", "bam")
SEEDS = 2  # the first of the profile
PROMPTS, FAR_PROMPTS = 10, 6  # at each length; at the longest
SECONDS = 60.0  # of a run without a record
ASKING = 12.0  # seconds of a model's answers, about
BUILD = config.ROOT / "build" / "first-look"
HERE, THERE = "here", "committed"
COLUMNS = ["from", "encoding", "seed", "length", "correct", "samples", "trained"]
ALT = (
    "Six small panels, one for each encoding, of passkey accuracy against context length up to 64 times the training "
    "length: what this machine trained in colour with a dot for each seed, the committed results in grey behind."
)


def wanted(profile: Profile) -> list[Evaluation]:
    """Some of what the profile asks: all lengths up to T, those 2, 4, 8, ... times as long, and the longest."""
    trained, settings = profile.passkey.recipe.length, profile.passkey
    kept = [n for n in settings.evaluation.lengths if n <= trained or math.log2(n / trained).is_integer()]
    last = max(settings.far.lengths)
    return [
        Evaluation(lengths=tuple(kept), samples=min(PROMPTS, settings.evaluation.samples)),
        Evaluation(lengths=(last,), samples=min(FAR_PROMPTS, settings.far.samples)),
    ]


def planned(profile: Profile) -> list[RunSpec]:
    """The runs, with the keys that they have in the profile."""
    return [passkey_run(profile, name, seed) for name in SIX for seed in profile.seeds[:SEEDS]]


def recorded(layout: Layout, runs: str = "") -> dict[str, float]:
    """Seconds that the profile's runs whose names begin so took when the results were made, from their records."""
    index = layout.own / INDEX
    known = store.read_json(index) if index.exists() else {}
    there = {name: key for name, key in known.items() if name.startswith(runs) and layout.run(name, key).exists()}
    return {name: archive.record(layout, name, key)["seconds"] for name, key in there.items()}


def trained_here(profile: Profile, runs: Path, layout: Layout) -> Frame:
    """Train what the store lacks, ask all: hits per encoding, seed and length."""
    where, evaluations = runtime.device(profile.device), wanted(profile)
    took = {run: seconds for name in SIX for run, seconds in recorded(layout, f"passkey/{name}/").items()}
    left = {
        spec: ASKING + (0.0 if Run(spec, runs, where).finished else took.get(spec.name, SECONDS))
        for spec in planned(profile)
    }
    ready = sum(seconds <= ASKING for seconds in left.values())
    total = sum(left.values()) / min(profile.workers, len(left))
    runtime.say(
        f"[first-look] {len(left)} models, {ready} of them trained already; about {span(total)} by the seconds "
        "that the committed runs took. Ctrl-C loses nothing"
    )
    order = sorted(left, key=left.get, reverse=True)  # no worker is left alone with a long one at the end
    jobs = [
        Job(spec.name, train_and_answer, (spec, str(runs), profile.device, {spec.model.encoding: evaluations}))
        for spec in order
    ]
    answers = run_all(jobs, profile.workers, profile.threads, "first-look", [left[spec] for spec in order])
    frame = pd.DataFrame([row for rows in answers for row in rows])
    made = frame.groupby(["encoding", "seed", "length"])["correct"].agg(correct="sum", samples="size").reset_index()
    return made.assign(trained=profile.passkey.recipe.length, **{"from": HERE})[COLUMNS]


def committed(report: Report, lengths: set[int]) -> Frame:
    """The same of the results, without rows where they have none."""
    try:
        frame = report.read("passkey_by_length")[0]
    except NotMeasured:
        return pd.DataFrame(columns=COLUMNS)
    rows = frame[(frame["form"] == "plain") & frame["encoding"].isin(SIX) & frame["length"].isin(lengths)]
    return rows.assign(**{"from": THERE})[COLUMNS]


def means(frame: Frame, source: str, name: str) -> tuple[Frame, Frame]:
    """The rows of an encoding, and by length their mean over seeds with its interval."""
    rows = frame[(frame["from"] == source) & (frame["encoding"] == name)]
    rows = rows.assign(accuracy=(rows["correct"] / rows["samples"]).astype(float))
    return rows, curves.over_seeds(rows, "accuracy", curves.shares)


def draw(frame: Frame) -> Figure:
    """A panel an encoding: the committed mean with its interval in grey, and what was trained here in colour."""
    fig, axes = style.figure(style.DOUBLE, 3.1, nrows=2, ncols=3, sharex=True, sharey=True)
    trained = trained_on(frame)
    ticks = [n for n in sorted(set(frame["length"])) if n >= trained and np.log2(n / trained) % 2 == 0]
    for ax, name in zip(axes.flat, SIX, strict=True):
        color, marker = paint(name)
        _, there = means(frame, THERE, name)
        if len(there):
            style.interval_band(ax, there.index, there["low"], there["high"], style.GREY)
            ax.plot(there["mean"], color=style.GREY, linewidth=2.2, alpha=0.7, zorder=3, label="_committed")
        own, here = means(frame, HERE, name)
        ax.plot(here["mean"], color=color, marker=marker, markersize=3.5, linewidth=1.2, zorder=4)
        style.seed_dots(ax, own["length"], own["accuracy"], style.DARK)
        ax.axvline(trained, color=style.DARK, linewidth=0.6, linestyle=":")
        ax.set_title(label(name), color=style.darken(color, 0.25))
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, [times(n, trained) for n in ticks])
        ax.minorticks_off()
        ax.set_ylim(-0.04, 1.04)
        ax.set_yticks([0, 0.5, 1])
    fig.supxlabel(f"context length / training length ({trained} tokens)", fontsize=8)
    fig.supylabel("share of passkeys retrieved", fontsize=8)
    return fig


def caption(frame: Frame) -> str:
    """What is drawn, how little it is, and how it agrees with the committed results."""
    here, there = (frame[frame["from"] == source] for source in (HERE, THERE))
    trained, last = trained_on(here), int(here["length"].max())
    ends = {name: [means(frame, source, name)[1] for source in (HERE, THERE)] for name in SIX}
    text = (
        f"A first look: share of passkeys retrieved by six encodings that this machine trained on texts of varied "
        f"lengths up to {trained} tokens (colour: mean; dots: {named_seeds(here)}; {prompts(here)})"
    )
    if len(there):
        text += ", beside the committed results (grey: mean and 95 % interval; "
        text += f"{named_seeds(there)}; {prompts(there)})"
    each = [
        f"{label(name)} {own.loc[last, 'mean']:.2f}" + (f" ({known.loc[last, 'mean']:.2f})" if len(known) else "")
        for name, (own, known) in ends.items()
    ]
    text += f". At {tokens(last, trained)}{', committed in brackets' * bool(len(there))}: {'; '.join(each)}."
    if len(there):
        inside = [
            known.loc[n, "low"] <= own.loc[n, "mean"] <= known.loc[n, "high"]
            for own, known in ends.values()
            for n in own.index
            if n in known.index
        ]
        text += f" {sum(inside)} of {len(inside)} means lie within the committed interval."
    missed = [f"{label(row.encoding)} (seed {row.seed})" for row in gated(here).itertuples() if not row.passed]
    text += f" Missed their gate: {', '.join(missed)}." if missed else ""
    return f"{text} Chance is {CHANCE}. {SEEDS} seeds and so few prompts decide nothing; `make reproduce` has more."


def page(frame: Frame) -> str:
    """passkey.md: the figure, its caption, its numbers."""
    trained = trained_on(frame)
    lengths = [n for n in sorted(set(frame["length"])) if n >= trained]
    rows = []
    for name, source in itertools.product(SIX, (HERE, THERE)):
        _, mean = means(frame, source, name)
        if len(mean):
            cells = (bounded(*mean.loc[n]) if n in mean.index else "–" for n in lengths)
            rows.append([label(name), source, *cells])
    table = pd.DataFrame(rows, columns=["encoding", "from", *(times(n, trained) for n in lengths)])
    parts = ["# A first look", f"![{ALT}](passkey.png)", f"**Caption.** {caption(frame)}"]
    parts += [f"**Alternative text.** {ALT}", "\n".join(pipe_table(table))]
    parts += ["Mean accuracy over seeds [95 % interval]. Numbers by seed: `passkey.csv`."]
    return "\n\n".join(parts) + "\n"
