"""The words of the pages around a notebook's own, in English and in Korean.

A page is written in one language when it is rendered; nothing that a notebook computes depends on it. The
words of a notebook are translated apart from this, see `translations`.
"""

from helpers.display import notation

LANGUAGES = ("en", "ko")

# key: (English, Korean). Braces are filled in; HTML stands in the templates only.
MESSAGES = {
    "skip": ("Skip to the text", "본문으로 건너뛰기"),
    "suite": ("{suite} suite", "{suite} 모음"),
    "reports": ("reports", "보고서"),
    "contents": ("Contents", "목차"),
    "show code": ("Show all code", "코드 모두 보기"),
    "hide code": ("Hide all code", "코드 모두 접기"),
    "code": ("Code of this cell", "이 셀의 코드"),
    "theme": ("Dark or light", "밝게 · 어둡게"),
    "answer": ("Answer", "결론"),
    "effects": ("Effects, 95 % intervals", "효과(95 % 구간)"),
    "levels": ("Levels, 95 % intervals", "수준(95 % 구간)"),
    "key figure": ("Key figure", "핵심 그림"),
    "in its place": ("in its place in the report", "보고서의 제자리에서 보기"),
    "against": ("against {than}", "{than} 대비"),
    "between": ("{low} to {high}", "{low} ~ {high}"),
    "figure": ("Figure {number}", "그림 {number}"),
    "enlarge": ("Enlarge figure {number}", "그림 {number} 크게 보기"),
    "close": ("Close", "닫기"),
    "table": ("Table", "표"),
    "output": ("Output", "출력"),
    "formula": ("Formula", "수식"),
    "table tools": ("Save or copy this table", "이 표 저장·복사"),
    "csv": ("Download CSV", "CSV 내려받기"),
    "copy markdown": ("Copy as Markdown", "마크다운으로 복사"),
    "copy latex": ("Copy as LaTeX", "LaTeX로 복사"),
    "copied": ("Copied", "복사됨"),
    "failed": ("This run failed", "실행 실패"),
    "failed cell": ("The cell that failed", "실패한 셀"),
    "failed in": ("in the section", "실패한 절:"),
    "traceback": ("Traceback", "오류 추적"),
    "raised here": ("The error came from here", "오류가 난 곳"),
    "interactive": (
        "Interactive: open the notebook in JupyterLab to use this control.",
        "대화형 도구: JupyterLab에서 노트북을 열면 쓸 수 있다.",
    ),
    "all defaults": (
        "All {count} parameters have the notebook's own values.",
        "매개변수 {count}개가 모두 노트북의 기본값이다.",
    ),
    "some changed": (
        "{changed} of {count} parameters differ from the notebook's own values.",
        "매개변수 {count}개 가운데 {changed}개가 노트북의 기본값과 다르다.",
    ),
    "all parameters": ("All parameters", "모든 매개변수"),
    "parameter": ("parameter", "매개변수"),
    "value": ("value", "값"),
    "default": ("default", "기본값"),
    "same": ("same", "같음"),
    "meaning": ("what it does", "뜻"),
    "appendix": ("Appendix", "부록"),
    "appendix about": ("Parameters, versions, cost, where it came from", "매개변수, 버전, 비용, 출처"),
    "status": ("status", "상태"),
    "ok": ("ok", "정상"),
    "failed status": ("failed", "실패"),
    "commit": ("commit", "커밋"),
    "started": ("started", "시작"),
    "took": ("took", "걸린 시간"),
    "peak memory": ("peak memory", "최대 메모리"),
    "threads": ("threads", "스레드"),
    "versions": ("Versions", "버전"),
    "provenance": ("Where it came from", "출처"),
    "files": ("files", "파일"),
    "glossary": ("Terms used here", "쓰인 용어"),
    "report": ("report", "보고서"),
    "notebook": ("notebook", "노트북"),
    "metrics": ("metrics", "지표"),
    "previous run": ("previous run", "이전 실행"),
    "same verdict": ("same verdict", "결론 같음"),
    "other verdict": ("another verdict", "결론 다름"),
    "notebooks count": ("{count} notebooks", "노트북 {count}개"),
    "one notebook": ("1 notebook", "노트북 1개"),
    "failed count": ("{count} failed", "{count}개 실패"),
    "waiting count": ("{count} not run yet", "{count}개 미실행"),
    "waiting": ("not run yet", "미실행"),
    "notebook time": ("{time} of notebook time", "노트북 실행 {time}"),
    "seconds": ("{seconds} s", "{seconds}초"),
    "minutes": ("{minutes} min {seconds} s", "{minutes}분 {seconds}초"),
    "hours": ("{hours} h {minutes} min", "{hours}시간 {minutes}분"),
    "untranslated": ("", "이 노트북의 글은 아직 번역되지 않은 부분이 있어 영어로 보인다."),
    # decisions and roles, as `statistics` names them
    "better": ("better", "우세"),
    "worse": ("worse", "열세"),
    "equivalent": ("equivalent", "동등"),
    "undecided": ("undecided", "판단 보류"),
    "baseline": ("baseline", "기준선"),
    "control": ("control", "대조군"),
    "oracle": ("oracle", "상한(정답 참조)"),
    # sections of every notebook
    "Parameters": ("Parameters", "매개변수"),
    "Setup": ("Setup", "준비"),
    "Data": ("Data", "데이터"),
    "Experiment": ("Experiment", "실험"),
    "Evidence": ("Evidence", "근거"),
    "Verdict": ("Verdict", "결론"),
    "Limits and next steps": ("Limits and next steps", "한계와 다음 단계"),
    "Record": ("Record", "기록"),
    # the comparison of two runs
    "compare title": ("{first} → {second}", "{first} → {second}"),
    "compare lead": (
        "What changed from the first run to the second: parameters, versions, headline figures, decisions.",
        "첫째 실행에서 둘째 실행으로 무엇이 바뀌었는가: 매개변수, 버전, 주요 수치, 판정.",
    ),
    "first": ("first", "첫째"),
    "second": ("second", "둘째"),
    "change": ("change", "변화"),
    "how": ("how it was compared", "비교 방법"),
    "headline": ("Headline figures", "주요 수치"),
    "name": ("name", "이름"),
    "changed parameters": ("Changed parameters", "바뀐 매개변수"),
    "changed versions": ("Changed versions", "바뀐 버전"),
    "changed decisions": ("Changed decisions", "바뀐 판정"),
    "no change": ("None.", "없다."),
    "flipped": ("Predictions that changed", "바뀐 예측"),
    "flipped some": ("{shown} of {count} shown.", "{count}개 가운데 {shown}개를 보인다."),
    "item": ("item", "항목"),
    "seed": ("seed", "시드"),
    "only in": ("only in the {which} run", "{which} 실행에만 있음"),
    "paired": ("paired: {items} items, {seeds} seeds", "짝지음: 항목 {items}개, 시드 {seeds}개"),
    "unpaired": ("unpaired: from the two intervals", "짝짓지 않음: 두 구간으로 계산"),
    "no interval": ("no interval on one side", "한쪽에 구간이 없음"),
    "unpaired note": (
        "Unpaired: the two intervals are treated as independent, which makes the interval of a change too "
        "wide where both runs scored the same items.",
        "짝짓지 않은 행은 두 구간을 독립으로 본 것이다. "
        "두 실행이 같은 항목을 채점했다면 실제보다 넓다.",
    ),
    "not corrected": (
        "The intervals of changes are at 95 % each, not corrected for the number of rows.",
        "변화의 구간은 각각 95 %이며, 행의 수에 대해 보정하지 않았다.",
    ),
    "higher": ("higher", "높아짐"),
    "lower": ("lower", "낮아짐"),
    "unclear": ("no change shown", "변화 확인 안 됨"),
}  # fmt: skip
SHAPES = {**notation.SHAPES, "higher": "▲", "lower": "▼", "unclear": "?"}


class Words:
    """The messages in one language: `words("against", than="none")`."""

    def __init__(self, language: str = "en") -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language must be one of {', '.join(LANGUAGES)}; got {language!r}")
        self.language = language
        self.column = LANGUAGES.index(language)

    def __call__(self, key: str, **values: object) -> str:
        return MESSAGES[key][self.column].format(**values)

    def known(self, text: str) -> str:
        """Return a word that may have a translation, say a section's title, or itself."""
        return MESSAGES[text][self.column] if text in MESSAGES else text

    def duration(self, seconds: float) -> str:
        """Return seconds as `8.2 s`, `3 min 05 s` or `2 h 10 min`."""
        if seconds < 60:
            return self("seconds", seconds=f"{seconds:.1f}")
        minutes, rest = divmod(round(seconds), 60)
        if minutes < 60:
            return self("minutes", minutes=minutes, seconds=f"{rest:02d}")
        return self("hours", hours=minutes // 60, minutes=f"{minutes % 60:02d}")
