"""All encodings and extensions in one benchmark: passkeys, and language models."""
