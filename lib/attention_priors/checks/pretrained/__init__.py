"""The documents' sentences, asked of a model that nobody here trained."""
