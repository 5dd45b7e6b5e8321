"""The edge lists of the Temporal Graph Benchmark (Huang et al., 2023): NAME_edgelist.csv, with a header.

Columns have several names over its data sets: a time, two ends, perhaps a weight, and others, which become tables of
edges. Where the ends are user_id and item_id these are nodes of two types; such lists have one name for all features at
the end, as those of JODIE (Kumar et al., 2019). NAME_nodetype.csv has the types of nodes, as a table of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from ramet.inputs.rows import open_rows
from ramet.inputs.rows.files import File, find_files
from ramet.inputs.rows.table import Rows
from ramet.inputs.rows.text import TextPart
from ramet.inputs.tables import Description, EdgeTable, NodeTable
from ramet.storage.contents import EDGE, NODE

FORM = "an edge list of TGB (NAME_edgelist.csv, or a folder with one)"
TIMES = ("timestamp", "ts", "time", "day", "year")
ENDS = (("source", "destination"), ("src", "dst"), ("head", "tail"), ("user_id", "item_id"))
WEIGHTS = ("weight", "w")
JODIE = ("user_id", "item_id", "timestamp", "state_label", "comma_separated_list_of_features")


def find(path: Path) -> Path | None:
    found = sorted(path.glob("*_edgelist*.csv")) if path.is_dir() else [path]
    found = [p for p in found if "_edgelist" in p.name and "_static_" not in p.name and p.is_file()]
    return found[0] if len(found) == 1 and found[0].suffix == ".csv" else None


def describe(path: Path) -> Description:
    names = open_rows(os.fspath(path), what=f"EdgeTable({EDGE!r})").names
    if names == JODIE:
        return Description((), (_interactions(path),))
    time, weight = (next((name for name in known if name in names), None) for known in (TIMES, WEIGHTS))
    ends = next((pair for pair in ENDS if set(pair) <= set(names)), None)
    if time is None or ends is None:
        raise ValueError(
            f"{path}: no known time or ends among the columns {list(names)}; give the file as an EdgeTable"
        )
    others = {name: name for name in names if name not in (*ends, time, weight)}
    kind = ("user", "to", "item") if ends == JODIE[:2] else EDGE
    edge = EdgeTable(kind, os.fspath(path), *ends, features=others, time=time, weight=weight)
    types = sorted(path.parent.glob(f"{path.name.partition('_edgelist')[0]}_nodetype*.csv"))
    nodes = tuple(NodeTable(NODE, os.fspath(p), id="node_id", features={"type": "type"}) for p in types[:1])
    return Description(nodes, (edge,))


def _interactions(path: Path) -> EdgeTable:
    kind = ("user", "to", "item")
    (file,) = find_files(os.fspath(path), (".csv",), f"EdgeTable({kind!r})")
    parts: list = [TextPart(_WithoutHeader(**vars(file)), False, f"EdgeTable({kind!r})")]
    rows = Rows(parts, f"EdgeTable({kind!r})")
    features = {"feat": range(4, len(rows.names))}
    return EdgeTable(kind, rows, 0, 1, features=features, label=3, time=2, header=False)


class _WithoutHeader(File):
    """A file whose first line has fewer names than the others have fields."""

    def open_stream(self):
        stream = super().open_stream()
        while stream.read(1) not in (b"\n", b""):
            pass
        return stream
