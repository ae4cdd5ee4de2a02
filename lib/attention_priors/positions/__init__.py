"""Where position enters attention: priors, rotations, absolute embeddings, scales, and the table of encodings."""
