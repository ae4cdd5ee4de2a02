"""Reading a text that is longer than a model's window, in chunks (ParallelComp, Xiong et al. 2025), without training.

    answer = parallel.generate(model, tokenizer, long_text, question, window=4096, keep=3, budget=2000)

`model` is a Transformer of this package or a causal model of transformers with RoPE. `condense` is the algorithm,
`Options` its choices, `baselines` are other ways to read the same text with the same interface.
"""

from .chunks import Calibration, Options
from .generate import decode, generate, open_reader
from .read import Reader, condense

__all__ = ["Calibration", "Options", "Reader", "condense", "decode", "generate", "open_reader"]
