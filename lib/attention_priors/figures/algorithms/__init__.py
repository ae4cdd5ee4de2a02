"""Algorithmic tasks within the lengths of training and beyond, and what models without positions know."""
