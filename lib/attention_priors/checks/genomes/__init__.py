"""Genomes: what language models of DNA gain from a prior, and what it costs."""
