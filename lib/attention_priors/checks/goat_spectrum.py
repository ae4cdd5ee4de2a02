"""The claims of Goat's section 4 and appendices B and C, put together from the checkers of goat_spectra."""

from __future__ import annotations

import numpy as np

from attention_priors.checks import goat_spectra as spectra
from attention_priors.checks.evidence import Check, Part

COSINES, SINES = ((1.0, 0.0), (-1.0, 0.0), (0.5, 0.0)), ((0.0, 1.0), (0.0, -1.0))


def _query(a, b, cos, sin):
    return a * cos + b * sin, a * sin - b * cos


def _nature(alpha, beta):
    return "maximum" if alpha + beta > 0 else "minimum"


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-EQ12",
            (
                Part("kappa(d) = sum alpha cos(omega d) + beta sin(omega d), coefficients of either sign.",
                     spectra.kappa_of, spectra.check_coefficients,
                     lambda d, omega, alpha, beta: spectra.kappa_of(d, omega, alpha, -beta)),
                Part("alpha carries the even part, beta the odd one.", {"alpha": 1, "beta": -1}, spectra.check_parity,
                     {"alpha": 1, "beta": 1}),
                Part("The coefficients are trained; the frequencies are geometric and fixed.",
                     frozenset({"alpha", "beta"}), spectra.check_trained, frozenset({"alpha"})),
            ),
            practice="A causal query sees d >= 0 only: there even and odd say nothing by themselves, and cosines and "
                     "sines are simply 2 R waves.",
        ),
        Check(
            "GOAT-EQ18",
            (
                Part("<(a cos wi + b sin wi, a sin wi - b cos wi), (cos wj, sin wj)> = a cos w(i - j) + b sin "
                     "w(i - j).", _query, spectra.check_factors,
                     lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
            ),
            practice="Reduce phases in float64; stored in bfloat16 the features give kappa to about 2^-8 of its "
                     "coefficients at every length.",
        ),
        Check(
            "GOAT-C1",
            (
                Part("A continuous profile is positive definite exactly if its spectral measure has no negative part.",
                     lambda values: bool((values >= 0).all()), spectra.check_bochner,
                     lambda values: bool(values.sum() > 0)),
            ),
            practice="On integer lags the measure lives on [-pi, pi] (Herglotz). A real profile gives omega and -omega "
                     "equal weight, so that beta = 0.",
        ),
        Check(
            "GOAT-C2",
            (
                Part("Positive definite kernels have non-negative spectral weights.",
                     lambda values: bool((values >= 0).all()), spectra.check_bochner,
                     lambda values: bool(values.sum() > 0)),
                Part("Their similarity generally decays with distance, from a maximum at zero.",
                     lambda lag: 1.0, spectra.check_decay, lambda lag: 0.5, spectra.returns),
                Part("A positive alpha makes a maximum at displacement zero, a negative one a minimum.", _nature,
                     spectra.check_zero(COSINES), lambda alpha, beta: "maximum"),
                Part("A positive beta makes a maximum at displacement zero, a negative one a minimum.", _nature,
                     spectra.check_zero(SINES), lambda alpha, beta: "maximum", spectra.at_zero,
                     repaired=lambda alpha, beta: "neither"),
                Part("Linear attention with a positive definite kernel cannot have a minimum at displacement zero.",
                     lambda sign: "maximum", spectra.check_reach, lambda sign: "minimum", spectra.trough,
                     repaired=lambda sign: "maximum" if sign > 0 else "minimum"),
            ),
            Part("A sum with alpha >= 0 and beta = 0 is largest at 0 and comes back near that maximum. Different "
                 "feature maps for queries and keys make a trough of a positive definite kernel.",
                 lambda alpha: float(np.sum(alpha)), spectra.check_corrected,
                 lambda alpha: float(np.max(alpha))),
            practice="Attention always maps queries and keys differently: q -> -q turns a peak into a trough.",
        ),
        Check(
            "GOAT-C-3",
            (
                Part("ALiBi's profile falls with the lag, at every slope.", lambda m, d: np.diff(-m * d),
                     spectra.check_monotone, lambda m, d: np.diff(-m * np.abs(d - 8))),
                Part("Goat can represent priors that attract, repel, prefer a band of lags, or repeat: 8 to 24 waves "
                     "of the fixed geometric ladder, coefficients up to 3, lags 0..127.",
                     {"attracts": 8, "repels": 8, "band": 8, "periodic": 24}, spectra.check_shapes,
                     {"attracts": 8, "repels": 8, "band": 8, "periodic": 16}),
            ),
            practice="The converse needs care: waves reach ALiBi's slope on a window only (X-16); Goat's u(j) has it "
                     "exactly.",
        ),
        Check(
            "GOAT-C-12",
            (
                Part("Content and position are separate: neither changes what the other adds to a logit.",
                     lambda s, k: s + k, spectra.check_separate, lambda s, k: s * k),
                Part("Structure of any shape can be represented: about L/2 waves carry every profile over L lags.",
                     lambda n: n // 2, spectra.check_exact, lambda n: n // 4),
                Part("\"Fully expressive\": the form s + K reaches every table over content and lag.",
                     lambda strength: 0.0, spectra.check_interaction, lambda strength: strength / 2,
                     spectra.interaction, repaired=lambda strength: 2 * strength),
            ),
            Part("R waves leave a share 1 - 2R/(L - 1) of a random profile over L lags.",
                 lambda modes, n: max(0.0, 1 - 2 * modes / (n - 1)),
                 spectra.check_modes, lambda modes, n: max(0.0, 1 - modes / (n - 1))),
            practice="With 32 of 64 coordinates for position, 15 waves meet contexts of thousands of lags: smooth "
                     "profiles fit, fine structure does not. Keep content-dependent position elsewhere.",
        ),
    )
}  # fmt: skip
