"""Ablations of BAM: a figure of each study (arms that differ in one thing), and the tables of all arms and heads."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import evaluation
from ..experiments.answers import reached
from ..positions.encodings import ENCODINGS
from . import forest, style
from .curves import ACCURACY, over_seeds, shares
from .methods import METHODS, VARIANTS, label
from .methods import look as method_look
from .spec import Figure, FigureSpec, Frame, NotCompared, TableSpec, rivals
from .style import length_label
from .words import CHANCE, GOOD, REACH, bounded, extremes, prompts, times

# A study is arms that differ in one thing
PRIORS, TRAINING = (
    ("ablation_priors", "learned_priors"),
    ("ablation_training", "passkeys"),
)  # metrics, notebook
MULTIPLES = (1, 4, 16, 64)  # of the shortest training length: the panels
CEILING = 0.98
Panels = dict[str, dict[str, str]]  # title: arm: its name there


@dataclass(frozen=True)
class Study:
    """`panels` names every arm, or makes the panels of the arms' rows where arms differ in a number."""

    name: str
    title: str  # in the table
    panels: Panels | Callable[[Frame], Panels]

    def named(self, rows: Frame) -> Panels:
        """The panels that have rows. No arm is left out: ValueError for one without a name."""
        arms = rows.drop_duplicates("arm")
        if callable(self.panels):
            return self.panels(arms)
        there = set(arms["arm"])
        if lost := there - {arm for group in self.panels.values() for arm in group}:
            raise ValueError(
                f"study {self.name} has arms without a name: {', '.join(sorted(lost))}; add them to its panels in "
                "figures/ablations.py"
            )
        made = {title: {arm: group[arm] for arm in group if arm in there} for title, group in self.panels.items()}
        return {title: group for title, group in made.items() if group}

    def of(self, frame: Frame) -> Frame:
        return rivals(frame[frame["study"] == self.name], "arm", f"study {self.name}")

    def draw(self, frame: Frame) -> Figure:
        """A row for each arm under the heading of its group, a panel for each length, with intervals and seeds."""
        rows = self.of(frame)
        groups, lengths = self.named(rows), shown(rows)
        made = [
            _row(rows[rows["arm"] == arm], arm, name, title if len(groups) > 1 else "", lengths)
            for title, named in groups.items()
            for arm, name in named.items()
        ]
        width = style.DOUBLE if len(lengths) > 2 else style.MIDDLE
        return forest.draw(made, list(lengths.values()), ACCURACY, width=width)[0]

    def caption(self, frame: Frame, words: str) -> str:
        rows = self.of(frame)
        longest = int(rows["trained"].max())
        far, groups = rows[rows["length"] >= 2 * longest], self.named(rows)

        def mean(arm: str, name: str) -> str:
            value, low, high = beyond(far[far["arm"] == arm])
            return f"{name} –" if np.isnan(value) else f"{name} {bounded(value, low, high)}"

        hits = far.groupby("arm")[["correct", "samples"]].sum()
        least = (hits["correct"] / hits["samples"]).min()
        full = " All find nearly all: the task does not tell them apart." * bool(least >= CEILING)
        return (
            f"{words}{full} Mean from {2 * longest} tokens on [95 %]: {_each(groups, mean)}.{_short(rows, groups)} "
            f"{_reading(rows)}"
        )

    def figure(
        self,
        where: tuple[str, str],
        words: str | Callable[[Frame], str],
        alt: str,
        paper: str = "",
        claims: tuple[str, ...] = (),
    ) -> FigureSpec:
        """`words` begin the caption, or make its beginning of the study's rows."""
        metrics, notebook = where

        def told(frame: Frame) -> str:
            return self.caption(frame, words(self.of(frame)) if callable(words) else words)

        alt = f"Rows of passkey accuracy for {alt}, a panel for each of some context lengths, with bars and seeds."
        return FigureSpec(metrics, self.draw, told, alt, notebook, paper, claims)


def shown(rows: Frame) -> dict[int, str]:
    """The lengths that are drawn, with their titles: those of MULTIPLES that some arm was asked at, or both ends."""
    shortest, asked = int(rows["trained"].min()), set(rows["length"][rows["asked"] > 0])
    lengths = [shortest * multiple for multiple in MULTIPLES if shortest * multiple in asked]
    if len(lengths) < 2:
        lengths = sorted({min(asked), max(asked)})
    return {length: f"{style.length_label(length)} tokens" for length in lengths}


def _row(own: Frame, arm: str, name: str, group: str, lengths: dict[int, str]) -> forest.Row:
    asked = own[own["asked"] > 0]
    shares, means = (asked["correct"] / asked["samples"]).groupby(asked["length"]), arm_mean(own)
    there = {length: title for length, title in lengths.items() if length in means.index}
    cells = {title: forest.Cell(list(shares.get_group(n)), *means.loc[n]) for n, title in there.items()}
    return forest.Row(name, cells, *_look(arm), group=group)


def _look(arm: str) -> tuple[str, str]:
    """Colour and marker: of the method that an arm is; grey for one that stands nowhere else."""
    row = ENCODINGS.get(arm)
    if row is None or not (arm in VARIANTS or (row.unscaled or arm) in METHODS):
        return style.DARK, "o"
    drawn = method_look(arm)
    return drawn["color"], drawn["marker"]


def arm_mean(rows: Frame) -> Frame:
    """Mean and interval of one arm at the lengths that some seed was asked at; who was not asked counts as 0."""
    asked = rows[rows.groupby("length")["asked"].transform("any")]
    return over_seeds(asked.assign(share=asked["correct"] / asked["samples"]), "share", shares)


def beyond(rows: Frame) -> tuple[float, float, float]:
    """Mean accuracy over the lengths of these rows, and its interval; NaN where none was asked."""
    if rows.empty:
        return np.nan, np.nan, np.nan
    seeds = rows.groupby("seed")[["correct", "samples"]].sum()
    return (seeds["correct"] / seeds["samples"]).mean(), *evaluation.share_interval(seeds["correct"], seeds["samples"])


def _each(groups: Panels, told: Callable[[str, str], str]) -> str:
    """What is told of every arm, panel by panel; an arm of which nothing is told is left out, as is its panel."""
    parts = []
    for title, named in groups.items():
        each = ", ".join(filter(None, (told(arm, name) for arm, name in named.items())))
        parts += [f"{title}: {each}" if len(groups) > 1 else each] if each else []
    return "; ".join(parts)


def _short(rows: Frame, groups: Panels) -> str:
    """' Below 0.8 at their own training length: 512 (1 of 3 seeds).', or nothing where every seed is good there."""
    own = rows[rows["length"] == rows["trained"]]
    failed = (own["correct"] / own["samples"] < GOOD).groupby(own["arm"]).agg(["sum", "size"])
    failed = failed[failed["sum"] > 0].T.to_dict("list")

    def seeds(arm: str, name: str) -> str:
        return f"{name} ({failed[arm][0]} of {failed[arm][1]} seeds)" if arm in failed else ""

    return f" Below {GOOD} at their own training length: {_each(groups, seeds)}." if failed else ""


def _reading(rows: Frame) -> str:
    ended = " Empty: no seed was asked so far, after too many lengths without a hit; that counts as 0."
    seeds = extremes(rows.groupby("arm")["seed"].nunique())
    return (
        f"Mark: mean over {seeds} seeds; bar: 95 % interval of that mean over seeds and prompts; dots above: seeds."
        f"{'' if rows['asked'].all() else ended} {prompts(rows)}. Chance is {CHANCE}."
    )


# The studies among the ablations
# Longer training texts (BAM, Fig. 12)
def _lengths(arms: Frame) -> Panels:
    made: Panels = {}
    for row in arms.sort_values("trained").itertuples():
        made.setdefault(label(row.encoding), {})[row.arm] = length_label(row.trained)
    return made


LENGTH = Study("length", "training length", _lengths)
LENGTH_FIGURE = LENGTH.figure(
    TRAINING,
    "Trained on texts of several lengths (tokens; the name of a line), with as many texts a step.",
    "training lengths",
    "BAM, Fig. 12",
    ("BAM-F11", "BAM-F12"),
)


# Larger models, and a little more training on longer texts (BAM, Table 5)
def _sizes(arms: Frame) -> Panels:
    made: Panels = {}
    for after, title in ((False, "trained on {} tokens"), (True, "then a little on {}")):
        own = arms[arms["started"].gt(0) == after].sort_values("parameters")
        named = {row.arm: f"{row.width} × {row.layers}" for row in own.itertuples()}
        made[title.format(int(own["trained"].min()))] = named
    return made


SIZE = Study("size", "size and extension", _sizes)
SIZE_FIGURE = SIZE.figure(
    TRAINING,
    "BAM SSMax of several sizes (width × layers), before and after a short training on longer texts.",
    "model sizes, before and after their extension",
    "BAM, Table 5",
    ("BAM-C14", "BAM-TAB5"),
)

# Position interpolation, with and without tuning
INTERPOLATION = Study(
    "interpolation",
    "position interpolation",
    {
        "RoPE": {
            "rope": "as trained",
            "rope-extended": "tuned",
            "rope-pi-4": "PI",
            "rope-pi-4-extended": "PI, tuned",
        },
    },
)
INTERPOLATION_FIGURE = INTERPOLATION.figure(
    TRAINING,
    "RoPE, read as it is or with position interpolation (PI: all positions divided by 4), before and after a short "
    "tuning on longer texts.",
    "RoPE with and without interpolation and tuning",
)

# Where training starts (BAM, Fig. 8)
START = Study(
    "start",
    "start of training",
    {
        "start of training": {
            "bam-ssmax": "uniform",
            "bam-laplace-ssmax": "ALiBi",
            "bam-code-c-ssmax": "ALiBi, no log",
            "bam": "uniform, no SSMax",
            "bam-laplace": "ALiBi, no SSMax",
        },
    },
)
START_FIGURE = START.figure(
    PRIORS,
    "Where training starts, BAM with SSMax unless said: at the uniform prior, at ALiBi's slopes (θβ = 1), or at these "
    "with their logarithm left out, as in a version of the authors' code.",
    "starts of the prior's parameters",
    "BAM, Fig. 8",
    ("BAM-C11", "BAM-F8"),
)

# Which parameters of the prior are trained (BAM, Fig. 9)
SUBSET = Study(
    "subset",
    "trained parameters",
    {
        "from the uniform start": {
            "bam-ssmax": "θα, θβ",
            "bam-location-ssmax": "θα, θβ, θμ",
            "bam-shape-ssmax": "θβ",
            "bam-scale-ssmax": "θα",
            "nope-ssmax": "none (NoPE)",
        },
        "from ALiBi's slopes": {
            "bam-laplace-ssmax": "θα, θβ",
            "bam-laplace-shape-ssmax": "θβ",
            "bam-laplace-scale-ssmax": "θα",
            "alibi-ssmax-prior": "none",
        },
        "other encodings": {
            "sinusoidal-ssmax": "Sinusoidal",
            "rope-ssmax": "RoPE",
            "alibi-ssmax": "ALiBi",
        },
    },
)
SUBSET_FIGURE = SUBSET.figure(
    PRIORS,
    "Which parameters of the prior are trained, all with SSMax, beside other encodings. With θα alone or nothing "
    "trained, the uniform start stays uniform: NoPE.",
    "subsets of trained parameters and other encodings",
    "BAM, Fig. 9",
    ("BAM-C2", "BAM-F9"),
)

# The sign of the exponent
SIGN = Study(
    "sign",
    "signs of β",
    {
        "signs of β": {
            "bam-ssmax": "free",
            "bam-negative-ssmax": "β < 0",
            "bam-positive-ssmax": "β > 0",
            "bam-mixed-ssmax": "both, fixed",
        },
    },
)
SIGN_FIGURE = SIGN.figure(
    PRIORS,
    "BAM with SSMax whose exponents are free, or fixed at ±h/H for heads h = 1..H and of one sign (θα is trained).",
    "signs of the exponent",
    claims=("BAM-C3",),
)

# What SSMax multiplies
SCALING = Study(
    "scaling",
    "what SSMax multiplies",
    {
        "BAM": {"bam": "no SSMax", "bam-ssmax-content": "content", "bam-ssmax": "content, prior"},
        "ALiBi": {"alibi": "no SSMax", "alibi-ssmax": "content", "alibi-ssmax-prior": "content, prior"},
    },
)
SCALING_FIGURE = SCALING.figure(
    PRIORS,
    "What SSMax multiplies: nothing, the content logits, or the log-prior too. BAM's own runs have the last, its ALiBi "
    "the second.",
    "readings of SSMax, for BAM and ALiBi",
)

# Versions of the authors' code
VERSION = Study(
    "version",
    "versions of the code",
    {
        "with SSMax": {
            "bam-code-a-ssmax": "A",
            "bam-code-b-ssmax": "B",
            "bam-code-c-ssmax": "C",
            "bam-ssmax": "D",
            "bam-shared-ssmax": "D, one prior",
            "bam-ssmax-misread": "D, misread",
            "bam-laplace-ssmax-misread": "ALiBi's start, misread",
        },
        "without": {"bam": "D", "bam-misread": "D, misread"},
    },
)
VERSIONS = {
    "bam-code-a-ssmax": "A: one prior for all layers, from ALiBi's slopes, θμ trained",
    "bam-code-b-ssmax": "B: a prior for each layer, from slopes without their logarithm, θμ trained",
    "bam-code-c-ssmax": "C: a prior for each layer, from slopes without their logarithm",
    "bam-ssmax": "D: a prior for each layer, from the uniform one, as in the paper",
}


def _versions(rows: Frame) -> str:
    meanings = "; ".join(meaning for arm, meaning in VERSIONS.items() if arm in set(rows["arm"]))
    return (
        f"Versions of the authors' code. {meanings}. One prior: shared by all layers. Misread: the trained model "
        "evaluated with (exp(θα) |lag| + ε)^θβ."
    )


VERSION_FIGURE = VERSION.figure(PRIORS, _versions, "versions of the code")

STUDIES = {each.name: each for each in (LENGTH, SIZE, INTERPOLATION, START, SUBSET, SIGN, SCALING, VERSION)}


# Every arm of every study, in one table for each notebook


def build(frame: Frame) -> Frame:
    """A row for each arm of each study: accuracies at multiples of the shortest training length, their mean, reach."""
    made, shortest = [], int(frame["trained"].min())
    for study_name, rows in frame.groupby("study", sort=False):
        study, longest = STUDIES[study_name], rows["trained"].max()
        groups = study.named(rows)
        for title, arm, name in ((title, *each) for title, named in groups.items() for each in named.items()):
            own = rows[rows["arm"] == arm]
            shares = own.assign(share=own["correct"] / own["samples"]).pivot(
                index="length", columns="seed", values="share"
            )
            mean, low, high = beyond(own[own["length"] >= 2 * longest])
            reach = sorted(reached(shares[seed], GOOD) for seed in shares)
            said = [
                f"{'>' if n == own['length'].max() else ''}{n:,.0f}" for n in (np.median(reach), reach[0], reach[-1])
            ]
            cells = {f"at {times(n, 1)}": shares.mean(axis=1).get(n * shortest) for n in MULTIPLES[:3]}
            made.append(
                {
                    "study": study.title,
                    "arm": f"{title}: {name}" if len(groups) > 1 else name,
                    "trained on": int(own["trained"].iloc[0]),
                    "seeds": shares.shape[1],
                    **{head: "–" if cell is None else f"{cell:.2f}" for head, cell in cells.items()},
                    "mean from 2T on [95 %]": "–" if np.isnan(mean) else bounded(mean, low, high),
                    "reach (tokens)": f"{said[0]} ({said[1]} – {said[2]})",
                }
            )
    return Frame(made)


def caption(frame: Frame) -> str:
    return (
        f"Every arm: share of passkeys retrieved at multiples of {int(frame['trained'].min())} tokens, "
        "mean over seeds; mean over all lengths from 2T on, T the longest training length of the study [95 % interval "
        f"over seeds and prompts]; reach, the longest {REACH} (median over seeds, extremes; >: as far as was asked). "
        f"{prompts(frame)}. –: not asked."
    )


PRIORS_TABLE = TableSpec(PRIORS[0], build, caption, PRIORS[1], "BAM, Figs. 8 and 9")
TRAINING_TABLE = TableSpec(TRAINING[0], build, caption, TRAINING[1], "BAM, Fig. 12 and Table 5")


# What the heads of the ablations learned
LOCATED = "bam-location-ssmax"
NEGATIVE = -0.05  # an exponent that has clearly left its start at 0


def locations(frame: Frame) -> Frame:
    """A row per seed: the locations μ of the heads of the models that train them."""
    located = frame[frame["encoding"] == LOCATED].groupby("seed")["mu"]
    if not len(located):
        raise NotCompared(f"ablation_locations: nobody trains {LOCATED} under this profile; a larger one does")
    made = {
        "heads": located.size(),
        "lowest μ": located.min(),
        "median μ": located.median(),
        "highest μ": located.max(),
        "share of heads with μ < 0": located.agg(lambda mu: (mu < 0).mean()),
    }
    return Frame(made).round(3).reset_index()


def attention(frame: Frame) -> Frame:
    """A row per encoding: attention on what is near, the lift of the strongest head of all and of negative exponent."""

    def strongest(heads: Frame) -> Frame:
        return heads.groupby(["encoding", "seed"])["passkey_lift"].max().groupby("encoding").mean()

    each = frame.groupby("encoding", sort=False)
    made = {
        "seeds": each["seed"].nunique(),
        "attention on the 32 latest tokens": each["recent_mass"].mean(),
        "lift of the strongest head": strongest(frame),
        "of the strongest with β < −0.05": strongest(frame[frame["beta"] < NEGATIVE]),
    }
    return _by_name(Frame(made))


def losses(frame: Frame) -> Frame:
    """A row per encoding: loss at the training length on documents of the domain that was trained on."""
    own = frame[frame["trained_on"] & (frame["length"] == frame["trained"])]
    runs = own.astype({"passed": bool}).groupby(["encoding", "seed"], sort=False)["passed"].all()
    gate = runs.groupby("encoding", sort=False).agg(lambda passed: f"{passed.sum()} of {len(passed)}")
    mean = own.groupby("encoding", sort=False)["loss"].mean()
    return _by_name(Frame({"passed the gate": gate, "loss on documents at T (nats)": mean}))


def _by_name(frame: Frame) -> Frame:
    return frame.round(3).rename_axis("encoding").rename(index=label).reset_index()


def caption_locations(frame: Frame) -> str:
    return "Locations μ of the heads of BAM SSMax where these are trained, by seed."


def caption_attention(frame: Frame) -> str:
    most = (frame["passkey_lift"] / frame["passkey_mass"]).median()
    return (
        "Heads of the ablations on the prompt of BAM's Fig. 4, mean over seeds; lift: the attention on the key "
        f"sentence over its even share, at most {most:.1f}."
    )


def caption_losses(frame: Frame) -> str:
    return (
        "Loss of the ablations' language models at their training length, mean over seeds, and how many of these "
        "passed the gate of word order. A model that missed it decides nothing but the second statement of BAM-C3, "
        "which is about such models."
    )


LOCATIONS = TableSpec("ablation_heads", locations, caption_locations, PRIORS[1], "BAM, section 2.5")
ATTENTION = TableSpec(
    "ablation_heads",
    attention,
    caption_attention,
    PRIORS[1],
    "BAM, appendix F.1",
)
LOSSES = TableSpec(
    "ablation_language",
    losses,
    caption_losses,
    PRIORS[1],
    "BAM, appendix F.1",
)
