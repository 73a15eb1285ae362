"""Trained models in use: kept as a folder, loaded again, asked about new text."""
