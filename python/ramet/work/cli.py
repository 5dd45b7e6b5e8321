"""The command `ramet work`."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import asdict

from ramet.arguments import as_int
from ramet.loading.samplers import add_sampler_options, sampler_of
from ramet.stores.info import size


def add_parser(subparsers):
    """Adds the command to the parsers of `ramet`; it is run as `arguments.run(arguments)`."""
    parser = subparsers.add_parser(
        "work",
        help="what ranks would sample, read and send for a batch, together and each on its own",
        description="Samples batches as ranks that cooperate make them, W(PB), and as ranks that work on their own do, "
        "P x W(B), in one process, and counts. Seeds: the split 'train' where there is one (of its "
        "first node type), else all nodes with in-edges, shuffled. Nothing is read from tables.",
    )
    add = parser.add_argument
    add("store", metavar="STORE", help="folder of the store")
    add("--ranks", type=int, required=True, metavar="P", help="ranks of the group")
    add("--batch-size-per-rank", type=int, default=1024, metavar="B", help="seeds per rank (default: %(default)s)")
    add("--num-neighbors", type=as_fanouts, default=[10, 10, 10], metavar="10,10,10", help="seeds' hop first; -1: all")
    add_sampler_options(parser)
    add("--ownership", default="range", metavar="range|hash|PATH", help="who owns a node (default: %(default)s)")
    add("--batches", type=int, default=1, metavar="N", help="global batches to count (default: %(default)s)")
    add("--row-bytes", type=int, metavar="N", help="of a row of 'feat' (default: as it has them, else 512)")
    add("--hidden", type=int, default=256, metavar="N", help="width of hidden layers, float32 (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of everything (default: %(default)s)")
    add("--at-nodes", type=int, metavar="N", help="say the memory of a machine for a graph with so many nodes,")
    add("--at-edges", type=int, metavar="N", help="and so many edges")
    add("--json", action="store_true", help="as JSON")
    add("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=_run)


def as_fanouts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like 10,10,10") from None


def _run(args) -> None:
    import sys

    import ramet
    from ramet.work import count_work

    if (args.at_nodes is None) != (args.at_edges is None):
        raise ValueError("--at-nodes and --at-edges are given together or not at all")
    graph = ramet.open(args.store)
    work = count_work(
        graph,
        args.ranks,
        args.batch_size_per_rank,
        args.num_neighbors,
        sampler=sampler_of(args),
        ownership=_ownership(args.ownership, graph),
        batches=args.batches,
        row_bytes=args.row_bytes,
        hidden=args.hidden,
        seed=args.seed,
        progress=not args.quiet and sys.stderr.isatty(),
    )
    result = {"store": args.store} | asdict(work) | {"memory_per_machine": _memory(graph, args)}
    print(json.dumps(result, indent=2) if args.json else as_text(result), flush=True)


def _memory(graph, args) -> dict:
    """Of a part of the graph, or of one of another size that is like it."""
    from ramet.work import memory

    nodes_here = sum(graph.num_nodes(t) for t in graph.node_types)
    edges_here = sum(graph.num_edges(t) for t in graph.edge_types)
    nodes = nodes_here if args.at_nodes is None else as_int(args.at_nodes, "--at-nodes", 0)
    edges = edges_here if args.at_edges is None else as_int(args.at_edges, "--at-edges", 0)
    row_bytes = memory.bytes_per_node(graph, args.row_bytes)
    by_use = memory.memory_per_machine(
        args.ranks,
        nodes,
        edges,
        row_bytes,
        edge_types_per_node=memory.edge_types_per_node(graph),
        ranges=args.ownership == "range",
        split_bytes=memory.split_bytes(graph) * nodes // max(nodes_here, 1),
    )
    return {"nodes": nodes, "edges": edges, "row_bytes": round(row_bytes)} | by_use


def _ownership(text: str, graph):
    """A folder, that of `ramet partition` or "owner" in it, has an .npy file for each node type."""
    if os.path.isdir(text):
        from ramet.arguments import as_folder

        owner = os.path.join(text, "owner")
        text = owner if os.path.isdir(owner) else text
        files = {t: os.path.join(text, as_folder(t, "a node type") + ".npy") for t in graph.node_types}
        return files if len(files) > 1 else files[graph.node_types[0]]
    return text


def as_text(result: dict) -> str:
    """The counts for a terminal."""
    ranks, per_rank, sent = result["ranks"], result["batch_size_per_rank"], result["bytes"]
    memory = result["memory_per_machine"]
    lines = [
        f"{result['store']}: {ranks} ranks, {per_rank:,} seeds each, {result['num_neighbors']}, {result['sampler']}; "
        f"means of {result['batches']} global batch(es) of {result['seeds']:,.0f} seeds",
        f"{'':>22}{'together, W(PB)':>20}{'alone, P x W(B)':>20}{'ratio':>8}",
    ]
    for i, hop in enumerate(result["hops"]):
        lines.append(_line(f"hop {i}: nodes so far", hop["nodes"], hop["nodes_independent"]))
        lines.append(_line("edges", hop["edges"], hop["edges_independent"]))
    lines.append(_line("rows read", result["rows_read"], result["rows_independent"]))
    lines.append(_line("bytes read", sent["read"], sent["read_independent"]))
    lines += [
        f"redundancy without cooperation: {result['redundancy']:.2f}",
        f"rows of the input layer sent to another rank: {result['rows_sent']:,.0f}",
        f"bytes sent: ids {size(sent['sent_ids'])}, rows of the input layer {size(sent['sent_rows'])}, "
        f"hidden layers there and back {size(sent['sent_hidden'])}",
        "largest rank over mean: " + ", ".join(f"{name} {value:.2f}" for name, value in result["imbalance"].items()),
        f"memory of a machine with one of {ranks} parts of {memory['nodes']:,} nodes and {memory['edges']:,} edges, "
        f"{memory['row_bytes']} bytes a row: {size(memory['total'])}",
    ]
    return "\n".join(lines)


def _line(name: str, together: float, alone: float) -> str:
    return f"{name:>22}{together:>20,.0f}{alone:>20,.0f}{together / max(alone, 1):>8.3f}"
