"""How Sphinx makes the reference of hcasim from its docstrings."""

from hcasim import __version__

project = "hcasim"
author = "The hcasim developers"
release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon"]
# Docstrings put code between single backticks.
default_role = "code"
smartquotes = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
html_title = f"hcasim {release}"
html_theme = "alabaster"
html_theme_options = {"page_width": "1100px", "description": "Predicts RDMA adapters"}
html_show_copyright = False
html_show_sourcelink = False
