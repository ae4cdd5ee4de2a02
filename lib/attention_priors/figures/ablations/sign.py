"""The sign of the exponent."""

from attention_priors.figures.ablations.study import PRIORS, Study

STUDY = Study("sign", "signs of β", {
    "signs of β": {
        "bam-ssmax": "free",
        "bam-negative-ssmax": "β < 0",
        "bam-positive-ssmax": "β > 0",
        "bam-mixed-ssmax": "both, fixed",
    },
})  # fmt: skip
FIGURE = STUDY.figure(
    PRIORS,
    "BAM with SSMax whose exponents are free, or fixed at ±h/H for heads h = 1..H and of one sign (θα is trained).",
    "signs of the exponent",
    claims=("BAM-C3",),
)
