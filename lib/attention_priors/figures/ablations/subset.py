"""Which parameters of the prior are trained (BAM, Fig. 9)."""

from attention_priors.figures.ablations.study import PRIORS, Study

STUDY = Study("subset", "trained parameters", {
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
})  # fmt: skip
FIGURE = STUDY.figure(
    PRIORS,
    "Which parameters of the prior are trained, all with SSMax, beside other encodings. With θα alone or nothing "
    "trained, the uniform start stays uniform: NoPE.",
    "subsets of trained parameters and other encodings",
    "BAM, Fig. 9",
    ("BAM-C2", "BAM-F9"),
)
