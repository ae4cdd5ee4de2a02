"""Scalable softmax: entropy and largest weight by context, and the lead that retrieval needs, with noise and priors."""
