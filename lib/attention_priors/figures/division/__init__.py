"""Figures of the division of work between heads that rotate and heads that do not."""
