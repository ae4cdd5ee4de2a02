"""Figures of a model that nobody here trained."""
