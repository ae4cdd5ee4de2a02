"""Where training starts (BAM, Fig. 8)."""

from attention_priors.figures.ablations.study import PRIORS, Study

STUDY = Study("start", "start of training", {
    "start of training": {
        "bam-ssmax": "uniform",
        "bam-laplace-ssmax": "ALiBi",
        "bam-code-c-ssmax": "ALiBi, no log",
        "bam": "uniform, no SSMax",
        "bam-laplace": "ALiBi, no SSMax",
    },
})  # fmt: skip
FIGURE = STUDY.figure(
    PRIORS,
    "Where training starts, BAM with SSMax unless said: at the uniform prior, at ALiBi's slopes (θβ = 1), or at these "
    "with their logarithm left out, as in a version of the authors' code.",
    "starts of the prior's parameters",
    "BAM, Fig. 8",
    ("BAM-C11", "BAM-F8"),
)
