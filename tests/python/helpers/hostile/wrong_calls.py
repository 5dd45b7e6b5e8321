"""Calls every public function and class of ramet with arguments of every wrong kind, each in one place of a call that
is right otherwise. A program of its own, since it must not end by a signal. Prints a line for each call that ends as
none may, and the number of calls.

Usage: wrong_calls.py FOLDER
"""

import functools
import inspect
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


def defaults_of(function) -> dict:
    parameters = inspect.signature(function).parameters
    return {name: p.default for name, p in parameters.items() if p.default is not p.empty}


def with_keywords(method):
    """Methods of a graph refuse to be looked at."""
    return lambda **given: method(**given)


def first_batch(**given):
    return next(iter(ramet.NeighborLoader(**given)), None)


def calls(folder: Path):
    """(name, function, arguments that are right by name, beside its defaults)."""
    plain, several = graphs(folder)
    rows, ids, table = np.ones((30, 2), np.float32), np.arange(3), plain.table("feat")
    loader = ramet.NeighborLoader(plain, [2, 2], "train", 4)
    batch, state = next(iter(loader)), loader.state_dict()
    edges = np.zeros((2, 4), np.int64)

    yield "open", ramet.open, {"path": folder / "plain"}
    for graph in (plain, several):
        kind = "several" if graph is several else "plain"
        of, edge_type = graph.node_types[0], graph.edge_types[0]
        for method in ("num_nodes", "num_rows", "owned"):
            yield f"{kind} {method}", with_keywords(getattr(graph, method)), {"node_type": of}
        for method in ("num_edges", "indptr", "indices", "edge_ids"):
            yield f"{kind} {method}", with_keywords(getattr(graph, method)), {"edge_type": edge_type}
            by_names = functools.partial(lambda call, a, b, c: call((a, b, c)), getattr(graph, method))
            yield f"{kind} {method} by names", by_names, dict(zip("abc", edge_type))
        yield f"{kind} tables", with_keywords(graph.tables), {"of": of}
        yield f"{kind} table", with_keywords(graph.table), {"name": "feat", "of": of}
        yield f"{kind} split", with_keywords(graph.split), {"name": "train", "node_type": of}
    yield "Table", ramet.Table, {"rows": rows}
    yield "Table of int8", ramet.Table, {"rows": np.ones((3, 2), np.int8), "scale": np.ones((3, 1), np.float32)}
    yield "create a table", ramet.Table.create, {"shape": (3, 2), "placement": "chunked"}
    np.save(folder / "rows.npy", rows)
    rows.tofile(folder / "rows.bin")
    yield "open a table", ramet.Table.open, {"paths": folder / "plain", "name": "feat", "node_type": "node"}
    for kind in ("npy", "bin"):
        of_rows = {"paths": [folder / f"rows.{kind}"], "dtype": "float32", "shape": (30, 2)}
        yield f"open a file of {kind}", ramet.Table.open, of_rows
    yield "copy a table", ramet.Table.create((30, 2)).copy_from, {"other": ramet.Table(rows)}
    yield "save a table", ramet.Table(rows).save, {"path": folder / "saved"}
    yield "gather", table.gather, {"ids": ids}
    yield "from_arrays", ramet.from_arrays, {"indptr": plain.indptr().copy(), "indices": plain.indices().copy()}
    yield "from_edge_index", ramet.from_edge_index, {"edge_index": edges, "num_nodes": 5}
    yield (
        "from_edge_index, sorted",
        ramet.from_edge_index,
        {"edge_index": edges, "edges": {"time": np.arange(4)}, "sort_by": "time"},
    )
    make = functools.partial(ramet.from_edge_index, [[0], [1]])
    yield "from_edge_index, edges", lambda x: make(edges={"time": x}, sort_by="time"), {"x": np.arange(1)}
    yield "from_edge_index, nodes", lambda x, name: make(nodes={name: x}), {"x": np.ones(2), "name": "feat"}
    yield "from_edge_index, splits", lambda x, name: make(splits={name: x}), {"x": [1], "name": "train"}
    yield "from_scipy", ramet.from_scipy, {"matrix": None}
    yield "from_pyg", ramet.from_pyg, {"data": None}
    yield "save", ramet.save, {"graph": plain, "path": folder / "saved", "checksums": False}
    yield "quantize", ramet.quantize, {"x": rows}
    yield "Quantized", ramet.Quantized, {"values": np.ones((3, 2), np.int8), "scale": np.ones((3, 1), np.float32)}
    yield "build", ramet.build, {"path": folder / "built", "source": folder / "plain"}
    for model, options in MODELS.items():
        small = options | ({"num_nodes": 40, "num_edges": 80} if model == "planted" else {"scale": 4})
        yield f"generate {model}", generate, {"path": folder / "generated", "model": model, "threads": 1} | small
    parts = {"graph": plain, "parts": 2, "out": folder / "parts", "method": "range", "only_owner": True}
    yield "partition", ramet.partition, parts
    of_sample = {"graph": plain, "seeds": ids, "num_neighbors": [2]}
    yield "sample", ramet.sample, of_sample | {"sampler": "labor"}
    yield "sample of several", ramet.sample, of_sample | {"graph": several, "seeds": ("a", ids), "sampler": "labor"}
    in_time = {"time": "label", "input_time": np.arange(3)}
    yield "sample in time", ramet.sample, of_sample | in_time | {"expand": "once", "disjoint": True}
    yield "sample, the pair", lambda a, b: ramet.sample(several, (a, b), [1]), {"a": "a", "b": ids}
    yield "sample, fanouts", lambda k: ramet.sample(plain, ids, [2, k]), {"k": 2}
    yield "Time", ramet.Time, {"table": "label", "strategy": "last", "window": 3, "comparison": "<", "monotonic": True}
    for kind in (ramet.Uniform, ramet.Labor, ramet.Features, ramet.Placement):
        yield kind.__name__, kind, {}
    yield "Budget", ramet.Budget, {"nodes_per_tree": 5}
    yield "Pad", ramet.Pad, {"nodes": 5, "edges": {("a", "to", "b"): 6}}
    cooperate = functools.partial(lambda **given: ramet.NeighborLoader(plain, [2], ranks=ramet.Cooperate(**given)))
    yield "Cooperate", cooperate, defaults_of(ramet.Cooperate)
    loaded = defaults_of(ramet.NeighborLoader) | {"graph": plain, "num_neighbors": [2], "batch_size": 4}
    yield "NeighborLoader", first_batch, loaded | {"input_nodes": "train"}
    yield "NeighborLoader in time", first_batch, loaded | {"time": "label", "input_time": np.arange(30)}
    yield "set_epoch", loader.set_epoch, {"epoch": 0}
    yield "load_state_dict", loader.load_state_dict, {"state": state}
    for key, known in state.items():
        load = functools.partial(lambda key, value: loader.load_state_dict(state | {key: value}), key)
        yield f"load_state_dict {key}", load, {"value": known}
    yield "fingerprint", ramet.fingerprint, {"batches": [batch]}
    yield "fingerprint of one", lambda one: ramet.fingerprint([batch, one]), {"one": batch}
    yield "rank", ramet.evaluate.rank, {"positive": np.ones(3), "negative": np.ones(3)}
    pairs, scores = np.array([[0, 1], [1, 2]]), np.ones((2, 3))
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
    for name, call, given in calls(folder):
        right = defaults_of(call) | given
        for place in right:
            for kind, value in values().items():
                count += 1
                if problem := ends_well(call, right | {place: value}):
                    print(f"{name}, {place}: {kind}: {problem[:300]}", flush=True)
    print(count, "calls")


if __name__ == "__main__":
    main()
