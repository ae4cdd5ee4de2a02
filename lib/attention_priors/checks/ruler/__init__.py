"""Claims about RULER's needle tasks."""
