"""Compare two trees of results: `python tests/compare_results.py OLD NEW --profile cpu`; 1 where anything differs.

Losses and learned priors of run records are equal to the bit, metrics digit for digit but for times and keys, the
ledger's findings id by id. A tree may have the layout of before, in which everything lies in results/<profile>.
"""

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import pandas as pd

from attention_priors import store

TIMED = {"milliseconds", "seconds", "prefill"}  # a metric with one of these
WITH_TIMES = {*TIMED, "token", "low", "high", "memory"}  # has times in these
KEYS = {"run", "key"}
FOUND = ("verdict", "outcome", "measured", "relation", "expected_value", "tolerance", "seeds", "interval",
         "counterexample", "corrected", "recipe", "opposite")  # fmt: skip
TRAINED = ("loss", "learned", "parameters", "steps")


def records(results, profile):
    """Name of a run -> its records: several where profiles differ under one name."""
    found = defaultdict(list)
    for path in sorted((results / profile / "runs").rglob("*.json")):
        found[path.relative_to(results / profile / "runs").with_suffix("").as_posix()].append(path)
    for path in sorted((results / "runs").rglob("*.json")):
        name = path.relative_to(results / "runs").with_suffix("").as_posix()
        found[name.rpartition(".")[0]].append(path)
    return found


def compare_records(old, new, profile):
    after = records(new, profile)
    for name, paths in records(old, profile).items():
        was = store.read_json(paths[0])
        found = [store.read_json(path) for path in after.get(name, ())]
        if not found:
            yield f"run {name}: no record"
        elif not any(all(was[part] == now[part] for part in TRAINED) for now in found):
            parts = [part for part in TRAINED if all(was[part] != now[part] for now in found)]
            last = ", ".join(f"{now['loss'][-1]:.6f}" for now in found)
            yield f"run {name}: {', '.join(parts) or 'unlike'} ({was['loss'][-1]:.6f}, now {last})"


def metrics(results, profile):
    folders = (results / profile / "metrics", results / "theory" / "metrics")
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.csv"))}


def compare_metrics(old, new, profile):
    after = metrics(new, profile)
    for name, path in metrics(old, profile).items():
        if name not in after:
            yield f"metrics {name}: missing"
            continue
        was, now = (pd.read_csv(each, dtype=str, keep_default_na=False) for each in (path, after[name]))
        if list(was) != list(now) or len(was) != len(now):
            yield f"metrics {name}: {was.shape} {list(was)}, now {now.shape} {list(now)}"
            continue
        ignored = KEYS | (WITH_TIMES if TIMED & {*was} else set())
        columns = [column for column in was if column not in ignored]
        differ = (was[columns] != now[columns]).any(axis=1)
        if differ.any():
            row = differ.idxmax()
            wrong = [column for column in columns if was.at[row, column] != now.at[row, column]]
            shown = ", ".join(f"{column} {was.at[row, column]} now {now.at[row, column]}" for column in wrong)
            yield f"metrics {name}: {differ.sum()} of {len(was)} rows, the first ({row}): {shown}"


def timed(results, profile):
    """Metrics that hold times."""
    return {name for name, path in metrics(results, profile).items() if TIMED & {*pd.read_csv(path, nrows=0)}}


def compare_ledgers(old, new, profile):
    was, now = (store.read_json(each / profile / "claims.json")["claims"] for each in (old, new))
    times = timed(old, profile)
    for name in dict.fromkeys((*was, *now)):
        if name not in was or name not in now:
            yield f"claim {name}: only in the {'new' if name in now else 'old'} ledger"
            continue
        if times & {Path(path).stem for path in was[name]["evidence"]}:
            continue  # read from times, which differ from day to day
        for part in FOUND:
            if was[name].get(part) != now[name].get(part):
                yield f"claim {name}: {part} {was[name].get(part)!r}, now {now[name].get(part)!r}"
        lost = {Path(path).name for path in was[name]["evidence"]} - {Path(path).name for path in now[name]["evidence"]}
        if lost:
            yield f"claim {name}: no longer shown by {', '.join(sorted(lost))}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--profile", default="cpu")
    chosen = parser.parse_args(arguments)
    for tree in (chosen.old, chosen.new):
        if not (tree / chosen.profile / "claims.json").is_file():
            print(f"no results of profile {chosen.profile} in {tree}", file=sys.stderr)
            return 2
    found = 0
    for compare in (compare_records, compare_metrics, compare_ledgers):
        for line in compare(chosen.old, chosen.new, chosen.profile):
            print(line)
            found += 1
    print(f"{len(records(chosen.old, chosen.profile))} runs, {len(metrics(chosen.old, chosen.profile))} metrics, "
          f"{found} differences")  # fmt: skip
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
