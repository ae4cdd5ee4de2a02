"""More text, more documents, larger models (X-34, X-35): who grows with the context, and who loses least far beyond T.

Written before any of these models was trained. Differences are paired within documents and seeds; intervals take both
as samples.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from attention_priors.checks.language.losses import DIVERGES, FAR, LEVEL
from attention_priors.checks.passkey.runs import lacking
from attention_priors.claims.finding import Estimate, Finding, Frames, largest, smallest, unknown
from attention_priors.claims.law import Check, claim, claims
from attention_priors.evaluation import crossed_interval
from attention_priors.positions.encodings import encoding

LOSSES = "scale_losses"
RECIPE = "language-scale"
DIVIDED, ALIBI = "half-rope-window-bam", "alibi"
BETWEEN = ("kerple-log", "bam-ssmax")
BREAK = ("rope", "nope")


class Models:
    """The losses of one size: the smallest, or the largest where there are several."""

    def __init__(self, frame: pd.DataFrame, large: bool) -> None:
        widths = sorted(set(frame["width"]))
        self.there = bool(widths) and (not large or len(widths) > 1)
        self.frame = frame[frame["width"] == widths[-1 if large else 0]] if self.there else frame.iloc[:0]
        self.trained = int(self.frame["trained"].min()) if self.there else 1

    def wide(self, name: str, times: float) -> pd.DataFrame:
        """Losses [documents, seeds] at a multiple of T of the models that know word order."""
        own = self.frame[(self.frame["encoding"] == name) & self.frame["passed"].astype(bool)]
        return own[own["length"] == round(times * self.trained)].pivot(index="document", columns="seed", values="loss")

    def growth(self, name: str, times: float = FAR) -> Estimate:
        """Of an encoding's loss from T to a multiple of it."""
        return self._mean(self.wide(name, times) - self.wide(name, 1), name)

    def grows(self, name: str) -> Estimate:
        """The largest growth at any length up to FAR times T; unknown where that was not read."""
        lengths = {n / self.trained for n in self.frame["length"]}
        read = sorted({n for n in lengths if 1 < n <= FAR} | {FAR})
        return largest({f"{n:.3g}T": self.growth(name, n) for n in read})

    def above(self, name: str, other: str) -> Estimate:
        """How far the loss of an encoding at FAR times T lies above that of another."""
        return self._mean(self.wide(name, FAR) - self.wide(other, FAR), name, other)

    def _mean(self, values: pd.DataFrame, *names: str) -> Estimate:
        values = values.dropna(axis=1, how="all").dropna()
        if values.empty:
            own = {name: self.frame[self.frame["encoding"] == name] for name in names}
            seeds = {
                encoding(name).label: (set(rows["seed"]), set(rows[rows["passed"]]["seed"]))
                for name, rows in own.items()
            }
            return unknown(lacking(seeds) or f"not read at {FAR}T")
        seeds = tuple(int(seed) for seed in values.columns)
        return Estimate(
            float(values.to_numpy().mean()), lambda level: crossed_interval(values.to_numpy(), level), seeds
        )


def check(identifier: str, large: bool) -> Check:
    """The same sentences of one size."""

    def finding(
        text: str, estimate: Callable[[Models], Estimate], relation: str = ">", bound: float = 0.0, **more
    ) -> Finding:
        def of(frames: Frames) -> Estimate:
            models = Models(frames[LOSSES], large)
            return estimate(models) if models.there else unknown("one size alone")

        return Finding(text, of, relation, bound, metrics=(LOSSES,), **more)

    return claim(
        identifier,
        *(
            finding(
                f"The loss of {encoding(name).label} grows by more than {DIVERGES} nats at {FAR}T",
                lambda models, name=name: models.growth(name),
                ">",
                DIVERGES,
                ours=True,
            )
            for name in BREAK
        ),
        *(
            finding(
                f"The loss of {encoding(name).label} grows by at most {LEVEL} nats at every length up to {FAR}T",
                lambda models, name=name: models.grows(name),
                "<=",
                LEVEL,
                ours=True,
            )
            for name in (DIVIDED, *BETWEEN, ALIBI)
        ),
        finding(
            f"At {FAR}T the divided heads lose least of these four",
            lambda models: smallest({encoding(name).label: models.above(name, DIVIDED) for name in (*BETWEEN, ALIBI)}),
        ),
        finding(
            "and ALiBi most",
            lambda models: smallest({encoding(name).label: models.above(ALIBI, name) for name in BETWEEN}),
        ),
        recipe=RECIPE,
    )


CHECKS = claims(check("X-34", large=False), check("X-35", large=True))
