"""Language models: perplexity at any context length."""
