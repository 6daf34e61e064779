"""Makes the site: python -m tests.docs.site FOLDER.

The pages beside this file, other documents of the repository, and pages that are made of the code
and its data, become one source for Sphinx.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import main

from tests.docs.site import accuracy, catalogue, documents, evidence, parameters, program

HERE = Path(__file__).parent


def build(out: Path) -> int:
    """Make the site in a folder; warnings, as of a link that leads nowhere, are errors."""
    with tempfile.TemporaryDirectory(prefix="hcasim-site-") as folder:
        source = Path(folder) / "source"
        shutil.copytree(HERE / "pages", source)
        for room in (documents, program, parameters, catalogue, accuracy, evidence):
            for name, text in room.pages():
                file = source / f"{name}.md"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
        (source / "howto/notebooks").mkdir()
        for notebook in documents.NOTEBOOKS:
            shutil.copy(notebook, source / "howto/notebooks")
        diagram = (source / "blocks.svg").read_text(encoding="utf-8")
        for name, there in (("blocks", ""), ("blocks-front", "explanation/")):
            linked = diagram.replace('<a href="', f'<a href="{there}')
            (source / f"included/{name}.md").write_text(
                f'```{{raw}} html\n<div class="scrolled">\n{linked}</div>\n```\n'
            )
        trees = Path(folder) / "trees"
        options = ("-q", "-W", "-n", "--keep-going", "-j", "2", "-d", str(trees))
        return main([*options, "-b", "html", str(source), str(out)])


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
