"""The register (what the documents claim) and the verdict (what may be said about a claim on which evidence)."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from attention_priors import config
from attention_priors.store.notebooks import NOTEBOOKS
from attention_priors.store.registry import nearest

DOCUMENTS = {
    "BAM": "Bayesian Attention Mechanism",
    "GOAT": "You Need Better Attention Priors",
    "OPG": "Using group theory to explore the space of positional encodings",
    "PE": "Positional Encoding in Transformers: From Sinusoidal to RoPE",
    "PC": "ParallelComp",
    "X": "Across the documents",
}
EXACT = ("verified", "verified with correction", "contradicted")
WANTING = ("contradicted", "verified with correction")
RUNS = ("scaled reproduction", "reproduced", "inconclusive")
VERDICTS = (*EXACT, *RUNS, "not run")
KINDS = ("definition", "theorem", "lemma", "proposition", "algorithm", "empirical", "figure", "table", "erratum")
SCALES = ("cpu", "cpu-small", "gpu", "paper")
# What an exact verdict says about an empirical claim; a corrected one has no automatic outcome.
IMPLIED = {"verified": "agrees", "contradicted": "disagrees"}
SEVERITIES = ("breaks a result", "needs a repair", "editorial")  # of what fails: how much of a result is left
UNTESTABLE = "not testable here"  # an outcome: the runs lack what the claim is about
OUTCOMES = ("agrees", "disagrees", "undecided", UNTESTABLE)
NOT_ASKED = "Not asked: "  # before what a measurement leaves out of a claim
SHOWN = 24  # numbers of a measured array in a line of text
MOST_NUMBERS = 5  # of a counterexample: more cannot be checked by hand


class Claim(BaseModel):
    """One entry of the register."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    source: str
    kind: Literal[KINDS]
    scale: Literal[SCALES]
    statement: str
    notebook: Literal[tuple(NOTEBOOKS)]  # its slug

    @property
    def document(self) -> str:
        """'BAM-T4' -> 'BAM'."""
        return self.id.split("-", 1)[0]

    @property
    def slip(self) -> bool:
        """Whether it was registered because it fails: counted apart, since no sample of statements would hold it."""
        return self.kind == "erratum"

    @property
    def ours(self) -> bool:
        """Whether no document states it: one that joins them (X), or a correction or addition, as its source says."""
        return self.document == "X" or any(word in self.source for word in ("correct", "tightened", "added"))


@functools.lru_cache(maxsize=64)
def _entries(path: Path, modified: int) -> tuple[Claim, ...]:
    """One file of the register; `modified` is part of the cache's key, so that an edited file is read again."""
    text = path.read_text(encoding="utf-8")
    entries = []
    for entry in config.read_yaml(text) or []:
        try:
            entries.append(Claim.model_validate(entry))
        except ValidationError as error:
            name = entry.get("id", "an entry without id") if isinstance(entry, dict) else repr(entry)
            raise ValueError(f"{path.name}: {name}: {first_error(error)}; correct the register") from None
    return tuple(entries)


def register(folder: Path | None = None) -> dict[str, Claim]:
    """Every claim by id, in the order of DOCUMENTS and then of the files. ValueError for an id that occurs twice."""
    folder = Path(folder or config.ROOT / "data" / "claims")
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise ValueError(f"no claims in {folder}; expected *.yaml with id, source, kind, scale, statement, notebook")
    known: dict[str, Claim] = {}
    for path in files:
        for claim in _entries(path, path.stat().st_mtime_ns):
            if claim.id in known:
                raise ValueError(f"{path.name}: {claim.id} is in the register twice; keep one")
            known[claim.id] = claim
    order = {name: rank for rank, name in enumerate(DOCUMENTS)}
    return dict(sorted(known.items(), key=lambda item: order.get(item[1].document, len(order))))


def first_error(error: ValidationError) -> str:
    detail = error.errors()[0]
    where = ".".join(str(part) for part in detail["loc"])
    message = detail["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def _plain(value: Any) -> Any:
    """numpy and torch scalars as Python's; infinities as words, since JSON has no number for them."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


Scalar = Annotated[bool | int | float | str, BeforeValidator(_plain)]


def show(value: Any) -> str:
    """A measured thing in a few characters: six significant digits, lists in brackets, a dash for nothing.

    Of a list of more than SHOWN numbers the first ones, and how many there are.
    """
    if value is None:
        return "–"
    if isinstance(value, (list, tuple)):
        if len(numbers := _flat(value)) > SHOWN:
            return f"[{', '.join(map(show, numbers[:6]))}, ... {len(numbers):,} numbers]"
        return "[" + ", ".join(show(item) for item in value) + "]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class Counterexample(BaseModel):
    """Inputs on which the printed statement fails: what it claims there and what is true."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    inputs: dict[str, Scalar | list[Scalar] | list[list[Scalar]]]
    claimed: Scalar | list[Scalar]
    actual: Scalar | list[Scalar]

    def __str__(self) -> str:
        inputs = ", ".join(f"{name} = {show(value)}" for name, value in self.inputs.items())
        return f"{inputs}: claimed {show(self.claimed)}, actual {show(self.actual)}"


def _flat(value: Any) -> list[Any]:
    return [each for item in value for each in _flat(item)] if isinstance(value, (list, tuple)) else [value]


class Sentence(BaseModel):
    """One statement of a claim and what was found about it.

    `how`: all cases of a sample, some case that suffices, a symbolic proof, a reading, or metrics. `quote`, `place`:
    the document's words; `ours`: nobody wrote it, and it counts for nothing; `instead`: what holds in its place.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str
    found: Literal["holds", "fails", *OUTCOMES, "read"]
    how: Literal["all cases", "some case", "symbolic", "reading", "metrics"]
    tried: int | None = None
    failed: int | None = None
    note: str = ""
    quote: str = ""
    place: str = ""
    ours: bool = False
    boundary: str = ""
    instead: str = ""


class Verdict(BaseModel):
    """What was found about one claim, and nothing that the register knows; `settle` holds the two against each other.

    `also`: what a second witness says, the notebook in checks.WITNESS, from measurements of its own. It changes nothing
    of the verdict. Combinations that would say more than the evidence are refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    verdict: Literal[VERDICTS]
    outcome: Literal[OUTCOMES] | None = None
    measured: Scalar | None = None
    relation: str | None = None
    expected_value: Scalar | None = None
    tolerance: float | None = None
    seeds: list[int] = []
    interval: tuple[float, float] | None = None
    evidence: list[str] = []
    counterexample: Counterexample | None = None
    corrected: str | None = None
    severity: Literal[SEVERITIES] | None = None
    profile: str
    recipe: str | None = None
    opposite: str | None = None
    sentences: list[Sentence] = []
    also: Verdict | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Verdict:
        for objection in (*self._overclaims(), *self._omits()):
            raise ValueError(f"{self.id}: {self.verdict!r} {objection}")
        return self

    def _overclaims(self) -> Iterator[str]:
        """More said than the evidence carries."""
        found = (self.outcome, self.measured, self.counterexample, self.corrected, self.interval)
        if self.verdict == "not run" and any(item is not None for item in found):
            yield "carries no result; give another verdict or leave the result out"
        if self.verdict == "reproduced" and self.profile != "paper":
            yield f"needs profile paper, not {self.profile}; use 'scaled reproduction'"
        if self.verdict == "verified" and (self.counterexample or self.corrected):
            yield "has a counterexample or a corrected statement; use 'verified with correction'"
        if self.verdict == "inconclusive" and self.outcome not in (None, "undecided", UNTESTABLE):
            yield f"is undecided, not {self.outcome}; use 'scaled reproduction'"
        if self.outcome == UNTESTABLE and self.verdict != "inconclusive":
            yield f"is {UNTESTABLE}; use 'inconclusive'"
        if self.verdict in IMPLIED and self.outcome not in (None, IMPLIED[self.verdict]):
            yield f"cannot have the outcome {self.outcome}; leave it out"
        if self.counterexample and len(_flat(list(self.counterexample.inputs.values()))) > MOST_NUMBERS:
            yield f"has a counterexample of more than {MOST_NUMBERS} numbers; give a smaller one"
        if self.interval and not self.interval[0] <= self.interval[1]:
            yield f"has the interval {self.interval}; give (low, high)"

    def _omits(self) -> Iterator[str]:
        """Less said than a reader needs."""
        if self.verdict in EXACT[1:] and not (self.counterexample and self.corrected):
            yield "needs a counterexample and the corrected statement"
        if self.verdict in RUNS and self.outcome is None:
            yield f"needs an outcome: {', '.join(OUTCOMES)}"
        if self.verdict in RUNS and not self.opposite:
            yield "needs `opposite`: what would have to happen for the opposite verdict"
        if self.verdict in RUNS[:2] and not self.evidence:
            yield "needs evidence: the metrics it was read from"
        if self.verdict in (*EXACT, *RUNS[:2]) and None in (self.measured, self.relation, self.expected_value):
            yield "needs measured, relation and expected_value"
        if self.verdict != "not run" and not self.recipe:
            yield "needs a recipe ('exact' where nothing is trained)"


def not_run(identifier: str, profile: str) -> Verdict:
    """The entry of a claim that nobody has decided."""
    return Verdict(id=identifier, verdict="not run", profile=profile)


def settle(verdict: Verdict, claim: Claim) -> Verdict:
    """The verdict beside the register's entry of today: ValueError where its kind or scale forbid what is said.

    An empirical sentence that arithmetic alone decides has an outcome too, which its checker need not know.
    """
    if verdict.verdict in EXACT[:2] and claim.scale != "cpu":
        objection = f"is for exact checks and this claim has scale {claim.scale}"
    elif verdict.verdict == "contradicted" and claim.scale != "cpu" and verdict.profile != "paper":
        objection = f"needs an exact check or profile paper, not {verdict.profile}"
    elif claim.kind == "empirical" and verdict.outcome is None:
        return verdict.model_copy(update={"outcome": IMPLIED.get(verdict.verdict)})
    else:
        return verdict
    raise ValueError(f"{claim.id}: {verdict.verdict!r} {objection}; use 'scaled reproduction'")


def find(identifier: str, known: Mapping[str, Claim] | None = None) -> Claim:
    """The claim with this id. ValueError naming the nearest id."""
    known = register() if known is None else known
    if identifier not in known:
        raise ValueError(f"unknown claim {identifier!r}{nearest(identifier, known)}; data/claims/*.yaml lists all")
    return known[identifier]


def mentions(identifier: str) -> re.Pattern[str]:
    """Finds the claim as a whole word."""
    return re.compile(rf"(?<![\w-]){re.escape(identifier)}(?!\w|[-.]\w)")
