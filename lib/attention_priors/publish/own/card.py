"""The report card of a reader's encoding: its row among the committed ones, and what a reviewer would ask."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from ...claims.ledger import pipe_table
from ...config import Profile
from ...evaluation import difference_interval
from ...experiments import benchmark
from ...experiments.arms import WRONG, is_table
from ...experiments.gate import POOLED, WORST, gated
from ...figures.methods import label
from ...figures.words import GOOD, bounded, extremes, times, tokens
from ...positions.encodings import encoding
from ..report import NotMeasured, Report
from .laws import Held
from .runs import Seed
from .source import Own

MULTIPLES = benchmark.MULTIPLES
WIDE = 0.2  # of an interval, from which a reviewer asks for more seeds (ours)


@dataclass(frozen=True)
class Committed:
    """The numbers of the profile's encodings; empty where it has none."""

    counts: pd.DataFrame
    tails: pd.DataFrame
    summary: pd.DataFrame
    why: str = ""  # nothing is there


def committed(report: Report) -> Committed:
    """What the results hold of the benchmark."""
    try:
        return Committed(*(report.read(f"encodings_{part}")[0] for part in ("counts", "tails", "summary")))
    except NotMeasured as reason:
        empty = pd.DataFrame()
        return Committed(empty, empty, empty, str(reason))


def beside(others: Committed, path: Path, keys: Set[str]) -> Committed:
    """With the hits of an earlier card's accuracy.csv, where its runs are those with `keys`."""
    if not path.is_file():
        return others
    frame = pd.read_csv(path)
    if set(frame["run"]) != keys:
        return others
    return replace(others, counts=pd.concat([each for each in (others.counts, frame) if len(each)], ignore_index=True))


@dataclass(frozen=True)
class Card:
    """Everything that is known of one encoding."""

    own: Own
    name: str
    profile: Profile
    laws: Sequence[Held]
    found: Seed
    others: Committed
    price: float  # of a training step, in NoPE's

    @property
    def counts(self) -> pd.DataFrame:
        """Hits by seed and length."""
        columns = ["encoding", "seed", "length", "correct", "samples", "trained", "run"]
        return pd.DataFrame(self.found.counts, columns=columns)

    @property
    def all_counts(self) -> pd.DataFrame:
        """Those beside the committed ones, by seeds that every one has."""
        return pd.concat([each for each in (self.others.counts, self.counts) if len(each)], ignore_index=True)

    @property
    def masses(self) -> pd.DataFrame:
        return pd.DataFrame(self.found.masses)


def table(card: Card) -> pd.DataFrame:
    """A row per encoding, the best at the longest multiple first: accuracies with intervals, reach, gate, masses."""
    counts = card.all_counts
    at, reached, gates = benchmark.by_length(counts), benchmark.reach(counts), gated(counts)
    rows = []
    for name in dict.fromkeys(counts["encoding"]):
        own = at[at["encoding"] == name].set_index("length")
        reach, gate = (frame[frame["encoding"] == name] for frame in (reached, gates))
        trained = int(own["trained"].iloc[0])
        row = {"encoding": name, "label": label(name), "seeds": len(gate), "passed": int(gate["passed"].sum())}
        for multiple in MULTIPLES:
            cell = own.loc[multiple * trained] if multiple * trained in own.index else None
            row |= {f"{part}_{multiple}": math.nan if cell is None else cell[part] for part in ("mean", "low", "high")}
        row |= {
            "reach": float(reach["reach"].median()),
            "reach_low": int(reach["reach"].min()),
            "reach_high": int(reach["reach"].max()),
        }
        rows.append(row | _cost(card, name) | _mass(card, name))
    order = [f"mean_{multiple}" for multiple in reversed(MULTIPLES)]
    return pd.DataFrame(rows).sort_values(order, ascending=False, kind="stable", ignore_index=True)


def _cost(card: Card, name: str) -> dict[str, float]:
    """Median steps of its seeds, and trained scalars of its priors."""
    if name == card.name:
        records = card.found.records
        return {
            "steps": float(np.median([record["steps"] for record in records])),
            "prior_parameters": records[0]["parameters"]["prior"],
        }
    steps = dict(zip(card.others.summary.get("encoding", ()), card.others.summary.get("steps", ()), strict=True))
    return {"steps": float(steps.get(name, math.nan)), "prior_parameters": math.nan}


def _mass(card: Card, name: str) -> dict[str, float]:
    frame = card.masses if name == card.name else card.others.tails
    rows = frame[frame["encoding"] == name] if len(frame) else frame
    return {part: float(rows[part].mean()) if len(rows) else math.nan for part in ("near", "far")}


def questions(card: Card) -> list[str]:
    """What a reviewer would ask, each with the measurement behind it; the gravest first."""
    parts = (_of_the_gate, _of_the_reach, _of_the_rivals, _of_the_seeds, _of_the_heads, _of_the_study)
    return [question for part in parts for question in part(card)]


def _of_the_gate(card: Card) -> Iterator[str]:
    for row in gated(card.counts).itertuples():
        if not row.passed:
            yield (
                f"**Did it learn the task?** Seed {row.seed} missed the gate: {row.pooled:.2f} of the prompts up to "
                f"{row.trained} tokens ({POOLED} is needed), {row.worst:.2f} at {row.worst_at} ({WORST} is needed). "
                "Its far accuracies decide nothing."
            )
    for seed, own in card.counts.groupby("seed"):
        share = (own["correct"] / own["samples"]).set_axis(own["length"])
        trained = int(own["trained"].iloc[0])
        if trained in share.index and is_table(share, trained):
            short = share[share.index < trained]
            yield (
                f"**Retrieval, or a table of places?** Seed {seed} answers {share[trained]:.2f} at {trained} tokens "
                f"and {short.min():.2f} at {short.idxmin()}, below {WRONG}: "
                "it knows where the key stands."
            )


def _of_the_reach(card: Card) -> Iterator[str]:
    counts = card.counts
    trained, longest = int(counts["trained"].iloc[0]), int(counts["length"].max())
    reached = benchmark.reach(counts)["reach"]
    if reached.min() < longest:
        yield (
            f"**How far does it go?** Accuracy stays at {GOOD} up to {extremes(reached)} tokens by seed; asked were "
            f"{longest:,} ({times(longest, trained)})."
        )
    shares = counts.assign(share=counts["correct"] / counts["samples"]).pivot(
        index="length", columns="seed", values="share"
    )
    beyond = shares[shares.index > trained]
    if len(beyond) and (gap := (beyond.max(axis=1) - beyond.min(axis=1))).max() > WIDE:
        at = gap.idxmax()
        yield (
            f"**Does it depend on the seed?** At {tokens(at, trained)} the seeds answer "
            f"{', '.join(f'{share:.2f}' for share in shares.loc[at])}."
        )


def _of_the_rivals(card: Card) -> Iterator[str]:
    counts, longest = card.all_counts, int(card.counts["length"].max())
    passed = gated(counts)
    passed = set(passed.loc[passed["passed"].astype(bool), ["encoding", "seed"]].itertuples(index=False, name=None))
    at = counts[counts["length"] == longest].set_index(["encoding", "seed"])
    own = {seed for name, seed in passed if name == card.name}
    compared = []
    for name in dict.fromkeys(card.others.counts["encoding"]) if len(card.others.counts) else ():
        both = [s for s in sorted(own) if (name, s) in passed and (name, s) in at.index]
        if len(both) > 1 and encoding(name).trained_as is None:
            ours, theirs = (at.loc[[(each, s) for s in both]] for each in (card.name, name))
            gap = (ours["correct"] / ours["samples"]).mean() - (theirs["correct"] / theirs["samples"]).mean()
            low, high = difference_interval(ours["correct"], ours["samples"], theirs["correct"], theirs["samples"])
            compared.append((name, gap, low, high, len(both)))
    trained = int(card.counts["trained"].iloc[0])
    best = max(compared, key=lambda row: -row[1], default=None)
    if best is not None:
        name, gap, low, high, seeds = best
        verdict = "it is better" if low > 0 else "it is worse" if high < 0 else "neither is better for certain"
        yield (
            f"**Is it better than what there is?** At {tokens(longest, trained)} the best committed encoding is "
            f"{label(name)}; the accuracy less that of {label(name)} is {gap:+.2f} [{low:.2f}, {high:.2f}] over the "
            f"{seeds} seeds of both that passed: {verdict}."
        )
        tied = [label(row[0]) for row in compared if row[2] <= 0 <= row[3]]
        if len(tied) > 1:
            yield (
                f"**What does it add?** No difference is certain from {len(tied)} of {len(compared)}: "
                f"{', '.join(tied)}."
            )


def _of_the_seeds(card: Card) -> Iterator[str]:
    counts = card.counts
    last = counts[counts["length"] == counts["length"].max()]
    trained, seeds = int(last["trained"].iloc[0]), len(last)
    row = benchmark.by_length(counts).set_index("length").loc[last["length"].iloc[0]]
    width, name = row["high"] - row["low"], tokens(row.name, trained)
    text = f"**Is {seeds} seed{'s' * (seeds > 1)} enough?** "
    if seeds < 2:
        yield text + "One seed tells nothing of the spread: there is no interval."
        return
    text += f"At {name} the interval of the mean is {bounded(row['mean'], row['low'], row['high'])}, {width:.2f} wide."
    yield text + (f" Wider than {WIDE}, it asks for more." if width > WIDE else "")


def _of_the_heads(card: Card) -> Iterator[str]:
    if card.masses.empty:
        return
    near, far = card.masses["near"].mean(), card.masses["far"].mean()
    if near < 0.5 or far < 0.5:
        lacks = "near (below T/4)" if near < 0.5 else "far (beyond T)"
        yield (
            f"**Does some head look {lacks}?** Over all heads the most mass there is {min(near, far):.2f} "
            "(mean over seeds): retrieval needs a head that stays near to copy and one that looks far."
        )


def _of_the_study(card: Card) -> Iterator[str]:
    recipe, size = card.profile.passkey.recipe, card.profile.passkey.size
    if card.price > 1.5:
        yield f"**What does it cost?** A training step takes {card.price:.1f} times as long as NoPE's here."
    yield (
        f"**Was it tuned as its rivals were?** No: recipe {recipe.name} as it stands (rate {recipe.rate:g}, that of "
        f"the prior {recipe.prior_rate:g} times as large)."
    )
    yield (
        f"**One task, one size?** Passkeys, by models of {size.layers} layers {size.width} wide: not text, not "
        "addresses. Add it to `benchmark.encodings` and `language.encodings` of a profile for more "
        "(CONTRIBUTING.md)."
    )
    if not encoding(card.name).ssmax:
        yield f"**And with scalable softmax?** `SSMAX=1` asks {label(card.own.scaled)} the same."


def markdown(card: Card, figure: str, caption: str, alt: str) -> str:
    """report.md."""
    size, recipe = card.profile.passkey.size, card.profile.passkey.recipe
    parts = [
        f"# {label(card.name)}",
        f"`{card.own.path.name}`, encoding `{card.name}`: {size.layers} layers, {size.width} wide, recipe "
        f"{recipe.name} of profile {card.profile.name}. {len(card.profile.seeds)} seeds trained and asked.",
        f"![{alt}]({figure})",
        f"*{caption}*",
        "## Among the committed encodings",
        _rows(card),
        "## What a reviewer would ask",
        "\n".join(f"- {each}" for each in questions(card)),
        "## Laws",
        "\n".join(pipe_table(pd.DataFrame(card.laws))),
        "## Files",
        "`figure.pdf`, `figure.png`; `summary.csv` (the table above, with every interval), `accuracy.csv` (hits by "
        "seed and length).",
    ]
    return "\n\n".join(parts) + "\n"


def _rows(card: Card) -> str:
    """The table as Markdown, its own row in bold."""
    frame, trained = table(card), card.profile.passkey.recipe.length
    heads = [
        "encoding",
        *(f"at {times(m * trained, trained)}" for m in MULTIPLES),
        f"reach ({GOOD})",
        "gate",
        "steps",
        "near mass",
        "far mass",
    ]
    lines = []
    for row in frame.to_dict("records"):
        cells = [row["label"]]
        shares = [[row[f"{part}_{m}"] for part in ("mean", "low", "high")] for m in MULTIPLES]
        cells += [bounded(*share) if math.isfinite(share[0]) else "–" for share in shares]
        cells += [f"{row['reach']:,.0f}", f"{row['passed']} of {row['seeds']}"]
        cells.append(f"{row['steps']:,.0f}" if math.isfinite(row["steps"]) else "–")
        cells += [f"{row[part]:.2f}" if math.isfinite(row[part]) else "–" for part in ("near", "far")]
        lines.append([f"**{cell}**" if row["encoding"] == card.name else cell for cell in cells])
    note = (
        f"Mean accuracy over seeds [95 % interval] at multiples of T = {trained} tokens; reach: the longest length "
        f"up to which accuracy stays at {GOOD} (median); gate: seeds that learned the task; near and far mass: the "
        "most that one head's prior puts on lags below T/4 and beyond T, at the longest length."
    )
    if card.others.why:
        note += f" The row stands alone: {card.others.why}."
    return "\n".join([*pipe_table(pd.DataFrame(lines, columns=heads)), "", note])
