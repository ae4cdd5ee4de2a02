"""Perplexity at the training length by domain, in the rows of BAM's Table 2."""

from attention_priors.figures.methods import label, named
from attention_priors.figures.spec import Frame, TableSpec
from attention_priors.figures.words import bounded

ORDER = ("sinusoidal", "alibi", "nope", "bam", "rope")  # the paper's; RoPE Local is RoPE at that length


def build(frame: Frame) -> Frame:
    rows = frame[frame["length"] == frame["trained"]]
    built = []
    for name in [*ORDER, *named(True, ORDER)]:
        own = rows[rows["encoding"] == name].set_index("domain")
        if own.empty:
            continue
        cells = {f"{domain}, perplexity": bounded(*own.loc[domain, ["perplexity", "low", "high"]])
                 for domain in dict.fromkeys(rows["domain"])}  # fmt: skip
        built.append({"encoding": label(name), "seeds": int(own["seeds"].max()), **cells})
    return Frame(built)


def caption(frame: Frame) -> str:
    counts = ", ".join(f"{rows['documents'].iloc[0]} of {name}" for name, rows in frame.groupby("domain"))
    first = frame.iloc[0]
    return (
        f"Perplexity at the training length ({first['trained']} tokens), exp of the mean loss over seeds [95 % t "
        f"interval over seeds; none for one seed], on the last {first['scored']} tokens of documents: {counts}. Tokens "
        "are those of this project's tokenizer: compare the order of rows with the paper's, not the numbers."
    )


TABLE = TableSpec(
    "language_over_seeds", build, caption, "language_models",
    ("domain", "encoding", "seeds", "length", "perplexity", "low", "high", "documents", "trained", "scored"),
    "BAM, Table 2",
)  # fmt: skip
