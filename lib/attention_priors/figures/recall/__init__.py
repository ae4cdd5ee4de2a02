"""Associative recall: the load that is carried, by length."""
