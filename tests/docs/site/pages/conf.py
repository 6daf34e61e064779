"""How Sphinx makes the site of hcasim."""

from hcasim import __version__

project = "hcasim"
author = "The hcasim developers"
release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "sphinx_design"]
exclude_patterns = ["included"]
myst_enable_extensions = ["colon_fence"]
# Notebooks are shown as they are stored.
nb_execution_mode = "off"
myst_heading_anchors = 3
# Docstrings put code between single backticks.
default_role = "code"
smartquotes = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# Types of other libraries, and those that are no entry points, have no page.
nitpick_ignore_regex = [("py:.*", ".*")]
html_theme = "furo"
html_title = f"hcasim {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
# Summaries are fetched, which browsers refuse to a page that lies in a folder.
html_show_search_summary = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#6cb6e0", "color-brand-content": "#6cb6e0"},
}


def as_code(app, what, name, obj, options, lines):
    """Take the indented lines of a module's docstring behind a colon for code."""
    if what == "module":
        text = "\n".join(lines).replace(":\n\n    ", "::\n\n    ")
        lines[:] = text.split("\n")


def setup(app):
    """Add the directive ``blocks``, and read docstrings as they are meant."""
    from tests.docs.site.blocks import Blocks

    app.add_directive("blocks", Blocks)
    app.connect("autodoc-process-docstring", as_code)
