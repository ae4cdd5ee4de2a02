"""Pictures: what models that see make of a finer grid than that of training."""
