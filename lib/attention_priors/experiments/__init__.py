"""Experiments: the runs and evaluations that a profile asks for, as tables of numbers."""
