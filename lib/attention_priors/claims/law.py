"""A claim as laws, findings and readings, and the one evaluator that decides them.

    Law       says(**case) `relation` truth(**case) for all cases; `wrong`, a near variant, must fail
    Finding   a number with its interval, read from metrics, against a bound
    Reading   a quotation and its place: what only reading decides, never counted as tried

The verdict on a claim of laws: all hold, verified; some hold, verified with correction; none holds, contradicted. A
claim with a finding has an outcome instead: it agrees if all of its statements do, and disagrees if one is excluded
after Holm's correction for their number.

What is held against a document is what it says. A statement that fails carries a quotation and its place, and a
correction that holds answers it; one that nobody wrote is `ours`, an explanation that counts for nothing.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import numbers
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import pandas as pd

from attention_priors.claims import quotations
from attention_priors.claims.finding import Finding, Frames, Judged, judge
from attention_priors.claims.reach import reached
from attention_priors.claims.verdict import (
    NOT_ASKED,
    SEVERITIES,
    UNTESTABLE,
    Counterexample,
    Sentence,
    Verdict,
    find,
    settle,
    show,
)
from attention_priors.store.registry import LIBRARY

Case = Mapping[str, Any]
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
MIRROR = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
QUANTIFIERS = ("all", "exists")
EXACT = 1e-9  # the tolerance that nobody has chosen
ROUNDING = 1e-4  # a relative gap that decides nothing beside it: floating point, or digits that no document prints
PACKAGE = "attention_priors."
THEORY, OWN = f"{PACKAGE}theory.", f"{PACKAGE}checks."


NOTHING = "Nothing that holds is put in its place yet."  # beside a law that was changed and fails


class LawError(ValueError):
    """A law that decides nothing or contradicts itself: one line with file, claim and remedy."""


@dataclass(frozen=True)
class Trial:
    """A case, what the sentence says there and what is true."""

    case: Case
    claimed: Any
    actual: Any
    gap: float
    tolerance: float
    holds: bool


@dataclass(frozen=True)
class Result:
    """A sentence held against all of its cases."""

    trials: tuple[Trial, ...]
    holds: bool
    decisive: Trial  # the first that fails; where none does, the one that comes nearest to failing

    @property
    def failed(self) -> int:
        return sum(not trial.holds for trial in self.trials)


@dataclass(frozen=True)
class Law:
    """says(**case) `relation` truth(**case), within `tolerance`, for all `cases`, smallest first.

    Functions take the parameters that they name; what is no function stands for itself. A truth whose first parameter
    is `says` takes the sentence as it is (the input of a solver) and returns (claimed, actual). Numbers, arrays and
    sequences are compared by their largest difference, other objects by ==, or both by `same(claimed, actual)`.

    wrong       a near variant of the sentence (a sign, an exponent, another parameter), which must fail
    repaired    a variant that must hold: needed where the sentence fails and the truth cannot take its place
    witness     cases that a hand can check, tried first, so that the counterexample is one of them
    quantifier  "exists": one case suffices
    symbolic    both sides are expressions of sympy without cases: a proof, not a sample
    quote       the document's words, formulas between dollars, and `place`, where they stand ("§2.4, Theorem 3")
    ours        nobody wrote it: a reading or an explanation of ours, which counts neither for nor against a document
    boundary    what the cases of this law have in common where the theorem holds except at them ("β = 0")
    answers     of a correction: which of the failing statements it replaces, counted from 1; not said: one to one
    """

    text: str
    says: Any
    truth: Any
    cases: Sequence[Case] = ()
    _: KW_ONLY
    wrong: Any
    relation: str = "=="
    same: Callable[[Any, Any], bool] | None = None
    tolerance: float | Callable[..., float] = EXACT
    witness: Sequence[Case] = ()
    repaired: Any = None
    quantifier: str = "all"
    symbolic: bool = False
    quote: str = ""
    place: str = ""
    ours: bool = False
    boundary: str = ""
    answers: tuple[int, ...] = ()

    @property
    def tried(self) -> Sequence[Case]:
        return ({},) if self.symbolic else (*self.witness, *self.cases)

    @property
    def takes_sentence(self) -> bool:
        return _is_function(self.truth) and next(iter(_parameters(self.truth)[0]), None) == "says"

    def objection(self) -> str | None:
        """What is wrong with the law before anything is computed."""
        if self.relation not in MIRROR:
            return f"unknown relation {self.relation!r}; use one of {', '.join(MIRROR)}"
        if self.quantifier not in QUANTIFIERS:
            return f"unknown quantifier {self.quantifier!r}; use one of {', '.join(QUANTIFIERS)}"
        if not self.tried:
            return "has no cases; give at least one, or say that it is symbolic"
        if not callable(self.tolerance) and not 0 <= self.tolerance < math.inf:
            return f"nothing can miss a tolerance of {self.tolerance}; give a finite one"
        functions = {"truth": self.truth, "sentence": self.says, "wrong": self.wrong, "tolerance": self.tolerance}
        functions = {name: each for name, each in functions.items() if _is_function(each)}
        if self.takes_sentence:
            functions = {name: each for name, each in functions.items() if name in ("truth", "tolerance")}
        for case in {frozenset(case): case for case in reversed(self.tried)}.values():
            for role, function in functions.items():
                lacking = [name for name in _parameters(function)[1] if name not in case and name != "says"]
                if lacking:
                    return f"its {role} takes {', '.join(lacking)}, which the case {dict(case)} lacks; add it"
        return quotations.objection(self.quote, self.place)

    def judge(self, says: Any = None) -> Result:
        """The sentence, or what is put in its place, against every case."""
        says = self.says if says is None else says
        trials = tuple(self._trial(says, case) for case in range(len(self.tried)))
        some = [trial for trial in trials if trial.holds]
        fails = [trial for trial in trials if not trial.holds]
        if self.quantifier == "exists":
            return Result(trials, bool(some), (some or fails)[0])
        return Result(trials, not fails, fails[0] if fails else max(trials, key=lambda trial: trial.gap))

    def decide(self, where: str) -> Result:
        """`judge`, once it is shown that the checker can say no."""
        if refused := self.objection():
            raise LawError(f"{where}: {self.text!r} {refused}")
        try:
            found = self.judge()
            if self.judge(self.wrong).holds:
                widest = max(trial.tolerance for trial in found.trials)
                raise LawError(f"its `wrong` passes (tolerance {widest:.3g}): correct its truth, cases or tolerance")
        except LawError as error:
            raise LawError(f"{where}: {self.text!r}: {error}") from None
        return found

    def can_hold(self, found: Result) -> bool:
        """Whether the checker can say yes, to the sentence or to what holds in its place."""
        if self.repaired is not None:
            return self.judge(self.repaired).holds
        if self.takes_sentence or self.relation != "==":
            return found.holds
        return all(self._compare(truth, truth, 0.0)[2] for truth in self._truths)

    @functools.cached_property
    def _truths(self) -> list[Any]:
        """What is true, computed once for the sentence and its variants."""
        return [self._try("truth", self.truth, case) for case in self.tried]

    def _trial(self, says: Any, number: int) -> Trial:
        case = self.tried[number]
        if self.takes_sentence:
            claimed, actual = self._try("truth", functools.partial(self.truth, says), case)
        else:
            claimed, actual = self._try("sentence", says, case), self._truths[number]
        tolerance = self._try("tolerance", self.tolerance, case)
        return Trial(case, claimed, actual, *self._compare(claimed, actual, tolerance))

    def _compare(self, claimed: Any, actual: Any, tolerance: float) -> tuple[float, float, bool]:
        """How far a case is from holding, its tolerance, and whether it holds. NaN satisfies no relation."""
        if self.same:
            holds = bool(self.same(claimed, actual))
            return 0.0 if holds else math.inf, tolerance, holds
        if self.symbolic:
            from sympy import simplify  # slow to import

            holds = simplify(claimed - actual) == 0
            return 0.0 if holds else math.inf, 0.0, bool(holds)
        if self.relation in ORDERS:
            slack = tolerance if self.relation == "<=" else -tolerance if self.relation == ">=" else 0.0
            claimed, actual = np.asarray(claimed), np.asarray(actual)
            excess = claimed - actual if self.relation in ("<", "<=") else actual - claimed
            rounded = (excess > 0) & (excess <= self._rounding(claimed, actual, each=True))
            holds = ORDERS[self.relation](claimed, actual + slack) | rounded
            return float(excess.max()), tolerance, bool(np.all(holds))
        if not (distance := gap(claimed, actual)) <= tolerance:
            tolerance = max(tolerance, self._rounding(claimed, actual))
        return distance, tolerance, distance <= tolerance if self.relation == "==" else distance > tolerance

    def _rounding(self, claimed: Any, actual: Any, each: bool = False) -> Any:
        return rounding(claimed, actual, each) if self.tolerance == EXACT else 0.0

    def _try(self, role: str, item: Any, case: Case) -> Any:
        """A function's value at a case; whatever it raises is one line that names the case."""
        if not _is_function(item):
            return item
        taken, _ = _parameters(item)
        try:
            return item(**{name: value for name, value in case.items() if taken is None or name in taken})
        except Exception as error:
            said = " ".join(str(error).split())
            raise LawError(f"its {role} cannot take the case {dict(case)} ({said}); correct one of them") from None

    def circular(self) -> list[str]:
        """Definitions of the library on which both the sentence and its truth rest: together they prove nothing.

        Of `theory`, where a closed form stands beside its inverse, the truth may use none if the sentence uses one.
        """
        says, truth = map(_library, (self.says, self.truth))
        closed = any(name.startswith(THEORY) for name in says)
        return sorted(name for name in truth if name in says or (closed and name.startswith(THEORY)))

    def record(self, found: Result) -> dict[str, Any]:
        """What the ledger keeps of the decisive law: measured, relation, expected value, tolerance."""
        trial = found.decisive
        sample = found.holds and self.quantifier == "all" and len(found.trials) > 1 and self.relation == "=="
        if sample and not self.same and _inexact(trial.actual):
            row = (trial.gap, "<=", trial.tolerance, None)
        elif self.symbolic or sample:
            row = (found.failed, "==", 0, None)
        else:
            exact = self.relation not in ("==", "!=") or self.same or not _inexact(trial.actual)
            row = (_cell(trial.actual), MIRROR[self.relation], _cell(trial.claimed), None if exact else trial.tolerance)
        return dict(zip(("measured", "relation", "expected_value", "tolerance"), row, strict=True))

    def counterexample(self, found: Result) -> dict[str, Any] | None:
        """The first case that fails, in numbers that a reader can type."""
        if found.holds or self.symbolic:
            return None
        trial = found.decisive
        inputs = {name: _plain(value) for name, value in trial.case.items()}
        claimed = _plain(trial.claimed)
        if self.relation == "!=":
            claimed = f"not {show(claimed)} within {trial.tolerance:g}"
        return {"inputs": inputs, "claimed": claimed, "actual": _plain(trial.actual)}

    def sentence(self, found: Result) -> Sentence:
        how = "symbolic" if self.symbolic else "some case" if self.quantifier == "exists" else "all cases"
        counted = {} if self.symbolic else {"tried": len(found.trials), "failed": found.failed}
        said = {"quote": self.quote, "place": self.place, "ours": self.ours, "boundary": self.boundary}
        return Sentence(text=self.text, found="holds" if found.holds else "fails", how=how, **counted, **said)


@dataclass(frozen=True)
class Reading:
    """What only reading decides: the sentence, the words of the source and where they stand."""

    text: str
    quotation: str
    place: str

    def objection(self) -> str | None:
        return None if self.quotation and self.place else "needs a quotation and its place"

    def sentence(self) -> Sentence:
        return Sentence(text=self.text, found="read", how="reading", note=f"{self.place}: “{self.quotation}”")


@dataclass(frozen=True)
class Check:
    """What decides one claim.

    `missing`: what of it no statement covers; a claim of laws is then never better than inconclusive, and beside
    findings it is said.
    `severity`: how much of a result is left where a statement of the document fails, one of SEVERITIES.
    """

    id: str
    sentences: tuple[Law | Finding | Reading, ...]
    corrected: tuple[Law, ...] = ()
    practice: str = ""
    missing: str = ""
    severity: str = ""
    recipe: str = "exact"
    file: str = ""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The frames that its findings read."""
        return tuple(dict.fromkeys(name for each in self._of(Finding) for name in each.metrics))

    @property
    def statements(self) -> list[Law]:
        """The laws among its sentences, not the corrected ones."""
        return self._of(Law)

    @functools.cached_property
    def laws(self) -> list[tuple[Law, Result]]:
        """Every law of the claim, decided."""
        return [(law, law.decide(f"{self.file}: {self.id}")) for law in self.statements]

    @functools.cached_property
    def failing(self) -> list[tuple[Law, Result]]:
        """The laws that fail, those of ours among them."""
        return [(law, found) for law, found in self.laws if not found.holds]

    @functools.cached_property
    def wanting(self) -> list[tuple[Law, Result]]:
        """The failing statements that count against a document."""
        return [(law, found) for law, found in self.failing if not law.ours]

    @functools.cached_property
    def replacement(self) -> list[tuple[Law, Result, tuple[int, ...]]]:
        """The corrected laws that hold, and which failing ones they answer, counted from 0."""
        return [each for each in self._corrections if each[1].holds and each[2]]

    @functools.cached_property
    def _corrections(self) -> list[tuple[Law, Result, tuple[int, ...]]]:
        if not self.failing:
            return []
        decided = [law.decide(f"{self.file}: {self.id}") for law in self.corrected]
        return list(zip(self.corrected, decided, self._answers(), strict=True))

    @functools.cached_property
    def unanswered(self) -> list[str]:
        """What a failing statement still needs: words of the document, a severity, a correction that holds.

        A law that somebody changes to see what happens may lack all of it; of what is committed a test refuses any.
        """
        where, lacking = f"{self.file}: {self.id}", []
        for law, found in [*self.laws, *((law, found) for law, found, _ in self._corrections)]:
            if not law.can_hold(found):
                lacking.append(f"{law.text!r} fails, and so does its truth in its place; give `repaired`")
        if not find(self.id).ours:
            unquoted = [law for law, _ in self.wanting if not law.quote]
            remedy = "give `quote` and `place`, or say that it is `ours`"
            lacking += [f"{law.text!r} fails and quotes nothing; {remedy}" for law in unquoted]
            if self.wanting and self.severity not in SEVERITIES:
                remedy = f"give `severity`, one of {', '.join(SEVERITIES)}"
                lacking.append(f"{self.wanting[0][0].text!r} fails; {remedy}")
        for law, found, answered in self._corrections:
            if not answered:
                said = f"answers {law.answers or 'nothing'}; say which of the {len(self.failing)} failing statements"
                lacking.append(f"the correction {law.text!r} {said}: answers=(1,)")
            elif not found.holds:
                lacking.append(f"its correction fails too at {dict(found.decisive.case)}: {law.text!r}; mend it")
        answered = {number for _, _, each in self._corrections for number in each}
        for number, (law, _) in enumerate(self.failing):
            if not law.ours and number not in answered:
                lacking.append(f"{law.text!r} fails; add `corrected`, the law that holds instead")
        return [f"{where}: {each}" for each in lacking]

    def _answers(self) -> list[tuple[int, ...]]:
        """For each correction, the failing laws that it answers; none where that is not said."""
        count = len(self.failing)
        if not any(law.answers for law in self.corrected):
            if count == 1:
                return [(0,) for _ in self.corrected]
            if len(self.corrected) in (0, count):
                return [(number,) for number in range(len(self.corrected))]
        said = [law.answers if all(1 <= number <= count for number in law.answers) else () for law in self.corrected]
        return [tuple(number - 1 for number in each) for each in said]

    def fixed(self, frames: Frames) -> Check:
        """The same check with the estimates of these frames, so that they are made once."""
        if not self.metrics:
            return self
        return replace(
            self, sentences=tuple(each.fixed(frames) if isinstance(each, Finding) else each for each in self.sentences)
        )

    def judged(self, frames: Frames) -> list[Judged]:
        """Every finding with its outcome."""
        return judge(self._of(Finding), frames)

    def summary(self, frames: Frames | None = None) -> str:
        """One line: "2 of 3 statements hold", of findings "2 of 3 statements agree, 1 undecided"; ours do not count."""
        found = [each.found for each in self.found(frames) if not each.ours]
        if self.metrics:
            testable = len(found) - found.count(UNTESTABLE)
            line = counted(found.count("agrees") + found.count("holds"), testable, "agree")
            line += f", {found.count(UNTESTABLE)} {UNTESTABLE}" * (UNTESTABLE in found)
            last = "undecided"
        else:
            line, last = counted(found.count("holds"), len(found) - found.count("read"), "hold"), "read"
        line += f", {found.count(last)} {last}" if last in found else ""
        return line + (f"; not asked: {self.missing}" if self.metrics and self.missing else "")

    def found(self, frames: Frames | None = None) -> list[Sentence]:
        """Every sentence with what was found, in the order of the claim."""
        return self._said(self.judged(frames or {}))

    def _said(self, judged: Sequence[Judged]) -> list[Sentence]:
        laws = {id(law): law.sentence(found) for law, found in self.laws}
        instead = [(law.text, {id(self.failing[number][0]) for number in each}) for law, _, each in self.replacement]
        for known in [*laws]:
            if said := " ".join(text for text, answered in instead if known in answered):
                laws[known] = laws[known].model_copy(update={"instead": said})
        measured = {id(each.finding): each.sentence() for each in judged}
        known = laws | measured
        return [known[id(each)] if id(each) in known else each.sentence() for each in self.sentences]

    def frame(self, frames: Frames | None = None) -> pd.DataFrame:
        """What a notebook shows: a row per sentence, then the corrected ones where a sentence fails."""
        laws = {id(law): _law_row(law, found) for law, found in self.laws}
        measured = {id(each.finding): each.row() for each in self.judged(frames or {})}
        rows = [(laws | measured).get(id(each)) or _reading_row(each) for each in self.sentences]
        rows += [_law_row(law, found) | {"": "instead"} for law, found, _ in self.replacement]
        return pd.DataFrame(rows).fillna("").set_index("")

    def verdict(self, profile: str, frames: Frames | None = None, evidence: Sequence[str] = ()) -> Verdict:
        """The ledger's record; `evidence` are paths of figures. Paths of metrics are added."""
        judged = self.judged(frames or {})
        row, sentences = self._empirical(judged) if self.metrics else self._exact(), self._said(judged)
        paths = [*(f"metrics/{name}.csv" for name in self.metrics), *evidence]
        found = Verdict(id=self.id, sentences=sentences, evidence=paths, profile=profile, recipe=self.recipe, **row)
        return settle(found, find(self.id))

    def _exact(self) -> dict[str, Any]:
        laws = [(law, found) for law, found in self.laws if not law.ours]
        wanting = self.wanting
        read = [f"By reading, {each.place}: {each.text}" for each in self._of(Reading)]
        if not wanting and (self.missing or not laws):
            row = {
                "verdict": "inconclusive",
                "outcome": "undecided",
                "opposite": self.missing or "only reading decides",
            }
        else:
            row = {"verdict": "verified"}
        if wanting:
            shown = [(law, found) for law, found in wanting if not law.symbolic]
            if not shown:
                raise LawError(f"{self.file}: {self.id} is refuted symbolically; add a law with a case that shows it")
            law, found = shown[0]
            counting = {number for number, (law, _) in enumerate(self.failing) if not law.ours}
            instead = [law.text for law, _, answered in self.replacement if counting & set(answered)]
            edges = [law.boundary for law, _ in wanting]
            except_at = [f"Holds, except at {', '.join(dict.fromkeys(edges))}."] if all(edges) else []
            row = {
                "verdict": "contradicted"
                if len(wanting) == len(laws) and not except_at
                else "verified with correction",
                "counterexample": law.counterexample(found),
                "corrected": " ".join([*except_at, *instead, *read]) or NOTHING,
                "severity": self.severity or None,
            }
        decisive = wanting or laws
        return row | (decisive[0][0].record(decisive[0][1]) if decisive else {})

    def _empirical(self, judged: Sequence[Judged]) -> dict[str, Any]:
        judged = [each for each in judged if each.finding.decides]
        outcomes = [each.outcome for each in judged]
        outcomes += ["agrees" if found.holds else "disagrees" for law, found in self.laws if not law.ours]
        outcome = next((each for each in ("disagrees", UNTESTABLE, "undecided") if each in outcomes), "agrees")
        decisive = next((each for each in judged if each.outcome == outcome), judged[0])
        value = decisive.estimate.value if outcome != UNTESTABLE else math.nan
        return {
            "verdict": "scaled reproduction" if outcome in ("agrees", "disagrees") else "inconclusive",
            "outcome": outcome,
            "measured": "not measured" if math.isnan(value) else round(value, 6),
            "relation": decisive.finding.relation,
            "expected_value": decisive.finding.bound,
            "interval": decisive.interval if outcome != UNTESTABLE else None,
            "seeds": sorted({seed for each in judged for seed in each.estimate.seeds}),
            "opposite": ". ".join([*map(_opposite, judged), *([NOT_ASKED + self.missing] if self.missing else [])]),
        }

    def _of(self, kind: type) -> list[Any]:
        return [each for each in self.sentences if isinstance(each, kind)]


def claim(
    identifier: str,
    *sentences: Law | Finding | Reading,
    corrected: Law | Sequence[Law] = (),
    practice: str = "",
    missing: str = "",
    severity: str = "",
    recipe: str = "exact",
    file: str = "",
) -> Check:
    """What decides a claim, in the order of its sentences. LawError for a sentence that could decide nothing.

    `file`: where that stands; not said, the caller's.
    """
    path = Path(sys._getframe(1).f_code.co_filename)
    file = file or (path.relative_to(LIBRARY.parent).as_posix() if path.is_relative_to(LIBRARY) else path.name)
    corrected = (corrected,) if isinstance(corrected, Law) else tuple(corrected)
    if not sentences:
        raise LawError(f"{file}: {identifier} has no sentence; give a Law, a Finding or a Reading")
    for each in (*sentences, *corrected):
        if refused := each.objection():
            raise LawError(f"{file}: {identifier}: {each.text!r} {refused}")
    if severity and severity not in SEVERITIES:
        raise LawError(f"{file}: {identifier}: severity {severity!r} is none of {', '.join(SEVERITIES)}")
    return Check(identifier, sentences, corrected, practice, missing, severity, recipe, file)


def claims(*checks: Check) -> dict[str, Check]:
    """Checks by id. LawError for an id that is decided twice."""
    found: dict[str, Check] = {}
    for check in checks:
        if check.id in found:
            raise LawError(f"{check.file}: {check.id} is decided twice; keep one")
        found[check.id] = check
    return found


def grid(**values: Iterable[Any]) -> list[dict[str, Any]]:
    """A case for every combination, the last name fastest: grid(n=(1, 2), m=(3, 4)) begins {"n": 1, "m": 3}."""
    return [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]


def gap(claimed: Any, actual: Any) -> float:
    """Largest |claimed - actual| of numbers, arrays, sequences and mappings of one shape, NaN where a number is none.

    Of other objects 0 if they are equal, else infinity.
    """
    if isinstance(claimed, Mapping) and isinstance(actual, Mapping) and claimed.keys() == actual.keys():
        return float(np.max([gap(claimed[name], actual[name]) for name in claimed], initial=0.0))
    if _is_number(claimed) and _is_number(actual):
        return 0.0 if claimed == actual else float(abs(claimed - actual))
    if isinstance(claimed, (list, tuple)) and isinstance(actual, (list, tuple)) and len(claimed) == len(actual):
        return float(np.max([gap(*pair) for pair in zip(claimed, actual, strict=True)], initial=0.0))
    if hasattr(claimed, "__array__") or hasattr(actual, "__array__"):
        a, b = np.asarray(claimed), np.asarray(actual)
        if a.shape != b.shape or a.dtype.kind not in "iufc" or b.dtype.kind not in "iufc":
            return 0.0 if a.shape == b.shape and bool(np.all(a == b)) else math.inf
        with np.errstate(invalid="ignore"):
            return float(np.where(a == b, 0.0, np.abs(a - b)).max(initial=0.0))
    return 0.0 if claimed == actual else math.inf


def rounding(claimed: Any, actual: Any, each: bool = False) -> Any:
    """ROUNDING of the larger of two floating-point numbers; 0 for anything else.

    Of arrays it is that of their largest entry, or of `each` entry for itself.
    """
    if not (_inexact(claimed) or _inexact(actual)):
        return 0.0
    sizes = [np.abs(np.asarray(side, dtype=complex)) for side in (claimed, actual) if _numeric(side)]
    if each:
        return ROUNDING * functools.reduce(np.maximum, (np.where(np.isfinite(size), size, 0.0) for size in sizes))
    finite = [float(size[np.isfinite(size)].max(initial=0.0)) for size in sizes]
    return ROUNDING * max(finite, default=0.0)


def _numeric(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "iufc"
    except ValueError:  # parts of unequal lengths
        return False


def _opposite(judged: Judged) -> str:
    """What would have to happen for the other outcome; of what cannot be tested here, what that would take."""
    finding = judged.finding
    return f"{finding.text}: {UNTESTABLE} ({judged.note})" if judged.outcome == UNTESTABLE else finding.flip


def counted(holding: int, of: int, verb: str) -> str:
    """ "3 of 4 statements hold", "1 of 1 statement holds"."""
    return f"{holding} of {of} statement{'s' if of != 1 else ''} {verb}{'s' if of == 1 else ''}"


def _law_row(law: Law, found: Result) -> dict[str, Any]:
    record = law.record(found)
    said = law.sentence(found)
    cases = f"{said.tried}" + (f", {said.failed} fail" if said.failed else "") if said.tried else "symbolic"
    example = law.counterexample(found)
    return {
        "": "ours" if law.ours else "claim",
        "statement": law.text,
        "quotation": f"“{law.quote}” ({law.place})" if law.quote else "",
        "found": said.found,
        "cases": cases if said.how != "some case" else f"{said.tried}, one needed",
        "measured": f"{show(record['measured'])} {record['relation']} {show(record['expected_value'])}",
        "counterexample": str(Counterexample(**example)) if example else "",
    }


def _reading_row(reading: Reading) -> dict[str, Any]:
    said = reading.sentence()
    return {"": "read", "statement": said.text, "found": "read", "note": said.note}


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number) and not isinstance(value, (bool, np.bool_))


def _inexact(value: Any) -> bool:
    """Floating point, alone or in arrays and sequences."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return any(np.asarray(each).dtype.kind in "fc" for each in items)


def _is_function(item: Any) -> bool:
    """Called with a case; classes and sympy's expressions stand for themselves."""
    return callable(item) and not isinstance(item, type) and type(item).__module__.partition(".")[0] != "sympy"


def _library(item: Any) -> set[str]:
    """Names of the library's functions and classes that a function rests on, but for those of the checks."""
    if not _is_function(item):
        return set()
    code = item if isinstance(item, (FunctionType, MethodType, functools.partial)) else type(item)
    return {name for name in reached(code) if name.startswith(PACKAGE) and not name.startswith(OWN)}


@functools.lru_cache(maxsize=4096)
def _parameters(function: Callable) -> tuple[frozenset[str] | tuple[str, ...] | None, tuple[str, ...]]:
    """Names that a function takes, in order (None: any), and those that it needs."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise LawError(f"{function!r} does not say what it takes; wrap it in a lambda") from None
    kinds = inspect.Parameter
    named = [each for each in parameters if each.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    needed = tuple(each.name for each in named if each.default is kinds.empty)
    open_ = any(each.kind is kinds.VAR_KEYWORD for each in parameters)
    return None if open_ else tuple(each.name for each in named), needed


def _plain(value: Any) -> Any:
    """What JSON can hold and a reader can type: numbers, texts, lists of them."""
    if hasattr(value, "item") and not getattr(value, "shape", ()):
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, (set, frozenset)):
        return ", ".join(sorted(map(str, value)))
    if isinstance(value, Iterable):
        return [_plain(item) for item in value]
    return getattr(value, "__name__", str(value))


def _cell(value: Any) -> Any:
    """A plain value where the ledger keeps one number or text."""
    plain = _plain(value)
    return show(plain) if isinstance(plain, list) else plain
