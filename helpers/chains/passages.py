"""Passages in which every mention of a person is known: KoCoNovel's, or the sample's planted chains."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from helpers.corpora import sources
from helpers.corpora.files import read_jsonl
from helpers.text.copies import find_overlaps

FOLDER = "koconovel"  # <novel>/text.jsonl and <novel>/coref.jsonl
VERSION = "omniscent_separate"  # of the four annotations: what the narrator knows, groups apart from members
KINDS = ("name", "kinship term", "pronoun", "description")
PRONOUNS = {"그", "그녀", "그이", "자기", "자신"}
# Nobody's name can stand in these places: speakers, those spoken to, groups.
SPEECH = re.compile("나|난|내|저|전|제|너|넌|네|니|당신|자네|그대|우리|저희|너희|얘|쟤|부부|.*들")
KIN = re.compile(  # the last word of a mention
    "(?:(?:아내|안해|남편|아버지|어머니|[아어][비미]|[아어][범멈]|[부모]친|아들|딸|형|누나|누이|언니|오빠|오라비|동생|"
    "아우|며느리|사위|장인|장모|시어머니|시아버지|할머니|할아버지|조[부모]|삼촌|숙[부모]|아저씨|아주머니|조카|손자|손녀|처|"
    "마누라|계집|신랑|신부|색시|약혼자|고모|이모|외삼촌|사촌|부인|영감)님?)"
)
NAME = re.compile(  # 문호, 김 첨지
    "[가-힣]{2,4}(?<![들님])|(?![그이저두세내제한])[가-힣] [가-힣]{1,3}(?<!들)"
)
Span = tuple[int, int]


class Passage(NamedTuple):
    """A text and its people: one chain of mentions each, in the order of the text."""

    id: str
    work: str  # the novel: passages of one share people and author, and count as one unit
    text: str
    chains: list[list[Span]]
    names: frozenset[str]  # what is a name in this work

    def kind(self, span: Span) -> str:
        """Say what a mention is: one of KINDS, or "" where no name could stand in its place.

        >>> one = Passage("1", "a novel", "그는 장인님이다. 우리", [], frozenset())
        >>> one.kind((0, 1)), one.kind((3, 6)), one.kind((10, 12))
        ('pronoun', 'kinship term', '')
        """
        mention = self.text[slice(*span)]
        if mention in PRONOUNS:
            return "pronoun"
        if SPEECH.fullmatch(mention) or not re.fullmatch("[가-힣 ]*[가-힣]", mention):
            return ""
        if KIN.fullmatch(mention.split()[-1]):
            return "kinship term"
        return "name" if mention in self.names else "description"


def load(source: str, *, rows: int = 0) -> tuple[list[Passage], int]:
    """Load passages with gold chains: the sample's dev documents, or a folder laid out like KoCoNovel.

    `rows`: at most so many (0: all), taken evenly over the works. Returns also how many were left out because
    an offset does not show its mention.
    """
    if source == "sample":
        from helpers.sample_world.documents import chained

        made = []
        for row in chained("dev", rows or 160):  # each has people of its own: a work of its own
            spoken = {row["text"][a:b] for chain in row["chains"] for a, b in chain}
            names = frozenset(spoken - PRONOUNS)
            made.append(Passage(row["id"], row["id"], row["text"], row["chains"], names))
        return made, 0
    root = sources.root(source)
    works = sorted({file.parent for file in root.glob("**/coref.jsonl")})
    if not works:
        raise ValueError(f"{root}: expected {FOLDER}/<novel>/coref.jsonl, found none; name another folder")
    read = [passage for work in works for passage in _read(work)]
    kept = _named([passage for passage in read if passage is not None])
    return _evenly(kept, rows or len(kept)), len(read) - len(kept)


def unseen(passages: Sequence[Passage], texts: Sequence[str]) -> list[Passage]:
    """Leave out passages that are copies, exact or near, of texts that a model was trained or chosen on."""
    copied = {found.sentence for found in find_overlaps(texts, [passage.text for passage in passages])}
    return [passage for number, passage in enumerate(passages) if number not in copied]


def _read(work: Path) -> list[Passage | None]:
    """Read a novel's passages, line by line; None where an offset does not show its mention."""
    texts, annotated = (read_jsonl(work / f"{name}.jsonl") for name in ("text", "coref"))
    if [row["doc_id"] for row in texts] != [gold["doc_id"] for gold in annotated]:
        raise ValueError(f"{work}: text.jsonl and coref.jsonl have other passages, or another order")
    found: list[Passage | None] = []
    for number, (row, gold) in enumerate(zip(texts, annotated, strict=True)):
        mentions = [[(int(a), int(b), shown) for a, b, shown, _ in chain] for chain in gold[VERSION]]
        sound = all(row["text"][a:b] == shown for chain in mentions for a, b, shown in chain)
        chains = [sorted({(a, b) for a, b, _ in chain}) for chain in mentions]
        one = Passage(f"{work.name}-{number}", work.name, row["text"], chains, frozenset())
        found.append(one if sound else None)
    return found


def _evenly(passages: list[Passage], rows: int) -> list[Passage]:
    """Take passages in turn from every work, in their order."""
    works = pd.Series([one.work for one in passages])
    turns = works.groupby(works).cumcount().sort_values(kind="stable")
    return [passages[at] for at in sorted(turns.index[:rows])]


def _named(passages: list[Passage]) -> list[Passage]:
    """Give each work its names: short words that mean people there six times, and in one other work at most.

    A tagger takes half of the novels' names for common nouns, which they once were.
    """
    counts: dict[str, Counter[str]] = {}
    for one in passages:
        words = (one.text[a:b] for chain in one.chains for a, b in chain)
        counts.setdefault(one.work, Counter()).update(words)
    works = Counter(word for words in counts.values() for word in words)
    names = {
        work: frozenset(
            word for word, n in words.items() if n >= 6 and works[word] <= 2 and NAME.fullmatch(word)
        )
        for work, words in counts.items()
    }
    return [one._replace(names=names[one.work]) for one in passages]
