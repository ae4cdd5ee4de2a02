"""Reading in chunks: what the system does on trained models."""
