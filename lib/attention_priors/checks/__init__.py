"""How each claim is decided: one table, claim -> the module that holds its check, opened when asked.

A check has `id`, `metrics` (names of the frames that it reads; none where arithmetic decides), `practice` and

    verdict(profile, frames, evidence)   what the ledger keeps; `evidence`: paths of figures that show it
    frame(frames)                        a row per sentence, as a notebook shows it
    summary(frames)                      one line: "3 of 4 statements hold"

To add a claim, write it into data/claims/*.yaml, its check into CHECKS of a module, and its id into that module's row;
or its laws into a cell of its notebook that is tagged `law`, and its id into the notebook's row of DERIVED.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attention_priors import claims
from attention_priors.checks import derived as derivation
from attention_priors.store.registry import Table

ROWS = {
    "ablation.priors": "BAM-F8 BAM-F9 BAM-C2 BAM-C3 BAM-C11",
    "ablation.training": "BAM-F11 BAM-F12 BAM-TAB5 BAM-C14",
    "algorithms.positions": "PE-RAND-E PE-F5 PE-NOPE",
    "attention.kernel": "X-17 X-12 BAM-TAB6 BAM-C16",
    "attention.order": "PE-C0",
    "chunks.language": "PC-TAB3",
    "chunks.needles": "PC-MINI",
    "chunks.profiles": "PC-DISC PC-CQ2 PC-CQ3i PC-C18 PC-F1 PC-F4 PC-F5",
    "chunks.outliers": "PC-CQ3ii PC-CQ1 PC-F3 PC-F6",
    "encodings.kernels": "PE-KERPLE",
    "encodings.listings": "PE-E-CODE",
    "encodings.rotary": "PE-ROPE-MAP PE-SIN PE-XPOS",
    "genomes.reading": "GOAT-F4 GOAT-C-8 GOAT-C-1",
    "goat.copying": "GOAT-F1 GOAT-EQ19 GOAT-TAB1",
    "goat.language": "GOAT-F2a GOAT-C-6 GOAT-E.3",
    "goat.retrieval": "GOAT-F3a GOAT-F3b GOAT-F3c GOAT-C-7 GOAT-C-10",
    "goat.sinks": "GOAT-F2b GOAT-F2c GOAT-CSINK GOAT-C-11",
    "groups.generators": "OPG-1 OPG-19 OPG-16",
    "images.resolution": "GOAT-TAB2 GOAT-F5 GOAT-C-9",
    "language.baselines": "BAM-E6",
    "language.perplexity": "BAM-TAB2 BAM-F6 BAM-F7 BAM-C7 BAM-C18 BAM-C23 BAM-F10 BAM-C12 BAM-C5",
    "language.recipe": "BAM-ALG1 BAM-C17",
    "language.scale": "X-34 X-35",
    "language.survey": "PE-C2 PE-C3 PE-C4 PE-C5 PE-KERPLE-E PE-BIAS PE-F3 PE-F6 PE-TAB OPG-18 PE-PI "
    "PE-PI-E2 PE-NTK-E PE-DNTK-E PE-REROPE PE-F7 PE-F8 PE-F9",
    "learned.heads": "BAM-F4 BAM-C8 BAM-C21",
    "parallel.tables": "PC-TAB1 PC-TAB2 PC-TAB4 PC-TAB5 PC-TAB6 PC-TAB7 PC-TAB8 PC-TAB9 PC-TAB10 PC-TAB11 PC-TAB12 "
    "PC-E4 PC-E5 PC-E6",
    "parallel.text": "PC-C1 PC-C2 PC-C3 PC-C4 PC-C5 PC-C6 PC-C7 PC-C8 PC-C9 PC-C10 PC-C11 PC-C12 PC-C13 PC-C14 PC-C15 "
    "PC-C16 PC-C17",
    "passkey.benchmark": "X-11 X-33",
    "passkey.protocol": "BAM-D7",
    "passkey.recall": "X-40 X-41 X-42",
    "passkey.robustness": "X-36",
    "passkey.retrieval": "BAM-F2 BAM-F3 BAM-F13 BAM-C1 BAM-C6 BAM-C13",
    "passkey.tables": "BAM-E7 BAM-E8 BAM-E10 BAM-C19 BAM-C26",
    "passkey.timing": "BAM-E9 BAM-C27",
    "pretrained.answers": "X-18 X-19 X-20 X-21 X-22 X-23 X-24 X-25 X-27",
    "prior.bias": "BAM-D3 BAM-D4",
    "prior.phase": "X-14",
    "rotations.extensions": "PE-BETA",
    "ruler.tasks": "BAM-D8",
    "spectra.composite": "GOAT-DIM GOAT-ALG1",
    "spectra.recency": "GOAT-P3.1b",
    "spectra.waves": "GOAT-EQ12 GOAT-C-2",
}


# Claims that their notebook derives in view: the notebook is the module of its laws.
DERIVED = {
    "attention_is_inference": "BAM-D1 BAM-D2 BAM-T1 BAM-F5 BAM-L1 BAM-L2 BAM-D5 BAM-C10 BAM-I1 BAM-I2 BAM-I2n "
    "BAM-I3 BAM-E1 BAM-E12 GOAT-D2.1 GOAT-P2.2 GOAT-P2.2b GOAT-EQ3 GOAT-P3.1 GOAT-E7 X-1",
    "audit_bam": "BAM-E2 BAM-D6 BAM-E16 BAM-E4 BAM-E5 BAM-E15 BAM-TAB1 BAM-C22 BAM-C25 BAM-E11 BAM-E17",
    "audit_goat": "GOAT-DF.1 GOAT-DF.2 GOAT-AF.3 GOAT-F.5s GOAT-E10 GOAT-E9 GOAT-E11 GOAT-E6 GOAT-D5.3 GOAT-E8 "
    "GOAT-T5.4p",
    "audit_groups": "OPG-17 OPG-TAB1 OPG-9d OPG-15",
    "audit_parallelcomp": "PC-SK PC-F2",
    "audit_survey": "PE-T5 PE-E-T5 PE-E-T5b PE-ALIBI PE-SAND PE-ROPE PE-E-ROPE1 PE-E2 PE-2D PE-RAND PE-F1 PE-F2 PE-F4 "
    "PE-PI-E1 PE-DLIN PE-E1",
    "field_guide": "PE-BIAS2 PE-C1 PE-SAND2 PE-SIN-L PE-SIN-DOT PE-ROPE-EQ GOAT-E.2 GOAT-F.T3 GOAT-F.T3p GOAT-F.T3r "
    "X-6 GOAT-F.6 X-30 X-31 X-32",
    "generalised_gaussian": "BAM-F1 BAM-E3 X-3 X-4 BAM-C-BETA BAM-L3 BAM-L4 BAM-T2 BAM-T3 BAM-T4 BAM-T4b BAM-C4 "
    "BAM-E13 BAM-E14 BAM-E18",
    "longer_rotations": "PE-NTK PE-DNTK PE-PNTK",
    "one_parameter_groups": "OPG-2 OPG-3 OPG-4 OPG-5 OPG-6 OPG-7 OPG-20 OPG-8 OPG-9a OPG-9b OPG-9c OPG-10 OPG-F1 "
    "OPG-11 OPG-12 OPG-13 OPG-F2 OPG-14 X-2 X-9 GOAT-E.1 GOAT-F.T2 GOAT-F.T2g GOAT-F.4 GOAT-F.T2c GOAT-F.T4",
    "parallel_attention": "PC-EQ1 PC-EQ10 PC-DISC2 PC-PRIOR X-15 PC-EQ3 PC-EQ6 PC-EQ8 PC-EQ8g PC-TA.1 PC-TA.4 PC-TA.2d "
    "PC-TA.3 PC-TA.3x PC-T3.1c PC-TA.6 PC-TA.2 PC-TA.2x PC-TA.5 PC-T3.1a PC-T3.1b",
    "phase_diagram": "X-10 X-13",
    "spectra_and_sinks": "GOAT-C1 GOAT-C2 GOAT-C-3 GOAT-C-4 GOAT-C-5 GOAT-C-12 GOAT-T5.1 GOAT-T5.1t GOAT-T5.4a "
    "GOAT-T5.4b X-5 X-7 X-8 GOAT-EQ18 GOAT-EQ20 GOAT-SINKGRAD X-16 X-26 GOAT-D5.2",
}


class Checks(Table):
    """claim -> "module:CHECKS[name]", or the notebook that derives it. ValueError for an id in two rows, and, where a
    module is opened, for one that it lacks or holds beside its row."""

    def __init__(self, rows: Mapping[str, str], derived: Mapping[str, str]) -> None:
        listed: dict[str, str] = {}
        for module, ids in (*rows.items(), *derived.items()):
            for name in ids.split():
                if name in listed:
                    held = listed[name].partition(":")[0]
                    raise ValueError(f"checks/__init__.py lists {name} under {held} and under {module}; keep one")
                listed[name] = f"{module}:CHECKS[name]"
        self.notebooks = {name: notebook for notebook, ids in derived.items() for name in ids.split()}
        super().__init__("claim", __name__, listed)

    def path(self, name: str) -> Path:
        return derivation.path(self.notebooks[name]) if name in self.notebooks else super().path(name)

    def place(self, name: str) -> tuple[Path, int]:
        if name in self.notebooks:
            return self.path(name), derivation.cell_of(self.notebooks[name], name)[0]
        return super().place(name)

    def source(self, name: str) -> tuple[Path, int, str]:
        """File, line and source of what decides a claim: its `claim("BAM-T4", ...)`, or the cell that derives it."""
        if name in self.notebooks:
            return self.path(name), *derivation.cell_of(self.notebooks[name], name)
        path = self.path(name)
        text = path.read_text(encoding="utf-8")
        calls = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call)
            and any(isinstance(each, ast.Constant) and each.value == name for each in node.args)
        ]
        first, last = (calls[-1].lineno, calls[-1].end_lineno) if calls else (self.place(name)[1],) * 2
        return path, first, "\n".join(text.splitlines()[first - 1 : last])

    def __getitem__(self, name: str) -> Any:
        if name in self.notebooks:
            found = derivation.laws(self.notebooks[name])
            if name not in found:
                shown = self.path(name).name
                raise ValueError(f"notebooks/{shown} has no law cell for {name}; tag it `law`, or correct DERIVED")
            return found[name]
        check, row = super().__getitem__(name), self.rows[name]
        for held in importlib.import_module(self.module(name)).CHECKS:
            if self.rows.get(held) != row:
                path = row.partition(":")[0].replace(".", "/")
                raise ValueError(f"checks/{path}.py decides {held}, which its row in checks/__init__.py lacks; add it")
        return check


CHECKS = Checks(ROWS, DERIVED)

# A second witness: what one notebook measures of claims that others decide. It stands beside their verdicts.
WITNESS = "pretrained_model"
ALSO = Checks(
    {
        "pretrained.documents": "BAM-F4 BAM-C7 BAM-C12 BAM-C13 BAM-C18 GOAT-CSINK GOAT-F2a PE-C2 PE-C6 PE-NTK-E "
        "PE-REROPE PE-F8 PE-F9 PC-CQ1 PC-C5 PC-C7 PC-C15 PC-C18 PC-F3 PC-F6 PC-TAB2 PC-TAB3 PC-TAB8",
    },
    {},
)


def belonging(notebook: str) -> dict[str, Any]:
    """The checks of the claims that a notebook (its slug) owns, in the register's order; no other module is opened."""
    return {
        name: CHECKS[name] for name, claim in claims.register().items() if claim.notebook == notebook and name in CHECKS
    }


def witnessed(notebook: str) -> dict[str, Any]:
    """The checks of other notebooks' claims on which a notebook is a second witness, in the register's order."""
    return {name: ALSO[name] for name in claims.register() if notebook == WITNESS and name in ALSO}
