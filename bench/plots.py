"""The plot of the README's figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

OURS, THEIRS = "#2a7f62", "#b9bec5"
# Of the README: page, title, column, and bars: label, the first cells of the row.
PANELS = (
    (
        "epochs",
        "GraphSAGE on products: s per epoch",
        "s per epoch",
        {
            "PyG": "PyG",
            "PyG, memory kept": "PyG, memory kept",
            "DGL": "DGL",
            "DGL, memory kept": "DGL, memory kept",
            "Ramet": "Ramet",
        },
    ),
    (
        "trainers",
        "4 trainers on one graph: GB beyond imports",
        "beyond imports, GB",
        {
            "PyG": "PyG: Data + NeighborLoader",
            "PyG, sorted": "PyG: Data + NeighborLoader, is_sorted",
            "Ramet": "NeighborLoader, one batch",
        },
    ),
    (
        "sampling",
        "sampling, 2 threads: M edges/s",
        "M edges/s",
        {
            "PyG, torch-sparse": "[15, 10, 5] | torch-sparse, 1 thread",
            "GraphBolt": "[15, 10, 5] | GraphBolt int32, 2 threads",
            "DGL": "[15, 10, 5] | DGL int32, 2 threads",
            "Ramet": "[15, 10, 5] | NeighborLoader, 2 threads",
        },
    ),
)


# Of a panel, in pixels: the places of its labels and bars, and a bar's line.
WIDTH, LABELS, LONGEST, TITLE, LINE = 380, 140, 180, 30, 26


def overview(pages: Path, file: Path) -> None:
    """The three figures of the README, as the pages of their benchmarks have them.

    Raises KeyError for a row that a page does not have."""
    width, height = WIDTH * len(PANELS), TITLE + LINE * max(len(bars) for *_, bars in PANELS)
    size = f'width="{width}" height="{height}"'
    font = 'font-family="sans-serif" font-size="12"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {font}>',
        f'<rect {size} fill="white"/>',
    ]
    for number, (page, title, column, bars) in enumerate(PANELS):
        values = {label: value_of(pages / f"{page}.md", row, column) for label, row in bars.items()}
        lines += [f'<g transform="translate({number * WIDTH})">', *panel(title, values), "</g>"]
    file.write_text("\n".join([*lines, "</svg>"]) + "\n", encoding="utf-8")


def panel(title: str, values: dict[str, float]) -> Iterator[str]:
    """A title, and a line for each bar: its label, the bar, its value."""
    yield f'<text x="{WIDTH // 2}" y="18" text-anchor="middle" font-size="14">{title}</text>'
    for number, (label, value) in enumerate(values.items()):
        top, length = TITLE + LINE * number, round(LONGEST * value / max(values.values()), 1)
        color = OURS if label.startswith("Ramet") else THEIRS
        yield f'<text x="{LABELS - 6}" y="{top + 15}" text-anchor="end">{label}</text>'
        yield f'<rect x="{LABELS}" y="{top}" width="{length}" height="{LINE - 5}" fill="{color}"/>'
        yield f'<text x="{LABELS + length + 5:g}" y="{top + 15}">{float(f"{value:.3g}"):,g}</text>'


def value_of(page: Path, row: str, column: str) -> float:
    """The median in a column of the row that begins with these cells, in the page's first such table."""
    header: list[str] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if column in cells:
            header = cells
        elif header and line.startswith(f"| {row} |"):
            return float(re.match(r"[\d.,]+", cells[header.index(column)]).group().replace(",", ""))
    raise KeyError(f"{page} has no row {row!r} in a table with {column!r}")
