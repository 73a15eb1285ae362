"""What is deleted: the other mentions, or as much of another noun."""

from helpers.coreference import cloze, copying
from helpers.coreference.items import build_items
from helpers.corpora import load_documents


def test_every_other_mention_is_deleted_and_nothing_else(items, tokenizer):
    plain = cloze.encode_items(tokenizer, items, max_length=64)
    ablated = cloze.encode_items(tokenizer, items, max_length=64, delete=copying.other_mentions)
    for item, full, left in zip(items, plain, ablated, strict=True):
        shown = tokenizer.decode(left.ids, skip_special_tokens=True)
        assert item["noun"] not in shown.replace(" ", "")
        assert left.gold == full.gold and len(left.ids) < len(full.ids)
        assert set(left.ids) <= set(full.ids)


def test_other_mentions_are_found_even_inside_other_words():
    item = {"noun": "바다", "text": "바다 바닷가 바다에 푸른바다", "start": 7, "end": 9}
    assert [item["text"][start:end] for start, end in copying.other_mentions(item)] == ["바다", "바다"]
    assert (7, 9) not in copying.other_mentions(item)


def item(text, noun, nouns):
    """An item whose last mention of `noun` is hidden."""
    start = text.rindex(noun)
    context = [[at, at + len(word)] for word in nouns for at in range(len(text)) if text.startswith(word, at)]
    return {"noun": noun, "text": text, "start": start, "end": start + len(noun), "context": context}


def test_the_placebo_takes_the_noun_that_is_as_frequent_then_as_near():
    asked = item("가나 다라 마바 다라 사아 가나 자차 가나", "가나", ["다라", "마바", "사아", "자차"])
    assert [asked["text"][start:end] for start, end in copying.placebo(asked)] == ["다라", "다라"]
    once = item("다라 가나 마바 사아 자차 가나", "가나", ["다라", "마바", "사아", "자차"])
    assert len(copying.other_mentions(once)) == 1
    assert once["text"][slice(*copying.placebo(once)[0])] in ("다라", "마바"), (
        "those beside the first mention"
    )


def test_the_placebo_is_never_the_noun_itself_nor_more_than_its_mentions():
    asked = item("서울시장 서울 시장 시장 시장 서울", "서울", ["서울시장", "시장"])
    assert [asked["text"][start:end] for start, end in copying.placebo(asked)] == ["시장", "시장"]
    assert copying.placebo(item("서울 서울", "서울", [])) == []


def test_the_placebo_deletes_about_as_much_as_the_mentions_on_documents():
    items = build_items(load_documents("sample", "dev", rows=60))
    own, other = ([len(places(one)) for one in items] for places in (copying.other_mentions, copying.placebo))
    assert all(few <= many for few, many in zip(other, own, strict=True))
    assert sum(other) > 0.9 * sum(own)
