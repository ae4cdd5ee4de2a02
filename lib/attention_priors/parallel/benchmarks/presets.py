"""Models and sizes of ParallelComp's experiments (section 5 and appendix C), by name.

Llama 2 and Llama 3: chunks of the window that the model was trained on, of which 2,000 and 4,000 keys stay where keys
are evicted. Llama 3.1 and Qwen2.5: 6K positions and a cache of 24K entries; K = 4 whole chunks fill that (ours: the
paper does not say how many stay), and the methods that cut the text use 24K positions. The paper does not print the
size of Qwen2.5: 7B is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from .methods import Settings
from .task import Known


@dataclass(frozen=True)
class Preset:
    """A model of the hub, its positions and sizes for a dry run, and the settings of its experiments."""

    model: str
    family: str
    positions: int
    sizes: dict[str, int]
    settings: Settings


_LLAMA = {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32}
_LLAMA_2 = _LLAMA | {"num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 32000}
_LLAMA_3 = _LLAMA | {"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}
_QWEN = {"num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
         "intermediate_size": 18944, "vocab_size": 152064}  # fmt: skip
_CUT = Settings(6144, keep=4, cut=24576)

PRESETS: Known[Preset] = Known(
    "preset",
    {
        "llama-2": Preset("meta-llama/Llama-2-7b-chat-hf", "llama", 4096, _LLAMA_2, Settings(4096, budget=2000)),
        "llama-3": Preset("meta-llama/Meta-Llama-3-8B-Instruct", "llama", 8192, _LLAMA_3, Settings(8192, budget=4000)),
        "llama-3.1": Preset("meta-llama/Llama-3.1-8B-Instruct", "llama", 131072, _LLAMA_3, _CUT),
        "qwen2.5": Preset("Qwen/Qwen2.5-7B-Instruct", "qwen2", 32768, _QWEN, _CUT),
    },
)
