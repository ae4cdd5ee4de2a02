"""Language models: perplexity of the same tokens at every context length, loss while training, the scaled Table 2."""
