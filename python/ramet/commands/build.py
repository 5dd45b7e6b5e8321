"""The command `ramet build`."""

from __future__ import annotations

import argparse
import logging
from contextlib import contextmanager

import numpy as np

from ramet._support.log import log
from ramet.building.edges import MISSING
from ramet.building.order import ORDERS
from ramet.commands.common import add_quiet, count, seed, shows_progress, summarize
from ramet.commands.tables import edge_table, node_table
from ramet.dtypes import FEATURE_DTYPES, SCALES
from ramet.stores.build import build
from ramet.stores.build_tables import described, plan


def add_parser(commands) -> None:
    parser = commands.add_parser(
        "build",
        help="make a store from files",
        description="Makes a store from tables of nodes and of edges, or from the files of another project.",
    )
    add = parser.add_argument
    add("out", metavar="OUT", help="folder of the store")
    add(
        "source",
        metavar="SOURCE",
        nargs="?",
        help="a ramet.toml, which `ramet describe` begins, or a folder or file that it knows",
    )
    add("--plan", action="store_true", help="print what the build would take, and build nothing")
    add("--memory", metavar="1G", help="bytes that the build may take: K, M, G or T (default: no bound)")
    add(
        "--undirected",
        action=argparse.BooleanOptionalAction,
        help="add the reverse of every edge and drop repeats (default: as the form of the files means it)",
    )
    add("--dtype", choices=FEATURE_DTYPES, default="float32", help="of the features")
    add("--scale", choices=SCALES, default="row", help="of int8 features: one per row (default), or column")
    add("--out-edges", action="store_true", help="keep the edges by source, too, which walks read")
    add_quiet(parser)
    _add_tables(parser.add_argument_group("tables, as options: files and names of columns"))
    _add_arrays(parser.add_argument_group("Planetoid's pickles and .npz files"))
    parser.set_defaults(run=_run)


def _add_tables(group) -> None:
    add = group.add_argument
    add(
        "--nodes",
        type=node_table,
        action="append",
        metavar="TYPE=FILES:ID",
        help="nodes of a type, again for each: user=users.parquet:user_id. FILES are a file, a folder or a pattern; "
        "numbers are columns of text files without a header, and a,b are ids of two columns",
    )
    add(
        "--edges",
        type=edge_table,
        action="append",
        metavar='"SOURCE RELATION DESTINATION=FILES:ID->ID"',
        help='edges of a type: "user buys item=orders/*.parquet:user_id->sku"',
    )
    words = "edges that name unknown nodes: add the nodes, or drop the edges (default: error)"
    add("--missing", choices=MISSING, default="error", help=words)
    words = "of nodes: degree: those with many edges first; locality: neighbors close by (default: given, by rows)"
    add("--order", choices=ORDERS, default="given", help=words)


def _add_arrays(group) -> None:
    add = group.add_argument
    add("--train-per-class", type=count, metavar="N", help="make splits: nodes of each class to train")
    add("--val-per-class", type=count, metavar="N", help="and to validate; the rest is to test")
    for name in ("val", "test"):
        add(f"--{name}-edges", type=float, metavar="SHARE", help=f"make splits of edges: share of {name}")
    add("--seed", type=seed, default=0, metavar="N", help="seed of those splits (default: 0)")
    add("--normalize", action="store_true", help="divide each row of features by its sum")


def _run(args) -> None:
    description = described(args.source, args.nodes, args.edges, args.undirected)
    source = args.source if description is None else description
    shared = ("memory", "missing", "order", "dtype", "scale", "out_edges")
    options = {name: getattr(args, name) for name in shared}
    if args.plan:
        print(plan(args.out, source, **options))
        return
    with _printed_log(args.quiet):
        graph = build(
            args.out,
            source,
            **options,
            undirected=args.undirected,
            train_per_class=args.train_per_class,
            val_per_class=args.val_per_class,
            val_edges=args.val_edges,
            test_edges=args.test_edges,
            seed=args.seed,
            normalize=args.normalize,
            progress=shows_progress(args),
        )
    summarize(args, graph, [*_other_than_pyg(graph), *_missing_splits(graph)] if description is None else ())


@contextmanager
def _printed_log(quiet: bool):
    """Shows what a build logs: what it left out or added."""
    handler, level = logging.StreamHandler(), log.level
    if not quiet:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _other_than_pyg(graph) -> list[str]:
    """What a user of PyG would look for where the number of edges is another."""
    count = graph.num_nodes()
    sources, destinations = graph.indices().astype(np.int64), np.repeat(np.arange(count), np.diff(graph.indptr()))
    loops = np.count_nonzero(destinations == sources)
    notes = [f"{loops:,} of them self loops, which are kept (PyG's datasets drop them)"] if loops else []
    has_reverse = np.isin(destinations * count + sources, sources * count + destinations)
    one_way = np.count_nonzero(~has_reverse)
    if one_way:
        notes.append(f"{one_way:,} of them without a reverse (--undirected adds reverses, as PyG's datasets do)")
    return notes


def _missing_splits(graph) -> list[str]:
    return [] if graph.splits else ["no splits (--train-per-class and --val-per-class make them)"]
