"""Train one run of a profile, alone or under torchrun; the notebooks then find it in the store.

python -m attention_priors.commands.train passkey/bam-ssmax/0
torchrun --nproc-per-node 2 -m attention_priors.commands.train language/bam-ssmax/0 --profile gpu
torchrun --nproc-per-node 6 -m attention_priors.commands.train language-stream/bam/0 --profile paper --parallel fsdp
python -m attention_priors.commands.train --list
python -m attention_priors.commands.train --keep --profile full
python -m attention_priors.commands.train --dry-run --profile paper
"""

from __future__ import annotations

import os
import sys

import torch
import torch.distributed as dist

from .. import config, runtime
from ..experiments import archive, budget, corpus, runs, unread
from ..store.layout import Layout
from ..store.registry import nearest
from ..training.sharding import PARALLEL
from ..training.vision import opened
from . import arguments as commands


def device(name: str) -> torch.device:
    """The device of this process: under torchrun, the GPU with its local rank."""
    chosen = runtime.device(name)
    if chosen.type == "cuda" and "LOCAL_RANK" in os.environ:
        chosen = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(chosen)
    return chosen


def dry_run(profile: config.Profile) -> int:
    """Print what a profile costs. ValueError where something in it cannot run."""
    found = budget.estimate(profile)
    print(budget.shown(found, profile))
    if profile.device == "cpu":
        minutes = sum(profile.minutes.values())
        spent = f": its notebooks take {minutes / 60:.1f} hours, one after another" if minutes else ""
        print(f"profile {profile.name} is meant for two CPU cores, not for this GPU{spent}")
    if found.problems:
        raise ValueError(f"profile {profile.name} cannot run: {'; '.join(found.problems)}")
    return 0


@commands.refusing()
def main(arguments: list[str] | None = None) -> int:
    """0 when the run is finished, 2 for bad input."""
    parser = commands.Arguments("train", __doc__, "profile", "results")
    parser.add_argument("run", nargs="?", help="task/encoding/seed")
    parser.add_argument("--list", action="store_true", help="name the profile's runs and train nothing")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="write records and answers of the runs that the store has to results, as notebooks do when they end",
    )
    parser.add_argument(
        "--parallel",
        choices=PARALLEL,
        default="ddp",
        help="what torchrun's processes share: batches, or also the model (default: ddp)",
    )
    parser.add_argument("--dry-run", action="store_true", help="build the models without memory, print their cost")
    chosen = parser.parse_args(arguments)
    profile = config.profile(chosen.profile)
    if chosen.dry_run:
        return dry_run(profile)
    if chosen.keep:
        count = archive.keep(profile, config.CACHE / "runs", Layout(chosen.results, profile.name))
        print(f"{count} run(s) of profile {profile.name} kept in {chosen.results.name}/runs")
        return 0
    known = runs(profile, unread(profile))  # names need no text
    if chosen.list:
        print("\n".join(known))
        return 0
    if chosen.run is None:
        raise ValueError(f"name a run, such as {next(iter(known))}; --list names all of profile {profile.name}")
    if chosen.run not in known:
        raise ValueError(
            f"profile {profile.name} has no run {chosen.run!r}{nearest(chosen.run, known)}; --list names all"
        )
    if known[chosen.run].corpus is not None:
        known = runs(profile, corpus(profile, config.CACHE / "corpora"))
    where = device(profile.device)
    runtime.configure(profile.threads)
    together = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if together:
        dist.init_process_group("nccl" if where.type == "cuda" else "gloo")
    record = opened(known[chosen.run], config.CACHE / "runs", where).train(runtime.say, chosen.parallel)
    if not together or dist.get_rank() == 0:
        print(f"{record['name']}: last loss {record['loss'][-1]:.4f}, key {record['key']}")
    if together:
        dist.barrier()  # a process that leaves while another still talks to it can be aborted by gloo
        dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
