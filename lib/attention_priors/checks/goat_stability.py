"""The claims of Goat's section 5 on sinks and stability, put together from the checkers of goat_sinks."""

from __future__ import annotations

import math

import numpy as np

from attention_priors.checks import goat_sinks as sinks
from attention_priors.checks.evidence import Check, Part
from attention_priors.theory import bands


def _floor(margin, keys):
    return float(1 - bands.most_noise(margin, keys))


def _noise(delta, keys):
    return float(bands.most_noise(delta, keys))


def _independent(p):
    return bands.spread(p[1:])


CHECKS = {
    check.id: check
    for check in (
        Check(
            "GOAT-D5.2",
            (
                Part("z_sink - z_k is a difference of content plus one of the prior, and delta > 0 makes the sink the "
                     "row's largest.", lambda s, k: s + k, sinks.check_split, lambda s, k: s - k),
                Part("A margin delta > 0 gives the sink at least 1/(1 + (L - 1) e^-delta).", _floor, sinks.check_floor,
                     lambda m, n: 1 / (1 + n * math.exp(-m))),
                Part("That floor is independent of the sequence length: it is what two keys give.",
                     lambda m, n: _floor(m, 2), sinks.check_promise, lambda m, n: _floor(2 * m, 2), sinks.least_mass,
                     repaired=_floor),
            ),
            Part("A margin guarantees mass p at length L exactly from delta = ln(L - 1) + ln(p/(1 - p)) on: a "
                 "constant floor needs a margin that grows with ln L.", lambda p, n: bands.margin_for(1 - p, n),
                 sinks.check_constant_floor, lambda p, n: bands.margin_for(p, n)),
            practice="Report a sink's margin beside ln L. At margin 5 and 32k keys the floor is .0045.",
        ),
        Check(
            "GOAT-D5.3",
            (
                Part("Psi = 1 - p_sink bounds the output's change per unit change of the other values, and is reached.",
                     lambda p: 1 - p[0], sinks.check_sensitivity, lambda p: (1 - p[0]) ** 2),
            ),
            practice="A worst case: all values move alike, the sink's value not at all.",
        ),
        Check(
            "GOAT-T5.4a",
            (
                Part("Uniform prior, no content: Psi = 1 - 1/L, which tends to 1.", lambda n: 1 - 1 / n,
                     sinks.check_uniform_limit, lambda n: 1 - 1 / n**2),
            ),
            practice="Row i of a causal model has 1 - 1/(i + 1). The limit is 1 under every bounded prior (X-8), not "
                     "only under the uniform one.",
        ),
        Check(
            "GOAT-T5.4b",
            (
                Part("Psi <= (L - 1)/(e^delta + L - 1).", _noise, sinks.check_noise_bound,
                     lambda delta, n: (n - 1) / (math.exp(2 * delta) + n - 1)),
                Part("The bound falls at an exponential rate in delta.", 1.0, sinks.check_exponential, 2.0),
                Part("Keeping it away from 1 as L grows takes logarithmic margin growth, delta ~ ln L.",
                     bands.margin_for, sinks.check_required, lambda eta, n: bands.margin_for(eta, n) - 0.01),
                Part("That growth with L is trivially achievable by a key bias u(j).",
                     lambda first, n: first + math.log(n - 1), sinks.check_growth,
                     lambda first, n: first + math.log(n), sinks.largest_margin),
            ),
            Part("The margin of one u(j) is a minimum over the keys and does not grow with their number: at most u(j*) "
                 "- u(k) for any key k.",
                 lambda first, n: first, sinks.check_growth, lambda first, n: 0.5 * first),
            practice="u(0) = 10 is enough at 100 keys (.0045) and not at a million (.98). A slope u(k) = -c k works at "
                     "every length (e^-c) at a fixed margin c, because its other keys fall ever further behind.",
        ),
        Check(
            "GOAT-T5.4p",
            (
                Part("Below the period the bound of Theorem 5.4 holds.", _noise, sinks.check_across_periods,
                     lambda delta, n: _noise(2 * delta, n)),
                Part("Geometric frequencies can have a period: omega_r = 2 pi 2^-r, P = 2^R.", sinks.dyadic,
                     sinks.check_period, sinks.rope),
            ),
            practice="Scope: geometric does not imply periodic. omega = 1 would need P in 2 pi Z, which no integer lag "
                     "is in. The bound rests on the margin alone and holds beyond a period or without one.",
        ),
        Check(
            "GOAT-C-5",
            (
                Part("The output moves by up to Psi = 1 - p_sink, and by that if the other values move alike.",
                     lambda p: 1 - p, sinks.check_coherent, lambda p: p),
                Part("The prior must be peaked rather than uniform: a uniform one does not damp noise, here "
                     "independent noise, as keys are added to five.", lambda n: 0.4, sinks.check_not_averaged,
                     lambda n: 0.3, sinks.least_response, repaired=lambda n: 0.0),
            ),
            Part("Independent noise comes through by (sum over k != sink of p_k^2)^(1/2): under a uniform prior about "
                 "1/sqrt(L), which tends to 0. Averaging is stable as well.", _independent, sinks.check_independent,
                 lambda p: float(np.sum(p[1:] ** 2))),
            practice="A peak protects against values that drift together and against nothing if its own value is noisy "
                     "too: then all of it comes through.",
        ),
        Check(
            "GOAT-E8",
            (
                Part("As an unnormalised log-prior K = -log L changes nothing: attention stays plain.",
                     lambda i, j: -math.log(30), sinks.check_constant, lambda i, j: -math.log(30 + j)),
                Part("The implicit prior of the fixed query over its L keys is K = -log L.",
                     lambda i, n: -math.log(n), sinks.check_whole_row, lambda i, n: -math.log(n + 1)),
            ),
            practice="Row i = 0..L-1 of a causal model sees i + 1 keys: its uniform prior is -log(i + 1), Psi = 1 - "
                     "1/(i + 1). Averages over rows mix priors of different sizes.",
        ),
    )
}  # fmt: skip
