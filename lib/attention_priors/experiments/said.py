"""What other experiments found, in a sentence each, for the notebooks that draw them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..evaluation import seed_interval, share_interval
from ..parallel.methods import METHODS
from ..positions.encodings import ENCODINGS
from . import needles as needle_tasks
from . import tails
from .findings import GOOD, Finding, joined, label, other_recipes, standing
from .recall import HALF

LEVEL = 0.1  # nats of growth: 10 % more perplexity
WAYS = {  # to read a long text, in a sentence
    "plain": "read as trained",
    "k3": "in chunks of which its own loss chooses three",
    "lexical": "if BM25 chooses them",
    "oracle": "if an oracle does",
}
LEADER = "bam-ssmax"  # of BAM's tables of needles
LEARNED = 0.95  # of a task's answers
RIVALS = ("bam", "alibi", "rope")  # of Goat on text


def needles(gates: pd.DataFrame) -> Finding:
    """How many of RULER's tasks can tell encodings apart: those that several have learned."""
    able, tasks = needle_tasks.able(gates), gates["task"].nunique()
    named = f" ({', '.join(able)})" if able else ""
    said = (
        f"{len(able)} of the {tasks} tasks that the profile trains are learned by at least {needle_tasks.ENOUGH} of "
        f"{gates['encoding'].nunique()} encodings{named}; only on these are encodings compared."
    )
    return Finding(said, "")


def far_needles(average: pd.DataFrame) -> Finding:
    """Which encodings still find the needles of the tasks that several have learned, at the longest length."""
    read = average["encoding"].isin([name for name, row in ENCODINGS.items() if row.trained_as])
    kept, longest = average[average["passed"].astype(bool) & ~read], average["length"].max()
    asked = kept[kept["length"] == longest].assign(hits=lambda rows: (rows["score"] * rows["prompts"]).round())
    if asked["encoding"].nunique() < needle_tasks.ENOUGH:
        return Finding("Too few encodings have learned the tasks.")
    each = asked.groupby("encoding")
    bounds = {name: share_interval(list(own["hits"]), list(own["prompts"])) for name, own in each}
    means = each["score"].mean().sort_values(ascending=False, kind="stable")
    reach, fewer, undecided = (list(found.index) for found in standing(means, bounds))
    said = (
        f"Of {len(means)} trained encodings that learned them {len(reach) or 'none'} find{'s' * (len(reach) < 2)} "
        f"{GOOD:g} of the needles at {longest / kept['trained'].iloc[0]:g} times the training length, by the whole "
        "interval"
    )
    said += f": {joined([label(name) for name in reach])}" if reach else ""
    said += f"; {len(fewer)} find{'s' * (len(fewer) == 1)} fewer, undecided: {len(undecided)}."
    if LEADER in means.index:
        low, high = bounds[LEADER]
        said += f" {label(LEADER)}, which leads in BAM's tables, finds {means[LEADER]:.2f} [{low:.2f}, {high:.2f}]."
    last = (reach or list(means.index))[-1]
    measured = f"lowest of those that find them, {label(last)}" if len(reach) > 1 else label(last)
    return Finding(said, "", measured, means[last], *bounds[last])


def exponents(correlations: pd.DataFrame) -> Finding:
    """Does the exponent of a head tell how much it attends to the key, beyond the layer that it stands in?"""
    rho = {name: own["rho"].dropna() for name, own in correlations.groupby("reading")}
    every, within = rho["attention on the key, all heads"], rho["attention on the key, within layers"]
    if len(within) < 2:
        return Finding("Too few models for an interval.")
    low, high = seed_interval(within)
    certain, same = high < 0 or low > 0, (within.mean() < 0) == (every.mean() < 0)
    too = "that is not certain" if not certain else "that holds, too" if same else "the opposite holds"
    more = "more" if every.mean() < 0 else "less"
    said = (
        f"Over all heads of a model, the lower the exponent, the {more} attention goes to the key (rank correlation "
        f"{every.mean():.2f}, mean of {len(every)} models); within layers, whose heads read the same, "
        f"{too} (a correlation below zero in {int((within < 0).sum())} of {len(within)} models)."
    )
    return Finding(said, "", "rank correlation within layers", within.mean(), max(low, -1.0), min(high, 1.0))


def signs(priors: pd.DataFrame) -> Finding:
    """What models of BAM retrieve from 2T on whose exponents have one sign, both, or are trained."""
    far = priors[(priors["study"] == "sign") & (priors["length"] >= 2 * priors["trained"])]
    counts = far.groupby(["arm", "seed"])[["correct", "samples"]].sum()
    shares = (counts["correct"] / counts["samples"]).unstack("seed")
    mixed = "bam-mixed-ssmax"
    alone = [name for name in ("bam-negative-ssmax", "bam-positive-ssmax") if name in shares.index]
    if mixed not in shares.index or len(alone) < 2:
        return Finding("These models are not trained here.")
    least = min(alone, key=lambda name: shares.loc[name].mean())
    gap = (shares.loc[mixed] - shares.loc[least]).dropna()
    low, high = seed_interval(gap)
    means = shares.mean(axis=1)
    told = "Mixing signs helps" if low > 0 else "Mixing signs harms" if high < 0 else "Whether mixing signs helps"
    told += " stays undecided" * (low <= 0 <= high)
    said = (
        f"From 2 T on models with fixed exponents retrieve {means[alone[0]]:.2f} of the keys where all are negative, "
        f"{means[alone[1]]:.2f} where all are positive and {means[mixed]:.2f} where signs alternate. {told}."
    )
    return Finding(said, "", "alternating less the worse of one sign", gap.mean(), max(low, -1.0), min(high, 1.0))


def sharpness(heads: pd.DataFrame) -> Finding:
    """Which s σ heads learned, and how many of them the formula n* = e^(2 / (s σ)^2) would freeze at T."""
    at = heads[heads["length"] == heads["trained"]]
    trained = int(at["trained"].iloc[0])
    frozen = int((at["product"] > np.sqrt(2 / np.log(trained))).sum())
    by_seed = at.groupby("seed")["product"].median()
    said = (
        f"At the trained length, {trained} tokens, half of {len(at)} heads have |s|σ above "
        f"{at['product'].median():.2f}, and {frozen} are sharper than the formula's freezing scale. The factor s "
        f"started at 1; its median is {at['scale'].median():.2f} now, 1 / ln {trained} is {1 / np.log(trained):.2f}."
    )
    low, high = seed_interval(by_seed)
    return Finding(said, "", "median |s|σ of a model", by_seed.mean(), low, high)


def spectra(differences: pd.DataFrame) -> Finding:
    """Goat's composite form against BAM, ALiBi and RoPE on text, at the longest length; its authors' code beside it."""
    trained, longest = differences["trained"].iloc[0], differences["length"].max()
    far = differences[(differences["length"] == longest) & differences["trained_on"].astype(bool)]
    far, code = (far[far["encoding"] == name].set_index("rival") for name in ("goat-composite", "goat-code"))

    def gaps(form: pd.DataFrame, *rivals: str) -> str:
        rows = ((name, form.loc[name]) for name in rivals if name in form.index and form.loc[name, "seeds"] > 1)
        return "; ".join(f"{label(name)} {row['gap']:+.2f} [{row['low']:.2f}, {row['high']:.2f}]" for name, row in rows)

    rivals = [name for name in RIVALS if name in far.index and far.loc[name, "seeds"] > 1]
    if not rivals:
        return Finding("Too few models of Goat and of its rivals know word order.")
    said = (
        f"On text of the kind trained on, at {longest / trained:g} times the training length, the loss of Goat in its "
        f"composite form less that of others, in nats: {gaps(far, *rivals)}."
    )
    if beside := gaps(code, *rivals[:2]):
        said += f" In the form of the authors' code: {beside}."
    row = far.loc[rivals[0]]
    return Finding(said, "", f"from {label(rivals[0])}", row["gap"], row["low"], row["high"])


def scale(growth: pd.DataFrame) -> Finding:
    """Who grows with the context at each size, and who loses least at the longest."""
    far = growth[growth["length"] == growth["length"].max()]
    known = far[(far["seeds"] > 1) & (far["documents"] > 1)]
    if known.empty:
        return Finding("Too few models know word order.")
    multiple, parts = known["length"].iloc[0] / known["trained"].iloc[0], []
    for _, own in known.groupby("width"):  # encodings of one size differ by some parameters of their own
        parameters = own["parameters"].min()
        level, best = own[own["growth_high"] <= LEVEL], own.loc[own["loss"].idxmin()]
        stay = joined([label(name) for name in level["encoding"]]) or "none"
        parts.append(
            f"of {parameters / 1e6:.2g} million parameters {stay} (lowest mean: {label(best['encoding'])}, "
            f"{best['loss']:.3f})"
        )
    worst = known.loc[known["growth"].idxmax()]
    said = (
        f"At {multiple:g} times the training length, on {int(known['documents'].max())} documents, these models stay "
        f"within {LEVEL} nats of their loss at T: {'; '.join(parts)}."
    )
    if len(more := known[known["growth_low"] > LEVEL]):
        ends = dict.fromkeys(f"{end:.2f}" for end in (more["growth"].min(), more["growth"].max()))
        names = joined([label(name) for name in sorted(set(more["encoding"]))])
        said += f" The losses of {names} certainly grow by more, {' to '.join(ends)} nats."
    row = worst[["growth", "growth_low", "growth_high"]]
    return Finding(said, "", f"growth of {label(worst['encoding'])}", *row)


def recalled(growth: pd.DataFrame) -> Finding:
    """Whether a loss falls where what is scored stands once more, farther back than models were trained on."""
    known = growth[(growth["seeds"] > 1) & (growth["documents"] > 1)]
    copied, rest = known[known["copied"].astype(bool)], known[~known["copied"].astype(bool)]
    if copied.empty or rest.empty:
        return Finding("In fewer than two documents what is scored stands once more, farther back than T.")
    falls = copied[copied["growth_high"] < 0]
    names = joined([f"{label(row.encoding)} ({row.parameters / 1e6:.2g}M)" for row in falls.itertuples()])
    few, many = (int(each["documents"].max()) for each in (copied, rest))
    best = copied.loc[copied["growth"].idxmin()]
    said = (
        f"In {few} of {few + many} documents the {int(best['scored'])} scored tokens stand once more in the text, T "
        f"tokens back or more. From T to {best['length'] / best['trained']:g} T their loss, "
        f"{_ends(copied['loss'] - copied['growth'])} nats at T, grows by "
        f"{_ends(copied['growth'])} nats, model by model, that of the others by {_ends(rest['growth'])}; it falls "
        f"for certain for {names or 'none'}."
    )
    row = best[["growth", "growth_low", "growth_high"]]
    return Finding(said, "", f"growth of {label(best['encoding'])} where it stands once more", *row)


def _ends(values: pd.Series) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def genomes(losses: pd.DataFrame) -> Finding:
    """Bits a base of all validation windows and of the new ones: every encoding, and the gain of the best over RoPE."""
    passed = losses[losses["passed"].astype(bool)]
    new = "those new to the training text"
    parts = {"all validation windows": passed, new: passed[passed["new"].astype(bool)]}
    bits = {part: own.groupby(["encoding", "seed"])["bits"].mean().unstack("seed") for part, own in parts.items()}
    first = next(iter(bits.values()))
    if len(first) < 2 or "rope" not in first.index:
        return Finding("Too few models passed the gate to compare encodings with RoPE.")
    said, gains = [], {}
    for part, each in bits.items():
        means = each.mean(axis=1).sort_values()
        best = means.index[0]
        rival = means.index[1] if best == "rope" else "rope"
        gains[part] = (each.loc[rival] - each.loc[best]).dropna(), label(rival)
        others = "; ".join(f"{label(name)} {value:.3f}" for name, value in means.iloc[1:].items())
        close = [name for name in means.index[1:] if seed_interval((each.loc[name] - each.loc[best]).dropna())[0] <= 0]
        lead = f" (its lead over {joined([label(name) for name in close])} is not certain)" if close else ""
        said.append(f"On {part} {label(best)} needs fewest bits a base, {means.iloc[0]:.3f}{lead}; {others}.")
    gain, rival = gains["all validation windows"]
    told = f"Of the models that passed the gate: {said[0][0].lower()}{' '.join(said)[1:]}"
    return Finding(told, "", f"gain over {rival} on all, in bits a base", gain.mean(), *seed_interval(gain))


def chunks(over: pd.DataFrame) -> Finding:
    """Reading in chunks against the ways without, and against other ways to choose the chunks, with RoPE."""
    passed = over[(over["length"] == over["length"].max()) & (over["passed"] > 1)]
    at = passed.set_index(["encoding", "method"])
    far = at["mean"]
    ways = {name: far["rope", name] for name in WAYS if ("rope", name) in far.index}
    whole = far[[way for way in far.index if way[0] == "rope" and not METHODS[way[1]].chunks]].sort_values()
    multiple = over["length"].max() / over["trained"].iloc[0]
    row = passed[(passed["encoding"] == "rope") & (passed["method"] == "k3")]
    if row.empty:
        return Finding("Too few models with RoPE passed the gate.")
    said = (
        f"At {multiple:g} times the training length a model with RoPE finds "
        f"{', '.join(f'{value:.2f} {WAYS[name]}' for name, value in ways.items())} (fractions of the keys)"
    )
    if len(whole) > 1:
        said += f"; the best of {len(whole)} ways without chunks, {METHODS[whole.index[-1][1]].label}, finds "
        said += f"{whole.iloc[-1]:.2f} [{at.loc[whole.index[-1], 'low']:.2f}, {at.loc[whole.index[-1], 'high']:.2f}]"
    if ("bam", "plain") in far.index:
        said += f"; one with BAM's prior finds {far['bam', 'plain']:.2f} without any chunks"
    return Finding(f"{said}.", "", "RoPE in chunks", *row.iloc[0][["mean", "low", "high"]])


def masses(frame: pd.DataFrame) -> Finding:
    """Does the near mass of a prior go with accuracy among the encodings that have any?"""
    every, found = tails.correlation(frame, "near"), tails.correlation(tails.staying(frame), "near")
    far = tails.correlation(frame, "far")
    if np.isnan(every.rho) or np.isnan(found.rho):
        return Finding(f"{every.n} encodings passed their gate: too few to compare their masses.")
    turn = ", but" if every.p <= tails.LEVEL < found.p else ";"
    said = (
        f"Over {every.n} encodings the rank correlation of far mass with accuracy is {far.rho:.2f} [{far.low:.2f}, "
        f"{far.high:.2f}] (p = {far.p:.2g}), that of near mass {every.rho:.2f} (p = {every.p:.2g}){turn} over the "
        f"{found.n} in which some head puts more than {tails.APART:g} of its prior near the query it is "
        f"{found.rho:.2f} (p = {found.p:.2g})."
    )
    return Finding(said, "", "correlation over those", found.rho, found.low, found.high)


def recipes(order: pd.DataFrame) -> Finding:
    """Does the order of encodings on passkeys survive other recipes? The number is that of the arm of the lowest τ."""
    if order["tau"].isna().all():
        return Finding("Too few encodings passed their gates.")
    least = order.loc[order["tau"].idxmin()]
    measured = f"lowest τ, {least['arm']}"
    return Finding(" ".join(other_recipes(order)), "", measured, *least[["tau", "low", "high"]])


def recall(surface: pd.DataFrame) -> Finding:
    """Who answers with the most pairs at 16T, of the encodings of which every seed passed the gate."""
    trained = surface["trained"].iloc[0]
    far = min(16 * trained, surface["length"].max())
    kept = surface[(surface["passed"] == surface["seeds"]) & (surface["length"] == far)]
    most = kept["load"].max()
    means = kept[kept["load"] == most].set_index("encoding")["mean"].sort_values(ascending=False, kind="stable")
    if len(means) < needle_tasks.ENOUGH:
        return Finding("Too few encodings have learned the task.")
    nearly, fewer = means[means >= LEARNED], means[means < HALF]
    between = means.drop([*nearly.index, *fewer.index])
    said = (
        f"At {far / trained:g} times the training length, with {most} pairs in the text, {len(nearly)} of the "
        f"{len(means)} encodings that learned the task with every seed still answer {LEARNED:g} of the queries or more "
        "in the mean"
    )
    said += f": {joined([label(name) for name in nearly.index])}" if len(nearly) else ""
    for names, what in ((between, "between that and half"), (fewer, "fewer than half")):
        told = joined([f"{label(name)} {value:.2f}" for name, value in names.items()])
        said += f"; {len(names)} {what}: {told}" if len(names) else ""
    return Finding(f"{said}.", "")


def strings(accuracy: pd.DataFrame) -> Finding:
    """What randomised positions gain beyond the training lengths, and which tasks the gain comes from."""
    drawn = accuracy["encoding"].str.partition("-randomised")
    rows = accuracy.assign(plain=drawn[0], way=np.where(drawn[1] == "", "plain", "drawn"))
    by = ["part", "task", "seed", "plain"]
    wide = rows.pivot_table("accuracy", by, "way").dropna() if (drawn[1] != "").any() else rows[:0].set_index(by)
    if wide.empty:
        return Finding("No encoding has randomised positions here.")
    gains = (wide["drawn"] - wide["plain"]).loc["beyond"]
    tasks = gains.groupby("task").mean().sort_values(ascending=False)
    best = rows[rows["part"] == "trained"].groupby(["task", "encoding"])["accuracy"].mean().groupby("task").max()
    missed = [task for task in tasks.index if best[task] < LEARNED]
    said = (
        "What randomised positions gain beyond the training lengths, in share of right symbols: "
        f"{'; '.join(f'{task} {round(gain, 2) + 0:+.2f}' for task, gain in tasks.items())}."
    )
    if missed:
        said += f" No encoding answers {LEARNED:g} of {joined(missed)} within the training lengths."
    means = gains.groupby("seed").mean()
    return Finding(said, "", "mean gain", means.mean(), *seed_interval(means))
