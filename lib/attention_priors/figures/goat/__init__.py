"""Goat's encoding trained: beside its rivals, and taken apart."""
