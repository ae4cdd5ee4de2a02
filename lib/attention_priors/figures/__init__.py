"""FIGURES and TABLES: every figure and table of the project by name, each a function of one frame.

To add one, write `figures/<topic>/<what>.py` with a FIGURE or a TABLE in it, and its row here.
"""

from attention_priors.figures.spec import LEDGER, FigureSpec, TableSpec
from attention_priors.registry import Table

FIGURES = Table(
    "figure",
    "attention_priors.figures",
    {
        "language_training": "language.training:FIGURE",
        "language_by_length": "language.by_length:FIGURE",
        "language_other_domain": "language.by_length:OTHER",
        "encodings_perplexity": "encodings.perplexity:FIGURE",
        "extensions_perplexity": "encodings.extensions:FIGURE",
        "passkey_by_length": "passkey.by_length:FIGURE",
        "passkey_without_ssmax": "passkey.by_length:WITHOUT",
        "passkey_depth": "passkey.depth:FIGURE",
        "passkey_hard": "passkey.hard:FIGURE",
        "passkey_far": "passkey.far:FIGURE",
        "passkey_reach": "passkey.reach:FIGURE",
        "encodings_accuracy": "encodings.accuracy:FIGURE",
        "encodings_reach": "encodings.reach:FIGURE",
        "encodings_tails": "encodings.tails:FIGURE",
        "ablation_length": "ablations.length:FIGURE",
        "ablation_size": "ablations.size:FIGURE",
        "ablation_interpolation": "ablations.interpolation:FIGURE",
        "ruler_tasks": "ruler.tasks:FIGURE",
        "ruler_average": "ruler.average:FIGURE",
        "algorithm_accuracy": "algorithms.accuracy:FIGURE",
        "nope_position": "algorithms.position:FIGURE",
        "learned_heads": "learned.heads:FIGURE",
        "learned_maps": "learned.maps:FIGURE",
        "learned_edits": "learned.edits:FIGURE",
        "ablation_start": "ablations.start:FIGURE",
        "ablation_subset": "ablations.subset:FIGURE",
        "ablation_sign": "ablations.sign:FIGURE",
        "ablation_scaling": "ablations.scaling:FIGURE",
        "ablation_version": "ablations.version:FIGURE",
    },
)
TABLES = Table(
    "table",
    "attention_priors.figures",
    {
        "language_corpus": "language.corpus:TABLE",
        "language_table2": "language.table_2:TABLE",
        "encodings_perplexity": "encodings.perplexity:TABLE",
        "encodings_properties": "encodings.properties:TABLE",
        "passkey_reach": "passkey.reach:TABLE",
        "passkey_accuracy": "passkey.accuracy:TABLE",
        "encodings": "encodings.summary:TABLE",
        "ablation_training": "ablations.table:TRAINING",
        "ruler": "ruler.tasks:TABLE",
        "algorithms": "algorithms.accuracy:TABLE",
        "learned_heads": "learned.heads:TABLE",
        "ablation_priors": "ablations.table:PRIORS",
        "verdicts_by_document": "verdicts.counts:BY_DOCUMENT",
        "verdicts_by_kind": "verdicts.counts:BY_KIND",
        "errata": "verdicts.errata:TABLE",
        "outcomes": "verdicts.outcomes:TABLE",
        "undecided": "verdicts.undecided:TABLE",
    },
)

__all__ = ["FIGURES", "LEDGER", "TABLES", "FigureSpec", "TableSpec"]
