"""Masked-LM coreference, notebook 06: repeated nouns to recover, checkpoints to choose from."""
