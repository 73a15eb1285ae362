"""Captions of figures: the title becomes the caption, with a text for those who do not see the figure.

Both travel in the metadata of the output. A report sets the title as text above the drawing, where it can be
read on a phone, and leaves it out of the drawing. JupyterLab shows the drawing whole, in the colours of its
own theme: as HTML, because an SVG output becomes an image there, which a theme cannot reach.
"""

import html
import re
from typing import Any
from uuid import uuid4

from matplotlib.figure import Figure
from matplotlib.text import Text

from helpers import records

TITLE = "figure-title"  # the id of the title in the SVG
AIR = 4.0  # points left above what stands under the title
# The colours of nunchi.mplstyle where the page is dark; batch/style/report.css has the same.
DARK = {
    "#1c2025": "#e3e6ea", "#77808a": "#8b949e", "#e1e5ea": "#30363d", "#0072b2": "#56b4e9",
    "#d55e00": "#ff8c42", "#009e73": "#2fbf95", "#2b2b2b": "#f2f2f2", "#8c1d66": "#c85fa8",
    "#6c8ef5": "#8c7bff", "#8a8a8a": "#6f7a85",
}  # fmt: skip
IN_LAB = {light: f"light-dark({light}, {dark})" for light, dark in DARK.items()}
IN_LAB["#fffffe"] = "var(--jp-layout-color0, #fffffe)"
LOOK = (
    "<style scoped>.nunchi-figure {color-scheme: light; max-width: 8in} "
    '[data-jp-theme-light="false"] .nunchi-figure {color-scheme: dark} '
    ".nunchi-figure svg {display: block; width: 100%; height: auto}</style>"
)


class CaptionedFigure(Figure):
    """What `figures.figure` returns: `description` is the notebook's, `notes` those of the plot functions."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.description = ""
        self.notes: list[str] = []

    def alternative(self) -> str:
        """Say in words what the figure shows: its titles, then the description, or else what was plotted."""
        said = [*self._titles(), self.description] if self.description else [*self._titles(), *self.notes]
        return " ".join(text if text[-1] in ".?!" else f"{text}." for text in said if text)

    def _repr_mimebundle_(self, **_) -> tuple[dict[str, Any], dict[str, Any]]:
        from IPython.core.pylabtools import print_figure

        title = self._title()
        if title is not None:
            title.set_gid(TITLE)
        drawn = print_figure(self, fmt="svg", bbox_inches=None, metadata={"Date": None})
        alt = self.alternative()
        words = {"title": "", "description": self.description, "alt": alt, "crop": 0.0}
        if title is not None:
            words |= {"title": title.get_text(), "crop": self._above(title)}
        live = {} if records.in_batch() else {"text/html": in_lab(drawn, alt)}
        return {"image/svg+xml": drawn, **live}, {"image/svg+xml": words}

    def _title(self) -> Text | None:
        """Return the one title of the figure; of several axes with titles, none speaks for all."""
        if self.get_suptitle():
            return self._suptitle
        titles = [title for title in self._axes_titles() if title.get_text()]
        return titles[0] if len(titles) == 1 else None

    def _titles(self) -> list[str]:
        every = [self.get_suptitle(), *(title.get_text() for title in self._axes_titles())]
        return [" ".join(text.split()) for text in every if text.strip()]

    def _axes_titles(self) -> list[Text]:
        return [title for ax in self.axes for title in (ax._left_title, ax.title, ax._right_title)]

    def _above(self, title: Text) -> float:
        """Return how many points at the top are the title's alone."""
        title.set_visible(False)
        top = self.get_tightbbox().y1  # inches
        title.set_visible(True)
        return round(max(0.0, float(self.get_figheight() - top) * 72 - AIR), 1)


def in_lab(drawn: str, alternative: str) -> str:
    """Return an SVG as a part of JupyterLab's page that follows its theme; ids are this one's alone."""
    own = rf"\g<0>n{uuid4().hex[:8]}-"
    inner = re.sub(r'\bid="|href="#|url\(#', own, drawn[drawn.index("<svg") :])
    inner = re.sub(r"(?<=: )#[0-9a-f]{6}\b", lambda match: IN_LAB.get(match[0], match[0]), inner)
    label = f'role="img" aria-label="{html.escape(alternative)}"'
    return f'{LOOK}<div class="nunchi-figure">{inner.replace("<svg", f"<svg {label}", 1)}</div>'
