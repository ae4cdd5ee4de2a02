"""Ablations of BAM: what its prior starts from and trains, and how long, how large, how far it is trained."""
