"""The field guide to positional encodings: the priors on one page, T5's buckets, Sandwich, how RoPE turns, xPos."""
