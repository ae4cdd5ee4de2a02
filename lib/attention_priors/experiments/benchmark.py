"""One benchmark for every encoding: the same data, budget, seeds and prompts, far beyond the training length."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from .. import runtime
from ..config import Encodings, Frozen, Profile
from ..evaluation import share_interval
from ..positions.encodings import encoding
from ..training.runs import Run
from .answers import Wanted, answers, reached, readings
from .arms import OWN, passkey_run
from .experiment import Experiment, Frames
from .seeds import carry, spread
from .tails import tails

MULTIPLES = (1, 4, 16, 64)


class Settings(Frozen):
    """All encodings on the plain passkey task: model, recipe and prompts are those of the section `passkey`."""

    encodings: Encodings
    give_up: int = Field(ge=0, description="as in `Evaluation`")


def wanted(profile: Profile) -> Wanted:
    """Every training run, with the encodings that are evaluated on its weights."""
    settings, made = profile.benchmark, {}
    for name in settings.encodings:
        asked = [each.model_copy(update={"give_up": settings.give_up}) for each in profile.passkey.asked(name)]
        for seed in profile.seeds_for(name):
            made.setdefault(passkey_run(profile, name, seed), {})[name] = asked
    return made


def counts(profile: Profile, runs: Path) -> pd.DataFrame:
    """Train what is missing, then answer prompts: hits and prompts per encoding, seed and length."""
    found = answers(profile, runs, wanted(profile), "all encodings")
    missing = {(name, seed) for name in profile.benchmark.encodings for seed in profile.seeds_for(name)}
    missing -= set(zip(found["encoding"], found["seed"], strict=True))
    if missing:
        raise ValueError(f"no answers of {sorted(missing)}; a benchmark leaves no encoding and no seed out")
    made = found.groupby(["encoding", "seed", "length"])["correct"].agg(correct="sum", samples="size").reset_index()
    keys = found.groupby(["encoding", "seed"])["run"].first()
    keys = [keys[name, seed] for name, seed in zip(made["encoding"], made["seed"], strict=True)]
    return made.assign(trained=profile.passkey.recipe.length, run=keys)


def measure(profile: Profile, runs: Path, cache: Path) -> Frames:
    found = counts(profile, runs)
    reaches = reach(found)
    return {
        "encodings_counts": found,
        "encodings_summary": summary(by_length(found), reaches, profile, runs),
        "encodings_tails": tails(profile, runs, found),
    }


def by_length(frame: pd.DataFrame) -> pd.DataFrame:
    """Per encoding and length: mean accuracy over seeds with `evaluation.share_interval`, and how it was obtained.

    A seed that was not asked, after too many lengths without a hit, counts as 0; `asked` is the number of seeds that
    were, `samples` the prompts that each of them got. `state`: "asked"; "given up" where no seed was (no interval);
    "left out" where none was although one still had a hit at its last length (accuracy NaN); "undefined" beyond the
    encoding's longest context (accuracy NaN).
    """
    samples = dict(zip(frame["length"], frame["samples"], strict=True))
    lengths = sorted(samples)
    rows = []
    for name, group in frame.groupby("encoding", sort=False):
        row, trained = encoding(name), int(group["trained"].iloc[0])
        correct = group.pivot(index="seed", columns="length", values="correct").reindex(columns=lengths)
        for length in lengths:
            hits = correct[length].to_numpy(dtype=float)
            asked = int((~np.isnan(hits)).sum())
            undefined = row.longest is not None and length > row.longest
            answers = bool(correct.ffill(axis=1)[length].any())
            state = "undefined" if undefined else "asked" if asked else "left out" if answers else "given up"
            known = state in ("asked", "given up")
            values = np.nan_to_num(hits) / samples[length] if known else np.full(len(hits), np.nan)
            low, high = (np.nan, np.nan)
            if state == "asked":
                low, high = share_interval(np.nan_to_num(hits), [samples[length]] * len(hits))
            about = {"encoding": name, "family": row.family, "borrows": row.trained_as or OWN}
            about |= {"length": length, "trained": trained}
            counts = {"seeds": len(hits), "asked": asked, "samples": samples[length]}
            rows.append(about | counts | spread(values, (low, high)) | {"state": state})
    return pd.DataFrame(rows)


def reach(frame: pd.DataFrame, accuracy: float = 0.8) -> pd.DataFrame:
    """Per encoding and seed: the longest length up to which accuracy never fell below `accuracy` (0: never reached).

    `longest_tested` is the last length that the seed was asked at; one that ended without a hit counts as asked to the
    end.
    """
    lengths = sorted(set(frame["length"]))
    rows = []
    for (name, seed), group in frame.groupby(["encoding", "seed"], sort=False):
        row = encoding(name)
        found = (group["correct"] / group["samples"]).set_axis(group["length"]).reindex(lengths, fill_value=0.0)
        longest = reached(found, accuracy)
        last = group.loc[group["length"].idxmax()]
        limit = int(last["length"]) if last["correct"] else min(max(lengths), row.longest or max(lengths))
        about = {"encoding": name, "family": row.family, "seed": seed}
        rows.append(about | {"reach": longest, "longest_tested": limit} | carry(group, "trained"))
    return pd.DataFrame(rows)


def summary(frame: pd.DataFrame, reached: pd.DataFrame, profile: Profile, runs: Path) -> pd.DataFrame:
    """A row per encoding: accuracy at 1, 4, 16 and 64 times the training length, reach, and what it took.

    `parameters` are those beyond NoPE's; `steps` is the median over seeds of the steps until training ended, of the
    weights that the row borrows.
    """
    where = runtime.device(profile.device)
    rows = []
    for name in profile.benchmark.encodings:
        records = [Run(passkey_run(profile, name, seed), runs, where).record() for seed in profile.seeds_for(name)]
        group = frame[frame["encoding"] == name].set_index("length")
        own = reached[reached["encoding"] == name]["reach"]
        row = {
            "encoding": name,
            "family": group["family"].iloc[0],
            "borrows": group["borrows"].iloc[0],
            "seeds": int(group["seeds"].iloc[0]),
            "trained": int(group["trained"].iloc[0]),
        }
        for multiple in MULTIPLES:
            length = multiple * row["trained"]
            found = group.loc[length] if length in group.index else None
            for part in ("mean", "low", "high"):
                row[f"{part}_{multiple}"] = np.nan if found is None else found[part]
        row |= {
            "reach": float(own.median()),
            "reach_low": int(own.min()),
            "reach_high": int(own.max()),
            "longest_tested": int(reached[reached["encoding"] == name]["longest_tested"].max()),
            "parameters": sum(records[0]["parameters"][part] for part in ("embedding", "transformer", "prior")),
            "steps": float(np.median([record["steps"] for record in records])),
        }
        rows.append(row)
    made = pd.DataFrame(rows)
    bare = made[made["encoding"] == "nope"]
    if bare.empty:
        raise ValueError("the benchmark has no 'nope', which parameters are compared with; add it")
    made["parameters"] -= int(bare["parameters"].iloc[0])
    return made


EXPERIMENT = Experiment(
    name="benchmark",
    sections=("benchmark", "passkey"),
    asked=lambda profile, _: readings(wanted(profile)),
    measure=measure,
    frames=("encodings_counts", "encodings_summary", "encodings_tails"),
    derive={
        "encodings_by_length": ("encodings_counts", by_length),
        "encodings_reach": ("encodings_counts", reach),
    },
)
