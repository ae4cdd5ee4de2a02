"""Who learned the passkey task: a run is compared beyond its training length only if it answers up to it."""

from __future__ import annotations

import pandas as pd

POOLED = 0.95  # of all prompts up to the training length
WORST = 0.90  # at each of those lengths
COLUMNS = ["form", "encoding", "seed", "trained", "samples", "pooled", "worst", "worst_at", "passed"]


def gated(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per form, encoding and seed: accuracy pooled over the lengths up to T, the worst of them, and `passed`.

    `frame` has a row per encoding, seed and length with `correct`, `samples` and `trained` (T); without a column `form`
    all is of the form "plain". A column `steps` is kept. A run passes at 0.95 pooled and 0.90 at the worst length: one
    that retrieves at T alone has learned a place, not to retrieve. Where another share than 0.95 is needed pooled, a
    column `gate` says which, and the worst length may stay as far below it. ValueError for a run that was not asked up
    to T, or that would pass though it was asked at fewer lengths than its rivals.
    """
    frame = frame if "form" in frame else frame.assign(form="plain")
    frame = frame if "gate" in frame else frame.assign(gate=POOLED)
    # In plain Python: every sentence of a claim asks, and pandas takes twenty times as long for so few rows.
    wanted = ["form", "encoding", "seed", "length", "trained", "correct", "samples", "gate"]
    wanted += ["steps"] * ("steps" in frame)
    forms: dict[str, dict[tuple[str, int], list[tuple]]] = {}
    for form, name, seed, *asked in zip(*(frame[column].tolist() for column in wanted), strict=True):
        forms.setdefault(form, {}).setdefault((name, seed), []).append(tuple(asked))
    rows = []
    for form, rivals in forms.items():
        lengths = {length for group in rivals.values() for length, *_ in group}
        for (name, seed), group in rivals.items():
            own = [asked for asked in group if asked[0] <= asked[1]]
            if not own:
                raise ValueError(
                    f"{name}/{seed} ({form}) was asked at no length up to {group[0][1]}, "
                    "so that its gate is unknown; ask it there"
                )
            of_own, trained, correct, samples, needed, *steps = zip(*own, strict=True)
            shares = [right / asked for right, asked in zip(correct, samples, strict=True)]
            pooled, worst = sum(correct) / sum(samples), min(shares)
            passed = pooled >= needed[0] and worst >= WORST - (POOLED - needed[0])
            gate = {length for length in lengths if length <= trained[0]}
            if passed and (lacking := sorted(gate - set(of_own))):
                raise ValueError(f"{name}/{seed} ({form}) was not asked at {lacking}, as its rivals were; ask it there")
            row = [form, name, seed, int(trained[0]), int(sum(samples)), pooled, worst]
            rows.append([*row, int(of_own[shares.index(worst)]), passed, *(first for first, *_ in steps)])
    return pd.DataFrame(rows, columns=COLUMNS + ["steps"] * ("steps" in frame))


def passing(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the runs that pass: what may decide anything."""
    found = gated(frame)
    kept = set(found.loc[found["passed"].astype(bool), ["form", "encoding", "seed"]].itertuples(index=False, name=None))
    forms = frame["form"] if "form" in frame else ["plain"] * len(frame)
    each = zip(forms, frame["encoding"], frame["seed"], strict=True)
    return frame.loc[[row in kept for row in each]]


def hits_at(rows: pd.DataFrame, length: int) -> pd.Series:
    """Hits of one encoding at a length by seed; 0 where a seed was not asked there, after lengths without a hit."""
    own = rows[rows["length"] == length].set_index("seed")["correct"]
    return own.reindex(sorted(set(rows["seed"])), fill_value=0)
