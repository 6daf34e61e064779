"""What is written for readers: documents of sections, tables and figures, in three forms.

A `Document` says what there is; `write` makes a page of HTML of it, which needs nothing else to
be read, or the same tables in Markdown or LaTeX:

    figure = draw(...)                                   # of matplotlib
    table = Table("What was measured", (Column("size", right=True), "latency"),
                  [(Cell("8", 8), "3.8 us")], filtered=True)
    document = Document("Latency", [Section("Curves", [Figure("Small messages", figure), table])])
    text = write(document, ".html")
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
