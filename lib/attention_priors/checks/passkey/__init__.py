"""Passkey retrieval: what trained models answer."""
