"""A page has all that is in its document, and no text of it is obeyed."""

import re
from html.parser import HTMLParser

from hcasim.pages.document import (
    Cell,
    Code,
    Column,
    Counts,
    Document,
    Facts,
    Figure,
    Section,
    Table,
    Text,
)
from hcasim.pages.writing import write
from hcasim.runs.drawing import new_figure

HOSTILE = (
    """<script>alert(1)</script> <b onclick="x">& a|b `c` *d* _e_ [f](g) \\h {i} $j$ #k %l ~m ^n"""
    """ -- "o" 'p' 'é' µ × ≤ 漢 \x1b[31m\n- q"""
)


def drawing(label="one"):
    figure = new_figure()
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], [4.123456789, 5, 1e-9], marker="o", label=label)
    axes.set_title(label.replace("$", r"\$"))
    axes.legend()
    return figure


def document(text="words"):
    table = Table(
        text,
        (text, Column("number", right=True), Column("prose", chosen=True, prose=True)),
        [
            (Cell(text, place="here"), Cell("1.5 us", 1.5, share=-0.5), text),
            ("[b]", Cell("2 us", 2.0, mark="pass", below=text), Cell(text, link="here")),
        ],
        filtered=True,
    )
    return Document(
        text,
        [
            Counts([(text, 3, "pass")]),
            Facts([(text, text), ("several", ["a", Cell("b", link="here")])]),
            Section(text, [Text(text), Section(text, [Code(text)]), table]),
            Section("Figures", [Figure(text, drawing("label"))]),
            Section("Folded", [Text("folded words")], folded=True),
        ],
    )


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_a_page_has_the_elements_of_its_document_whatever_its_texts_hold():
    plain, hostile = (
        [(tag, sorted(found)) for tag, found in Elements(write(document(text))).tags]
        for text in ("words", HOSTILE)
    )
    assert hostile == plain


def test_no_two_elements_of_a_page_have_the_same_id_and_each_link_leads_to_one():
    twice = Document(
        "Twice",
        [Section("Same", [Figure("x", drawing(name))]) for name in ("one", "two")]
        + [document().blocks[2]],
    )
    text = write(twice)
    ids = [found["id"] for _, found in Elements(text).tags if "id" in found]
    assert len(ids) == len(set(ids)) >= 6
    named = {*re.findall(r'href="#([^"]+)"', text), *re.findall(r"url\(#([^)]+)\)", text)}
    assert named <= {*ids}


def test_a_page_is_the_same_for_the_same_document_and_names_nothing_elsewhere():
    text = write(document())
    assert text == write(document())
    assert not re.findall(r'(?:src|href)="(?!#|data:,")', text)
    assert "http" not in text.replace("http-equiv", "")


def test_a_drawing_of_a_page_keeps_its_text_and_takes_the_colours_of_the_page():
    text = write(document())
    svg = text[text.index("<svg") : text.index("</svg>")]
    assert ">label</text>" in svg
    assert "var(--series-1)" in svg
    assert not re.findall("#[0-9a-f]{6}", svg)
    assert max(len(one) for one in re.findall(r"\.(\d+)", svg)) <= 2


def test_every_colour_of_matplotlib_stands_for_one_of_the_page():
    import matplotlib as mpl

    from hcasim.pages import writing

    cycle = mpl.rcParamsDefault["axes.prop_cycle"].by_key()["color"]
    assert tuple(map(mpl.colors.to_hex, cycle)) == writing._SERIES
