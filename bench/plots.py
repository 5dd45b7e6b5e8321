"""The plot of the README's figures. It needs matplotlib."""

from __future__ import annotations

import re
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


def overview(pages: Path, file: Path) -> None:
    """The three figures of the README, as the pages of their benchmarks have them.

    Raises ImportError without matplotlib, KeyError for a row that a page does not have."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams.update({"svg.hashsalt": "ramet", "svg.fonttype": "none"})  # text, no outlines of letters
    figure, all_axes = pyplot.subplots(1, len(PANELS), figsize=(12, 2.6), layout="constrained")
    for axes, (page, title, column, bars) in zip(all_axes, PANELS):
        values = [value_of(pages / f"{page}.md", row, column) for row in bars.values()]
        colors = [OURS if label.startswith("Ramet") else THEIRS for label in bars]
        axes.bar_label(axes.barh(list(bars), values, color=colors), fmt="{:.3g}", padding=3, fontsize=9)
        axes.set_title(title, fontsize=10)
        axes.margins(x=0.15)
        axes.invert_yaxis()
        axes.xaxis.set_visible(False)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
    figure.savefig(file, metadata={"Date": None})  # the same bytes for the same figures
    pyplot.close(figure)


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
