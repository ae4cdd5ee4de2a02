"""How to read the numbers: what seeds and prompts can show."""
