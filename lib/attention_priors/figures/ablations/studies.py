"""The studies among the ablations: the names of their arms, and a figure of each."""

from attention_priors.figures.ablations.study import PRIORS, TRAINING, Panels, Study
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame
from attention_priors.figures.style import length_label


# Longer training texts (BAM, Fig. 12)
def _lengths(arms: Frame) -> Panels:
    made: Panels = {}
    for row in arms.sort_values("trained").itertuples():
        made.setdefault(label(row.encoding), {})[row.arm] = length_label(row.trained)
    return made


LENGTH = Study("length", "training length", _lengths, ("encoding",))
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


SIZE = Study("size", "size and extension", _sizes, ("started", "width", "layers", "parameters"))
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
        f"Versions of the authors' code. {meanings}. Misread: the trained model evaluated with (exp(θα) |lag| + ε)^θβ."
    )


VERSION_FIGURE = VERSION.figure(PRIORS, _versions, "versions of the code")

STUDIES = {each.name: each for each in (LENGTH, SIZE, INTERPOLATION, START, SUBSET, SIGN, SCALING, VERSION)}
