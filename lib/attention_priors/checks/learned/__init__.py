"""Claims about what trained heads have learned."""
