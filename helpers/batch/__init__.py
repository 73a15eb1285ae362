"""Batch runs: parameter files in, HTML reports out."""
