"""Rotations for longer texts: extensions of RoPE, and the laws of every way to turn queries and keys."""
