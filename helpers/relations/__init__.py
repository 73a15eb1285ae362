"""Relation extraction, notebooks 02 and 03: the relation between two entities of a sentence."""
