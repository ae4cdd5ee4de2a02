"""The fused kernels: instructions per score, errors, what bfloat16 does to carried priors, skipped tiles, speed."""
