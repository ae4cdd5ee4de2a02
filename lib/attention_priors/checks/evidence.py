"""What a check is: parts of a claim as objects, functions that judge those objects, and the verdict that follows.

An exact claim is split into `Part`s, one checkable sentence each. A part carries its sentence as an *object* (a
callable, a sympy expression, a relation); its checker receives that object and nothing else, so that handing it a false
variant must change the answer. `Check.decide` applies the rule:

    all printed parts hold                          verified
    some hold, and the corrected statement holds    verified with correction
    none holds, and the corrected statement holds   contradicted

An empirical claim is a function of committed metrics frames (`EmpiricalCheck`); it is never verified or contradicted.
"""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pandas as pd

from attention_priors import claims
from attention_priors.claims import Counterexample, Verdict
from attention_priors.claims.law import counted

RELATIONS = ("==", "!=", "<", "<=", ">", ">=")
OUTCOMES = ("agrees", "disagrees", "undecided")
Frames = Mapping[str, pd.DataFrame]


class CheckError(ValueError):
    """A check contradicts itself: a failing claim without a corrected statement that holds, an unknown relation."""


@dataclass(frozen=True)
class Evidence:
    """What a checker returns: `measured relation expected`, within `tolerance` (absolute) for equalities."""

    holds: bool
    measured: float | str
    relation: str
    expected: float | str
    tolerance: float | None = None
    counterexample: dict | None = None  # {"inputs": {name: number or list}, "claimed": .., "actual": ..}
    detail: str = ""


@dataclass(frozen=True)
class Part:
    """One checkable sentence of a claim.

    `check(statement)` judges the object and `false` is a variant (a sign, an exponent, a constant) that it must refute.
    `evaluate(statement, **inputs) -> (claimed, actual)` puts the inputs of a counterexample into the printed formula;
    a part whose check can return a counterexample has one. A part that fails refutes `false` too, which proves nothing
    about its checker: `repaired` is then a variant that the checker must accept (needless where the corrected statement
    is judged by the same checker).
    """

    text: str
    statement: Any
    check: Callable[[Any], Evidence]
    false: Any
    evaluate: Callable[..., tuple[Any, Any]] | None = None
    repaired: Any = None

    def judge(self) -> Evidence:
        return self.check(self.statement)

    def judge_false(self) -> Evidence:
        return self.check(self.false)


@dataclass(frozen=True)
class Decision:
    """The verdict on a claim and what it rests on. `evidence` is the decisive one: the first printed part that fails,
    otherwise the first printed part."""

    id: str
    verdict: str
    evidence: Evidence
    printed: tuple[Evidence, ...]
    corrected: str = ""
    corrected_evidence: Evidence | None = None

    @property
    def counterexample(self) -> dict | None:
        return next((e.counterexample for e in self.printed if e.counterexample), None)


@dataclass(frozen=True)
class Check:
    """An exact claim: its printed parts, the statement that should stand instead, and where it matters in practice.

    `missing` says what of the claim no part covers yet; such a check is never better than inconclusive.
    """

    id: str
    printed: tuple[Part, ...]
    corrected: Part | None = None
    practice: str = ""
    missing: str = ""
    metrics: ClassVar[tuple[str, ...]] = ()

    def decide(self) -> Decision:
        """Judge every part and apply this module's rule. CheckError when something fails and nothing replaces it."""
        return self._decision

    @functools.cached_property
    def _decision(self) -> Decision:
        printed = tuple(part.judge() for part in self.printed)
        fails = [evidence for evidence in printed if not evidence.holds]
        if not fails:
            return Decision(self.id, "inconclusive" if self.missing else "verified", printed[0], printed)
        if self.corrected is None:
            raise CheckError(f"{self.id}: a printed part fails ({fails[0]}); add a corrected statement")
        replacement = self.corrected.judge()
        if not replacement.holds:
            raise CheckError(f"{self.id}: the corrected statement fails too ({replacement}); correct it")
        verdict = "contradicted" if len(fails) == len(printed) else "verified with correction"
        return Decision(self.id, verdict, fails[0], printed, self.corrected.text, replacement)

    def fixed(self, frames: Frames) -> Check:
        """Itself: it is decided once."""
        return self

    def summary(self, frames: Frames | None = None) -> str:
        """How many of the printed sentences hold."""
        printed = self.decide().printed
        return counted(sum(found.holds for found in printed), len(printed), "hold")

    def frame(self, frames: Frames | None = None) -> pd.DataFrame:
        """What a notebook shows: a row per printed sentence, and the corrected one where a sentence fails."""
        decision = self.decide()
        rows = [("printed", part.text, found) for part, found in zip(self.printed, decision.printed, strict=True)]
        if decision.corrected_evidence:
            rows.append(("corrected", decision.corrected, decision.corrected_evidence))
        return pd.DataFrame(
            {
                "": role,
                "sentence": text,
                "holds": found.holds,
                "measured": f"{claims.show(found.measured)} {found.relation} {claims.show(found.expected)}",
                "which is": found.detail,
                "counterexample": str(Counterexample(**found.counterexample)) if found.counterexample else "",
            }
            for role, text, found in rows
        ).set_index("")

    def verdict(self, profile: str, frames: Frames | None = None, evidence: Sequence[str] = ()) -> Verdict:
        """`decide`, written as the ledger's record; `evidence` are paths of figures."""
        decision = self.decide()
        found, claim = decision.evidence, claims.find(self.id)
        outcomes = {"inconclusive": "undecided"}
        if claim.kind == "empirical":
            outcomes["verified with correction"] = "agrees"  # until its sentences are laws, which imply nothing
        verdict = Verdict(
            id=self.id,
            verdict=decision.verdict,
            outcome=outcomes.get(decision.verdict),
            measured=found.measured,
            relation=found.relation,
            expected_value=found.expected,
            tolerance=found.tolerance,
            evidence=list(evidence),
            counterexample=decision.counterexample,
            corrected=decision.corrected or None,
            profile=profile,
            recipe="exact",
            opposite=self.missing if decision.verdict == "inconclusive" else None,
        )
        return claims.settle(verdict, claim)


@dataclass(frozen=True)
class Finding:
    """What committed metrics say about an empirical claim."""

    outcome: str  # one of OUTCOMES
    measured: float | str
    relation: str
    expected: float | str
    seeds: tuple[int, ...] = ()
    interval: tuple[float, float] | None = None
    detail: str = ""

    @property
    def text(self) -> str:
        """What stands for a sentence where the claim is one."""
        return f"The claim as it is read ({self.detail})" if self.detail else "The claim as it is read"


@dataclass(frozen=True)
class EmpiricalCheck:
    """An empirical claim: `judge(frames) -> Finding` reads metrics frames by name and nothing else.

    `flip(frames) -> frames` perturbs the numbers so that `judge` must answer differently (the test of this check).
    """

    id: str
    metrics: tuple[str, ...]
    recipe: str
    judge: Callable[[Frames], Finding]
    opposite: str
    flip: Callable[[Frames], Frames]
    practice: ClassVar[str] = ""

    def fixed(self, frames: Frames) -> EmpiricalCheck:
        """The same check with the finding of these frames, so that it is made once."""
        found = self.judge(frames)
        return replace(self, judge=lambda _: found)

    def summary(self, frames: Frames) -> str:
        """How many sentences agree, and how many are open."""
        outcome = self.judge(frames).outcome
        return counted(int(outcome == "agrees"), 1, "agree") + (", 1 undecided" if outcome == "undecided" else "")

    def frame(self, frames: Frames) -> pd.DataFrame:
        """What a notebook shows: a row per sentence with its number, interval and outcome."""
        return pd.DataFrame(
            {
                "sentence": getattr(each, "text", None) or claims.find(self.id).statement,
                "measured": _shown(each.measured),
                "95 % interval": _shown(each.interval),
                "should be": f"{each.relation} {_shown(each.expected)}",
                "outcome": each.outcome,
            }
            for each in (self.judge(frames),)
        )

    def verdict(self, profile: str, frames: Frames, evidence: Sequence[str] = ()) -> Verdict:
        """`scaled reproduction` with an outcome, or `inconclusive` when the metrics cannot decide."""
        found = self.judge(frames)
        if found.outcome not in OUTCOMES:
            raise CheckError(f"{self.id}: outcome {found.outcome!r} is none of {', '.join(OUTCOMES)}")
        verdict = Verdict(
            id=self.id,
            verdict="inconclusive" if found.outcome == "undecided" else "scaled reproduction",
            outcome=found.outcome,
            measured=found.measured,
            relation=found.relation,
            expected_value=found.expected,
            seeds=list(found.seeds),
            interval=found.interval,
            evidence=[*(f"metrics/{name}.csv" for name in self.metrics), *evidence],
            profile=profile,
            recipe=self.recipe,
            opposite=self.opposite,
        )
        return claims.settle(verdict, claims.find(self.id))


def _shown(value: Any) -> str:
    """Three digits; a dash for what was not measured."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]".replace("inf", "∞")
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def compare(
    measured: float | str,
    relation: str,
    expected: float | str,
    tolerance: float | None = None,
    *,
    counterexample: dict | None = None,
    detail: str = "",
) -> Evidence:
    """Evidence for `measured relation expected`: |measured - expected| <= tolerance for ==, strict or not for the rest.

    Strings and booleans compare exactly. NaN satisfies no relation. CheckError for an unknown relation.
    """
    if relation not in RELATIONS:
        raise CheckError(f"unknown relation {relation!r}; use one of {', '.join(RELATIONS)}")
    if relation in ("==", "!="):
        same = agree(measured, expected, tolerance or 0.0)
        unordered = isinstance(measured, float) and math.isnan(measured)
        holds = (same if relation == "==" else not same) and not unordered
    else:
        m, e = float(measured), float(expected)
        holds = {"<": m < e, "<=": m <= e, ">": m > e, ">=": m >= e}[relation]
    return Evidence(bool(holds), measured, relation, expected, tolerance, counterexample, detail)


def agree(claimed: Any, actual: Any, tolerance: float = 1e-12) -> bool:
    """|claimed - actual| <= tolerance; equal infinities agree, NaN agrees with nothing, other objects need ==."""
    if isinstance(claimed, (bool, str)) or isinstance(actual, (bool, str)):
        return claimed == actual
    if math.isinf(claimed) or math.isinf(actual):
        return claimed == actual
    return abs(claimed - actual) <= tolerance


def smallest_counterexample(
    evaluate: Callable[..., tuple[Any, Any]],
    statement: Any,
    candidates: Iterable[Mapping[str, Any]],
    tolerance: float = 1e-9,
) -> dict | None:
    """The first of `candidates` (ordered by size) on which `evaluate(statement, **inputs)` gives claimed != actual."""
    for inputs in candidates:
        claimed, actual = evaluate(statement, **inputs)
        if not agree(claimed, actual, tolerance):
            return {"inputs": plain(dict(inputs)), "claimed": plain(claimed), "actual": plain(actual)}
    return None


def plain(value: Any) -> Any:
    """Numbers as int or float, sequences as lists: what JSON can hold and a reader can type."""
    value = value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) or hasattr(value, "__float__"):
        return float(value)
    return [plain(item) for item in value]


def count_numbers(value: Any) -> int:
    """How many numbers the inputs of a counterexample hold (at most five are allowed)."""
    if isinstance(value, Mapping):
        return sum(count_numbers(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return sum(count_numbers(item) for item in value)
    return 1
