"""From measured numbers to what a reader opens: figures, tables, pages, and the proof that all agrees."""
