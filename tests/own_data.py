"""Small data sets with labels of their own, in Hangul, that a model can learn: for tests of every room."""

import json
from pathlib import Path

import numpy as np

PEOPLE = [f"{a}{b}{c}" for a in "김이박최정" for b in "하도서민" for c in "람윤준"]
DRUGS = [f"{a}{b}정" for a in "가나다라마바사아" for b in "렌톨핀솔"]
ILLNESSES = [f"{a}{b}염" for a in "위간폐장뇌" for b in "구상막점"]
CLAUSES = {
    "복용": "{a}씨는 아침마다 {b}을 먹는다",
    "처방": "{a} 의사가 {b}을 처방했다",
    "관계없음": "{a}씨가 온 날 {b}이 팔렸다",
}


def relations(count: int, *, seed: int = 0) -> list[dict]:
    """Write sentences about a person and a drug; three labels, one of which means no relation."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        label = rng.choice(list(CLAUSES))
        person, drug = f"{rng.choice(PEOPLE)}{i}", str(rng.choice(DRUGS))
        sentence = CLAUSES[label].format(a=person, b=drug) + "."
        entities = {
            f"{role}_entity": {
                "word": word,
                "start_idx": sentence.index(word),
                "end_idx": sentence.index(word) + len(word) - 1,
                "type": kind,
            }
            for role, word, kind in (("subject", person, "인물"), ("object", drug, "약물"))
        }
        rows.append({"guid": f"r{seed}-{i}", "sentence": sentence, "label": str(label), **entities})
    return rows


def entities(count: int, *, seed: int = 0) -> list[dict]:
    """Write sentences with a drug and an illness: two types, one tag per character."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        drug, illness = str(rng.choice(DRUGS)), str(rng.choice(ILLNESSES))
        pieces = [
            (f"{i}번 환자는 ", ""),
            (illness, "질병"),
            (" 때문에 ", ""),
            (drug, "약물"),
            ("을 먹었다.", ""),
        ]
        tags = [
            tag
            for text, kind in pieces
            for tag in ([f"B-{kind}"] + [f"I-{kind}"] * (len(text) - 1) if kind else ["O"] * len(text))
        ]
        rows.append({"guid": f"e{seed}-{i}", "tokens": list("".join(t for t, _ in pieces)), "ner_tags": tags})
    return rows


def posts(count: int, *, seed: int = 0) -> list[dict]:
    """Write posts with up to three of three classes; neither language nor spans."""
    rng = np.random.default_rng(seed)
    words = {"연령": "노인 청년", "지역": "서울 부산", "성별": "남자 여자"}
    rows = []
    for i in range(count):
        own = [name for name in words if rng.random() < 0.4]
        said = " ".join(str(rng.choice(words[name].split())) for name in own)
        rows.append({"id": f"p{seed}-{i}", "content": f"{i}번 글: {said} 이야기", "techniques": own})
    return rows


def write(folder: Path, rows: list[dict], name: str) -> Path:
    """Write rows as `<name>.jsonl` in the folder, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder
