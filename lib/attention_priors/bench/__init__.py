"""Measurements of speed and memory: `python -m attention_priors.bench`, never part of a test."""
