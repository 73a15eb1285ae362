"""Ko-LAMBADA-style items: a short story, a gap `_` in its last sentence, the answer among what came
before.

Planted truth (`PLANTED`): the answer and the candidate (a wrong noun of the same kind) both occur in
the story, the story alone decides between them, and both end in the same kind of sound, so the particle
after the gap gives nothing away.
"""

from collections.abc import Iterator

from . import documents
from .particles import final_sound
from .streams import check, stream
from .templates import Draft, Filler

PLANTED = {
    "chance": 0.5,
    "fillers": (0, 3),
}  # answer against candidate; sentences between the clue and the gap

# What may stand between the clue and the rest of the story; takes neither side.
FILLERS = (
    "{L}에는 며칠째 비가 내렸다.",
    "{E} 준비로 온 마을이 바빴다.",
    "{O} 앞에는 긴 줄이 늘어서 있었다.",
    "시간은 빠르게 흘러갔다.",
    "창밖에는 눈이 소복이 쌓였다.",
    "{O}에서는 새로운 소식이 들려왔다.",
    "{L}의 저녁은 늘 조용했다.",
    "멀리서 {E}[을] 알리는 북소리가 들렸다.",
)
# (sentences in order, slot of the answer, slot of the candidate); `_` is the gap. The answer is named
# before the candidate in half of the stories, after it in the other half.
STORIES = (
    (
        (
            "{A}[은] {N}[을] 숨겼다.",
            "{B}[은] 하루 종일 {N}[을] 찾아다녔다.",
            "{N}[을] 숨긴 사람은 {_}[이었]다.",
        ),
        "A",
        "B",
    ),
    (
        ("{A}[은] {B}에게 돈을 빌렸다.", "갚을 날이 지났다.", "참다못한 {_}[은] 돈을 갚으라고 재촉했다."),
        "B",
        "A",
    ),
    (
        ("{A}[은] 다리를 다쳤다.", "의사인 {B}[이] 달려왔다.", "치료를 받은 {_}[은] 고맙다며 울먹였다."),
        "A",
        "B",
    ),
    (
        ("{A}[은] 사장이고 {B}[은] 신입 사원이다.", "월급날이 되었다.", "월급을 받은 {_}[은] 인사를 했다."),
        "B",
        "A",
    ),
    (
        ("{A}[은] 노래를 부르고 {B}[은] 피아노를 쳤다.", "공연이 끝났다.", "목이 쉰 {_}[은] 물을 찾았다."),
        "A",
        "B",
    ),
    (
        ("{A}[은] 그림을 그리고 {B}[은] 춤을 췄다.", "무대의 막이 내렸다.", "땀에 젖은 {_}[은] 숨을 골랐다."),
        "B",
        "A",
    ),
    (("{L}에 사는 {A}[이] {M}[으로] 떠났다.", "기차가 멈췄다.", "{A}[이] 내린 곳은 {_}[이었]다."), "M", "L"),
    (
        ("{A}[은] {L}에서 태어나 {M}에서 산다.", "세월이 흘렀다.", "{A}[이] 그리워한 고향은 {_}[이었]다."),
        "L",
        "M",
    ),
    (
        ("{A}[은] {N}[을] 사고 {K}[을] 팔았다.", "며칠이 지났다.", "{A}의 집에 남아 있는 것은 {_}[이었]다."),
        "N",
        "K",
    ),
    (
        ("{A}[은] {N}[을] 팔고 {K}[을] 샀다.", "며칠이 지났다.", "{A}의 집에 남아 있는 것은 {_}[이었]다."),
        "K",
        "N",
    ),
    (
        ("{A}[은] {N}[을] 잃어버리고 {K}[을] 지켰다.", "밤이 깊었다.", "{A}[은] 사라진 {_}[을] 떠올렸다."),
        "N",
        "K",
    ),
    (
        ("{B}[은] {N}[을] 싫어하고 {K}[을] 좋아했다.", "생일이 왔다.", "{A}[은] 선물로 {_}[을] 골랐다."),
        "K",
        "N",
    ),
    (
        (
            "{A}[은] 거짓말을 하고 {B}[은] 참말을 했다.",
            "모두가 모였다.",
            "거짓이 들통난 {_}[은] 고개를 숙였다.",
        ),
        "A",
        "B",
    ),
    (
        (
            "{A}[은] 참말을 하고 {B}[은] 거짓말을 했다.",
            "모두가 모였다.",
            "거짓이 들통난 {_}[은] 고개를 숙였다.",
        ),
        "B",
        "A",
    ),
    (
        (
            "{A}[은] 일찍, {B}[은] 늦게 출발했다.",
            "두 사람의 빠르기는 같았다.",
            "먼저 닿은 사람은 {_}[이었]다.",
        ),
        "A",
        "B",
    ),
    (
        (
            "{A}[은] 늦게, {B}[은] 일찍 출발했다.",
            "두 사람의 빠르기는 같았다.",
            "먼저 닿은 사람은 {_}[이었]다.",
        ),
        "B",
        "A",
    ),
    (
        (
            "{L}에는 눈이 오고 {M}에는 해가 났다.",
            "{A}[은] 눈을 보고 싶었다.",
            "{A}[이] 찾아간 곳은 {_}[이었]다.",
        ),
        "L",
        "M",
    ),
    (
        (
            "{L}에는 비가 오고 {M}에는 눈이 왔다.",
            "{A}[은] 눈을 보고 싶었다.",
            "{A}[이] 찾아간 곳은 {_}[이었]다.",
        ),
        "M",
        "L",
    ),
    (
        (
            "{A}[은] 스승이고 {B}[은] 제자이다.",
            "수업이 시작되었다.",
            "질문을 받은 스승 {_}[은] 미소를 지었다.",
        ),
        "A",
        "B",
    ),
    (("{A}[은] {B}의 생일을 축하했다.", "촛불이 켜졌다.", "촛불을 끈 주인공은 {_}[이었]다."), "B", "A"),
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
        fillers = rng.sample(FILLERS, rng.randint(*PLANTED["fillers"]))
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
