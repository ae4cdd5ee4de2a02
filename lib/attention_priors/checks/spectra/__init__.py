"""Waves as priors: what they can say, what one attention call can carry, sinks."""
