"""How far to trust the project: attempts to break it and their results, from `reports/recorded/proof/`.

`make mutants`, `coverage`, `soak` and `fuzz` write their part there with RECORD=1. What was not run has no
file, and is not told.
"""

from collections.abc import Mapping
from typing import Any

from helpers import statistics
from helpers.display import notation

WORDS = {
    "en": {
        "none": "Not recorded yet.",
        "mutants": "A test should notice a changed line. In the modules that numbers rest on, comparisons, "
        "operators, constants, texts, conditions, checks, results and arguments are changed, one at a time "
        "(`make mutants`; {explained} changes that compute the same have their reason in "
        "`.ci/equivalent.yaml`):",
        "head": "| module | changes tried | noticed |",
        "tried": "{tried:,} of {possible:,}",
        "coverage": "Coverage: the tests take {branches} % of the branches of `helpers/` and run {lines} % "
        "of its lines, in kernels and worker processes too (`make coverage`).",
        "soak": "Soak: {equal} of {rounds} runs that were killed, ran out of disk or had a second suite "
        "beside them ended with the metrics of an undisturbed one (`make soak`).",
        "fuzz": "Fuzz: {inputs:,} hostile files for {readers} readers in {minutes:g} minutes, {findings} "
        "findings (`make fuzz`).",
        "made": "Made: {parts}.",
        "by": "{part} by commit `{commit}` on {date}",
    },
    "ko": {
        "none": "아직 기록이 없다.",
        "mutants": "바뀐 줄은 테스트가 알아차려야 한다. 수치가 기대는 모듈에서 비교, 연산자, 상수, 글, 조건, "
        "검사, 결과, 인자를 하나씩 바꾸어 본다(`make mutants`. 같은 값을 내는 변경 {explained}개는 "
        "`.ci/equivalent.yaml`에 까닭이 있다):",
        "head": "| 모듈 | 해 본 변경 | 알아차림 |",
        "tried": "{possible:,}개 가운데 {tried:,}개",
        "coverage": "커버리지: 테스트가 커널과 작업 프로세스까지 `helpers/`의 분기 {branches} %를 지나고 "
        "줄 {lines} %를 실행한다(`make coverage`).",
        "soak": "내구: 죽거나 디스크가 차거나 옆에서 다른 모음이 돌던 실행 {rounds}번 가운데 {equal}번이 "
        "방해 없는 실행과 같은 수치로 끝났다(`make soak`).",
        "fuzz": "퍼징: 읽는 코드 {readers}곳에 해로운 파일 {inputs:,}개를 {minutes:g}분 동안 넣어 "
        "결함 {findings}건(`make fuzz`).",
        "made": "{parts}에서 만들었다.",
        "by": "{part} 커밋 `{commit}`({date})",
    },
}


def section(found: Mapping[str, Mapping[str, Any]], *, language: str = "en") -> str:
    """Return what the records tell, in Markdown: `found` is a record by the name of its part, where made."""
    words = WORDS[language]
    parts = [part for part in ("mutants", "coverage", "soak", "fuzz") if part in found]
    if not parts:
        return words["none"]
    lines = _mutants(found["mutants"]["modules"], words) if "mutants" in found else []
    told = [f"- {words[part].format(**_values(part, found[part]))}" for part in parts if part != "mutants"]
    made = [words["by"].format(part=part, **found[part]) for part in parts]
    return "\n".join([*lines, *told, *[""] * bool(told), words["made"].format(parts="; ".join(made))])


def _mutants(modules: Mapping[str, Mapping[str, int]], words: Mapping[str, str]) -> list[str]:
    explained = sum(row["explained"] for row in modules.values())
    rows = []
    for module, row in modules.items():
        possible = row["mutants"] - row["explained"]
        tried = words["tried"].format(tried=row["tried"], possible=possible)
        rows.append(f"| `{module}` | {tried} | {_noticed(row, sampled=row['tried'] < possible)} % |")
    return [words["mutants"].format(explained=explained), "", words["head"], "|---|---|---|", *rows, ""]


def _noticed(row: Mapping[str, int], *, sampled: bool) -> str:
    """Write the share that was noticed; a sample has an interval."""
    if sampled:
        return notation.interval(*statistics.wilson(row["killed"], row["tried"]).scaled(100))
    return notation.number(100 * row["killed"] / row["tried"])


def _values(part: str, found: Mapping[str, Any]) -> Mapping[str, Any]:
    if part != "coverage":
        return found
    return {
        name: notation.number(100 * found[name]["taken"] / found[name]["all"])
        for name in ("branches", "lines")
    }
