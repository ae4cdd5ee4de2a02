"""Ablations of BAM: accuracy by length for every arm of a study, and the tables of all arms."""
