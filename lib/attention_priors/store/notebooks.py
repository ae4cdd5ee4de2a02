"""The notebooks in one table: which others each needs, and whether anything in it is trained or timed.

A notebook is known by its slug. The number stands in the file's name alone, so that one can be inserted: ledger parts,
executed copies, links and figures go by the slug. Chapters are counted from 00; an appendix says its number, as A1.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

EVERYTHING = "everything"


@dataclass(frozen=True)
class Notebook:
    """`needs`: notebooks whose results it reads. `trained`: its results depend on the profile; else they lie once.

    `appendix`: the number of one that audits a document; what decides a claim is then shown below its verdict.
    """

    needs: tuple[str, ...] | str = ()
    trained: bool = False
    appendix: str = ""


# In reading order, the appendices last. To add a notebook, add its row here.
NOTEBOOKS: dict[str, Notebook] = {
    "how_to_read": Notebook(),
    "attention_is_inference": Notebook(),
    "one_parameter_groups": Notebook(),
    "field_guide": Notebook(),
    "generalised_gaussian": Notebook(),
    "spectra_and_sinks": Notebook(),
    "longer_rotations": Notebook(),
    "scalable_softmax": Notebook(("passkeys",), trained=True),
    "fused_kernel": Notebook(trained=True),
    "language_models": Notebook(("passkeys",), trained=True),
    "passkeys": Notebook(trained=True),
    "needles": Notebook(trained=True),
    "learned_priors": Notebook(("language_models", "passkeys"), trained=True),
    "learned_spectra": Notebook(("language_models", "passkeys", "needles"), trained=True),
    "genomes_and_images": Notebook(trained=True),
    "parallel_attention": Notebook(),
    "reading_in_parallel": Notebook(("passkeys",), trained=True),
    "dividing_the_work": Notebook(("passkeys", "language_models", "needles"), trained=True),
    "phase_diagram": Notebook(("passkeys", "learned_priors", "reading_in_parallel"), trained=True),
    "verdicts": Notebook(EVERYTHING, trained=True),
    "pretrained_model": Notebook(trained=True),
    "audit_bam": Notebook(appendix="A1"),
    "audit_goat": Notebook(appendix="A2"),
    "audit_groups": Notebook(appendix="A3"),
    "audit_survey": Notebook(appendix="A4"),
    "audit_parallelcomp": Notebook(appendix="A5"),
}


def slug(name: str) -> str:
    """`passkeys` for `10_passkeys`, `10_passkeys.ipynb` and `passkeys`."""
    return re.sub(r"^(\d+|A\d)_", "", name.removesuffix(".ipynb"))


def number(slug: str) -> str:
    """`10` for `passkeys`, `A5` for an appendix. ValueError for a slug that the table lacks."""
    if slug not in NOTEBOOKS:
        raise ValueError(f"no notebook is called {slug!r}; known are {', '.join(NOTEBOOKS)}")
    return NOTEBOOKS[slug].appendix or f"{list(NOTEBOOKS).index(slug):02d}"


def file_name(slug: str) -> str:
    """`10_passkeys.ipynb` for `passkeys`. ValueError for a slug that the table lacks."""
    return f"{number(slug)}_{slug}.ipynb"
