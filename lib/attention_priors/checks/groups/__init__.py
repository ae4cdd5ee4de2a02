"""One-parameter groups (a post)."""
