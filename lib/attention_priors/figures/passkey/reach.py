"""The longest length at which each encoding still answers, by form of the prompt."""

from attention_priors.figures.methods import UNTRAINED, label
from attention_priors.figures.passkey.accuracy import groups
from attention_priors.figures.passkey.lines import NOTEBOOK
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import GOOD, trained_on


def build(frame: Frame) -> Frame:
    """Median and extremes over seeds, `>` where the longest tested length was reached."""
    rows = []
    for form, name, group in groups(frame[frame["encoding"] != UNTRAINED]):
        longest, median = int(group["longest_tested"].max()), group["reach"].median()
        each = [f"{'>' if reach == longest else ''}{reach:,}" for reach in sorted(group["reach"])]
        more = ">" if median == longest else ""
        rows.append(
            {
                "form": form,
                "encoding": label(name),
                "seeds": len(group),
                "median (tokens)": f"{more}{median:,.0f}",
                "median / training length": f"{more}{median / trained_on(group):.3g}",
                "lowest (tokens)": each[0],
                "highest (tokens)": each[-1],
                "longest tested (tokens)": longest,
            }
        )
    return Frame(rows)


def caption(frame: Frame) -> str:
    return (
        f"Longest tested length up to which a model's accuracy never fell below {GOOD}, over seeds; 0: below it at the "
        f"training length of {trained_on(frame)} tokens already; >: as far as was tested."
    )


TABLE = TableSpec(
    "passkey_reach",
    build,
    caption,
    NOTEBOOK,
    ("form", "encoding", "reach", "longest_tested", "trained"),
    "BAM, abstract (reach)",
)
