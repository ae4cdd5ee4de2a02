"""RULER's needle tasks: score by task, encoding and length, and their average."""
