"""What is written for readers: a `Document` of sections, text, tables and figures.

`write` makes a page of HTML of it, which needs nothing else to be read, or its tables in Markdown.
"""

from hcasim.pages.document import (
    Block,
    Cell,
    Code,
    Column,
    Content,
    Counts,
    Document,
    Facts,
    Figure,
    Section,
    Table,
    Text,
)
from hcasim.pages.writing import ENDINGS, write

__all__ = [
    "ENDINGS",
    "Block",
    "Cell",
    "Code",
    "Column",
    "Content",
    "Counts",
    "Document",
    "Facts",
    "Figure",
    "Section",
    "Table",
    "Text",
    "write",
]
