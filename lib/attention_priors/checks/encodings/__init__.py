"""Encodings of the survey, each as it is printed: sinusoids, rotations, biases, kernels."""
