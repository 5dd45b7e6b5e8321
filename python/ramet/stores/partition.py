"""Parts of a graph: who owns each node, and a store for each owner. docs/format.md, section 7."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_flag, as_int, as_path, edge_folder
from ramet.dtypes import SCALE_SUFFIX, scaled_by
from ramet.graph import Graph
from ramet.graph import open as open_store
from ramet.storage.checksums import FILE, write_checksums
from ramet.storage.contents import write
from ramet.stores import kaminpar, metis
from ramet.stores.ownership import stored
from ramet.stores.undirected import BALANCES, in_degrees
from ramet.tables.owners import owner_vector
from ramet.tables.table import Table

METHODS = ("metis", "kaminpar", "range", "hash")
SOLVERS = ("metis", "kaminpar")  # which have a choice of balance and seed
REPORT = "partition.json"


def partition(
    graph: Graph | str | os.PathLike,
    parts: int,
    out,
    *,
    method: str = "metis",
    preset: str = "default",
    balance: str = "nodes",
    seed: int = 0,
    only_owner: bool = False,
    progress: bool = False,
) -> dict:
    """Splits a graph (or the store at a path) into parts, one store per owner.

    A part has the table rows and in-edges of the nodes that its owner owns. One part at a time is in memory.

    parts: 1 to 65535.
    out: a folder for the stores part-0, part-1, ..., the owners of all nodes as owner/<type>.npy, and, last, the report
        partition.json; unless only_owner, then checksums.txt of the owners and the report. The output of an earlier
        call for at most as many parts is replaced. If this call is stopped, the parts that it has written are complete,
        and there is no report, or it has no checksums. If it fails, as on a full disk, it removes what it has written.
    method: "metis" (few edges between parts; needs pymetis), "kaminpar" (the same for larger graphs; needs kaminpar),
        "range" (ranges of ids with about equally many in-edges and nodes; for graphs whose ids are close where nodes
        are close) or "hash".
    preset: for "kaminpar": "default", "fast", "eco", "strong"; or "largek", "largek-fast", "largek-eco" or
        "largek-strong" for thousands of parts.
    balance: for "metis" and "kaminpar": what parts have equally much of. "nodes", "edges" (each node counts one plus
        its in-edges) or "seeds" (split "train" and nodes, half each).
    seed: for "metis" and "kaminpar". Both work with one thread, so that the same seed gives the same owners.
    only_owner: writes owners and report, no stores. Refused where stores of an earlier call exist.

    Returns the report: `cut`, the number of edges whose source has another owner; `sizes`, the nodes, in-edges and
    seeds of each part; `max_over_mean` of these.
    Raises ValueError for invalid arguments, for a graph that is a part already, and for a graph too large for the
    method. Raises ImportError without the method's package, FileExistsError for a folder with other contents, and
    OSError where the disk fails.
    """
    graph = graph if isinstance(graph, Graph) else open_store(graph)
    _check(graph, parts, method, preset, balance)
    seed = as_int(seed, "seed", 0, UINT64_MAX)
    out, only_owner = Path(as_path(out, "out")), as_flag(only_owner, "only_owner")
    _check_out(out, parts, only_owner)
    owner = _owners(graph, parts, method, preset, balance, seed)
    ownership = {t: stored(of_type, parts, "owners") for t, of_type in owner.items()}
    report = _report(graph, owner, ownership, parts) | {
        "method": method,
        "preset": preset if method == "kaminpar" else None,
        "balance": balance if method in SOLVERS else None,
        "seed": seed if method in SOLVERS else None,
    }
    out.mkdir(parents=True, exist_ok=True)
    for name in (FILE, REPORT):
        (out / name).unlink(missing_ok=True)
    written: list[Path] = []
    try:
        (out / "owner").mkdir(exist_ok=True)
        for node_type, of_type in owner.items():
            _save(owner_file(out, node_type), of_type)
            written.append(owner_file(out, node_type))
        for part in range(0 if only_owner else parts):
            _write_part(graph, owner, ownership, part, parts, out / f"part-{part}", progress)
            written.append(out / f"part-{part}")
        _replace(out / REPORT, lambda file: file.write(json.dumps(report, indent=2).encode() + b"\n"))
        written.append(out / REPORT)
        if not only_owner:
            write_checksums(out)
    except Exception:
        _remove(out, written)
        raise
    return report


def owner_file(out: Path, node_type: str) -> Path:
    """Where partition() writes the owners of a type's nodes: a vector, or int64 bounds of ranges."""
    return out / "owner" / f"{_core.encode_name(node_type)}.npy"


def as_text(report: dict) -> str:
    """partition()'s report for a terminal."""
    cut, edges, share = report["cut"], report["edges"], report["cut_share"]
    lines = [f"{report['parts']} parts by {report['method']}, {cut:,} of {edges:,} edges are cut ({share:.1%})"]
    for part, size in enumerate(report["sizes"]):
        lines.append(f"part {part}: {size['nodes']:,} nodes, {size['in_edges']:,} in-edges, {size['seeds']:,} seeds")
    ratios = ", ".join(f"{what.replace('_', '-')} {ratio:.3f}" for what, ratio in report["max_over_mean"].items())
    return "\n".join([*lines, f"largest part over mean: {ratios}"])


def _check(graph: Graph, parts: int, method: str, preset: str, balance: str) -> None:
    if isinstance(parts, bool) or not isinstance(parts, int):
        raise TypeError(f"parts is {parts!r}, expected an integer")
    if not 1 <= parts <= _core.MAX_PARTS:
        raise ValueError(f"parts is {parts}, expected 1 to {_core.MAX_PARTS}")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}, expected one of {METHODS}")
    if preset not in kaminpar.PRESETS:
        raise ValueError(f"preset is {preset!r}, expected one of {kaminpar.PRESETS}")
    if method != "kaminpar" and preset != "default":
        raise ValueError(f"preset is {preset!r} with method={method!r}; only method='kaminpar' has a choice")
    if balance not in BALANCES:
        raise ValueError(f"balance is {balance!r}, expected one of {BALANCES}")
    if method not in SOLVERS and balance != "nodes":
        raise ValueError(f"balance is {balance!r} with method={method!r}; only {' and '.join(SOLVERS)} have a choice")
    if graph.part is not None:
        index, count = graph.part
        raise ValueError(f"the graph is part {index} of {count} already; split the whole graph")


def _check_out(out: Path, parts: int, only_owner: bool) -> None:
    """FileExistsError for anything there that the call would not replace, ValueError for a place inside of a store."""
    _core.check_target(os.fsencode(out / "part-0"))
    replaced = 0 if only_owner else parts
    for entry in os.listdir(out) if out.exists() else ():
        match = re.fullmatch(r"part-(0|[1-9]\d*)", entry)
        is_ours = int(match[1]) < replaced if match else entry in ("owner", REPORT, FILE) or entry.startswith(".")
        if not is_ours:
            what = f"the owners of {parts} parts" if only_owner else f"{parts} parts"
            raise FileExistsError(f"{out} holds {entry!r}, which is not of {what}; choose another folder")
        if match:
            _core.check_target(os.fsencode(out / entry))


def _owners(graph: Graph, parts: int, method: str, preset: str, balance: str, seed: int) -> dict[str, np.ndarray]:
    """By node type: the owner of each node, or bounds of ranges, int64 [parts + 1]."""
    if method == "range":
        return {t: np.array(_core.balanced_ranges(graph._core, t, parts)) for t in graph.node_types}
    narrow = np.uint8 if parts <= 256 else np.uint16
    if method == "metis":
        owner = metis.owners(graph, parts, balance, seed)
    elif method == "kaminpar":
        owner = kaminpar.owners(graph, parts, balance, seed, preset)
    else:
        hashed = {t: _core.Ownership.hashed(t, graph.num_nodes(t), parts) for t in graph.node_types}
        owner = {t: owner_vector(ownership) for t, ownership in hashed.items()}
    return {node_type: of_type.astype(narrow) for node_type, of_type in owner.items()}


def _report(graph: Graph, owner: dict, ownership: dict, parts: int) -> dict:
    sizes = {what: np.zeros(parts, np.int64) for what in ("nodes", "in_edges", "seeds")}
    vectors = {t: _as_vector(of_type) for t, of_type in owner.items()}
    for of_type in vectors.values():
        sizes["nodes"] += np.bincount(of_type, minlength=parts)
    cut = num_edges = 0
    for edge_type in graph.edge_types:
        src, _, dst = edge_type
        of_edges = np.bincount(vectors[dst], in_degrees(graph, edge_type), minlength=parts)
        sizes["in_edges"] += of_edges.astype(np.int64)
        num_edges += graph.num_edges(edge_type)
        cut += _core.count_cut(graph._core, edge_type, ownership[src], ownership[dst])
    for node_type in graph.splits.get("train", []):
        ids = graph.split("train", node_type)
        sizes["seeds"] += np.bincount(vectors[node_type][ids], minlength=parts)
    return {
        "fingerprint": f"{graph._core.fingerprint():016x}",
        "parts": parts,
        "edges": num_edges,
        "cut": cut,
        "cut_share": cut / num_edges if num_edges else 0.0,
        "sizes": [{what: int(counts[part]) for what, counts in sizes.items()} for part in range(parts)],
        "max_over_mean": {what: _max_over_mean(counts) for what, counts in sizes.items()},
    }


def _max_over_mean(counts: np.ndarray) -> float:
    return float(counts.max() / counts.mean()) if counts.any() else 1.0


def _as_vector(owner: np.ndarray) -> np.ndarray:
    if owner.dtype != np.int64:
        return owner
    return np.repeat(np.arange(len(owner) - 1, dtype=np.uint16), np.diff(owner))


def _write_part(graph: Graph, owner: dict, ownership: dict, part: int, parts: int, path: Path, progress: bool) -> None:
    counts, arrays, nodes = {}, [], {}
    for node_type in graph.node_types:
        encoded = _core.encode_name(node_type)
        counts[encoded] = graph.num_nodes(node_type)
        nodes[node_type], bitmap = _core.owned_nodes(ownership[node_type], part)
        arrays.append((f"owner/{encoded}", owner[node_type]))
        if owner[node_type].dtype != np.int64:
            arrays.append((f"owned/{encoded}", bitmap))
        arrays += _tables(graph, node_type, f"node/{encoded}", nodes[node_type])
    for edge_type in graph.edge_types:
        indptr, indices, edge_ids, position = _core.in_edges(graph._core, edge_type, nodes[edge_type[2]])
        folder = edge_folder(edge_type)
        arrays += [(f"{folder}/indptr", indptr), (f"{folder}/indices", indices), (f"{folder}/edge_ids", edge_ids)]
        arrays += _tables(graph, edge_type, folder, position)
    for folder in ("split", "ids", "about"):
        arrays += graph._core.arrays_in(folder)
    number = (part, parts, graph._core.fingerprint())
    write(path, counts, arrays, progress=progress, reverses=graph._core.reverses, part=number)


def _tables(graph: Graph, of, folder: str, rows: np.ndarray | None) -> list[tuple[str, np.ndarray]]:
    """The rows of all tables of a node type or an edge type; scales by row with them, by column whole."""
    arrays = []
    for name in graph.tables(of):
        table = graph.table(name, of)
        key = f"{folder}/{_core.encode_name(name)}"
        arrays.append((key, table.gather(rows, threads=0)))
        if table.scale is not None:
            by_row = scaled_by(table.scale, len(table)) == "row"
            scale = Table(table.scale).gather(rows, threads=0) if by_row else table.scale
            arrays.append((key + SCALE_SUFFIX, scale))
    return arrays


def _save(path: Path, array: np.ndarray) -> None:
    _replace(path, lambda file: np.save(file, array))


def _remove(out: Path, written: list[Path]) -> None:
    """Removes files and stores, and the folders around them that are empty then."""
    for path in written:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        (out / "owner").rmdir()
        out.rmdir()


def _replace(path: Path, write_to) -> None:
    """Writes a file beside `path`, and renames it when it is whole and on the disk."""
    new = path.with_name(f".{path.name}.new")
    try:
        with open(new, "wb") as file:
            write_to(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    finally:
        new.unlink(missing_ok=True)
