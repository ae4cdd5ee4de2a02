"""Models at work: training runs, what a run leaves behind, and models that see."""
