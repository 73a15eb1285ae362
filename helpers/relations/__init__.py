"""Relation extraction, notebooks 02 and 03: what is between two entities of a sentence."""
