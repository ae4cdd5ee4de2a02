"""Attention as inference: the matrices of the score, attention as transport, and the readings of Z."""
