"""Goat's claims about models that are trained with it."""
