"""Attention as inference: posteriors, families of priors, what normalises them."""
