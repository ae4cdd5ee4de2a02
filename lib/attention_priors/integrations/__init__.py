"""The priors of this package in other people's models: a module for each library, imported by its name."""
