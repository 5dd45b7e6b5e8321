"""The command `ramet build`."""

from __future__ import annotations

import argparse

import numpy as np

from ramet.commands.common import add_quiet, count, seed, shows_progress, summarize
from ramet.dtypes import FEATURE_DTYPES, SCALES
from ramet.stores.build import build


def add_parser(commands) -> None:
    parser = commands.add_parser("build", help="make a store from the files of another project")
    add = parser.add_argument
    add("out", metavar="OUT", help="folder of the store")
    add("source", metavar="SOURCE", help="folder of Planetoid pickles, or .npz file of CSR parts")
    add(
        "--undirected",
        action=argparse.BooleanOptionalAction,
        help="add the reverse of every edge and drop repeats (default: as the form of the files means it)",
    )
    add("--dtype", choices=FEATURE_DTYPES, default="float32", help="of the features")
    add("--scale", choices=SCALES, default="row", help="of int8 features: one per row (default), or column")
    add("--train-per-class", type=count, metavar="N", help="make splits: nodes of each class to train")
    add("--val-per-class", type=count, metavar="N", help="and to validate; the rest is to test")
    for name in ("val", "test"):
        add(f"--{name}-edges", type=float, metavar="SHARE", help=f"make splits of edges: share of {name}")
    add("--seed", type=seed, default=0, metavar="N", help="seed of those splits (default: 0)")
    add("--out-edges", action="store_true", help="keep the edges by source, too, which walks read")
    add("--normalize", action="store_true", help="divide each row of features by its sum")
    add_quiet(parser)
    parser.set_defaults(run=_run)


def _run(args) -> None:
    graph = build(
        args.out,
        args.source,
        undirected=args.undirected,
        dtype=args.dtype,
        scale=args.scale,
        train_per_class=args.train_per_class,
        val_per_class=args.val_per_class,
        val_edges=args.val_edges,
        test_edges=args.test_edges,
        seed=args.seed,
        normalize=args.normalize,
        out_edges=args.out_edges,
        progress=shows_progress(args),
    )
    summarize(args, graph, notes=[*_other_than_pyg(graph), *_missing_splits(graph)])


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
