"""The command `ramet estimate`."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace

import ramet
from ramet._support.arguments import as_folder
from ramet.commands.common import list_of, shows_progress
from ramet.costs.caches import Caches
from ramet.loading.samplers import add_sampler_options, sampler_of


def add_parser(subparsers):
    """Adds the command to the parsers of `ramet`; it is run as `arguments.run(arguments)`."""
    parser = subparsers.add_parser(
        "estimate",
        help="what a batch, an epoch and a cache would cost in memory, on disk and in seconds, and whether it fits",
        description="Makes a few batches, shuffled, and says what an epoch of them takes: docs/estimate.md. Seeds: the "
        "split 'train' where there is one (of its first node type), else all nodes with in-edges. With an option of "
        "caches, whole epochs are sampled, and the ids of all batches are kept in memory.",
    )
    add = parser.add_argument
    add("store", metavar="STORE", help="folder of the store")
    add("--num-neighbors", type=_NUMBERS, default=[10, 10, 10], metavar="10,10,10", help="seeds' hop first; -1: all")
    add("--batch-size", type=int, default=1024, metavar="B", help="seeds of a batch of all ranks (default: 1024)")
    add_sampler_options(parser)
    add("--batches", type=int, metavar="N", help="of each sampled epoch, at most (default: 8 or more; for caches: all)")
    add("--row-bytes", type=int, metavar="N", help="of a row of 'feat' (default: as it has them, else 512)")
    add("--hidden", type=int, default=256, metavar="N", help="width of hidden layers, float32 (default: %(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of everything (default: %(default)s)")
    add("--json", action="store_true", help="as JSON")
    add("--quiet", action="store_true", help="no progress bar")
    add = parser.add_argument_group("ranks").add_argument
    add("--ranks", type=int, default=1, metavar="P", help="processes of the machine (default: %(default)s)")
    add("--ownership", default="range", metavar="range|hash|PATH", help="who owns a node (default: %(default)s)")
    add("--at-nodes", type=int, metavar="N", help="say the memory of a part of a graph with so many nodes,")
    add("--at-edges", type=int, metavar="N", help="and so many edges")
    group = parser.add_argument_group("caches, which are counted where one of these is given")
    caches: dict[str, dict] = {
        "--cache-rows": {
            "type": _SIZES,
            "metavar": "5%,100000",
            "help": "rows, or percent (default: 2%%,5%%,10%%,20%%)",
        },
        "--windows": {"type": _NUMBERS, "metavar": "1,4,16", "help": "batches that look-ahead knows (default: 1,4,16)"},
        "--node-type": {"metavar": "TYPE", "help": "whose rows are cached (default: the type with most nodes)"},
        "--epochs": {"type": int, "metavar": "N", "help": "to count, after one that fills them (default: 1)"},
        "--read-costs": {"type": _COSTS, "metavar": "1e-5,1e-9", "help": "seconds of a request, of a byte (measured)"},
    }
    names = [group.add_argument(option, **words).dest for option, words in caches.items()]
    parser.set_defaults(run=lambda args: _run(args, {n: v for n in names if (v := getattr(args, n)) is not None}))


_NUMBERS, _COSTS = list_of(int, "10,10,10"), list_of(float, "1e-5,1e-9")
_SIZES = list_of(lambda part: part if part.endswith("%") else int(part), "5%,100000")


def _run(args, caches: dict) -> None:
    if (args.at_nodes is None) != (args.at_edges is None):
        raise ValueError("--at-nodes and --at-edges are given together or not at all")
    graph = ramet.open(args.store)
    estimate = ramet.estimate(
        graph,
        args.num_neighbors,
        batch_size=args.batch_size,
        ranks=args.ranks,
        ownership=_ownership(args.ownership, graph),
        at=None if args.at_nodes is None else (args.at_nodes, args.at_edges),
        caches=Caches(**caches) if caches else None,
        batches=args.batches,
        row_bytes=args.row_bytes,
        hidden=args.hidden,
        progress=shows_progress(args),
        seed=args.seed,
        sampler=sampler_of(args),
    )
    estimate = replace(estimate, store=args.store)
    print(json.dumps(asdict(estimate), indent=2) if args.json else estimate, flush=True)


def _ownership(text: str, graph):
    """A folder, that of `ramet partition` or "owner" in it, has an .npy file for each node type."""
    if os.path.isdir(text):
        owner = os.path.join(text, "owner")
        text = owner if os.path.isdir(owner) else text
        files = {t: os.path.join(text, as_folder(t, "a node type") + ".npy") for t in graph.node_types}
        return files if len(files) > 1 else files[graph.node_types[0]]
    return text
