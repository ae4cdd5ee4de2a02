"""What models are trained on and asked: each task draws prompts or texts of any length and knows the answers.

A source of training batches is made from a run's specification and called with the number of a step. It returns tokens
[batch, length], the token that each place should predict, where the answers are among these, and document ids (None:
one document a row). Seed and step determine a batch; a source that reads on keeps a place, as `state` and `restore`.
"""

from ..store.registry import Table

_TEXTS = {"language": "windows:WindowBatches", "language-stream": "streams:StreamBatches"}
_PARTS = ("more", "tuned", "small", "longer", "scale")  # experiments whose runs have names of their own
SOURCES = Table(
    "task",
    __name__,
    {
        "addressing": "addressing:AddressingBatches",
        "copying": "copying:CopyingBatches",
        "passkey": "passkey:PasskeyBatches",
        "passkey-hard": "passkey:PasskeyBatches",
        **_TEXTS,
        **{f"{task}-{part}": text for task, text in _TEXTS.items() for part in _PARTS},
        "causal": "windows:WindowBatches",
        "masked": "masking:MaskedBatches",
        **{
            f"algorithms/{name}": "algorithms:AlgorithmBatches" for name in ("copy", "reverse", "parity", "bucket-sort")
        },
        "genomes": "genomes:GenomeBatches",
        "recall": "recall:RecallBatches",
        "needles": "needle_batches:NeedleBatches",
        "needles-lesson": "needle_batches:NeedleBatches",
    },
)
