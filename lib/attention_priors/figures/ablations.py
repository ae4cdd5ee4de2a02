"""Ablations of BAM: accuracy by length for every arm of a study, and the tables of all arms (notebooks 10 and 12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attention_priors import evaluation
from attention_priors.experiments.passkeys import reached
from attention_priors.figures import style
from attention_priors.figures.passkey_tables import GOOD, prompts, times
from attention_priors.figures.spec import FigureSpec, TableSpec

PRIORS, TRAINING = ("ablation_priors", "12_learned_priors"), ("ablation_training", "10_passkeys")
ORANGE = style.METHODS["bam"][0]
# of arms that are no method elsewhere: colour, dashes, marker
LOOKS: dict[str, tuple[str, tuple, str]] = {
    "bam-laplace-ssmax": ("#332288", (4, 1, 1, 1), "P"),
    "bam-laplace": (style.lighten("#332288"), (1, 1), "P"),
    "bam-code-a-ssmax": ("#AA4499", (1, 1, 3, 1), "h"),
    "bam-code-b-ssmax": ("#44AA99", (6, 1, 2, 1), "<"),
    "bam-code-c-ssmax": ("#117733", (2, 1), ">"),
    "bam-shared-ssmax": ("#999933", (1, 1), "p"),
    "bam-misread": ("#4D4D4D", (1, 1), "x"),
    "bam-ssmax-misread": ("#882255", (2, 1, 1, 1), "X"),
    "bam-laplace-ssmax-misread": (style.lighten("#332288"), (3, 1), "+"),
    "bam-shape-ssmax": ("#117733", (6, 1, 2, 1), "<"),
    "bam-location-ssmax": ("#882255", (2, 1), ">"),
    "bam-scale-ssmax": ("#999933", (1, 1), "p"),
    "bam-laplace-shape-ssmax": ("#117733", (6, 1, 2, 1), "<"),
    "bam-laplace-scale-ssmax": ("#999933", (1, 1), "p"),
    "bam-negative-ssmax": ("#332288", (4, 1, 1, 1), "v"),
    "bam-positive-ssmax": ("#117733", (2, 1), "^"),
    "bam-mixed-ssmax": ("#882255", (1, 1, 3, 1), "D"),
    "rope-extended": ("#117733", style.SOLID, "s"),
    "rope-pi-4": ("#882255", (2, 1), "v"),
    "rope-pi-4-extended": ("#332288", style.SOLID, "P"),
}
# of arms that differ in a number: the smallest first
SHADES = (
    (style.lighten(ORANGE, 0.45), (1, 1), "s"),
    (ORANGE, (5, 1.5), "o"),
    (style.darken(ORANGE, 0.6), style.SOLID, "^"),
    ("#4D4D4D", (2, 1), "D"),
)
# study: panel: arm: its name there
PANELS: dict[str, dict[str, dict[str, str]]] = {
    "start": {
        "start of training": {
            "bam-ssmax": "uniform",
            "bam-laplace-ssmax": "ALiBi",
            "bam-code-c-ssmax": "ALiBi, no log",
            "bam": "uniform, no SSMax",
            "bam-laplace": "ALiBi, no SSMax",
        }
    },
    "subset": {
        "from the uniform start": {
            "bam-ssmax": "θα, θβ",
            "bam-location-ssmax": "θα, θβ, θμ",
            "bam-shape-ssmax": "θβ",
            "bam-scale-ssmax": "θα",
            "nope-ssmax": "none (NoPE)",
            "sinusoidal-ssmax": "Sinusoidal",
            "rope-ssmax": "RoPE",
            "alibi-ssmax": "ALiBi",
        },
        "from ALiBi's slopes": {
            "bam-laplace-ssmax": "θα, θβ",
            "bam-laplace-shape-ssmax": "θβ",
            "bam-laplace-scale-ssmax": "θα",
            "alibi-ssmax-prior": "none",
        },
    },
    "sign": {
        "signs of β": {
            "bam-ssmax": "free",
            "bam-negative-ssmax": "β < 0",
            "bam-positive-ssmax": "β > 0",
            "bam-mixed-ssmax": "both, fixed",
        }
    },
    "scaling": {
        "BAM": {"bam": "no SSMax", "bam-ssmax-content": "content", "bam-ssmax": "content, prior"},
        "ALiBi": {"alibi": "no SSMax", "alibi-ssmax": "content", "alibi-ssmax-prior": "content, prior"},
    },
    "version": {
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
    "interpolation": {
        "RoPE": {
            "rope": "as trained",
            "rope-extended": "tuned",
            "rope-pi-4": "PI",
            "rope-pi-4-extended": "PI, tuned",
        }
    },
}
STUDIES = {
    "start": "start of training",
    "subset": "trained parameters",
    "sign": "signs of β",
    "scaling": "what SSMax multiplies",
    "version": "versions of the code",
    "length": "training length",
    "size": "size and extension",
    "interpolation": "position interpolation",
}


def panels(rows: pd.DataFrame) -> dict[str, dict[str, str]]:
    """The panels of a study that has rows: title, and the name of every arm there. No arm is left out."""
    study = str(rows["study"].iloc[0])
    arms = rows.drop_duplicates("arm")
    if study == "length":
        made: dict[str, dict[str, str]] = {}
        for row in arms.sort_values("trained").itertuples():
            label = style.method_style(row.encoding)["label"]
            made.setdefault(label, {})[row.arm] = style.length_label(row.trained)
        return made
    if study == "size":
        made = {"trained": {}, "extended": {}}
        for row in arms.sort_values("parameters").itertuples():
            made["extended" if row.started else "trained"][row.arm] = f"{row.width} × {row.layers}"
        short, long = (int(rows.loc[rows["started"].gt(0) == after, "trained"].min()) for after in (False, True))
        return {f"trained on {short} tokens": made["trained"], f"then a little on {long}": made["extended"]}
    made = {title: {arm: name for arm, name in named.items() if arm in set(arms["arm"])}
            for title, named in PANELS[study].items()}  # fmt: skip
    named = {arm for group in made.values() for arm in group}
    if lost := set(arms["arm"]) - named:
        raise ValueError(f"study {study} has arms without a name: {', '.join(sorted(lost))}; add them to PANELS")
    return {title: group for title, group in made.items() if group}


def look(arm: str, place: int, shaded: bool) -> dict[str, Any]:
    """Colour, dashes and marker of an arm: a method's own, one of LOOKS, or that of its place in a series."""
    if not shaded and arm not in LOOKS:
        found = style.method_style(arm)
        return {part: found[part] for part in ("color", "dashes", "marker")}
    color, dashes, marker = SHADES[place % len(SHADES)] if shaded else LOOKS[arm]
    return {"color": color, "dashes": dashes, "marker": marker}


def curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean, interval and seeds of one arm at the lengths that some seed was asked at; who was not asked counts as 0."""
    made = []
    for length, group in rows[rows.groupby("length")["asked"].transform("any")].groupby("length"):
        low, high = evaluation.share_interval(group["correct"], group["samples"])
        low, high = (low, high) if len(group) > 1 else (np.nan, np.nan)
        made.append((length, (group["correct"] / group["samples"]).mean(), low, high))
    return pd.DataFrame(made, columns=["length", "mean", "low", "high"])


def _panel(ax: Axes, rows: pd.DataFrame, named: Mapping[str, str], shaded: bool) -> None:
    for place, (arm, name) in reversed(list(enumerate(named.items()))):
        own, drawn = rows[rows["arm"] == arm], look(arm, place, shaded)
        mean = curve(own)
        band = {"color": drawn["color"], "dashes": drawn["dashes"]}
        style.interval_band(ax, mean["length"], mean["low"], mean["high"], **band)
        asked = own[own["asked"] > 0]
        style.seed_dots(ax, asked["length"], asked["correct"] / asked["samples"], color=drawn["color"])
        ax.plot(mean["length"], mean["mean"], **drawn, label=name, zorder=20 - place)
    own = rows[rows["arm"].isin(list(named))]
    style.length_axis(ax, own["length"], most=8)
    for trained in sorted(set(own["trained"])):
        ax.axvline(trained, color="#999999", linewidth=0.7, linestyle=":", zorder=0)
    ax.set(ylim=(-0.03, 1.03), xlabel="context length (tokens)")
    style.direct_labels(ax)


def draw(frame: pd.DataFrame, study: str) -> Figure:
    """Accuracy by length: a panel for each group of arms, a line with its interval for each arm, dots for seeds."""
    rows = frame[frame["study"] == study]
    groups = panels(rows)
    wide = len(groups) > 1
    fig, axes = style.figure(style.DOUBLE if wide else style.SINGLE, 2.5, ncols=len(groups), sharey=True)
    for ax, (title, named) in zip(np.atleast_1d(axes), groups.items(), strict=True):
        _panel(ax, rows, named, study in ("length", "size"))
        if wide:
            ax.set_title(title)
    np.atleast_1d(axes)[0].set_ylabel("share with all five digits right")
    return fig


def beyond(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Mean accuracy above the longest training length of a study's arms, and its interval; NaN where none was asked."""
    if rows.empty:
        return np.nan, np.nan, np.nan
    seeds = rows.groupby("seed")[["correct", "samples"]].sum()
    return (seeds["correct"] / seeds["samples"]).mean(), *evaluation.share_interval(seeds["correct"], seeds["samples"])


def _means(rows: pd.DataFrame) -> str:
    """'uniform 0.95 [0.90, 0.98]' for every arm, in the order of the panels."""
    far, parts = rows[rows["length"] > rows["trained"].max()], []
    groups = panels(rows)
    for title, named in groups.items():
        each = []
        for arm, name in named.items():
            mean, low, high = beyond(far[far["arm"] == arm])
            each.append(f"{name} –" if np.isnan(mean) else f"{name} {mean:.2f} [{low:.2f}, {high:.2f}]")
        parts.append(f"{f'{title}: ' if len(groups) > 1 else ''}{', '.join(each)}")
    return "; ".join(parts)


def _short(rows: pd.DataFrame) -> str:
    """' Below 0.8 at their own training length: 512 (1 of 3 seeds).', or nothing where every seed is good there."""
    own = rows[rows["length"] == rows["trained"]]
    failed = (own["correct"] / own["samples"] < GOOD).groupby(own["arm"]).agg(["sum", "size"])
    failed, groups, parts = failed[failed["sum"] > 0], panels(rows), []
    for title, named in groups.items():
        each = [f"{name} ({failed['sum'][arm]} of {failed['size'][arm]} seeds)"
                for arm, name in named.items() if arm in failed.index]  # fmt: skip
        if each:
            parts.append(f"{f'{title}: ' if len(groups) > 1 else ''}{', '.join(each)}")
    return f" Below {GOOD} at their own training length: {'; '.join(parts)}." if parts else ""


def _reading(rows: pd.DataFrame) -> str:
    seeds = sorted(set(rows.groupby("arm")["seed"].nunique()))
    unasked = not rows["asked"].all()
    given_up = " Lines end where no seed was asked further, after too many lengths without a hit; that counts as 0."
    return (
        f"Line: mean over {'–'.join(map(str, sorted({seeds[0], seeds[-1]})))} seeds; band: 95 % interval of that mean "
        f"over seeds and prompts; dots: seeds; dotted vertical: training length.{given_up if unasked else ''} "
        f"{prompts(rows)}. Chance is {evaluation.CHANCE:.0e}."
    )


def caption(frame: pd.DataFrame, study: str, words: str) -> str:
    rows = frame[frame["study"] == study]
    longest = int(rows["trained"].max())
    if rows["arm"].nunique() == 1:
        words += " Of this study the profile trains this arm alone; larger profiles train others beside it."
    return f"{words} Mean above {longest} tokens [95 %]: {_means(rows)}.{_short(rows)} {_reading(rows)}"


MULTIPLES = (1, 4, 32)


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """A row for each arm of each study: accuracies at multiples of the shortest training length, their mean, reach."""
    made, shortest = [], int(frame["trained"].min())
    for study, rows in frame.groupby("study", sort=False):
        groups, longest = panels(rows), rows["trained"].max()
        for title, named in groups.items():
            for arm, name in named.items():
                own = rows[rows["arm"] == arm]
                shares = own.assign(share=own["correct"] / own["samples"]).pivot(
                    index="length", columns="seed", values="share"
                )
                mean, low, high = beyond(own[own["length"] > longest])
                reach = sorted(reached(shares[seed], GOOD) for seed in shares)
                cells = {times(multiple, 1): shares.mean(axis=1).get(multiple * shortest) for multiple in MULTIPLES}
                made.append({
                    "study": STUDIES[study], "arm": f"{title}: {name}" if len(groups) > 1 else name,
                    "trained on": int(own["trained"].iloc[0]), "seeds": shares.shape[1],
                    **{f"at {label}": "–" if cell is None else f"{cell:.2f}" for label, cell in cells.items()},
                    "mean above [95 %]": "–" if np.isnan(mean) else f"{mean:.2f} [{low:.2f}, {high:.2f}]",
                    "reach (tokens)": f"{np.median(reach):,.0f} ({reach[0]:,} – {reach[-1]:,})",
                })  # fmt: skip
    return pd.DataFrame(made)


def caption_table(frame: pd.DataFrame) -> str:
    return (
        f"Every arm: share of passkeys retrieved at multiples of {int(frame['trained'].min())} tokens, "
        "mean over seeds; mean over all lengths above the longest training length of the study [95 % interval over "
        f"seeds and prompts]; reach, the longest tested length up to which accuracy never fell below {GOOD} (median "
        f"over seeds, extremes). {prompts(frame)}. –: not asked."
    )


def _versions(rows: pd.DataFrame) -> list[str]:
    """What the letters of the versions in the figure stand for."""
    meanings = {
        "bam-code-a-ssmax": "A: one prior for all layers, from ALiBi's slopes, θμ trained",
        "bam-code-b-ssmax": "B: a prior for each layer, from slopes without their logarithm, θμ trained",
        "bam-code-c-ssmax": "C: a prior for each layer, from slopes without their logarithm",
        "bam-ssmax": "D: a prior for each layer, from the uniform one, as in the paper",
    }
    there = set(rows["arm"])
    return [meaning for arm, meaning in meanings.items() if arm in there]


def _figure(
    study: str, where: tuple[str, str], words: str | Callable[[pd.DataFrame], str], alt: str, paper: str = ""
) -> FigureSpec:
    """`words` begin the caption, or make its beginning of the study's rows."""
    metrics, notebook = where

    def drawn(frame: pd.DataFrame) -> Figure:
        return draw(frame, study)

    def told(frame: pd.DataFrame) -> str:
        return caption(frame, study, words(frame[frame["study"] == study]) if callable(words) else words)

    return FigureSpec(metrics, drawn, told, f"Lines of passkey accuracy against context length for {alt}, each with a "
                      "band for its interval and dots for its seeds.", paper, notebook)  # fmt: skip


FIGURES = {
    "ablation_start": _figure(
        "start", PRIORS,
        "Where training starts, BAM with SSMax unless said: at the uniform prior, at ALiBi's slopes (θβ = 1), or at "
        "these with their logarithm left out, as in a version of the authors' code.",
        "starts of the prior's parameters", "BAM, Fig. 8",
    ),
    "ablation_subset": _figure(
        "subset", PRIORS,
        "Which parameters of the prior are trained, all with SSMax, beside other encodings. With θα alone or nothing "
        "trained, the uniform start stays uniform: NoPE.",
        "subsets of trained parameters and other encodings", "BAM, Fig. 9",
    ),
    "ablation_sign": _figure(
        "sign", PRIORS,
        "BAM with SSMax whose exponents are free, or fixed at ±h/H for heads h = 1..H and of one sign (θα is trained).",
        "signs of the exponent",
    ),
    "ablation_scaling": _figure(
        "scaling", PRIORS,
        "What SSMax multiplies: nothing, the content logits, or the log-prior too. BAM's own runs have the last, its "
        "ALiBi the second.",
        "readings of SSMax, for BAM and ALiBi",
    ),
    "ablation_version": _figure(
        "version", PRIORS,
        lambda rows: f"Versions of the authors' code. {'; '.join(_versions(rows))}. Misread: the trained model "
        "evaluated with (exp(θα) |lag| + ε)^θβ.",
        "versions of the code",
    ),
    "ablation_length": _figure(
        "length", TRAINING,
        "Trained on texts of several lengths (tokens; the name of a line), with as many texts a step.",
        "training lengths", "BAM, Fig. 12",
    ),
    "ablation_size": _figure(
        "size", TRAINING,
        "BAM SSMax of several sizes (width × layers), before and after a short training on longer texts.",
        "model sizes, before and after their extension", "BAM, Table 5",
    ),
    "ablation_interpolation": _figure(
        "interpolation", TRAINING,
        "RoPE, read as it is or with position interpolation (PI: all positions divided by 4), before and after a "
        "short tuning on longer texts.",
        "RoPE with and without interpolation and tuning",
    ),
}  # fmt: skip
TABLES = {
    metrics: TableSpec(metrics, table, caption_table, paper, notebook)
    for (metrics, notebook), paper in ((PRIORS, "BAM, Figs. 8 and 9"), (TRAINING, "BAM, Fig. 12 and Table 5"))
}
