"""Measurements of speed and memory: `python -m attention_priors.commands.bench`, never part of a test."""
