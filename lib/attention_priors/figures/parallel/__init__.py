"""Parallel attention: shared positions, effective entries, eviction, and what ParallelComp's tables add up to."""
