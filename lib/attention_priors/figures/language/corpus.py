"""What text was read: documents and tokens of each split."""

from attention_priors.figures.spec import Frame, TableSpec


def build(frame: Frame) -> Frame:
    """Every row names the same corpus and hash, which go into the caption."""
    longer = [name for name in frame.columns if name.startswith("over ")]
    table = frame[["split", "domain", "documents", "tokens", *longer]].copy()
    table["tokens"] = table["tokens"].map("{:,}".format)
    return table.rename(columns={name: f"longer than {int(name.split()[1]):,} tokens" for name in longer})


def caption(frame: Frame) -> str:
    first = frame.iloc[0]
    known = {"True": "the pinned text", "False": "not the pinned text: numbers may differ from the committed ones"}
    text = known.get(str(first["same"]), "nothing is pinned")
    return (
        f"Documents and tokens of the corpus `{first['corpus']}` ({text}; SHA-256 {first['sha256'][:16]}), byte-level "
        f"BPE of {first['vocabulary']:,} ids. The splits share no document."
    )


TABLE = TableSpec(
    "language_corpus",
    build,
    caption,
    "language_models",
    ("split", "domain", "documents", "tokens", "corpus", "sha256", "same", "vocabulary"),
)
