"""Docstrings in the project's form become reStructuredText, for autodoc.

Paragraphs have an empty line between them. A paragraph that is indented is code. One that begins with names and a
colon is a list: so does each item, which goes on in lines that are indented more. A line without a colon is the heading
of the items that are indented below it. `code` has one backquote.
"""

import re
from itertools import groupby

MARKUP = re.compile(
    r"`+(?P<code>[^`]+)`+|(?P<bold>\*\*\w[^*]*\*\*)|docs/(?P<page>\w+)\.md|(?P<special>[*|\\]|(?<=\w)_(?!\w))"
)
FORMS = {"code": "``{}``", "bold": "{}", "page": ":doc:`{0} </docs/{0}>`", "special": "\\{}"}
NAME = r"[a-z_][\w.]*(?:=(?:\"[^\"]*\"|[\w.]+))?"
ITEM = re.compile(rf"({NAME}(?:, {NAME})*)(?=: )")


def marked(text: str) -> str:
    """Text with its markup as reStructuredText has it, and links to pages."""
    return MARKUP.sub(lambda found: FORMS[found.lastgroup].format(found[found.lastgroup]), text)


def item(text: str) -> str:
    names = ITEM.match(text)
    return f"- ``{names[0]}``{marked(text[names.end() :])}" if names else f"- {marked(text)}"


def paragraph(lines: list[str]) -> list[str]:
    depths = [len(line) - len(line.lstrip()) for line in lines]
    if depths[0]:
        return [".. code-block:: python", "", *lines]
    result: list[str] = []
    items = None  # the depth of a list's items
    for line, depth, following in zip(lines, depths, [*depths[1:], 0]):
        text = line.strip()
        if depth == 0 and ITEM.match(line) and (items is not None or not result):
            items = 0
            result += ["", item(text)]
        elif depth == 0 and following:
            items = following
            result += ["", f"**{marked(text.rstrip(':'))}**", ""]
        elif items is None:
            result.append(marked(text))
        elif depth > items:
            result.append(f"  {marked(text)}")
        else:
            result += ["", item(text) if depth else marked(text)]
            items = items if depth else None
    return result


def to_rst(docstring: list[str]) -> list[str]:
    result = []
    for filled, lines in groupby(docstring, key=lambda line: bool(line.strip())):
        result += [*paragraph(list(lines)), ""] if filled else []
    return result


def process(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = to_rst(lines)


def skip(app, what, name, obj, skipped, options) -> bool | None:
    """Whether a member is left out: True for what a class has from torch or PyG. None: autodoc decides."""
    function = getattr(obj, "fget", None) or getattr(obj, "__func__", obj)
    return True if callable(function) and not str(getattr(function, "__module__", "")).startswith("ramet") else None


def for_users(app, what, name, obj, options, signature, returns) -> tuple[str | None, str | None]:
    """A signature without what only the package passes, and what only errors need."""
    if signature and signature.startswith("(core"):
        return "", None
    return signature and signature.replace(", **unknown", ""), returns


def setup(app) -> dict:
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", for_users)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
