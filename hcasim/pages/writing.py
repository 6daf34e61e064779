"""Documents as text, in the form that the ending of a file says."""

from __future__ import annotations

from hcasim.pages.document import Document
from hcasim.pages.html import to_html
from hcasim.pages.latex import to_latex
from hcasim.pages.markdown import to_markdown

_FORMS = {".html": to_html, ".md": to_markdown, ".tex": to_latex}
ENDINGS = tuple(_FORMS)
"""Of files that documents are written to."""


def write(document: Document, ending: str) -> str:
    """Return a document as text.

    Parameters:
        document: what to write.
        ending: one of ENDINGS, also in capitals; anything else, as of a device, is HTML.
    """
    return _FORMS.get(ending.lower(), to_html)(document)
