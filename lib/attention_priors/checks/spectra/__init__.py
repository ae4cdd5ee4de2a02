"""Goat's exact claims, and what waves are across the documents."""
