"""Word lists of the fictional world: syllables of names, suffixes, titles, everyday words."""


def words(text: str) -> tuple[str, ...]:
    """Split a list written as running text."""
    return tuple(text.split())


SURNAMES = words("""
    김 이 박 최 정 강 조 윤 장 임 한 오 서 신 권 황 안 송 류 전 홍 고 문 양 손 배 백 허 남 심 노 하 곽
    성 차 주 우 구 민 유 나 진 지 엄 채 원 천 방 공 현 함 변 염 여 추 도 소 석 선 설 마 길 연 위 표 명
    기 반 왕 금 옥 맹 제 모 탁 어 은 남궁 황보 제갈 선우 독고
""")
GIVEN_FIRST = words("""
    가 강 건 겸 경 규 기 나 다 도 동 라 로 루 미 민 범 보 상 새 서 선 성 세 소 수 승 시 아 연 영 예 온
    용 우 원 유 윤 은 이 인 재 정 주 준 지 진 찬 채 초 태 하 한 해 현 혜 호 효 희
""")
GIVEN_SECOND = words("""
    결 경 규 나 늘 담 라 란 람 린 림 명 미 민 백 범 별 빈 비 산 샘 석 선 설 솔 수 슬 아 안 연 영 예 온
    우 욱 원 유 윤 율 은 을 이 인 일 주 준 지 진 찬 철 하 한 헌 혁 현 형 호 환 훈 휘 희
""")
STEM_FIRST = words("""
    가 갈 검 곰 금 길 꽃 나 노 늘 다 단 달 담 도 돌 두 들 마 맑 모 물 미 바 밤 벌 별 보 비 빛 산 새 선
    설 솔 송 수 숲 쌍 여 연 온 용 운 울 은 자 잔 재 주 지 차 찬 참 초 큰 토 푸 풍 하 학 한 해 향 호 화
    흰
""")
STEM_SECOND = words("""
    골 곡 궁 내 녹 누 덕 돈 두 둔 들 람 래 령 로 룡 루 류 름 리 림 마 명 목 문 미 반 방 벌 별 봉 빛 새
    선 설 솔 슬 실 암 온 올 우 울 월 율 음 찬 촌 춘 탄 터 평 포 풍 학 항 해 향 화
""")
# Stems that exist on the map or in the dictionary, kept out of the fiction.
REAL_STEMS = words("""
    가평 나주 노래 늘봉 다리 단양 단풍 달래 담양 도리 도로 도루 도마 두루 마을 마음 마포 모래 모두 모란
    모임 물음 미래 바다 바둑 보라 보람 보령 비누 비단 비봉 산청 선수 선풍 설화 송도 송두리 송파 수해 여수
    여름 여우 여울 연해 온화 용암 용해 운명 은평 자두 자리 자문 자반 자두 재해 주목 주문 주먹 주방 주인
    지리 지문 지방 지해 차로 차례 차림 찬물 참해 청송 초록 초목 초월 토론 토마 토목 풍문 풍선 하늘 하루 하마
    하수 학문 한눈 한문 한방 해류 해명 해방 해설 해운 향로 향수 호두 호명 호수 화두 화로 화문 화면 화목 화방
""")
FOREIGN_FIRST = words("벨 카 루 오르 마 세 아르 트레 그라 살 노 테 엘 브리 젠 도르 콘 페 하르")
FOREIGN_SECOND = words("로 르 리 라 넬 단 비 타 온 델")
NATIONS = words("니아 란드 비아 스탄 도라 리안")
FOREIGN_GIVEN = words("""
    마르코 엘린 토비 니나 라울 이벳 카를로 소냐 빅터 올가 율리안 미라벨 안톤 노라 베르트 셀마
""")
# Everyday words that are also given names, bands, cafés and villages of the world.
EVERYDAY = words("""
    하늘 바다 보람 이슬 나래 미소 아침 샘물 노을 한빛 은하 소망 다솜 가람 새벽 마루 단비 여름 나무 별빛
    온유 초원 우주 강산 오월 구름 시내 봄날 단풍 이랑
""")
TOWN_SUFFIXES = words("시 군 읍 동 마을 섬")
PLACE_SUFFIXES = words("시 군 구 동 읍 면 산 강 섬 항 역 마을 공원 시장 해변 계곡 대교 저수지")
FIRM_SUFFIXES = words("전자 건설 제약 은행 항공 화학 통신 식품 상사 물산 중공업 제과 보험 게임즈 바이오")
SCHOOL_SUFFIXES = words("대학교 대 고등학교 고 예술대학")
CLUB_SUFFIXES = (" FC", " 호크스", " 돌핀스", " 관현악단", " 극단", " 소년합창단")
BODY_SUFFIXES = words("시청 군청 경찰서 병원 연구소 재단 협회 위원회 신문 방송 출판사 박물관 노동조합")
PRESS_SUFFIXES = words("신문 방송 일보 뉴스 TV")
FAITHS = words("교 종 교회")
CRAFTS = words(
    "배우 가수 작가 기자 화가 시인 작곡가 변호사 의사 건축가 피아니스트 사진가 번역가 요리사 평론가"
)
POSTS = {
    "firm": words("대표 회장 사장 부사장 이사 본부장 부장 연구원 고문"),
    "club": words("단장 감독 코치 주장 총무 이사"),
    "body": words("대표 이사장 소장 국장 위원 연구원 간사 고문"),
    "school": words("이사장 총장 교수 강사 학장"),
}
WORK_HEADS = words("""
    푸른 마지막 오래된 조용한 하얀 다섯째 잃어버린 느린 먼 낯선 붉은 겨울의 섬의 새벽의 유리 종이 달빛
    안개 모래 파도
""")
WORK_TAILS = words("""
    등대 우체국 지도 정원 기차 편지 시계 노래 골목 사다리 나침반 온실 계단 약속 여행 창문 바람개비 도서관
    항해 그림자
""")
BRANDS = words("온 누리 루미 포레 네오 새라 클로 미르 하루 소이 토브 비담")
MODELS = words("패드 노트 링크 워치 페이 톡 랩 큐브 드론 필터 카메라 에어")
THINGS = words("""
    등대 도자기 나침반 우물 풍차 수레 가마솥 악보 망원경 돌다리 벽화 열쇠 저울 항아리 목걸이 사진첩 일기장
    물레방아 지도 종탑 연못 온실 자전거 피아노 천막 나룻배 화로 병풍 모자 비석 장독대 현미경 시계 가위
    인형 양탄자 거울 사다리 바구니 그물 깃발 조각상 유리병 만년필 라디오 필름 우산 손수건 촛대 책상 기타
    버섯 감나무 벌꿀 두루마리 도장 엽서 신발 장갑 외투 단추 비단 한지 호미 낚싯대 돛단배 연장통 망치 주전자
    찻잔 떡시루 메주 물감 베틀 북채 가야금 등잔 나막신 탈곡기 확성기 지팡이 보석함 천문도
""")
EVENTS = words("축제 박람회 전시회 경연 음악회 체육대회 학술제 장터")
ENGLISH_FIRST = words("Mar Dun Har Wex Brin Col Tarn Ash Fen Gil Pol Ster Whit Oak Lang Thorn Ald Crom")
ENGLISH_SECOND = words("wick holm ford bury mere ton dale leigh stead combe worth field gate march")
ENGLISH_FIRMS = words("Water Energy Foods Transport Works Harbour Media Trust")
ENGLISH_GIVEN = words(
    "Ada Colin Doris Edwin Freda Giles Hazel Ivor Joan Kit Lorna Miles Nell Oswin Petra Rufus"
)
