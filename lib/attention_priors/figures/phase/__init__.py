"""The phase diagram of priors: local exponents, planes of parameters, limits, content, margins, and trained models."""

from attention_priors.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SOLID

LOOKS = {
    "ALiBi, m = 1/2": (BLUE, SOLID, "s"),
    "ALiBi, m = 1/256": (BLUE, (5, 1.5), "s"),
    "GGD, β = 1/2": (ORANGE, SOLID, "o"),
    "GGD, β = 1/10": (ORANGE, (5, 1.5), "o"),
    "KERPLE-log, r₁ = 2": (GREEN, SOLID, "^"),
    "KERPLE-log, r₁ = 1/2": (GREEN, (5, 1.5), "^"),
    "Sandwich, head 3": (PINK, SOLID, "D"),
    "Sandwich, head 12": (PINK, (5, 1.5), "D"),
    "T5, fitted": (BLACK, (3, 1, 1, 1), "v"),
    "GGD, β = -1/2": (ORANGE, (1, 1), "X"),
    "uniform": (GREY, SOLID, "None"),
    "ALiBi, m = 1/16": (BLUE, SOLID, "s"),
    "KERPLE-log, r₁ = 1.5": (GREEN, (5, 1.5), "^"),
    "SSMax, s × lead = 1": (BLACK, (1, 1), "None"),
    "SSMax, s × lead = 2": (BLACK, (3, 1, 1, 1), "None"),
}
