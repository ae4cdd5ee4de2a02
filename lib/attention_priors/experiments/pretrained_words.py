"""Names of the ways to read a text, for captions and sentences."""

WAYS = {
    "as-is": "as it is",
    "pi": "position interpolation, 2",
    "ntk": "NTK-aware base, 2",
    "ntk-4": "NTK-aware base, 4",
    "dynamic-ntk": "dynamic NTK, whole pass",
    "yarn": "YaRN, 2",
    "llama3": "Llama 3.1, 2",
    "p-rope": "p-RoPE, 0.75",
    "base-50": "base times 50",
    "rerope": "ReRoPE, T/2",
    "window": "window of T/2",
    "sinks": "4 sinks, window of T/2",
    "ssmax": "scalable softmax",
    "ntk-ssmax": "NTK 2, scalable softmax",
}
READERS = {  # of parts of the text
    "parallel": "ParallelComp, K = 3",
    "lexical": "chunk by BM25",
    "oracle": "the key's chunk",
    "last": "last window",
}
ORDERS = {  # of heads that see far; a random one has its seed
    "fetching": "ranked by fetching",
    "others": "all but those that fetch best",
    "distance": "ranked by the distance of their attention",
    "random-0": "at random",
}


def label(way: str) -> str:
    return (WAYS | READERS)[way]
