"""Spectra and sinks: the posterior band, sinks by length, kinds of noise, and what a sum of waves can say."""

from attention_priors.figures.style import BLUE, GREEN, ORANGE, PINK, SOLID

LADDERS = {
    "RoPE's ladder": (BLUE, (5, 1.5), "s"), "harmonics": (ORANGE, SOLID, "o"), "slow waves": (GREEN, (3, 1), "^"),
    "free": (PINK, (1, 1), "D"),
}  # fmt: skip
