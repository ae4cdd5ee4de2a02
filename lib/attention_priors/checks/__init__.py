"""How each claim is decided: one table, claim -> the module that holds its check, opened when asked.

A check has `id`, `metrics` (names of the frames that it reads; none where arithmetic decides), `practice` and

    verdict(profile, frames, evidence)   what the ledger keeps; `evidence`: paths of figures that show it
    frame(frames)                        a row per sentence, as a notebook shows it
    summary(frames)                      one line: "3 of 4 sentences hold"

To add a claim, write it into data/claims/*.yaml, its check into CHECKS of a module, and its id into that module's row.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from attention_priors import claims
from attention_priors.registry import Table

ROWS = {
    "ablation.priors": "BAM-F8 BAM-F9 BAM-C2 BAM-C3 BAM-C11",
    "ablation.training": "BAM-F11 BAM-F12 BAM-TAB5 BAM-C14",
    "algorithms.positions": "PE-RAND-E PE-F5 PE-NOPE",
    "attention.kernel": "X-17 X-12 BAM-TAB6 BAM-C16",
    "attention.order": "PE-C0 PE-C1 PE-BIAS2 PE-E1",
    "attention.transport": "GOAT-D2.1 GOAT-P2.2 GOAT-P2.2b GOAT-EQ3 GOAT-P3.1 GOAT-E7 X-1",
    "chunks.language": "PC-TAB3",
    "chunks.needles": "PC-MINI",
    "chunks.profiles": "PC-DISC PC-CQ2 PC-CQ3i PC-C18 PC-F1 PC-F4 PC-F5",
    "chunks.regions": "PC-CQ3ii",
    "chunks.shapes": "PC-CQ1 PC-F3 PC-F6",
    "encodings.biases": "PE-T5 PE-E-T5 PE-E-T5b PE-ALIBI",
    "encodings.kernels": "PE-KERPLE PE-SAND PE-SAND2",
    "encodings.listings": "PE-E-CODE",
    "encodings.randomised": "PE-RAND",
    "encodings.rope": "PE-ROPE PE-E-ROPE1 PE-ROPE-EQ PE-2D PE-E2 PE-ROPE-MAP PE-F2",
    "encodings.sinusoids": "PE-SIN PE-SIN-L PE-SIN-DOT PE-F1",
    "encodings.xpos": "PE-XPOS PE-F4",
    "genomes.reading": "GOAT-F4 GOAT-C-8 GOAT-C-1",
    "goat.copying": "GOAT-F1 GOAT-EQ19 GOAT-TAB1",
    "goat.language": "GOAT-F2a GOAT-C-6",
    "goat.offsets": "GOAT-E.3",
    "goat.retrieval": "GOAT-F3a GOAT-F3b GOAT-F3c GOAT-C-7 GOAT-C-10",
    "goat.sinks": "GOAT-F2b GOAT-F2c GOAT-CSINK GOAT-C-11",
    "groups.axioms": "OPG-17 OPG-1 OPG-2 OPG-3 OPG-TAB1",
    "groups.blocks": "OPG-8 OPG-10 OPG-11 OPG-12 OPG-13 OPG-F1 OPG-F2",
    "groups.decay": "OPG-9a OPG-9b OPG-9c OPG-9d OPG-14",
    "groups.defective": "OPG-15 X-2",
    "groups.group_law": "OPG-4 OPG-5 OPG-6 OPG-7 OPG-20",
    "groups.pucks": "OPG-19",
    "groups.scope": "OPG-16 X-9",
    "images.recipe": "GOAT-TAB2",
    "images.resolution": "GOAT-F5 GOAT-C-9",
    "inference.families": "BAM-D5 BAM-L1 BAM-L2 BAM-C10 BAM-F5",
    "inference.normaliser": "BAM-I1 BAM-E1 BAM-I2 BAM-I2n BAM-I3",
    "inference.posterior": "BAM-D1 BAM-D2 BAM-T1 BAM-E12",
    "language.baselines": "BAM-E6",
    "language.contexts": "BAM-F10 BAM-C12 BAM-C5",
    "language.decoding": "BAM-ALG1",
    "language.extensions": "PE-PI PE-PI-E2 PE-NTK-E PE-DNTK-E PE-REROPE PE-F7 PE-F8 PE-F9",
    "language.parameters": "BAM-TAB1 BAM-C22 BAM-E11",
    "language.perplexity": "BAM-TAB2 BAM-F6 BAM-F7 BAM-C7 BAM-C18 BAM-C23",
    "language.recipe": "BAM-C17",
    "language.survey": "PE-C2 PE-C3 PE-C4 PE-C5 PE-KERPLE-E PE-BIAS PE-F3 PE-F6 PE-TAB OPG-18",
    "learned.heads": "BAM-F4 BAM-C8 BAM-C21",
    "parallel.averages": "PC-TAB1 PC-TAB7 PC-C2 PC-TAB10 PC-C11 PC-C12 PC-C13",
    "parallel.chunks": "PC-EQ1 PC-EQ10 PC-PRIOR X-15 PC-DISC2 PC-F2",
    "parallel.counts": "PC-T3.1b PC-T3.1c PC-SK PC-TA.3 PC-TA.3x PC-TA.6",
    "parallel.decay": "PC-T3.1a PC-TA.1 PC-TA.2 PC-TA.2x PC-TA.2d PC-TA.4 PC-TA.5",
    "parallel.eviction": "PC-EQ3 PC-EQ6 PC-EQ8 PC-EQ8g",
    "parallel.settings": "PC-TAB2 PC-TAB4 PC-TAB12 PC-TAB6 PC-TAB8 PC-C1 PC-C15 PC-C17",
    "parallel.tables": "PC-C10 PC-C16 PC-TAB5 PC-TAB9 PC-E6 PC-TAB11 PC-E4 PC-E5",
    "parallel.text": "PC-C3 PC-C4 PC-C5 PC-C6 PC-C7 PC-C8 PC-C9 PC-C14",
    "passkey.benchmark": "X-11",
    "passkey.protocol": "BAM-D7",
    "passkey.retrieval": "BAM-F2 BAM-F3 BAM-F13 BAM-C1 BAM-C6 BAM-C13",
    "passkey.tables": "BAM-E7 BAM-E8 BAM-E10 BAM-C19",
    "passkey.timing": "BAM-E9",
    "prior.bias": "BAM-D3 BAM-D4 BAM-C-BETA",
    "prior.families": "X-3 X-4 X-6",
    "prior.locality": "BAM-L3 BAM-L4 BAM-T2 BAM-T4 BAM-T4b",
    "prior.negative": "BAM-T3 BAM-E3 BAM-E2 BAM-F1",
    "prior.phase": "X-10 X-13 X-14",
    "prior.scaling": "BAM-D6 BAM-C4 BAM-E13",
    "prior.start": "BAM-E14 BAM-E4 BAM-E5 BAM-E15",
    "rotations.extensions": "PE-PI-E1 PE-NTK PE-DLIN PE-DNTK PE-PNTK PE-BETA",
    "ruler.tasks": "BAM-D8",
    "spectra.classification": "GOAT-E.1 GOAT-DF.1 GOAT-DF.2 GOAT-AF.3 GOAT-F.T2 GOAT-F.T2c GOAT-F.T2g GOAT-F.4 "
    "GOAT-F.T4 GOAT-F.5s",
    "spectra.composite": "GOAT-EQ20 GOAT-DIM GOAT-ALG1",
    "spectra.reach": "X-5 X-7 X-8 X-16",
    "spectra.recency": "GOAT-P3.1b GOAT-E.2 GOAT-F.T3 GOAT-F.T3p GOAT-F.T3r GOAT-F.6 GOAT-E6",
    "spectra.sinks": "GOAT-T5.1 GOAT-T5.1t GOAT-D5.2 GOAT-SINKGRAD GOAT-D5.3 GOAT-T5.4a GOAT-T5.4b GOAT-T5.4p GOAT-C-4 "
    "GOAT-C-5 GOAT-E8",
    "spectra.waves": "GOAT-EQ12 GOAT-EQ18 GOAT-C1 GOAT-C2 GOAT-C-2 GOAT-C-3 GOAT-C-12",
}


class Checks(Table):
    """claim -> "module:CHECKS[name]". ValueError for an id in two rows, and, where a module is opened, for one that it
    lacks or holds beside its row."""

    def __init__(self, rows: Mapping[str, str]) -> None:
        listed: dict[str, str] = {}
        for module, ids in rows.items():
            for name in ids.split():
                if name in listed:
                    held = listed[name].partition(":")[0]
                    raise ValueError(f"checks/__init__.py lists {name} under {held} and under {module}; keep one")
                listed[name] = f"{module}:CHECKS[name]"
        super().__init__("claim", __name__, listed)

    def __getitem__(self, name: str) -> Any:
        check, row = super().__getitem__(name), self.rows[name]
        for held in importlib.import_module(self.module(name)).CHECKS:
            if self.rows.get(held) != row:
                path = row.partition(":")[0].replace(".", "/")
                raise ValueError(f"checks/{path}.py decides {held}, which its row in checks/__init__.py lacks; add it")
        return check


CHECKS = Checks(ROWS)


def belonging(notebook: str) -> dict[str, Any]:
    """The checks of the claims that a notebook (its slug) owns, in the register's order; no other module is opened."""
    return {
        name: CHECKS[name] for name, claim in claims.register().items() if claim.notebook == notebook and name in CHECKS
    }
