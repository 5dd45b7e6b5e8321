"""Public headers as pages of the site: their comments as text, what they declare as code, each under its name."""

import re

from docutils import nodes
from header_text import declared, groups, paragraphs
from sphinx import addnodes
from sphinx.parsers import Parser

CODE_OR_PAGE = re.compile(r"`([^`]+)`|docs/(\w+)\.md")


def paragraph(text: str) -> nodes.paragraph:
    result, end = nodes.paragraph(), 0
    for found in CODE_OR_PAGE.finditer(text):
        result += nodes.Text(text[end : found.start()])
        code, page = found.groups()
        if code:
            result += nodes.literal(code, code)
        else:
            target = {"refdomain": "std", "reftype": "doc", "reftarget": f"/docs/{page}", "refexplicit": True}
            result += addnodes.pending_xref("", nodes.inline(page, page), **target)
        end = found.end()
    result += nodes.Text(text[end:])
    return result


def section(names: list[str], comment: list[str], code: str, document: nodes.document) -> list[nodes.Element]:
    title = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    section = nodes.section("", nodes.title(title, title), names=[title])
    document.note_implicit_target(section)
    section += map(paragraph, paragraphs(comment))
    section += nodes.literal_block(code, code, language="c++")
    entries = [("single", f"{name} (C++)", section["ids"][0], "", None) for name in names]
    return [addnodes.index(entries=entries), section]


class HeaderParser(Parser):
    """Makes the page of a header."""

    supported = ("header",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        self.setup_parse(inputstring, document)
        name = document.settings.env.docname.rpartition("/")[2] + ".h"
        page = nodes.section("", nodes.title(name, name), ids=[nodes.make_id(name)])
        document += page
        for comment, code in groups(inputstring):
            names = declared(code)
            if not code:
                page += map(paragraph, paragraphs(comment))
            elif names:  # a name that is only announced has another header
                page += section(names, comment, "\n".join(code), document)
        self.finish_parse()


def setup(app) -> dict:
    app.add_source_parser(HeaderParser)
    return {"parallel_read_safe": True}
