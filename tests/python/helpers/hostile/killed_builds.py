"""Kills builds at random points: `killed_builds.py FOLDER KILLS`. After each, the store is the old one or the new one,
whole, and the next build leaves nothing else in the folder.

A build of version v writes v into every table, so that a mixture shows.
"""

import os
import random
import signal
import sys
import time

import numpy as np
import pyarrow as pa

import ramet

NODES, EDGES = 1000, 4000
BUYS = ("user", "buys", "item")


def build(path, version: int, memory=None, **options) -> ramet.Graph:
    names = np.array([f"u{i}" for i in range(NODES)])
    users = {"id": pa.array(names), "x": np.full(NODES, version, np.float32)}
    orders = {"who": pa.array(names[np.arange(EDGES) % NODES]), "sku": np.arange(EDGES) * 13 % NODES * 7}
    user = ramet.NodeTable("user", users, id="id", features=["x"])
    weighted = orders | {"w": np.full(EDGES, version, np.float32)}
    buys = ramet.EdgeTable(BUYS, weighted, source="who", destination="sku", weight="w", reverse="rev")
    return ramet.build(path, nodes=[user], edges=[buys], memory=memory, **options)


def version_of(path) -> int:
    """Of a store that is whole."""
    assert ramet.verify(path) == []
    graph = ramet.open(path)
    found = {*graph.table("feat", "user").numpy().flat, *graph.table("weight", BUYS).numpy()}
    assert len(found) == 1
    return int(found.pop())


def kill_one(path, version: int, memory, seconds: float) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, b".")
        build(path, version, memory)
        os._exit(0)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main(folder: str, kills: int) -> None:
    path = os.path.join(folder, "store")
    counts = {"old": 0, "new": 0, "unfinished": 0}
    chance = random.Random(7)
    seconds = {}
    for memory in (None, "128M"):
        build(path, 0, memory)  # the first takes longer: threads and modules
        began = time.monotonic()
        build(path, 0, memory)
        seconds[memory] = time.monotonic() - began
    for version in range(1, kills + 1):
        memory = "128M" if version % 2 else None
        kill_one(path, version, memory, chance.random() * 1.2 * seconds[memory])
        found = version_of(path)
        assert found in (version, version - 1)
        counts["new" if found == version else "old"] += 1
        counts["unfinished"] += len(os.listdir(folder)) > 1
        build(path, version, memory)
        assert os.listdir(folder) == ["store"]
    print(counts)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
