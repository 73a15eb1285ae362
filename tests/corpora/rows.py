"""Small rows and files of every data set, for the tests of the loaders."""

import csv
import json

import pytest

from helpers import corpora


def relation(i=0, sentence="하람은 나래상사의 사장이다.", subject="나래상사", object_="하람", **changes):
    def entity(word, kind):
        start = sentence.find(word)
        return {"word": word, "start_idx": start, "end_idx": start + len(word) - 1, "type": kind}

    return {
        "guid": f"re-{i}",
        "sentence": sentence,
        "subject_entity": entity(subject, "ORG"),
        "object_entity": entity(object_, "PER"),
        "label": "org:top_members/employees",
        "source": "made-up",
    } | changes


def post(i=0, **changes):
    return {
        "id": f"post-{i}",
        "content": "Усі так кажуть!",
        "lang": "uk",
        "manipulative": True,
        "techniques": ["bandwagon", "straw_man"],
        "trigger_words": [[0, 3]],
    } | changes


def item(i=0, **changes):
    return {"index": i, "text": "배가 고팠다. 그는 _를 먹었다.", "answer": "배", "candidate": "돌"} | changes


def tsv(*sentences, header=True):
    """Write sentences of (guid, characters, tags) as an entity file."""
    head = "## 주석 : ##\n## 컬럼명 : CHAR\tNE_TAG\n" if header else ""
    return head + "".join(
        f"## {guid}\t{''.join(text)}\n"
        + "".join(f"{c}\t{t}\n" for c, t in zip(text, tags, strict=True))
        + "\n"
        for guid, text, tags in sentences
    )


NER = ("ner-0", "하람 #", ["B-PS", "I-PS", "O", "O"])


def write_json(path, rows):
    path.write_text(json.dumps(rows, ensure_ascii=False, indent=1))
    return path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def refused(match, load, *arguments):
    with pytest.raises(ValueError, match=match) as error:
        load(*arguments)
    return str(error.value)


LOADERS = {
    "klue-re": corpora.load_relations,
    "klue-ner": corpora.load_entities,
    "unlp": corpora.load_techniques,
    "corpus": corpora.load_documents,
    "lambada": corpora.load_lambada,
}
