"""The embedded data: a fictional Korean world rendered as the rows of every task.

`entities`, `relations`, `documents`, `lambada` and `posts` each take (split, rows, seed) and yield
plain dicts in the schema of the real data; `unlabelled` yields plain sentences to pretrain on. Rows
depend on nothing but (split, seed, position): a shorter request is the prefix of a longer one. Each
generator's module documents what is planted in it, and `PLANTED` gathers the figures. Nothing here
comes from a real data set; a name that exists is a coincidence.
"""

from . import documents as _documents
from . import entities as _entities
from . import lambada as _lambada
from . import posts as _posts
from . import relations as _relations
from .unlabelled import unlabelled

PLANTED = {
    "entities": _entities.PLANTED,
    "relations": _relations.PLANTED,
    "documents": _documents.PLANTED,
    "lambada": _lambada.PLANTED,
    "posts": _posts.PLANTED,
}
# The generators take their modules' names: `sample_world.entities(...)` is the function.
entities = _entities.entities
relations = _relations.relations
documents = _documents.documents
lambada = _lambada.lambada
posts = _posts.posts

__all__ = ["PLANTED", "documents", "entities", "lambada", "posts", "relations", "unlabelled"]
