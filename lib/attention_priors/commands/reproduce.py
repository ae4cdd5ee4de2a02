"""Command line: `python -m attention_priors.commands.reproduce --profile cpu --results results [--only NAME]`."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any, NoReturn

from attention_priors import config, store
from attention_priors.commands import arguments as commands
from attention_priors.publish.pipeline.order import order, rules
from attention_priors.publish.pipeline.plan import Plan
from attention_priors.store import manifest
from attention_priors.store.notebooks import NOTEBOOKS, slug


def arguments(argv: list[str] | None = None) -> argparse.Namespace:
    parser = commands.Arguments("reproduce", "Run the notebooks headless, in order.", "profile", "results", "only")
    parser.add_argument("--step", metavar="NAME", help="run this one now, its needs being there (make calls this)")
    parser.add_argument("--side-by-side", action="store_true", help="two notebooks at a time (rules, estimates)")
    parser.add_argument("--rules", metavar="FILE", help="write make rules for the order to FILE and say what will run")
    parser.add_argument("--answers", action="store_true", help="train nothing whose answers are committed in results")
    parser.add_argument("--force", action="store_true", help="run also what is up to date")
    parser.add_argument("--seed", type=commands.seed, help="the notebooks' SEED (default: as written in them)")
    parser.add_argument("--device", type=commands.device, help="the notebooks' DEVICE (default: as written in them)")
    return parser.parse_args(argv)


def run(plan: Plan, name: str) -> None:
    """Run one notebook unless it is up to date; raises ValueError with one line where it fails."""
    with store.locked(plan.layout.folder(name) / manifest.STATE, name, wait=False) as free:
        if not free:
            raise ValueError(f"{name} is already running on {plan.layout.results.name}; wait for it, or set RESULTS=")
        if not plan.force and plan.current(name):
            print(f"[{name}] up to date", flush=True)
            return
        # Late, because it brings torch and papermill, which an up-to-date notebook does not need.
        from attention_priors.publish.pipeline.step import perform

        perform(plan, name)


def act(options: argparse.Namespace) -> None:
    only = [slug(name) for name in options.only]
    step = options.step and slug(options.step)
    if step and step not in order(only):
        only.append(step)
    given = {"SEED": options.seed, "DEVICE": options.device}
    given = {name: value for name, value in given.items() if value is not None}
    plan = Plan(options.profile, options.results, only, given, options.force, 2 if options.side_by_side else 1)
    if options.answers:
        from attention_priors.experiments import archive  # late, because it brings torch

        count = archive.restore(plan.profile, config.CACHE / "runs", plan.layout)
        print(
            f"profile {plan.profile.name}: {count} run(s) taken from {plan.layout.results.name}/runs with what they "
            "answered, instead of training them",
            flush=True,
        )
    if not step and any(NOTEBOOKS[name].trained for name in plan.names):
        from attention_priors.experiments import runs, unread
        from attention_priors.training import blessed

        if said := blessed.note(runs(plan.profile, unread(plan.profile)).values()):
            print(f"note: {said}", flush=True)
    if options.rules:
        store.write_text(options.rules, rules(plan.names, plan.touched(), side_by_side=options.side_by_side))
    if not step or options.rules:
        print(plan.summary(), flush=True)
    if not options.rules:
        for name in [step] if step else plan.names:
            run(plan, name)


@commands.refusing(1, stopped="nothing half-written was kept; the same command resumes here")
def main(argv: list[str] | None = None) -> int:
    def stop(signum: int, frame: Any) -> NoReturn:
        raise KeyboardInterrupt

    options = arguments(argv)
    signal.signal(signal.SIGTERM, stop)
    act(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
