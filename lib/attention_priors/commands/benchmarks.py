"""Ask a model the prompts of InfiniteBench and LongBench, read in chunks and in other ways, and tabulate the scores.

python -m attention_priors.commands.benchmarks --model PATH --tasks passkey,kv_retrieval --length 32000 --samples 50 \\
    --methods last-window,chunks,chunks-budget --window 4096 --budget 2000 --out FOLDER

The same command goes on where a run was stopped. --dry-run prints chunks, entries, memory and FLOPs, loading no weight.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from .. import runtime
from ..parallel.benchmarks import infinitebench, longbench, opened, plan, presets, run, synthetic
from ..parallel.benchmarks.methods import METHODS, SEED, Settings
from ..parallel.benchmarks.prompts import Wording
from ..parallel.benchmarks.task import Known, Row, Task
from ..publish import benchmarks as summary
from . import arguments as commands

TASKS: Known[Task] = Known("task", infinitebench.TASKS | longbench.TASKS)
WHOLE = commands.whole(1, 2**31)
COLUMNS = "{:<22} {:<26} {:>9} {:>7} {:>9} {:>9} {:>9} {:>8}"


def rows(name: str, folder: Path | None, length: int | None, samples: int | None, count: Any) -> list[Row]:
    """The prompts of a task: made at a length, or some of its file's."""
    if length is not None:
        made = synthetic.lines(name, length, samples or 1, SEED, count)
        return [infinitebench.row(TASKS[name], each, f"{name}:{each['id']}") for each in made]
    reader = infinitebench if name in infinitebench.TASKS else longbench
    found = run.spread(list(reader.rows(name, folder)), samples)
    if not found:
        raise ValueError(f"{name}.jsonl has no row; give the file as the benchmark publishes it")
    return found


def settings_of(chosen: argparse.Namespace, preset: presets.Preset | None, config: Any) -> Settings:
    """What the arguments say, else the preset, else the model. ValueError for a window that the model was not made
    for."""
    most = getattr(config, "max_position_embeddings", None)
    given = {name: value for name in ("window", "keep", "budget", "at_once") if (value := getattr(chosen, name))}
    made = replace(preset.settings if preset else Settings(window=most), **given)
    if made.window is None:
        raise ValueError("window = None, and the model does not say for how many positions it is made; give --window")
    for name in ("window", "cut"):
        value = getattr(made, name)
        if most and value and value > most:
            raise ValueError(f"{name} = {value}, but the model is made for {most} positions; give at most {most}")
    return made


def said(
    chosen: argparse.Namespace,
    tasks: dict[str, tuple[Task, list[Row]]],
    settings: Settings,
    config: Any,
    words: Any | None,
) -> list[str]:
    """The lines of a dry run: of each task and method the prompt with the longest text."""
    shape, count = plan.Shape.of(config), opened.counter(words)
    wording = Wording.of(words) if words is not None else Wording(None, 1)
    each = 4 if chosen.dtype == "float32" else 2
    exact = "tokens as the tokenizer counts them" if words is not None else "tokens: a fourth of the characters"
    lines = [
        f"{shape.weights / 1e9:.2f} billion weights, {each} bytes each; {exact}; estimates, not measured",
        COLUMNS.format("task", "method", "tokens", "chunks", "entries", "GiB", "prefill", "decode"),
    ]
    for task, found in tasks.values():
        longest = max(found, key=lambda row: len(row.context))
        text, question = wording.written(task, longest)
        tokens, asked = count(text), max(1, count(question))
        for name in chosen.methods:
            method = METHODS[name]
            made = plan.cost(shape, method, method.options(task, settings, wording.bos, longest), tokens, asked, each)
            counts, flops = (tokens, made.chunks, made.entries), (f"{made.prefill:.1e}", f"{made.decode:.0e}")
            lines.append(COLUMNS.format(task.name, name, *counts, f"{made.bytes / 2**30:.1f}", *flops))
    return lines


def arguments() -> commands.Arguments:
    """The command line."""
    parser = commands.Arguments("benchmarks", __doc__)
    parser.add_argument("--model", help="folder of a model, or its name on the hub (default: the preset's)")
    parser.add_argument("--preset", help=f"sizes of the paper's experiments: {', '.join(presets.PRESETS)}")
    parser.add_argument("--tasks", type=commands.names, default="passkey", help="names with commas (default: passkey)")
    parser.add_argument(
        "--methods", type=commands.names, default="last-window,chunks", help=f"some of {', '.join(METHODS)}"
    )
    parser.add_argument("--length", type=WHOLE, help="make R.PK, R.Num and R.KV of so many tokens, without files")
    parser.add_argument("--samples", type=WHOLE, help="prompts of a task (default: all of its file; 1 that is made)")
    parser.add_argument("--data", type=Path, help="folder with the benchmarks' files (default: the hub's)")
    parser.add_argument("--window", type=WHOLE, help="positions of a chunk, question and answer (default: the model's)")
    parser.add_argument("--keep", type=WHOLE, help="chunks that stay (default: the preset's, or as the paper by task)")
    parser.add_argument("--budget", type=WHOLE, help="keys that stay of a chunk (default: the preset's)")
    parser.add_argument("--at-once", type=commands.count, default=4, help="chunks in one batch (default: 4)")
    parser.add_argument("--device", type=commands.device, default="auto", help="default: a GPU where there is one")
    parser.add_argument(
        "--dtype", choices=("auto", *opened.DTYPES), default="auto", help="default: bfloat16 on a GPU, else float32"
    )
    parser.add_argument("--out", type=Path, help="folder for answers and table")
    parser.add_argument("--dry-run", action="store_true", help="print what it costs; load no weight")
    return parser


def asked(chosen: argparse.Namespace) -> str:
    """Do what the arguments say; what to print. ValueError for what cannot be done."""
    preset = presets.PRESETS[chosen.preset] if chosen.preset else None
    wanted = {name: TASKS[name] for name in chosen.tasks}
    methods = [name for name in chosen.methods if METHODS[name]]
    name = chosen.model or (preset.model if preset else None)
    if name is None or not wanted or not methods:
        raise ValueError("no model, task or method is named; give --model or --preset, --tasks and --methods")
    if not chosen.dry_run and chosen.out is None:
        raise ValueError("no folder for the answers; give --out FOLDER, or --dry-run")
    if chosen.dry_run and chosen.model is None:
        config, words = opened.sizes(preset), None
    else:
        config, words = opened.config(name, chosen.dry_run), opened.tokenizer(name, chosen.dry_run)
    settings = settings_of(chosen, preset, config)
    count = opened.counter(words)
    tasks = {
        each: (task, rows(each, chosen.data, chosen.length, chosen.samples, count)) for each, task in wanted.items()
    }
    if chosen.dry_run:
        return "\n".join(said(chosen, tasks, settings, config, words))
    wording = Wording.of(words)
    run.check_room(tasks, methods, settings, wording)
    model = opened.model(name, words, runtime.device(chosen.device), chosen.dtype)
    key = opened.identity(model, words)
    answers = run.wanted(tasks, methods, settings, wording, key, chosen.out / "answers")
    records = run.run(model, wording, answers)
    footer = (
        f"Model {Path(name).name}, w = {settings.window}, K = {settings.keep or 'by task'}, "
        f"B = {settings.budget or 'all'}, chat {'question' if wording.opening else 'none'}, key {key}."
    )
    built, files = summary.write(records, wanted, footer, chosen.out)
    return "\n".join([built.to_string(index=False), *map(str, files)])


@commands.refusing(stopped="the same command goes on")
def main(arguments_: list[str] | None = None) -> int:
    """0 when the table is written, 2 for bad input, 130 when it was stopped."""
    chosen = arguments().parse_args(arguments_)
    try:
        print(asked(chosen), flush=True)
    except torch.OutOfMemoryError:
        remedy = f"give less than --at-once {chosen.at_once}, or leave out the methods that read the whole text"
        raise ValueError(f"the device is out of memory; {remedy}; the same command goes on") from None
    return 0


if __name__ == "__main__":
    sys.exit(main())
