"""The directive ``blocks``: what modules of the package say that they are."""

import ast
import importlib.util
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from tests.docs.site.markdown import prose


class Blocks(SphinxDirective):
    """A list of modules with their first sentence; of a package those in it."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        lines = [
            f"- `{name}`: {prose(said)}"
            for name in self.arguments[0].split()
            for name, said in _said(name)
        ]
        text = "\n".join(["In the code:", "", *lines])
        return self.parse_text_to_nodes(text)


def _said(name: str) -> Iterator[tuple[str, str]]:
    """Yield the first sentence of a module, or of each module of a package."""
    spec = importlib.util.find_spec(name)
    assert spec is not None, name
    if spec.submodule_search_locations:
        for one in pkgutil.iter_modules(spec.submodule_search_locations, f"{name}."):
            if not one.ispkg:
                yield from _said(one.name)
        return
    assert spec.origin is not None
    text = Path(spec.origin).read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text)) or ""
    yield name, said.partition("\n\n")[0]
