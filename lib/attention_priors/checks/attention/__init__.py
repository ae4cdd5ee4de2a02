"""Attention itself: what it sees of order, with positions and without."""
