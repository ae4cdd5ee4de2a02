"""The phase diagram of priors: local exponents, planes of parameters, limits, content, margins, and trained models."""

from ..style import BLACK, BLUE, BROWN, GREY, ORANGE, PURPLE, SOLID, TEAL

LOOKS = {
    "ALiBi, m = 1/2": (BLUE, SOLID, "s"),
    "ALiBi, m = 1/256": (BLUE, (5, 1.5), "s"),
    "GGD, β = 1/2": (ORANGE, SOLID, "o"),
    "GGD, β = 1/10": (ORANGE, (5, 1.5), "o"),
    "KERPLE-log, r₁ = 2": (TEAL, SOLID, "p"),
    "KERPLE-log, r₁ = 1/2": (TEAL, (5, 1.5), "p"),
    "Sandwich, head 3": (BROWN, SOLID, "h"),
    "Sandwich, head 12": (BROWN, (5, 1.5), "h"),
    "T5, fitted": (PURPLE, (3, 1, 1, 1), "<"),
    "GGD, β = -1/2": (ORANGE, (1, 1), "X"),
    "uniform": (GREY, SOLID, "None"),
    "ALiBi, m = 1/16": (BLUE, SOLID, "s"),
    "KERPLE-log, r₁ = 1.5": (TEAL, (5, 1.5), "p"),
    "SSMax, s × lead = 1": (BLACK, (1, 1), "None"),
    "SSMax, s × lead = 2": (BLACK, (3, 1, 1, 1), "None"),
}
