"""Every arm of every study, in one table for each notebook."""

import numpy as np

from attention_priors.experiments.answers import reached
from attention_priors.figures.ablations import study
from attention_priors.figures.ablations.studies import LENGTH, SIZE, STUDIES
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import GOOD, REACH, bounded, prompts, times

MULTIPLES = (1, 4, 16)


def build(frame: Frame) -> Frame:
    """A row for each arm of each study: accuracies at multiples of the shortest training length, their mean, reach."""
    made, shortest = [], int(frame["trained"].min())
    for study_name, rows in frame.groupby("study", sort=False):
        groups, longest = STUDIES[study_name].named(rows), rows["trained"].max()
        for title, named in groups.items():
            for arm, name in named.items():
                own = rows[rows["arm"] == arm]
                shares = own.assign(share=own["correct"] / own["samples"]).pivot(
                    index="length", columns="seed", values="share"
                )
                mean, low, high = study.beyond(own[own["length"] > longest])
                reach = sorted(reached(shares[seed], GOOD) for seed in shares)
                said = [
                    f">{n:,.0f}" if n == own["length"].max() else f"{n:,.0f}"
                    for n in (np.median(reach), reach[0], reach[-1])
                ]
                cells = {times(multiple, 1): shares.mean(axis=1).get(multiple * shortest) for multiple in MULTIPLES}
                made.append(
                    {
                        "study": STUDIES[study_name].title,
                        "arm": f"{title}: {name}" if len(groups) > 1 else name,
                        "trained on": int(own["trained"].iloc[0]),
                        "seeds": shares.shape[1],
                        **{
                            f"at {multiple}": "–" if cell is None else f"{cell:.2f}" for multiple, cell in cells.items()
                        },
                        "mean above [95 %]": "–" if np.isnan(mean) else bounded(mean, low, high),
                        "reach (tokens)": f"{said[0]} ({said[1]} – {said[2]})",
                    }
                )
    return Frame(made)


def caption(frame: Frame) -> str:
    return (
        f"Every arm: share of passkeys retrieved at multiples of {int(frame['trained'].min())} tokens, "
        "mean over seeds; mean over all lengths above the longest training length of the study [95 % interval over "
        f"seeds and prompts]; reach, the longest {REACH} (median over seeds, extremes; >: as far as was asked). "
        f"{prompts(frame)}. –: not asked."
    )


def _table(where: tuple[str, str], paper: str, *studies: study.Study) -> TableSpec:
    metrics, notebook = where
    reads = tuple(column for each in studies for column in each.reads)
    return TableSpec(metrics, build, caption, notebook, (*study.COLUMNS, *reads), paper)


PRIORS = _table(study.PRIORS, "BAM, Figs. 8 and 9")
TRAINING = _table(study.TRAINING, "BAM, Fig. 12 and Table 5", LENGTH, SIZE)
