"""Genomes: bits per base, what models write after a beginning, and what a training step costs."""
