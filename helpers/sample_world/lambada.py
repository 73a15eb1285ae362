"""Ko-LAMBADA-style items: a short story, a gap `_` in its last sentence, the answer among what came
before.

Planted truth (`PLANTED`): the answer and the candidate (a wrong noun of the same kind) both occur in
the story, the story alone decides between them, and both end in the same kind of sound, so the particle
after the gap gives nothing away.
"""

from collections.abc import Iterator

from . import document_templates, documents
from .particles import final_sound
from .streams import check, stream
from .templates import Draft, Filler

PLANTED = {
    "chance": 0.5,
    "fillers": (0, 3),
}  # answer against candidate; sentences between the clue and the gap

# (sentences in order, slot of the answer, slot of the candidate); `_` is the gap.
STORIES = (
    (
        (
            "{A}[은] {N}[을] 숨겼다.",
            "{B}[은] 하루 종일 {N}[을] 찾아다녔다.",
            "결국 {N}[을] 내놓은 사람은 {_}[이었]다.",
        ),
        "A",
        "B",
    ),
    (
        (
            "{A}[은] {B}에게 돈을 빌렸다.",
            "약속한 날이 지났지만 소식이 없었다.",
            "참다못한 {_}[은] 돈을 갚으라고 재촉했다.",
        ),
        "B",
        "A",
    ),
    (
        (
            "{A}[은] 다리를 다쳤다.",
            "의사인 {B}[이] 급히 달려왔다.",
            "치료를 받은 {_}[은] 고맙다며 눈물을 흘렸다.",
        ),
        "A",
        "B",
    ),
    (
        (
            "{A}[은] {O}의 사장이고 {B}[은] 신입 사원이다.",
            "두 사람은 {L}에서 처음 만났다.",
            "월급을 받은 {_}[은] 사장에게 감사 인사를 했다.",
        ),
        "B",
        "A",
    ),
    (
        (
            "{A}[은] 노래를 부르고 {B}[은] 피아노를 쳤다.",
            "{L} 사람들은 공연을 즐겼다.",
            "공연이 끝나자 목이 쉰 {_}[은] 물을 찾았다.",
        ),
        "A",
        "B",
    ),
    (
        (
            "{A}[은] {L}에 살고 {B}[은] {M}에 산다.",
            "{A}[은] 기차를 타고 {B}[을] 만나러 갔다.",
            "기차에서 내려 도착한 곳은 {_}[이었]다.",
        ),
        "M",
        "L",
    ),
    (
        (
            "{A}[은] {L}에서 태어나 {M}[으로] 이사했다.",
            "세월이 흘러 {A}[은] 고향이 그리워졌다.",
            "마침내 {A}[이] 찾아간 고향은 {_}[이었]다.",
        ),
        "L",
        "M",
    ),
    (
        (
            "{A}[은] {N}[을] 사고 {K}[을] 팔았다.",
            "며칠 뒤 {B}[이] {A}의 집에 놀러 왔다.",
            "{B}[이] {A}의 집에서 본 것은 {_}[이었]다.",
        ),
        "N",
        "K",
    ),
    (
        (
            "{A}[은] {N}[을] 잃어버리고 {K}만 들고 돌아왔다.",
            "{B}[은] 괜찮다며 위로했다.",
            "{A}[은] 아직도 잃어버린 {_}[을] 잊지 못한다.",
        ),
        "N",
        "K",
    ),
    (
        (
            "{B}[은] {N}[을] 무서워하고 {K}[을] 좋아했다.",
            "{A}[은] 생일 선물을 고민했다.",
            "{A}[은] 기뻐할 얼굴을 떠올리며 {_}[을] 골랐다.",
        ),
        "K",
        "N",
    ),
    (
        (
            "{A}[은] 거짓말을 하고 {B}[은] 사실대로 말했다.",
            "{L} 사람들이 모두 모였다.",
            "거짓말이 들통난 {_}[은] 고개를 숙였다.",
        ),
        "A",
        "B",
    ),
    (
        (
            "경주에서 {A}[은] 일찍 출발했고 {B}[은] 늦게 출발했다.",
            "두 사람의 빠르기는 똑같았다.",
            "먼저 도착한 사람은 {_}[이었]다.",
        ),
        "A",
        "B",
    ),
)


def lambada(split: str, rows: int, seed: int = 0) -> Iterator[dict]:
    """Yield `rows` items: index, text (with one `_`), answer, candidate."""
    check(split, rows)
    for index in range(rows):
        rng = stream("lambada", split, seed, index)
        story, answer, candidate = rng.choice(STORIES)
        names = documents.cast(rng, split)
        while final_sound(names[answer]) != final_sound(names[candidate]):
            names = documents.cast(rng, split)
        fillers = rng.sample(document_templates.BODIES, rng.randint(*PLANTED["fillers"]))
        *clues, last = story
        context = [documents.sentence(t, names) for t in clues[:1] + fillers + clues[1:]]
        yield {
            "index": index,
            "text": " ".join([*context, _gapped(last, names, names[answer])]),
            "answer": names[answer],
            "candidate": names[candidate],
        }


def _gapped(template: str, names: dict[str, str], answer: str) -> str:
    """Write the last sentence with the answer, for the particle's sake, then blank it."""
    draft = Draft()
    draft.add(template, lambda slot: Filler(answer, "gap") if slot == "_" else Filler(names[slot]))
    start, end, *_ = draft.mentions[0]
    return f"{draft.text[:start]}_{draft.text[end:]}"
