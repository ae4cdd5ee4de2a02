"""One-parameter groups: phase portraits with their scores, clock hands and spirals, growing factors, ranks, pucks."""
