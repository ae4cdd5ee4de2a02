"""Real text without a network: corpora of documents, a byte-level tokenizer, packed streams."""
