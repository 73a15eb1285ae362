"""Tokenizers by name, exact character ↔ token alignment, and what tokenizers do to a text."""
