"""The command `ramet cache`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict

from ramet.caching.advice import shown_rate
from ramet.loading.samplers import add_sampler_options, sampler_of
from ramet.stores.info import size
from ramet.work.cli import as_fanouts


def add_parser(subparsers):
    """Adds the command to the parsers of `ramet`; it is run as `arguments.run(arguments)`."""
    parser = subparsers.add_parser(
        "cache",
        help="how many rows caches would hit, by policy and size, and how many batches a second the disk then gives",
        description="Samples an epoch that fills caches, and epochs that are counted, and says which of the rows a "
        "cache would have had. Seeds: the split 'train' where there is one (of its first node type), else all nodes "
        "with in-edges, shuffled. The rows of batches are not read: the disk is measured for some milliseconds, and "
        "what caches miss is planned as requests. The ids of all batches are kept in memory.",
    )
    add = parser.add_argument
    add("store", metavar="STORE", help="folder of the store")
    add("--batch-size", type=int, default=1024, metavar="B", help="seeds of a batch (default: %(default)s)")
    add("--num-neighbors", type=as_fanouts, default=[10, 10, 10], metavar="10,10,10", help="seeds' hop first; -1: all")
    add_sampler_options(parser)
    add("--node-type", metavar="TYPE", help="whose rows are cached (default: the type with most nodes)")
    add("--cache-rows", metavar="5%,100000", help="sizes, in rows or percent of all (default: 2%%,5%%,10%%,20%%)")
    add("--windows", type=_as_windows, metavar="1,4,16", help="batches that look-ahead knows (default: 1,4,16)")
    add("--epochs", type=int, default=1, metavar="N", help="epochs to count, after the first (default: %(default)s)")
    add("--batches", type=int, metavar="N", help="of each epoch, at most (default: all)")
    add("--row-bytes", type=int, metavar="N", help="of a row (default: as 'feat' has them, else 512)")
    add("--read-costs", type=_as_costs, metavar="1e-5,1e-9", help="seconds of a request, of a byte (default: measured)")
    add("--seed", type=int, default=0, metavar="N", help="of everything (default: %(default)s)")
    add("--json", action="store_true", help="as JSON")
    add("--quiet", action="store_true", help="no progress bar")
    parser.set_defaults(run=_run)


def _as_windows(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers like 1,4,16") from None


def _as_costs(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not seconds of a request and of a byte like 1e-5,1e-9") from None


def _run(args) -> None:
    import sys

    import ramet
    from ramet.caching import count_hits
    from ramet.caching.count import WINDOWS, as_node_type

    graph = ramet.open(args.store)
    node_type = as_node_type(graph, args.node_type)
    count = count_hits(
        graph,
        args.num_neighbors,
        args.batch_size,
        node_type=node_type,
        cache_rows=None if args.cache_rows is None else _as_rows(args.cache_rows, graph.num_nodes(node_type)),
        windows=WINDOWS if args.windows is None else args.windows,
        epochs=args.epochs,
        batches=args.batches,
        row_bytes=args.row_bytes,
        read_costs=args.read_costs,
        seed=args.seed,
        progress=not args.quiet and sys.stderr.isatty(),
        sampler=sampler_of(args),
    )
    result = {"store": args.store} | asdict(count)
    print(json.dumps(result, indent=2) if args.json else as_text(result), flush=True)


def _as_rows(text: str, num_rows: int) -> list[int]:
    """Of "5%,100000": numbers of rows."""
    rows = []
    for part in text.split(","):
        number, is_share = part.removesuffix("%"), part.endswith("%")
        try:
            value = float(number) if is_share else int(number)
        except ValueError:
            raise ValueError(f"cache_rows is {text!r}, expected sizes like 5%,100000") from None
        if is_share and not 0 <= value <= 100:
            raise ValueError(f"cache_rows has {part}, expected 0% to 100%")
        rows.append(round(num_rows * value / 100) if is_share else value)
    return rows


def as_text(result: dict) -> str:
    """The counts for a terminal."""
    per_batch, row_bytes = result["rows_per_batch"], result["row_bytes"]
    all_bytes = per_batch * row_bytes
    lines = [
        f"{result['store']}: {result['num_rows']:,} rows of type {result['node_type']!r}, {row_bytes:,} "
        f"bytes each; {result['batch_size']:,} seeds, {result['num_neighbors']}, {result['sampler']}",
        f"{result['batches']:,} batches, after an epoch that fills the caches; {per_batch:,.0f} rows and "
        f"{size(all_bytes)} a batch; {result['touched']:.1%} of all rows are read",
        _of_disk(result),
        *_by_policy(result, "rows that hit, %", lambda of, policy: f"{100 * of['hits'][policy]:.1f}"),
        *_by_policy(result, "read per batch", lambda of, policy: size((1 - of["hits"][policy]) * all_bytes)),
    ]
    if result["disk"] is not None:
        lines += _by_policy(result, "requests per batch", lambda of, policy: f"{of['reads'][policy]['requests']:,.0f}")
        lines += _by_policy(result, "batches per second", lambda of, policy: _rate(of["reads"][policy]))
    return "\n".join([*lines, "", result["advice"]])


def _of_disk(result: dict) -> str:
    if result["disk"] is None:
        return f"no rate of a disk: {result['no_disk']}"
    disk, uncached = result["disk"], result["uncached"]
    return (
        f"{disk['how']}: {1e6 * disk['request_seconds']:.3g} us a request, {1e9 * disk['byte_seconds']:.3g} ns a byte; "
        f"without a cache {uncached['requests']:,.0f} requests and {size(uncached['bytes'])} a batch, "
        f"{_rate(uncached)} batches a second"
    )


def _rate(reads: dict) -> str:
    return "any" if reads["batches_per_second"] is None else shown_rate(reads["batches_per_second"])


def _by_policy(result: dict, title: str, cell: Callable[[dict, str], str]) -> list[str]:
    """A line for each size, below a title and the policies' names."""
    policies = list(result["sizes"][0]["hits"])
    widths = [max(len(policy), 9) + 2 for policy in policies]
    lines = ["", f"{title:<28}" + _cells(policies, widths)]
    return lines + [_cache(of) + _cells([cell(of, policy) for policy in policies], widths) for of in result["sizes"]]


def _cache(of: dict) -> str:
    return f"{of['share']:>7.1%}{of['rows']:>12,}{size(of['bytes']):>9}"


def _cells(texts: list[str], widths: list[int]) -> str:
    return "".join(f"{text:>{width}}" for text, width in zip(texts, widths))
