"""Named entities, notebook 04: character-level tags, taggers, ensembles, errors."""
