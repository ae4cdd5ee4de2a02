"""Algorithmic tasks, and models without positions."""
