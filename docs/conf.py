"""The site: `make docs`. Its sources are the Markdown of the project, as it lies in the folders, the comments of the
public headers and the docstrings of the installed package."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE / "site"))

project = "Ramet"
author = "The Ramet authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "cpp_headers", "docstrings"]

# The source folder is the project's, so that a link between two pages is the same here and on GitHub.
root_doc = "docs/index"
source_suffix = {".md": "markdown", ".h": "header"}
include_patterns = ["*.md", "docs/**.md", "include/ramet/**", "python/README.md", "src/*/README.md"]
exclude_patterns = [".*", "bench", "build", "demo", "examples", "runs", "tests", "tools"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["toc.not_included"]  # pages that others link to: headers, figures, notes of layers

autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 100
add_module_names = False
default_role = "code"
smartquotes = False
highlight_language = "text"

html_theme = "furo"
html_title = "Ramet"
html_additional_pages = {"index": "to_index.html"}
templates_path = ["site"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"light_css_variables": {"code-font-size": "75%"}}  # 100 columns fit
