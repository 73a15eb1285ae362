"""Look at a text through several tokenizers: pieces drawn, and a field to type in where there is a kernel."""

from collections.abc import Mapping, Sequence

from helpers import records
from helpers.display import highlight
from helpers.text.alignment import Encoded, encode_with_offsets


def draw_pieces(tokenizers: Mapping[str, object], sentence: str, entities: Sequence[str]):
    """Draw a sentence in each tokenizer's pieces, red edges where an entity begins or ends.

    An edge inside a piece cannot be drawn between two of them: the caption counts those.
    """
    spans = [_find(sentence, entity) for entity in entities]
    encoded = {name: _one(tokenizer, sentence) for name, tokenizer in tokenizers.items()}
    shown = [highlight.spans(sentence, [(*span, "entity") for span in spans], caption="the sentence")]
    return highlight.stack(shown + [_drawn(name, sentence, one, spans) for name, one in encoded.items()])


def explore(tokenizers: Mapping[str, object], sentence: str, entities: Sequence[str]):
    """Draw a sentence; in a live notebook, under two fields for another one and its entities, with commas."""
    if records.in_batch():
        return draw_pieces(tokenizers, sentence, entities)
    import ipywidgets
    from IPython.display import display

    wide = {"layout": ipywidgets.Layout(width="auto"), "style": {"description_width": "initial"}}
    text = ipywidgets.Text(sentence, description="sentence", continuous_update=False, **wide)
    words = ipywidgets.Text(
        ", ".join(entities), description="entities, with commas", continuous_update=False, **wide
    )

    def show(sentence: str, entities: str) -> None:
        wanted = [word.strip() for word in entities.split(",") if word.strip()]
        missing = [word for word in wanted if word not in sentence]
        if missing:
            print(f"not in the sentence: {', '.join(missing)}")
        display(draw_pieces(tokenizers, sentence, [word for word in wanted if word not in missing]))

    output = ipywidgets.interactive_output(show, {"sentence": text, "entities": words})
    return ipywidgets.VBox([text, words, output])


def _drawn(name: str, sentence: str, encoded: Encoded, spans: Sequence[tuple[int, int]]):
    visible = encoded.offsets[encoded.offsets[:, 1] > encoded.offsets[:, 0]]
    edges = {edge for span in spans for edge in span}
    inside = sum(any(start < edge < end for start, end in visible) for edge in edges)
    caption = (
        f"{name} · {len(encoded.input_ids)} tokens · {inside} of {len(edges)} entity edges inside a piece"
    )
    starts = [int(start) in edges or _after_edge(start, sentence, edges) for start, _ in visible]
    return highlight.tokens([sentence[a:b] for a, b in visible], boundaries=starts, caption=caption)


def _after_edge(start: int, sentence: str, edges: set[int]) -> bool:
    """Tell whether nothing but spaces lies between an edge and `start`."""
    return any(edge <= start and not sentence[edge:start].strip() for edge in edges)


def _find(sentence: str, entity: str) -> tuple[int, int]:
    start = sentence.find(entity)
    if start < 0 or not entity:
        raise ValueError(
            f"the entity {entity!r} does not stand in the sentence {sentence!r}; copy it from there"
        )
    return start, start + len(entity)


def _one(tokenizer, sentence: str) -> Encoded:
    return encode_with_offsets(tokenizer, [sentence], special_tokens=False)[0]
