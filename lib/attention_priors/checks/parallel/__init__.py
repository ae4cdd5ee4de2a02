"""Claims of ParallelComp."""
