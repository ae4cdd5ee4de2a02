"""Perplexity at the training length by domain, in the rows of BAM's Table 2."""

from attention_priors.figures.language.rows import groups, style_of
from attention_priors.figures.spec import Frame, TableSpec, rivals
from attention_priors.figures.words import bounded

LOCAL = ("rope-local", "rope-local-ssmax")  # RoPE, at that length


def build(frame: Frame) -> Frame:
    rows = frame[(frame["length"] == frame["trained"]) & ~frame["encoding"].isin(LOCAL)]
    rivals(rows, "encoding", "perplexity at the training length")
    built = []
    for name, own in groups(rows):
        own = own.set_index("domain")
        cells = {
            f"{domain}, perplexity": bounded(*own.loc[domain, ["perplexity", "low", "high"]])
            for domain in dict.fromkeys(rows["domain"])
        }
        seeds, passed = int(own["seeds"].max()), int(own["passed"].max())
        built.append({"encoding": style_of(name)["label"], "seeds": seeds, "that know order": passed, **cells})
    return Frame(built)


def caption(frame: Frame) -> str:
    counts = ", ".join(f"{rows['documents'].iloc[0]} of {name}" for name, rows in frame.groupby("domain"))
    first = frame.iloc[0]
    return (
        f"Perplexity at the training length ({first['trained']} tokens), exp of the mean loss over seeds [95 % t "
        f"interval over seeds; none for one seed], on the last {first['scored']} tokens of documents: {counts}. "
        "Seeds that know order passed the gate; the others decide nothing. Tokens are those of this project's "
        "tokenizer: compare the order of rows with the paper's, not the numbers."
    )


TABLE = TableSpec(
    "language_over_seeds",
    build,
    caption,
    "language_models",
    (
        "domain",
        "encoding",
        "times",
        "seeds",
        "passed",
        "length",
        "perplexity",
        "low",
        "high",
        "documents",
        "trained",
        "scored",
    ),
    "BAM, Table 2",
)
