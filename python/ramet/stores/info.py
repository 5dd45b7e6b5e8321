"""The contents of `ramet info`: a dict for programs, text for people."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from ramet import _core
from ramet._support.sizes import size
from ramet.dtypes import dtype_name, scaled_by
from ramet.storage.checksums import FILE as CHECKSUMS
from ramet.storage.checksums import store_files


def describe(path) -> dict:
    """Types, counts, degrees, tables, splits, sizes and memory pages (`Graph.pages`) of the store at `path`, and the
    vector instructions that its use would take here, as json.dumps() takes them."""
    path = os.fsdecode(path)
    graph = _core.open(os.fsencode(path))
    root = Path(path)
    sizes = {name: (root / name).stat().st_size for name in store_files(root)}
    has_checksums = (root / CHECKSUMS).is_file()
    if has_checksums:
        sizes[CHECKSUMS] = (root / CHECKSUMS).stat().st_size
    return {
        "path": path,
        "format": (root / "ramet.txt").read_text(encoding="utf-8").splitlines()[0],
        "part": _part(graph),
        "node_types": [_node_type(graph, name) for name in graph.node_types],
        "edge_types": [_edge_type(graph, name) for name in graph.edge_types],
        "splits": {
            name: {node_type: len(graph.split(name, node_type)) for node_type in node_types}
            for name, node_types in graph.splits().items()
        },
        "edge_splits": {
            name: {"-".join(edge_type): len(graph.edge_split(name, edge_type)) for edge_type in edge_types}
            for name, edge_types in graph.edge_splits().items()
        },
        "fingerprint": f"{graph.fingerprint():016x}",
        "checksums": has_checksums,
        "files": sizes,
        "bytes": sum(sizes.values()),
        "pages": graph.pages(),
        "read_by_row": sorted(graph.read_by_row),
        "instructions": _core.isa(),
    }


def as_text(info: dict) -> str:
    """describe()'s result for a terminal."""
    lines = [f"{info['path']}: {info['format']}, {size(info['bytes'])} in {len(info['files'])} files"]
    part = info["part"]
    if part is not None:
        lines.append(f"part {part['index']} of {part['count']} of the graph {part['whole_fingerprint']}")
    for node_type in info["node_types"]:
        owned = "" if part is None else f", {node_type['owned_nodes']:,} of them in this part"
        ids = "" if node_type["ids"] is None else f", ids of {node_type['ids']}"
        lines.append(f"node type {node_type['name']}: {node_type['num_nodes']:,} nodes{owned}{ids}")
        lines += _table_lines(node_type["tables"])
    for edge_type in info["edge_types"]:
        name = f"{edge_type['src']} -[{edge_type['relation']}]-> {edge_type['dst']}"
        reverse = "" if edge_type["reverse"] is None else f", reverses in {' '.join(edge_type['reverse'])}"
        lines.append(f"edge type {name}: {edge_type['num_edges']:,} edges, {edge_type['ids']} ids{reverse}")
        lines.append("  in-degrees: {}".format(_degree_text(edge_type["in_degrees"])))
        lines += _table_lines(edge_type["tables"])
    for name, by_type in [*info["splits"].items(), *info["edge_splits"].items()]:
        counts = ", ".join(f"{count:,} of {of_type}" for of_type, count in by_type.items())
        lines.append(f"split {name}: {counts}")
    lines.append("files" + ("" if info["checksums"] else " (no checksums)"))
    lines += [f"  {size(count):>10}  {name}" for name, count in info["files"].items()]
    lines.append(_pages_text(info["pages"]))
    if info["read_by_row"]:
        names = ", ".join(info["read_by_row"])
        lines.append(f"more than memory holds: {size(info['pages']['by_row'])} are read page by page, of {names}")
    lines.append(f"vector instructions: {info['instructions']}")
    return "\n".join(lines)


def degrees(indptr: np.ndarray) -> dict:
    """min, mean, median and max in-degree, and how many nodes have none; ValueError where indptr
    decreases."""
    counts = np.diff(indptr)
    if len(counts) == 0:
        return {"min": 0, "mean": 0.0, "median": 0.0, "max": 0, "isolated": 0}
    if counts.min() < 0:
        position = int(np.argmin(counts >= 0))
        raise _core.CorruptStoreError(f"indptr decreases after entry {position}: {indptr[position : position + 2]}")
    return {
        "min": int(counts.min()),
        "mean": float(counts.mean()),
        "median": float(np.median(counts)),
        "max": int(counts.max()),
        "isolated": int(len(counts) - np.count_nonzero(counts)),
    }


def _part(graph: _core.Graph) -> dict | None:
    if graph.part is None:
        return None
    index, count, whole_fingerprint = graph.part
    return {"index": index, "count": count, "whole_fingerprint": f"{whole_fingerprint:016x}"}


def _node_type(graph: _core.Graph, name: str) -> dict:
    tables = {t: _table(graph.node_table(t, name)) for t in graph.node_tables(name)}
    counts = {"num_nodes": graph.num_nodes(name), "owned_nodes": graph.num_rows(name)}
    ids = graph.ids(name)
    return {"name": name, **counts, "ids": None if ids is None else ids.kind, "tables": tables}


def _edge_type(graph: _core.Graph, name: tuple[str, str, str]) -> dict:
    src, relation, dst = name
    return {
        "src": src,
        "relation": relation,
        "dst": dst,
        "num_edges": graph.num_edges(name),
        "ids": str(graph.indices(name).dtype),
        "edge_ids": graph.edge_ids(name) is not None,
        "reverse": graph.reverse_type(name),
        "in_degrees": degrees(graph.indptr(name)),
        "tables": {t: _table(graph.edge_table(t, name)) for t in graph.edge_tables(name)},
    }


def _table(core: _core.Table) -> dict:
    rows, scale = core.numpy(), core.scale
    table = {"dtype": dtype_name(rows.dtype), "shape": list(rows.shape), "bytes": rows.nbytes}
    if scale is None:
        return table
    return table | {"scale": scaled_by(scale, len(rows)), "scale_bytes": scale.nbytes}


def _table_lines(tables: dict) -> list[str]:
    width = max((len(name) for name in tables), default=0)
    return [
        f"  {name:<{width}}  {table['dtype']}{table['shape']}, {size(table['bytes'])}{_scale_text(table)}"
        for name, table in tables.items()
    ]


def _scale_text(table: dict) -> str:
    return f", a scale per {table['scale']}, {size(table['scale_bytes'])}" if "scale" in table else ""


def _pages_text(pages: dict) -> str:
    share = pages["huge"] / pages["resident"] if pages["resident"] else 0
    resident, mapped, tables = (size(pages[name]) for name in ("resident", "mapped", "page_tables"))
    return (
        f"pages: {resident} of {mapped} mapped are in memory, {share:.1%} of that on pages of 2 MiB; "
        f"page tables of this process {tables}"
    )


def _degree_text(degrees: dict) -> str:
    text = "min {min:,}, mean {mean:,.2f}, median {median:g}, max {max:,}; {isolated:,} nodes have none"
    return text.format(**degrees)
