"""What posts are made of, in Korean and English: neutral reporting, and triggers for each technique.

Slots: L a place, O an organisation, P a person, T a topic, N a number. Triggers borrow each other's
words on purpose: a frightening word may be fear, doubt or just loaded language.
"""

TOPICS = {
    "ko": (
        "수도 요금",
        "버스 노선",
        "새 도서관",
        "항만 공사",
        "쓰레기 매립장",
        "학교 급식",
        "공원 조성",
        "전기 요금",
        "시장 선거",
        "어업 협정",
    ),
    "en": (
        "the water bill",
        "the bus line",
        "the new library",
        "the harbour works",
        "the landfill",
        "school meals",
        "the park plan",
        "the power tariff",
        "the mayoral vote",
        "the fishing deal",
    ),
}
NEUTRAL = {
    "ko": (
        "{O}[은] {L}에서 {T} 관련 설명회를 열었습니다.",
        "{P} 의원은 {T}에 대한 질문을 받았습니다.",
        "{L} 주민 {N}명이 설명회에 참석했습니다.",
        "회의는 오후 {N}시에 시작되었습니다.",
        "{O}[은] 다음 달에 결과를 공개할 예정입니다.",
        "{T} 안건은 위원회로 넘어갔습니다.",
        "{L}의 날씨는 맑고 바람이 약했습니다.",
        "{P} 위원장이 자료를 나눠 주었습니다.",
        "예산은 지난해보다 {N}% 늘었습니다.",
        "자세한 내용은 {O} 누리집에 있습니다.",
        "{T} 공사는 {N}월에 끝납니다.",
        "{O} 대변인은 추가 설명을 하지 않았습니다.",
        "현장에는 {L} 소방서 직원들도 나왔습니다.",
        "{P} 씨는 {T} 문제를 계속 살피겠다고 말했습니다.",
    ),
    "en": (
        "{O} held a briefing on {T} in {L}.",
        "Councillor {P} was asked about {T}.",
        "{N} residents of {L} came to the meeting.",
        "The session started at {N} o'clock.",
        "{O} will publish the results next month.",
        "The file on {T} went to the committee.",
        "The weather in {L} was clear and calm.",
        "{P} handed out the documents.",
        "The budget grew by {N}% over last year.",
        "Details are on the website of {O}.",
        "Work on {T} ends in {N} weeks.",
        "A spokesperson of {O} gave no further comment.",
        "Fire crews from {L} were on site as well.",
        "{P} said that {T} would be reviewed again.",
    ),
}
TRIGGERS = {
    "straw_man": {
        "ko": (
            "결국 {T}[을] 아예 없애자는 소리 아닙니까",
            "{P}의 말대로라면 모두 굶어 죽으라는 뜻이죠",
            "반대하는 사람들은 마을이 망하기를 바란다는 겁니다",
            "그러니까 아무것도 하지 말자는 주장이네요",
        ),
        "en": (
            "so they simply want to abolish {T} altogether",
            "by the logic of {P} we should all starve",
            "critics are really saying the town should die",
            "in other words they want us to do nothing at all",
        ),
    },
    "appeal_to_fear": {
        "ko": (
            "이대로 가면 우리 아이들이 위험합니다",
            "{L}[은] 곧 물에 잠기고 말 것입니다",
            "지금 막지 않으면 모두 집을 잃게 됩니다",
            "끔찍한 재앙이 코앞에 와 있습니다",
        ),
        "en": (
            "if this goes on our children are in danger",
            "{L} will soon be under water",
            "unless we stop it now everyone loses their home",
            "a terrible disaster is at the door",
        ),
    },
    "fud": {
        "ko": (
            "{O}[이] 정말 무엇을 숨기는지 누가 알겠습니까",
            "아무도 그 숫자를 믿지 않습니다",
            "뒤에서 무슨 일이 벌어지는지 의심스럽습니다",
            "{T}[이] 제대로 될 리가 없다는 말이 돌고 있습니다",
            "위험하지 않다고 장담할 수 있습니까",
        ),
        "en": (
            "who knows what {O} is really hiding",
            "nobody believes those figures any more",
            "one wonders what goes on behind the scenes",
            "there is talk that {T} can never work",
            "can anyone promise that it is not dangerous",
        ),
    },
    "bandwagon": {
        "ko": (
            "이미 모든 이웃이 우리와 함께하고 있습니다",
            "{L} 사람이라면 다 아는 사실입니다",
            "수많은 시민이 벌써 마음을 정했습니다",
            "당신만 아직 가입하지 않았습니다",
        ),
        "en": (
            "all the neighbours have already joined us",
            "everyone in {L} knows this",
            "thousands have made up their minds already",
            "you are the only one who has not signed yet",
        ),
    },
    "whataboutism": {
        "ko": (
            "그러는 {P}[은] 예전에 무엇을 했습니까",
            "{O}[이] 저지른 일은 왜 아무도 말하지 않죠",
            "그럼 지난번 {T}[은] 괜찮았다는 말입니까",
            "남을 탓하기 전에 {L}부터 돌아보시죠",
        ),
        "en": (
            "and what did {P} do back then",
            "why does nobody talk about what {O} did",
            "so the last affair about {T} was fine then",
            "look at {L} first before you blame others",
        ),
    },
    "loaded_language": {
        "ko": (
            "뻔뻔한 {O}[이] 또 시민을 우롱했습니다",
            "썩어 빠진 무리가 {T}[을] 집어삼켰습니다",
            "비열한 배신이 아닐 수 없습니다",
            "피도 눈물도 없는 짓입니다",
            "{P}[은] 더러운 속임수를 썼습니다",
            "끔찍하고 역겨운 결정입니다",
            "눈부시게 위대한 우리 {L}입니다",
        ),
        "en": (
            "the shameless crooks at {O} mocked the people again",
            "a rotten gang swallowed {T}",
            "this is nothing but vile betrayal",
            "a heartless and bloodthirsty act",
            "{P} played a dirty trick",
            "a terrible and disgusting decision",
            "our gloriously great {L}",
        ),
    },
    "glittering_generalities": {
        "ko": (
            "자유와 정의를 위해 나아갑시다",
            "우리의 전통과 가족의 가치를 지킵시다",
            "조국의 영원한 번영이 여기에 있습니다",
            "진실과 명예가 우리를 이끕니다",
        ),
        "en": (
            "let us march for freedom and justice",
            "we guard tradition and the values of the family",
            "here lies the eternal prosperity of our homeland",
            "truth and honour lead our way",
        ),
    },
    "euphoria": {
        "ko": (
            "드디어 해냈습니다, 정말 놀라운 승리입니다",
            "{L}[이] 기쁨으로 들썩입니다",
            "우리는 최고입니다, 만세",
            "믿을 수 없이 멋진 소식이 왔습니다",
        ),
        "en": (
            "we finally did it, what an amazing victory",
            "{L} is dancing with joy",
            "we are simply the best, hooray",
            "unbelievably wonderful news has arrived",
        ),
    },
    "cherry_picking": {
        "ko": (
            "단 하나의 사례만 봐도 {T}[은] 실패입니다",
            "{N}월 숫자만 보면 답이 나옵니다",
            "{L}에서는 {N}%나 떨어졌으니 더 볼 것도 없습니다",
            "{P} 한 사람의 증언이면 충분합니다",
        ),
        "en": (
            "this single case shows that {T} has failed",
            "just look at the figure for week {N}",
            "it fell by {N}% in {L}, so there is nothing more to say",
            "the word of {P} alone is proof enough",
        ),
    },
    "cliche": {
        "ko": (
            "콩 심은 데 콩 나는 법입니다",
            "세상에 공짜는 없습니다",
            "역사는 되풀이됩니다",
            "시간이 모든 것을 말해 줄 것입니다",
            "아니 땐 굴뚝에 연기 나겠습니까",
        ),
        "en": (
            "you reap what you sow",
            "there is no such thing as a free lunch",
            "history repeats itself",
            "time will tell",
            "there is no smoke without fire",
        ),
    },
}
