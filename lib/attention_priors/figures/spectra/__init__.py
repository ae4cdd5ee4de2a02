"""Spectra and sinks: the posterior band, sinks by length, kinds of noise, and what a sum of waves can say."""
