"""A program of the tests: damages copies of stores, and then does with each whatever one does with a store."""

import contextlib
import itertools
import os
import pickle
import shutil
from collections import Counter
from pathlib import Path

import hostile_programs as hostile
import numpy as np

import ramet
from ramet.storage.checksums import find_damage

ANSWERS = (ValueError, IndexError, KeyError, OSError)
DTYPES = ("|b1", "|i1", "<u2", "<i4", "<i8", "<u8", "<f2", "<f4", "<f8")
NUMBERS = (-(2**63), -(2**31), -1, 1, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1)


# ---- damage


def to_bytes(kind):
    """Of a file."""

    def damage(random, path: Path) -> None:
        path.write_bytes(kind(random, bytearray(path.read_bytes())))

    damage.__name__ = kind.__name__
    return damage


def flip_data(random, content: bytearray) -> bytearray:
    return content[:4096] + hostile.flip(random, content[4096:])


def noise(random, path: Path) -> None:
    """Of the size of the array, behind its header."""
    content = path.read_bytes()
    path.write_bytes(content[:4096] + random.bytes(max(0, len(content) - 4096)))


def plausible_noise(random, path: Path) -> None:
    """Numbers about as large as those that were there, or just beyond."""
    if array := _array(path):
        values = array[0]
        bound = int(np.nan_to_num(np.abs(values.astype(np.float64))).max(initial=1).clip(1, 2**62)) + 2
        np.save(path, random.integers(-1, bound, values.shape).astype(values.dtype))


def number(random, path: Path) -> None:
    """One entry becomes a number at which arithmetic goes wrong."""
    if (array := _array(path)) and array[0].size and array[0].dtype.kind == "i":
        values = array[0]
        value = int(random.choice(NUMBERS))
        bound = np.iinfo(values.dtype)
        values.reshape(-1)[random.integers(values.size)] = min(max(value, bound.min), bound.max)
        np.save(path, values)


def other_type(random, path: Path) -> None:
    if array := _array(path):
        np.save(path, array[0].astype(random.choice(DTYPES)))


def other_shape(random, path: Path) -> None:
    if array := _array(path):
        values = array[0]
        shapes = [(-1,), (1, -1), (-1, 1), (0,), (len(values) + 1,), (max(len(values) - 1, 0),), ()]
        with contextlib.suppress(ValueError):
            shape = shapes[random.integers(len(shapes))]
            np.save(path, np.resize(values, shape) if -1 not in shape else values.reshape(shape))


def remove(random, path: Path) -> None:
    path.unlink()


def exchange(random, path: Path) -> None:
    """The content of another file of the store."""
    shutil.copyfile(_another(random, path), path)


def special(random, path: Path) -> None:
    path.unlink()
    targets = ["/dev/zero", "/dev/null", "/proc/self/mem", "/proc/kmsg", ".", "nothing", "/proc/self/maps", "pipe"]
    target = str(random.choice(targets))
    if target == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target)


def _another(random, path: Path) -> Path:
    root = next((folder for folder in path.parents if (folder / "ramet.txt").exists()), path.parent)
    others = sorted(p for p in root.rglob("*") if p.is_file() and p != path)
    return others[random.integers(len(others))]


def _array(path: Path) -> tuple[np.ndarray] | None:
    try:
        return (np.load(path),)
    except Exception:  # damaged by an earlier kind, and numpy raises what it likes
        return None


BYTES = (hostile.flip, hostile.bytes_of_a_header, flip_data, hostile.cut, hostile.add)
DAMAGES = (
    *map(to_bytes, BYTES),
    *(noise, plausible_noise, number, other_type, other_shape, remove, exchange, special),
)


def damage(seed: int, store: Path) -> str:
    """Every kind comes in turn, to a file that chance picks; every fifth store has two kinds."""
    random = np.random.default_rng(seed)
    done = []
    for i in range(2 if seed % 5 == 0 else 1):
        files = sorted(p for p in store.rglob("*") if p.is_file() and not p.is_symlink())
        path = files[random.integers(len(files))]
        kind = DAMAGES[seed % len(DAMAGES) if i == 0 else random.integers(len(DAMAGES))]
        done.append(f"{kind.__name__} {path.relative_to(store)}")
        kind(random, path)
    return ", ".join(done)


# ---- use


def uses(graph: ramet.Graph):
    """Everything that one does with a graph, as calls."""
    yield lambda: repr(graph)
    yield lambda: graph._core.validate(1)
    yield lambda: pickle.loads(pickle.dumps(graph))
    for node_type in graph.node_types:
        yield lambda t=node_type: ramet.sample(graph, (t, []), [2])
        for hops in ([-1], [3, 2]):
            yield lambda t=node_type, hops=hops: look_at(ramet.sample(graph, (t, some(graph, t)), hops))
        yield lambda t=node_type: look_at(
            ramet.sample(graph, (t, some(graph, t)), [4, 4], sampler=ramet.Uniform(replace=True), threads=2)
        )
        for options in ({"sampler": "labor", "threads": 2}, {"sampler": ramet.Labor(2)}):
            yield lambda t=node_type, o=options: look_at(ramet.sample(graph, (t, some(graph, t)), [4, -1], **o))
        for strategy in ("uniform", "last"):
            yield lambda t=node_type, s=strategy: sample_in_time(graph, t, s)
        yield lambda t=node_type: load(graph, (t, None))
        yield lambda t=node_type: graph.ids(t).find(graph.ids(t).of(some(graph, t)))
        for name in graph.tables(node_type):
            yield lambda t=node_type, n=name: graph.about(n, t)
            yield lambda t=node_type, n=name: graph.table(n, t).gather(some(graph, t))
            yield lambda t=node_type, n=name: graph.table(n, t).gather(some(graph, t), dtype="float32")
            yield lambda t=node_type, n=name: read(graph.table(n, t).numpy(), graph.table(n, t).scale)
    for edge_type in graph.edge_types:
        yield lambda t=edge_type: read(graph.indptr(t), graph.indices(t))
        yield lambda t=edge_type: read(graph.edge_ids(t))
        for name in graph.tables(edge_type):
            yield lambda t=edge_type, n=name: read(graph.table(n, t).numpy())
    for split, node_types in graph.splits.items():
        for node_type in node_types:
            yield lambda t=node_type, s=split: load(graph, (t, s))


def some(graph: ramet.Graph, node_type: str) -> np.ndarray:
    return np.arange(min(graph.num_nodes(node_type), 700))


def sample_in_time(graph: ramet.Graph, node_type: str, strategy: str) -> None:
    seeds = some(graph, node_type)
    time = ramet.Time("time", strategy, window=30)
    look_at(ramet.sample(graph, (node_type, seeds), [4, 3], time=time, input_time=np.full(len(seeds), 5)))


def read(*arrays) -> None:
    for array in arrays:
        if array is not None:
            array.tobytes()


def look_at(batch: ramet.Batch) -> None:
    batch.fingerprint()
    for block in batch.blocks:
        for part in (block.indptr, block.indices, block.edge_index, block.e_id, block.position, block.edge_weight):
            read(*(part.values() if isinstance(part, dict) else [part]))
    for rows in batch.tables.values():
        read(*(rows.values() if isinstance(rows, dict) else [rows]))


def load(graph: ramet.Graph, nodes) -> None:
    for decode in (True, False):
        loader = ramet.NeighborLoader(
            graph, [3, -1], nodes, 64, shuffle=True, threads=2, features=ramet.Features(decode=decode)
        )
        loader.state_dict()
        for batch in itertools.islice(loader, 4):
            look_at(batch)


def try_all(store: Path, counts: Counter) -> None:
    find_damage(store)
    for mode in ("read", "copy-on-write"):
        try:
            graph = ramet.open(store, mode=mode)
        except ANSWERS as error:
            counts["refused"] += 1
            assert str(error), "an exception without a message"
            continue
        counts["opened"] += 1
        for use in uses(graph):
            try:
                use()
                counts["results"] += 1
            except ANSWERS as error:
                counts["errors"] += 1
                assert str(error), "an exception without a message"


if __name__ == "__main__":
    hostile.main(damage, try_all)
