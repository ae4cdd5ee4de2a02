"""The generalised Gaussian prior: its shapes (BAM, Fig. 1), its tails, what epsilon, the start and SSMax do to it."""
