"""Claims about priors over positions, one file a topic."""
