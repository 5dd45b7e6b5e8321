"""Output for notebooks: a line in bold, a table, and bars of shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

COLORS = "#2a7f62", "#d98e04", "#5b7db1", "#b9bec5"


def table(title: str, header: Iterable, rows: Iterable[Iterable], bars: Mapping | None = None) -> str:
    """A title above bars and a table; every cell is text. bars: by name the parts of a whole, as of bar()."""
    head = _row("th", header)
    body = "".join(_row("td", row) for row in rows)
    drawn = "".join(bar(name, shares) for name, shares in (bars or {}).items())
    return f"<div><b>{escape(title)}</b>{drawn}<table><thead>{head}</thead><tbody>{body}</tbody></table></div>"


def bar(name: str, shares: Mapping[str, float]) -> str:
    """A bar of at most four colors, with the parts and their shares below; parts of nothing are left out."""
    total = sum(shares.values())
    parts = [(part, value / total, color) for (part, value), color in zip(shares.items(), COLORS) if value > 0]
    drawn = "".join(f'<div style="width:{share:.1%};background:{color}"></div>' for _, share, color in parts)
    words = ", ".join(f'<span style="color:{color}">&#9632;</span> {escape(p)} {s:.0%}' for p, s, color in parts)
    frame = '<div style="display:flex;height:0.8em;width:24em;background:#eee">'
    return f"<div>{escape(name)}: {words}{frame}{drawn}</div></div>"


def _row(tag: str, cells: Iterable) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"
