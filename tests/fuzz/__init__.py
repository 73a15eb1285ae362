"""Hostile input: made by scripts, fed to every loader; `python -m tests.fuzz --minutes 10` looks for more."""
