"""Calls every public function and class of ramet with arguments of every wrong kind, each in one place of a call that
is right otherwise. A program of its own, since it must not end by a signal. Prints a line for each call that ends as
none may, and the number of calls.

Usage: wrong_calls.py FOLDER
"""

import os
import resource
import sys
import warnings
from pathlib import Path

import numpy as np

import ramet
from ramet.stores.build import generate
from ramet.stores.generators import MODELS

ALLOWED = (TypeError, ValueError, IndexError, KeyError, OSError, ImportError, MemoryError, ramet.CorruptStoreError)
FORBIDDEN = ("incompatible function arguments", "The following argument types", "nanobind", "std::", "_core.")


MOST_MEMORY = 8 << 30  # of addresses: numbers that are possible, but large, end early


class Nothing:
    """An object of no use."""


def values() -> dict:
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    cyclic = []
    cyclic.append(cyclic)
    return {
        "None": None,
        "a string": "false",
        "a string with NUL": "a\0b",
        "a string that is not UTF-8": "a\udcff",
        "no string": "",
        "bytes": b"abc",
        "bytes that are not UTF-8": b"\xff\xfe",
        "a float": 1.5,
        "nan": float("nan"),
        "inf": float("inf"),
        "-1": -1,
        "2": 2,
        "-2^70": -(2**70),
        "2^31": 2**31,
        "2^63": 2**63,
        "2^70": 2**70,
        "True": True,
        "numpy's bool": np.bool_(True),
        "a complex number": 1j,
        "an object": Nothing(),
        "a class": Nothing,
        "[]": [],
        "a list": [1, 2],
        "a list of strings": ["a", "b"],
        "a list of None": [None],
        "a list in itself": cyclic,
        "a ragged list": [[1], [1, 2]],
        "a tuple of three": (1, 2, 3),
        "a dict": {"a": 1},
        "a dict by None": {None: None},
        "a set": {1},
        "a masked array": masked,
        "a scalar array": np.array(1),
        "a matrix": np.zeros((2, 2)),
        "nine dimensions": np.zeros((1,) * 9),
        "no entries": np.zeros(0, np.int64),
        "floats": np.array([0.5, np.nan]),
        "objects": np.array([Nothing(), None], dtype=object),
        "texts": np.array(["a", "b"]),
        "complex numbers": np.array([1j]),
        "dates": np.array(["2000-01-01"], dtype="datetime64[D]"),
        "ids out of range": np.array([0, 10**6]),
        "negative ids": np.array([-1]),
        "uint64 beyond int64": np.array([2**64 - 1], dtype=np.uint64),
        "other byte order": np.arange(3, dtype=">i8"),
        "a record array": np.zeros(2, dtype=[("a", "i4")]),
    }


def graphs(folder: Path):
    rng = np.random.default_rng(0)
    nodes = {"feat": rng.normal(size=(30, 4)).astype("float32"), "label": rng.integers(0, 3, 30)}
    plain = ramet.from_edge_index(rng.integers(0, 30, (2, 90)), 30, nodes=nodes, splits={"train": np.arange(9)})
    ramet.save(plain, folder / "plain")
    several = ramet.from_edge_index(
        {("a", "to", "b"): rng.integers(0, 9, (2, 20)), ("b", "to", "a"): rng.integers(0, 9, (2, 20))},
        {"a": 9, "b": 9},
        nodes={"a": {"feat": np.ones((9, 2), "float32")}},
        splits={"train": {"a": [1, 2]}},
    )
    return ramet.open(folder / "plain"), several


def calls(folder: Path):
    """(name, function, arguments that are right by name)."""
    plain, several = graphs(folder)
    indptr, indices = plain.indptr().copy(), plain.indices().copy()
    rows = np.ones((30, 2), np.float32)
    table = plain.table("feat")
    loader = ramet.NeighborLoader(plain, [2, 2], "train", 4)
    batch = next(iter(loader))
    ids = np.arange(3)
    state = loader.state_dict()

    yield "open", ramet.open, {"path": folder / "plain", "mode": "read"}
    for graph in (plain, several):
        kind = "several" if graph is several else "plain"
        of, edge_type = graph.node_types[0], graph.edge_types[0]
        for method in ("num_nodes", "num_rows", "owned"):
            yield f"{kind} {method}", getattr(graph, method), {"node_type": of}
        for method in ("num_edges", "indptr", "indices", "edge_ids"):
            yield f"{kind} {method}", getattr(graph, method), {"edge_type": edge_type}
            yield (
                f"{kind} {method} by names",
                lambda a, b, c, m=method, g=graph: getattr(g, m)((a, b, c)),
                dict(zip("abc", edge_type)),
            )
        yield f"{kind} tables", graph.tables, {"of": of}
        yield f"{kind} table", graph.table, {"name": "feat", "of": of}
        yield f"{kind} split", graph.split, {"name": "train", "node_type": of}
    yield "Table", ramet.Table, {"rows": rows, "scale": None}
    yield "Table of int8", ramet.Table, {"rows": np.ones((3, 2), np.int8), "scale": np.ones((3, 1), np.float32)}
    placed = {"placement": "chunked", "location": "host", "ranks": None, "ownership": None}
    yield "create a table", ramet.Table.create, {"shape": (3, 2), "dtype": "float32", **placed, "init": 0, "seed": 0}
    np.save(folder / "rows.npy", rows)
    rows.tofile(folder / "rows.bin")
    of_table = {"paths": folder / "plain", "name": "feat", "node_type": "node", "verify": True}
    yield "open a table", ramet.Table.open, of_table
    of_rows = {"dtype": "float32", "shape": (30, 2)}
    yield "open a raw file", ramet.Table.open, {"paths": [folder / "rows.bin"], **of_rows}
    yield "open a file", ramet.Table.open, {"paths": [folder / "rows.npy"], **of_rows}
    yield "copy a table", ramet.Table.create((30, 2)).copy_from, {"other": ramet.Table(rows)}
    yield "save a table", ramet.Table(rows).save, {"path": folder / "saved"}
    yield "gather", table.gather, {"ids": ids, "threads": 1, "dtype": None, "out": None}
    arrays = {"indptr": indptr, "indices": indices, "nodes": None, "edges": None, "splits": None, "num_nodes": None}
    yield "from_arrays", ramet.from_arrays, arrays | {"edge_ids": None, "sort_by": None}
    lists = {"edge_index": np.zeros((2, 4), np.int64), "num_nodes": 5, "undirected": False, "nodes": None}
    yield "from_edge_index", ramet.from_edge_index, lists | {"edges": None, "splits": None}
    timed = {"edge_index": np.zeros((2, 4), np.int64), "edges": {"time": np.arange(4)}, "sort_by": "time"}
    yield "from_edge_index, sorted", ramet.from_edge_index, timed
    yield (
        "from_edge_index, edges",
        lambda time: ramet.from_edge_index([[0], [1]], edges={"time": time}, sort_by="time"),
        {"time": np.arange(1)},
    )
    yield (
        "from_edge_index, nodes",
        lambda x, name: ramet.from_edge_index([[0], [1]], nodes={name: x}),
        {
            "x": np.ones(2),
            "name": "feat",
        },
    )
    yield (
        "from_edge_index, splits",
        lambda x, name: ramet.from_edge_index([[0], [1]], splits={name: x}),
        {
            "x": [1],
            "name": "train",
        },
    )
    yield "from_scipy", ramet.from_scipy, {"matrix": None, "nodes": None, "splits": None, "undirected": False}
    yield "from_pyg", ramet.from_pyg, {"data": None}
    saved = {"graph": plain, "path": folder / "saved", "dtype": None, "scale": "row"}
    yield "save", ramet.save, saved | {"progress": False, "checksums": False}
    yield "quantize", ramet.quantize, {"x": rows, "scale": "row"}
    yield "Quantized", ramet.Quantized, {"values": np.ones((3, 2), np.int8), "scale": np.ones((3, 1), np.float32)}
    yield "build", ramet.build, {"path": folder / "built", "source": folder / "plain", "dtype": "float32"}
    for model, options in MODELS.items():
        small = options | ({"num_nodes": 40, "num_edges": 80} if model == "planted" else {"scale": 4})
        made = {"path": folder / "generated", "model": model, "preset": None, "threads": 1}
        yield f"generate {model}", generate, made | small
    parts = {"graph": plain, "parts": 2, "out": folder / "parts", "method": "range", "balance": "nodes"}
    yield "partition", ramet.partition, parts | {"seed": 0, "only_owner": True, "progress": False}
    sampled = {"seeds": ids, "num_neighbors": [2], "sampler": "labor"}
    sampled |= {
        "seed": 0,
        "epoch": 0,
        "step": 0,
        "threads": 1,
    }
    yield "sample", ramet.sample, {"graph": plain} | sampled | {"device": None}
    yield "sample of several", ramet.sample, {"graph": several} | sampled | {"seeds": ("a", ids)}
    in_time = {"graph": plain, "seeds": ids, "num_neighbors": [2], "time": "label", "input_time": np.arange(3)}
    yield "sample in time", ramet.sample, in_time | {"expand": "once", "disjoint": True}
    yield "Time", ramet.Time, {"table": "label", "strategy": "last", "window": 3, "comparison": "<", "monotonic": True}
    yield "Uniform", ramet.Uniform, {"replace": False, "dependent": 1}
    yield (
        "Labor",
        ramet.Labor,
        {"iterations": 0, "layer_dependent": False, "dependent": 1, "weights": "normalized", "table": None},
    )
    yield "sample, the pair", lambda a, b: ramet.sample(several, (a, b), [1]), {"a": "a", "b": ids}
    yield "sample, fanouts", lambda k: ramet.sample(plain, ids, [2, k]), {"k": 2}
    loaded = {"graph": plain, "num_neighbors": [2], "input_nodes": "train", "batch_size": 4, "shuffle": False}
    loaded |= {"drop_last": False, "sampler": "uniform"}
    loaded |= {
        "seed": 0,
        "threads": None,
        "prefetch": None,
        "tables": None,
    }
    loaded |= {"features": None, "ranks": None}
    loaded |= {"device": None, "placement": None, "expand": "every", "disjoint": False}
    yield "NeighborLoader", lambda **given: next(iter(ramet.NeighborLoader(**given)), None), loaded
    in_time = {"graph": plain, "num_neighbors": [2], "batch_size": 4, "time": "label", "input_time": np.arange(30)}
    yield "NeighborLoader in time", lambda **given: next(iter(ramet.NeighborLoader(**given)), None), in_time
    placement = {"topology": "auto", "tables": "auto", "cache_rows": 0, "cache_by": "degree"}
    of_features = {"decode": True, "dtype": None, "fuse": False, "hide": None, "transpose": False}
    cooperate = lambda **given: ramet.NeighborLoader(plain, [2], ranks=ramet.Cooperate(**given))  # noqa: E731
    yield "Cooperate", cooperate, {"group": None, "ownership": None, "among": None}
    yield "Features", ramet.Features, of_features
    yield "Budget", ramet.Budget, {"nodes_per_tree": 5, "dependent": 1}
    yield "Pad", ramet.Pad, {"nodes": 5, "edges": {("a", "to", "b"): 6}}
    yield "Placement", ramet.Placement, placement | {"device_memory": None, "max_sms": None, "order": "auto"}
    yield "set_epoch", loader.set_epoch, {"epoch": 0}
    yield "load_state_dict", loader.load_state_dict, {"state": state}
    for key in state:
        yield (
            f"load_state_dict {key}",
            lambda value, k=key: loader.load_state_dict(state | {k: value}),
            {"value": state[key]},
        )
    yield "fingerprint", ramet.fingerprint, {"batches": [batch]}
    yield "fingerprint of one", lambda one: ramet.fingerprint([batch, one]), {"one": batch}
    yield "rank", ramet.evaluate.rank, {"positive": np.ones(3), "negative": np.ones(3)}
    pairs = np.array([[0, 1], [1, 2]])
    scores = np.ones((2, 3))
    ranked = {"pairs": pairs, "score": lambda sources: scores[sources], "known": pairs}
    yield "rank_all", ramet.evaluate.rank_all, ranked
    yield "scores", lambda found: ramet.evaluate.rank_all(pairs, lambda sources: found), {"found": scores}
    for metric in ("hits", "recall", "ndcg"):
        yield metric, getattr(ramet.evaluate.rank(np.ones(3), np.ones(3)), metric), {"k": 1}
    yield "mean", batch.mean, {"per_seed": np.ones(4)}
    yield "record_stream", batch.record_stream, {"stream": None}


def ends_well(call, arguments: dict) -> str:
    """What is wrong with how the call ends, or nothing."""
    try:
        call(**arguments)
    except ALLOWED as error:
        text = str(error)
        wrong = [part for part in FORBIDDEN if part in text]
        return f"{type(error).__name__}: {text}" if wrong or not text else ""
    except RuntimeError as error:  # that there is no GPU
        return "" if "device" in arguments else f"RuntimeError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    folder = Path(sys.argv[1])
    os.chdir(folder)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    count = 0
    for name, call, right in calls(folder):
        for place in right:
            for kind, value in values().items():
                count += 1
                problem = ends_well(call, right | {place: value})
                if problem:
                    print(f"{name}, {place}: {kind}: {problem[:300]}", flush=True)
    print(count, "calls")


if __name__ == "__main__":
    main()
