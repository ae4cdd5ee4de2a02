"""Passkey retrieval: accuracy by length and depth, at the far end, with decoy digits, and every encoding's reach."""
