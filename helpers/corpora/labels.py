"""The label sets of the public data: KLUE's relations and entity tags, UNLP's techniques.

Order is part of a label set: ids in files, logits and saved models count along it. Which labels a data set
has is found in `schemas`; a loaded one carries their names in its features.
"""

from collections.abc import Iterable

RELATIONS = (
    "no_relation",
    "org:dissolved",
    "org:founded",
    "org:place_of_headquarters",
    "org:alternate_names",
    "org:member_of",
    "org:members",
    "org:political/religious_affiliation",
    "org:product",
    "org:founded_by",
    "org:top_members/employees",
    "org:number_of_employees/members",
    "per:date_of_birth",
    "per:date_of_death",
    "per:place_of_birth",
    "per:place_of_death",
    "per:place_of_residence",
    "per:origin",
    "per:employee_of",
    "per:schools_attended",
    "per:alternate_names",
    "per:parents",
    "per:children",
    "per:siblings",
    "per:spouse",
    "per:other_family",
    "per:colleagues",
    "per:product",
    "per:religion",
    "per:title",
)
NO_RELATION = 0  # whatever the data's labels are: see `schemas`
ENTITY_TYPES = ("PER", "ORG", "LOC", "DAT", "POH", "NOH")  # of a relation's subject and object

TAG_TYPES = ("DT", "LC", "OG", "PS", "QT", "TI")  # of named entities


def tags_of(types: Iterable[str]) -> tuple[str, ...]:
    """Return the BIO tags of entity types: `B-` and `I-` of each in turn, O at the end."""
    return (*(f"{prefix}-{kind}" for kind in types for prefix in "BI"), "O")


def ordered(found: Iterable[str], official: tuple[str, ...]) -> tuple[str, ...]:
    """Return the official labels when they are all that occurs, else what occurs: no_relation, then by name.

    >>> ordered(["b", "no_relation", "a"], RELATIONS)
    ('no_relation', 'a', 'b')
    """
    names = set(found)
    if names <= set(official):
        return official
    return tuple(sorted(names, key=lambda name: (name != RELATIONS[NO_RELATION], name)))


TAGS = tags_of(TAG_TYPES)
OUTSIDE = TAGS.index("O")

TECHNIQUES = (
    "straw_man",
    "appeal_to_fear",
    "fud",
    "bandwagon",
    "whataboutism",
    "loaded_language",
    "glittering_generalities",
    "euphoria",
    "cherry_picking",
    "cliche",
)
