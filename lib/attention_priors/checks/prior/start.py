"""The start of BAM's prior (appendix F), and labels on which the paper disagrees with itself."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import exp

from attention_priors.claims.law import Law, Reading, claim, claims
from attention_priors.model import PAPER_MODELS
from attention_priors.positions.priors import GeneralizedGaussian, alibi_slopes
from attention_priors.theory import generalised_gaussian as theory

ALPHA, BETA, MU = GeneralizedGaussian.NAMES
HEADS = [{"heads": n, "layer": layer, "head": h} for n in (2, 8, 16) for layer in (1, 2) for h in range(1, n + 1)]


def roles(trained: set[str], fixed: set[str]) -> Callable[[str], set[str]]:
    """What a caption makes of each parameter."""
    return lambda parameter: {role for role, names in (("trained", trained), ("fixed", fixed)) if parameter in names}


def roles_of_two(parameter: str) -> set[str]:
    """What a prior that trains theta_alpha and theta_beta makes of it."""
    prior = GeneralizedGaussian.uniform(16, trainable=[ALPHA, BETA])
    return {"trained"} if getattr(prior, parameter).requires_grad else {"fixed"}


def trained_scalars(parameters: list[str]) -> int:
    """Of the 120M model's priors, 12 layers of 16 heads."""
    prior = GeneralizedGaussian.uniform(16, trainable=parameters)
    return 12 * sum(each.numel() for each in prior.parameters() if each.requires_grad)


def fall(lag: int, theta_alpha: float) -> float:
    """b(lag) - b(lag + 1) at theta_beta = 1, theta_mu = 0 as coded (epsilon adds a constant)."""
    here, next_ = theory.coded(theta_alpha, 1.0)([lag, lag + 1])
    return here - next_


def alibi(heads: int, head: int) -> float:
    return alibi_slopes(heads)[head - 1]


def millions(layers: int) -> int:
    """Embedding, head, final norm, and per layer four projections, SwiGLU's three matrices and two norms."""
    size = PAPER_MODELS["bam-432m"]
    width, hidden = size["width"], size["hidden"]
    layer = 4 * width**2 + 3 * width * hidden + 2 * width
    return round((2 * size["vocabulary"] * width + width + layers * layer) / 1e6)


CHECKS = claims(
    claim(
        "BAM-E4",
        Law(
            "Fig. 9: theta_beta and theta_alpha are trained, theta_beta = 0 is fixed.",
            roles({ALPHA, BETA}, {BETA}),
            roles_of_two,
            [{"parameter": name} for name in (BETA, ALPHA, MU)],
            wrong=roles({ALPHA, BETA, MU}, {BETA}),
            quote=r"Training $\theta_{\beta}$ and $\theta_{\alpha}$ while fixing $\theta_{\beta}=0$ "
            r"yields more extrapolation length",
            place="App. F.2, Fig. 9",
        ),
        corrected=(
            Law(
                "The variant trains theta_beta and theta_alpha and fixes theta_mu = 0:",
                roles({ALPHA, BETA}, {MU}),
                roles_of_two,
                [{"parameter": name} for name in (BETA, ALPHA, MU)],
                wrong=roles({ALPHA, BETA}, {ALPHA}),
            ),
            Law(
                "2 x 16 x 12 = 384 scalars, as F.2 counts.",
                384,
                trained_scalars,
                [{"parameters": [ALPHA, BETA]}],
                wrong=576,
                tolerance=0,
            ),
        ),
        practice="A slip in a caption; the experiment is the two-parameter one.",
        severity="editorial",
    ),
    claim(
        "BAM-E5",
        Law(
            "theta_beta = 1, theta_mu = 0 is a Laplace start of slope e^theta_alpha.",
            lambda theta_alpha: exp(theta_alpha),
            fall,
            [{"lag": d, "theta_alpha": ta} for d, ta in product(range(50), (-4.0, -0.5, 0.5))],
            wrong=lambda theta_alpha: theta_alpha,
        ),
        Law(
            "ALiBi's start has one theta_alpha per layer, ln m_l.",
            lambda heads, layer: 2 ** (-8 * layer / heads),
            alibi,
            HEADS,
            wrong=lambda heads, layer: 2 ** (-4 * layer / heads),
            quote=r"different $\theta_{\alpha}$ for each layer",
            place="App. F.1",
        ),
        Reading("F.1 describes two of the three starts of Fig. 8.", "two … three", "F.1 and the caption of Fig. 8"),
        corrected=Law(
            "ALiBi's start has one theta_alpha per head, the same in every layer: ln m_h, m_h ALiBi's slope of head h.",
            lambda heads, head: 2 ** (-8 * head / heads),
            alibi,
            HEADS,
            wrong=lambda heads, head: exp(2 ** (-8 * head / heads)),
        ),
        practice="The logarithm matters: with m_h itself as theta_alpha, the slopes of 16 heads start 3 to 257 times "
        "too steep.",
        severity="editorial",
    ),
    claim(
        "BAM-E15",
        *(
            Law(
                f"{place}: {label}M.",
                label,
                millions,
                [{"layers": 14}],
                wrong=label + 2,
                tolerance=0,
                quote=quote,
                place=place,
            )
            for place, label, quote in (
                ("Table 5", 431, "431M Ext. 1.0 1.0 1.0"),
                ("Table 1", 432, "Attribute 120M 432M 1.1B"),
                ("Table 6", 430, "120M 430M 1.1B Llama 8b Size"),
            )
        ),
        Reading("One corpus has two names.", "Wikitext", "section 3.1 against appendix D"),
        Reading("Theorem 2 is credited with what Lemma 3 states.", "As demonstrated in Theorem 2", "section 2.5"),
        Reading(
            "Theorem 1 is credited with what Lemma 1 states.",
            "As proved in Theorem 1, this case reduces BAM to the NoPE baseline",
            "section 2.5",
        ),
        Reading(
            "RoPE is named where its local variant is drawn.",
            "BAM, RoPE and ALiBi are able to maintain low perplexity",
            "appendix D.2, Figure 7",
        ),
        corrected=Law(
            "The model has 431M parameters (50.3M embedding + 380.7M).",
            431,
            millions,
            [{"layers": 14}],
            wrong=432,
            tolerance=0,
            answers=(1, 2),
        ),
        practice="Editorial.",
        severity="editorial",
    ),
)
