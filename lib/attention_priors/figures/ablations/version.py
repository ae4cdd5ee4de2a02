"""Versions of the authors' code."""

from attention_priors.figures.ablations.study import PRIORS, Study
from attention_priors.figures.spec import Frame

STUDY = Study("version", "versions of the code", {
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
})  # fmt: skip
MEANINGS = {
    "bam-code-a-ssmax": "A: one prior for all layers, from ALiBi's slopes, θμ trained",
    "bam-code-b-ssmax": "B: a prior for each layer, from slopes without their logarithm, θμ trained",
    "bam-code-c-ssmax": "C: a prior for each layer, from slopes without their logarithm",
    "bam-ssmax": "D: a prior for each layer, from the uniform one, as in the paper",
}


def _words(rows: Frame) -> str:
    meanings = "; ".join(meaning for arm, meaning in MEANINGS.items() if arm in set(rows["arm"]))
    return (
        f"Versions of the authors' code. {meanings}. Misread: the trained model evaluated with (exp(θα) |lag| + ε)^θβ."
    )


FIGURE = STUDY.figure(PRIORS, _words, "versions of the code")
