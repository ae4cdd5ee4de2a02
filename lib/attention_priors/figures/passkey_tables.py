"""Tables of passkey accuracy and reach, and the words that they share with the figures."""

from __future__ import annotations

import pandas as pd

from attention_priors import evaluation
from attention_priors.figures import style
from attention_priors.figures.spec import TableSpec
from attention_priors.positions.encodings import ENCODINGS

NOTEBOOK = "10_passkeys"
UNTRAINED = "untrained"
GOOD = 0.8  # the accuracy up to which a length counts as reached


def times(length: float, trained: int) -> str:
    """A length as a multiple of the training length: 4×."""
    return f"{length / trained:.3g}×"


def prompts(frame: pd.DataFrame) -> str:
    """How many prompts a seed was asked, of columns length and samples: '20 prompts at each ..., 5 from 8,192 on'."""
    lengths = sorted(set(frame["length"]))
    groups = {count: sorted(set(rows["length"])) for count, rows in frame.groupby("samples")}
    usual = max(groups, key=lambda count: len(groups[count]))
    rest = ""
    for count, own in groups.items():
        if count != usual:
            to_the_end = len(own) > 1 and own == lengths[-len(own) :]
            rest += f", {count} " + (
                f"from {own[0]:,} on" if to_the_end else f"at {' and '.join(f'{n:,}' for n in own)}"
            )
    return f"{usual} prompts at each length and seed{rest}"


def _listed(frame: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """(form, encoding, rows), the plain form first, encodings in the order of ENCODINGS, controls last."""
    order = [*ENCODINGS, UNTRAINED]
    groups = [(form, name, rows) for (form, name), rows in frame.groupby(["form", "encoding"])]
    return sorted(groups, key=lambda group: (group[0] != "plain", order.index(group[1])))


def table_accuracy(frame: pd.DataFrame) -> pd.DataFrame:
    """From passkey_over_seeds: a row for each form and encoding, a column for each length in tokens."""
    lengths, trained = sorted(set(frame["length"])), int(frame["trained"].iloc[0])
    rows = []
    for form, name, group in _listed(frame):
        cells = {row.length: f"{row.mean:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in group.itertuples()}
        row = {"form": form, "encoding": style.method_style(name)["label"], "seeds": int(group["seeds"].max())}
        rows.append(row | {f"{style.length_label(n)} ({times(n, trained)})": cells.get(n, "–") for n in lengths})
    return pd.DataFrame(rows)


def caption_table_accuracy(frame: pd.DataFrame) -> str:
    return (
        f"Share of passkeys retrieved, mean over seeds [95 % interval: hull of Student's t over seeds and of the exact "
        f"binomial one over all prompts], by context length in tokens (multiples of the training length). "
        f"{prompts(frame)}. Chance is {evaluation.CHANCE:.0e}. One seed has no interval over seeds: [0, 1]."
    )


def table_reach(frame: pd.DataFrame) -> pd.DataFrame:
    """From passkey_reach: median and extremes over seeds, `>` where the longest tested length was reached."""
    rows = []
    for form, name, group in _listed(frame[frame["encoding"] != UNTRAINED]):
        trained, longest = int(group["trained"].iloc[0]), int(group["longest_tested"].max())
        each = [f"{'>' if reach == longest else ''}{reach:,}" for reach in sorted(group["reach"])]
        median = group["reach"].median()
        rows.append({"form": form, "encoding": style.method_style(name)["label"], "seeds": len(group),
                     "median (tokens)": f"{'>' if median == longest else ''}{median:,.0f}",
                     "median / training length": f"{'>' if median == longest else ''}{median / trained:.3g}",
                     "lowest (tokens)": each[0], "highest (tokens)": each[-1],
                     "longest tested (tokens)": longest})  # fmt: skip
    return pd.DataFrame(rows)


def caption_table_reach(frame: pd.DataFrame) -> str:
    trained = int(frame["trained"].iloc[0])
    return (
        f"Longest tested length up to which a model's accuracy never fell below {GOOD}, over seeds; 0: below it at the "
        f"training length of {trained} tokens already; >: as far as was tested."
    )


TABLES = {
    "passkey_accuracy": TableSpec(
        "passkey_over_seeds", table_accuracy, caption_table_accuracy, "BAM, Figs. 2 and 13", NOTEBOOK
    ),
    "passkey_reach": TableSpec("passkey_reach", table_reach, caption_table_reach, "BAM, abstract (reach)", NOTEBOOK),
}
