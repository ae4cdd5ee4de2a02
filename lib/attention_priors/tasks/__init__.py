"""Tasks that show how far a model can look: each generates prompts of any length and scores answers."""
