"""Output for notebooks: a line in bold, and a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def table(title: str, header: Iterable, rows: Iterable[Iterable]) -> str:
    """A title above a table; every cell is text."""
    head = _row("th", header)
    body = "".join(_row("td", row) for row in rows)
    return f"<div><b>{escape(title)}</b><table><thead>{head}</thead><tbody>{body}</tbody></table></div>"


def _row(tag: str, cells: Iterable) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
