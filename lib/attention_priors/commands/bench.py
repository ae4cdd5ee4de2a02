"""The project's times and memory beside what they are compared to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch

from .. import config, runtime, store
from ..experiments.times import training_step
from ..publish.first_look import recorded
from ..store.layout import Layout
from . import arguments as commands

ROWS = list[tuple[str, str, str]]
THREADS, REPEATS = 2, 3  # pairs of ours and plain, in turn
LENGTHS = (8_000, 16_000, 32_000, 64_000)


def measured(name: str, *arguments: str, threads: int = THREADS) -> dict[str, Any]:
    """A measurement in a fresh process; its failure is an error with the process's last line."""
    command = [sys.executable, "-m", "attention_priors.experiments.measure", str(threads), name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise ValueError(f"{name} {' '.join(arguments)} failed: {said[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def steps() -> ROWS:
    """A training step against the plain version, in turn."""
    rounds = [(measured("training_step", "sdpa"), measured("training_step", "plain")) for _ in range(REPEATS)]
    ratios = sorted(theirs["seconds"] / ours["seconds"] for ours, theirs in rounds)
    memory = sorted(ours["peak_bytes"] / theirs["peak_bytes"] for ours, theirs in rounds)
    ours, theirs = rounds[0]
    return [
        (
            "training step, 6 x 512, 2,048 tokens",
            f"{ours['seconds']:.2f} s, {ours['peak_bytes'] / 1e9:.2f} GB",
            f"plain {theirs['seconds']:.2f} s, {theirs['peak_bytes'] / 1e9:.2f} GB; losses differ by "
            f"{abs(ours['value'] - theirs['value']):.1e}",
        ),
        ("  times faster than plain (>= 4)", f"{ratios[len(ratios) // 2]:.2f}", "in turn, " + _list(ratios)),
        ("  share of plain's peak memory (<= 0.25)", f"{memory[len(memory) // 2]:.2f}", _list(memory)),
    ]


def model() -> ROWS:
    """A long prompt through the trained model, and the training of one, against the limits set for two cores."""
    prompt = measured("long_prompt", "64000")
    run, plain = (measured("training_run", "cpu", "0", recipe, threads=1) for recipe in ("own", "straightforward"))
    return [
        ("64,000-token passkey prompt (<= 20 s)", f"{prompt['seconds']:.1f} s", f"{THREADS} threads"),
        ("  its memory (<= 0.5 GB)", f"{prompt['peak_bytes'] / 1e9:.2f} GB", "beyond Python and torch"),
        ("training one seed of BAM-SSMax (<= 90 s)", f"{run['seconds']:.0f} s", _quality(run)),
        ("  the straightforward loop, same seed", f"{plain['seconds']:.0f} s", _quality(plain)),
        ("  share of its time (<= 0.5)", f"{run['seconds'] / plain['seconds']:.2f}", "one thread each, in turn"),
    ]


def chunks() -> ROWS:
    """Reading in chunks at four lengths: seconds grow with the text, memory does not."""
    found = {length: measured("chunked_prompt", str(length)) for length in LENGTHS}
    longest = found[LENGTHS[-1]]
    each = _list([1e6 * one["seconds"] / length for length, one in found.items()], 0)
    memory = _list([one["peak_bytes"] / 1e6 for one in found.values()], 0)
    counted = " ".join(f"{length:,}" for length in LENGTHS)
    return [
        ("64,000 tokens in chunks of 128, three stay (<= 10 s)", f"{longest['seconds']:.1f} s", f"{THREADS} threads"),
        ("  its memory (<= 300 MB)", f"{longest['peak_bytes'] / 1e6:.0f} MB", f"at {counted} tokens: {memory} MB"),
        (
            "  microseconds a token, longest text over shortest",
            f"{longest['seconds'] / found[LENGTHS[0]]['seconds'] * LENGTHS[0] / LENGTHS[-1]:.2f}",
            f"at {counted} tokens: {each}",
        ),
    ]


def _quality(run: dict[str, Any]) -> str:
    found = run["value"]
    return f"{found['steps']} steps, answer loss {found['loss']:.4f}, accuracy {found['accuracy']:.2f} at 16x"


CALLS = {
    "sdpa": "ours, in blocks",
    "none": "torch's attention without a prior",
    "plain": "bias in memory",
    "reference": "the specification",
    "flex": "FlexAttention, eager (no training on CPU)",
}


def backends() -> ROWS:
    """One call of attention with a learned prior, by every way that a CPU has."""
    rows: ROWS = []
    length = 2048
    for backend, label in CALLS.items():
        forward = measured("attention_call", backend, str(length), "0")
        both = None if backend == "flex" else measured("attention_call", backend, str(length), "1")
        gradients = "" if both is None else f"with gradients {both['seconds']:.3f} s, {both['peak_bytes'] / 1e6:.0f} MB"
        value = f"{forward['seconds']:.3f} s"
        rows.append((f"attention, 8 heads x {length}: {label}", value, gradients))
    for own in (length, 4 * length):
        forward, both = (measured("composite_call", str(own), backward) for backward in "01")
        said = f"with gradients {both['value']:.2f}; in turn, {_list(sorted(forward['all_ratios']))}"
        rows.append((f"  Goat's prior inside, x {own}, over none (<= 1.1)", f"{forward['value']:.2f}", said))
    return rows


def trained(results: Path, profile: config.Profile) -> ROWS:
    """How long a model was trained when the results were made."""
    seconds = recorded(Layout(results, profile.name), "passkey/bam-ssmax/").values()
    if not seconds:
        return [("passkeys", "not run", f"no runs of theirs in results/{profile.name}; run make reproduce")]
    limit = f"slowest of {len(seconds)} seeds; {profile.workers} models side by side"
    return [("training of BAM-SSMax when the results were made", f"{max(seconds):.0f} s", limit)]


def elapsed(notebooks: Collection[Mapping[str, Any]]) -> float:
    """Seconds in which at least one notebook of a provenance file ran: what was waited for.

    A notebook of which only the length is known (`ended` is missing) counts as one that ran alone.
    """
    known = [entry for entry in notebooks if "ended" in entry]
    alone = sum(entry["wall_seconds"] for entry in notebooks if "ended" not in entry)
    spans = [(datetime.fromisoformat(entry["ended"]).timestamp(), entry["wall_seconds"]) for entry in known]
    busy, until = 0.0, float("-inf")
    for begun, ended in sorted((ended - seconds, ended) for ended, seconds in spans):
        busy += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return busy + alone


def time_taken(results: Path, profile: config.Profile) -> ROWS:
    """Wall time of the pipeline, from its provenance."""
    layout = Layout(results, profile.name)
    paths = [folder / "provenance.json" for folder in (layout.own, layout.theory)]
    ran = [entry for path in paths if path.exists() for entry in store.read_json(path)["notebooks"].values()]
    if not ran:
        return []
    seconds = elapsed(ran)
    label = f"make reproduce, profile {profile.name} (cpu: <= 75 min, smoke: <= 6 min)"
    rows = [(label, f"{seconds / 60:.1f} min", "when at least one notebook ran; runs that were in the store count 0")]
    spent = sum(recorded(layout).values())
    shared = f"{profile.workers} runs side by side, evaluation not included"
    return [*rows, ("  of all training runs", f"{spent / profile.workers / 60:.1f} min", shared)]


def _list(values: list[float], digits: int = 2) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0 when all was measured, 1 where the kernels are wrong, 2 for bad input."""
    parser = commands.Arguments("bench", __doc__, "profile", "results")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    chosen = parser.parse_args(arguments)
    profile = config.profile(chosen.profile)
    if chosen.device == "cuda":
        from ..attention.bench import kernels

        training = tuple((name, partial(training_step, name, "cuda")) for name in ("bam-ssmax", "rope"))
        return kernels.run(chosen.results, kernels.Plan(training=training) if torch.cuda.is_available() else None)
    machine = f"{runtime.processor()}, {THREADS} threads, torch {torch.__version__}"
    print(f"{machine}; a quarter of an hour on two cores")
    committed = (partial(part, chosen.results, profile) for part in (trained, time_taken))
    for part in (*committed, model, chunks, backends, steps):  # each is printed as soon as it is known
        for label, value, comparison in part():
            print(f"{label:58s} {value:>18s}   {comparison}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
