"""Recorded runs: a few kB of each notebook's results, committed, and what the READMEs quote from them.

Reports are too large to commit and change with every run. What a README quotes is copied to
`reports/recorded/<suite>/<notebook>.json`, key figures to `reports/figures/`; tables, figures and values
between its markers follow from these files alone, and a test fails when they do not.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers import records
from helpers.batch import plans
from helpers.claims import proof
from helpers.display import notation

SUITES = ("sample", "klue")
KEPT = ("question", "verdict", "headline", "against_itself")  # of metrics.json, where it has them
PAGES = {"README.md": "en", "README.ko.md": "ko"}
MARKED = re.compile(r"(?s)(<!-- results: (\w+) -->\n).*?(<!-- end of results -->)")
PROOF = re.compile(r"(?s)(<!-- proof -->\n).*?(<!-- end of proof -->)")
PICTURE = re.compile(r"(?s)(<!-- figure: (\w+/\w+) -->\n).*?(<!-- end of figure -->)")
VALUE = re.compile(r"(<!-- (\w+)/(\w+): (.+?)(?: = (\w+))? -->)[^<]*(<!-- -->)")
WORDS = {
    "en": {
        "head": "| | question | verdict |",
        "none": "Not recorded yet.",
        "figure": "Key figure of notebook",
        "made": "Made {parts}.",
        "made by several": "Made: {parts}.",
        "by": "{names} by commit `{commit}` on {date}",
        "alarms": " Where nothing differs, {alarms} of {cuts} comparisons raise a false alarm (5 % may).",
    },
    "ko": {
        "head": "| | 질문 | 결론 |",
        "none": "아직 기록이 없다.",
        "figure": "핵심 그림, 노트북",
        "made": "{parts}에서 만들었다.",
        "made by several": "{parts}에서 만들었다.",
        "by": "{names} 커밋 `{commit}`({date})",
        "alarms": " 차이가 없는 곳에서는 비교 {cuts}번 가운데 {alarms}번 거짓 경보가 난다(5 %까지는 정상).",
    },
}


def record(suite: str, *, reports: Path) -> list[str]:
    """Copy what README quotes from `reports/<suite>/`; return the notebooks recorded, those that ran well.

    Records of other notebooks stay. Every one says which commit made it, when, and how long it took at most:
    a run that finds its trainings in the cache says nothing about one that does not.
    """
    folder, known = reports / "recorded" / suite, read(suite, reports=reports)
    done = []
    for metrics in sorted((reports / suite).glob("0*/metrics.json")):
        run = plans.read_run(metrics.parent)
        if run.get("status") != "ok":
            continue
        found = json.loads(metrics.read_text(encoding="utf-8"))
        kept = {name: found[name] for name in KEPT if name in found}
        folder.mkdir(parents=True, exist_ok=True)
        seconds = max(run["seconds"], known.get(metrics.parent.name, {}).get("seconds", 0))
        records.write_json(
            folder / f"{metrics.parent.name}.json",
            {**kept, "commit": run["commit"], "date": run["started"][:10], "seconds": seconds},
        )
        done.append(metrics.parent.name)
    return done


def read(suite: str, *, reports: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a suite by notebook, in order; none where nothing was recorded."""
    files = sorted((reports / "recorded" / suite).glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def filled(text: str, *, reports: Path, language: str = "en") -> str:
    """Return a README with what follows from the records made anew: tables, figures, and values in sentences.

    `<!-- results: suite -->` begins a table, `<!-- figure: notebook -->` a key figure, `<!-- proof -->` what
    was done to break the project, all up to their end marker;
    `<!-- suite/notebook: headline figure = decision -->value<!-- -->` is a value inside a sentence.
    """
    text = MARKED.sub(
        lambda found: f"{found[1]}\n{table(found[2], reports=reports, language=language)}\n\n{found[3]}", text
    )
    text = PICTURE.sub(
        lambda found: f"{found[1]}\n{_picture(found[2], reports, language)}\n\n{found[3]}", text
    )
    told = proof.section(read("proof", reports=reports), language=language)
    text = PROOF.sub(lambda found: f"{found[1]}\n{told}\n\n{found[2]}", text)
    return VALUE.sub(lambda found: f"{found[1]}{_value(found, reports)}{found[6]}", text)


def table(suite: str, *, reports: Path, language: str = "en") -> str:
    """Return the results of a suite as a Markdown table, and a sentence on where they come from."""
    words, runs = WORDS[language], read(suite, reports=reports)
    if not runs:
        return words["none"]
    rows = [
        row(name, run, figure=_figure(name, suite, reports, language), language=language)
        for name, run in runs.items()
    ]
    return "\n".join([words["head"], "|---|---|---|", *rows, "", _made(runs, words)])


def row(notebook: str, run: dict[str, Any], *, figure: str = "", language: str = "en") -> str:
    """Return one notebook's line of the table; the figure stands under the verdict.

    In a column of its own GitHub would make it as small as it can: its tables give the width to the words.
    """
    link = f"[{notebook[:2]}](notebooks/{notebook}.ipynb)"
    phrases = _phrases(notebook, language)
    verdict = _cell(phrases(run["verdict"])) + (f"<br>{figure}" if figure else "")
    return f"| {link} | {_cell(phrases(run['question']))} | {verdict} |"


def draw(suite: str, *, reports: Path) -> list[str]:
    """Copy the key figure of every report of a suite to `figures/`, in all languages; return their names."""
    from helpers.batch import rendering
    from helpers.display import messages

    done = []
    for folder in sorted(run.parent for run in (reports / suite).glob("0*/notebook.ipynb")):
        for language in messages.LANGUAGES:
            prose = records.ROOT / "notebooks" / language if language != "en" else None
            notebook, run, _ = rendering.read(folder, prose)
            chosen = rendering.key_figure(notebook)
            pictures = [one for cell in notebook["cells"] for one in rendering.pictures(cell)]
            if run["status"] != "ok" or not chosen or pictures[chosen - 1][0] != "image/svg+xml":
                continue
            target = _place(folder.name, suite, reports, language)
            target.parent.mkdir(parents=True, exist_ok=True)
            records.write_text(target, pictures[chosen - 1][1])
            done.append(target.name)
    return done


def _place(notebook: str, suite: str, reports: Path, language: str) -> Path:
    return reports / "figures" / f"{suite}-{notebook}{'' if language == 'en' else f'.{language}'}.svg"


def _figure(notebook: str, suite: str, reports: Path, language: str) -> str:
    """Return a notebook's key figure as an image that links to itself, or nothing where none was drawn."""
    place = _place(notebook, suite, reports, language)
    if not place.is_file():
        return ""
    address, alt = f"reports/figures/{place.name}", f"{WORDS[language]['figure']} {notebook[:2]}"
    return f'<a href="{address}"><img src="{address}" alt="{alt}" width="400"></a>'


def _picture(name: str, reports: Path, language: str) -> str:
    """Return the page's one large figure: a key figure if it was drawn, else the screenshot of its report."""
    suite, notebook = name.split("/")
    place = _place(notebook, suite, reports, language)
    address = f"figures/{place.name}" if place.is_file() else f"screenshots/{notebook}.png"
    return f"![{WORDS[language]['figure']} {notebook[:2]}](reports/{address})"


def _value(found: re.Match, reports: Path) -> str:
    """Return a headline figure for a sentence; ValueError where the sentence no longer says what it shows."""
    _, suite, notebook, name, decision, _ = found.groups()
    rows = read(suite, reports=reports).get(notebook, {}).get("headline", [])
    match = next((row for row in rows if row["name"] == name), None)
    if match is None or match.get("decision", "") != (decision or ""):
        now = match.get("decision") or "a level" if match else f"not among {[row['name'] for row in rows]}"
        raise ValueError(f"README tells {suite}/{notebook}, {name!r}, as {decision}; it is {now}: rewrite it")
    return notation.interval(match["value"], match["low"], match["high"], signed=bool(decision))


def _made(runs: dict[str, dict[str, Any]], words: dict[str, str]) -> str:
    """Say which commit made which notebook, and how often a system was told from itself."""
    makers: dict[tuple[str, str], list[str]] = {}
    for name, run in runs.items():
        makers.setdefault((run["commit"], run["date"]), []).append(name[:2])
    parts = [
        words["by"]
        .format(names=", ".join(names) if len(makers) > 1 else "", commit=commit, date=date)
        .strip()
        for (commit, date), names in makers.items()
    ]
    made = words["made" if len(makers) == 1 else "made by several"].format(parts="; ".join(parts))
    controls = [run["against_itself"] for run in runs.values() if "against_itself" in run]
    if controls:
        alarms, cuts = (sum(control[key] for control in controls) for key in ("alarms", "cuts"))
        made += words["alarms"].format(alarms=alarms, cuts=f"{cuts:,}")
    return made


def _phrases(notebook: str, language: str) -> Callable[[str], str]:
    if language == "en":
        return str
    from helpers.display import translations

    return translations.load(records.ROOT / "notebooks" / language, notebook).phrases


def _cell(text: str) -> str:
    """Escape what would end a cell or begin a tag."""
    return notation.minus(" ".join(text.split())).replace("|", "\\|").replace("<", "&lt;")
