"""Train on a dask cluster what the notebooks of a profile will look for; they then find it in the store.

python -m attention_priors.commands.cluster tcp://scheduler:8786 --profile full
python -m attention_priors.commands.cluster tcp://scheduler:8786 --profile full --only passkeys
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from .. import config, runtime
from ..experiments import EXPERIMENTS
from ..publish.pipeline import stamps
from ..publish.pipeline.order import order
from ..store.notebooks import file_name
from ..training.runs import RunSpec
from . import arguments as commands

ADDRESS = re.compile(r"((tcp|tls|ucx|wss?)://)?[^/\s]+:\d+")


def planned(profile: config.Profile, notebooks: Iterable[str]) -> list[RunSpec]:
    """Every run of the experiments that some notebooks measure; corpora are built where one reads them."""
    found: dict[RunSpec, None] = {}
    for notebook in notebooks:
        cells = stamps.named(stamps.read(stamps.NOTEBOOK_FOLDER / file_name(notebook)))
        for name in sorted(cells["measure"]):
            found |= dict.fromkeys(EXPERIMENTS[name].runs(profile, config.CACHE / "corpora").values())
    return list(found)


def train(address: str, profile: config.Profile, only: Iterable[str]) -> str:
    """Send what is missing to the scheduler at `address`; returns a line that says what was trained.

    ValueError for what is no address: dask would try it for a while, and more than once.
    """
    if not ADDRESS.fullmatch(address):
        raise ValueError(
            f"CLUSTER = {address} is no address of a scheduler; give protocol, host and port: tcp://host:8786"
        )
    try:
        from ..publish.cluster.dispatch import dispatch
    except ModuleNotFoundError as error:
        raise ValueError(
            f"CLUSTER needs {error.name}, which is not there; in a clone, pip install '.[cluster]', or "
            "leave CLUSTER out"
        ) from None
    runtime.say(f"[cluster] profile {profile.name}: looking for what the store lacks")
    runs = planned(profile, order(only))
    device = runtime.device(profile.device)
    trained = dispatch(runs, address, config.CACHE / "runs", device, profile.threads)
    return f"[cluster] {trained} of {len(runs)} runs trained, the others were there; notebooks go on here"


@commands.refusing(1, stopped="what came back is in the store; the same command goes on")
def main(arguments: list[str] | None = None) -> int:
    """0 when every run is in the store, 1 where one is not, 2 for bad arguments."""
    parser = commands.Arguments("cluster", __doc__, "profile", "only")
    parser.add_argument("address", help="of the scheduler, such as tcp://scheduler:8786")
    parser.add_argument("--device", type=commands.device, default="auto", help="default: the profile's")
    chosen = parser.parse_args(arguments)
    print(train(chosen.address, config.profile(chosen.profile).on(chosen.device), chosen.only), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
