"""A program of the tests: `trainer_processes.py METHOD ADDRESS COUNT [SOURCE ...]` stands for a training run.

The sources are folders of stores, or "memory" for a graph made in memory; "dropped" is such a graph, freed before
there are trainers. METHOD is how the graphs get from the parent to COUNT trainers; with "path" this process is a
trainer itself. All of them visit the meeting at ADDRESS and do what they are asked until it ends.
"""

import gc
import multiprocessing
import pickle
import sys

import numpy as np
import processes

import ramet

NUM_NODES = 200_000
NUM_EDGES = 1_000_000


def make_graph(value: int = 0) -> ramet.Graph:
    """About 72 MB."""
    random = np.random.default_rng(value)
    return ramet.from_edge_index(
        random.integers(0, NUM_NODES, (2, NUM_EDGES)),
        NUM_NODES,
        nodes={
            "feat": random.random((NUM_NODES, 80), np.float32),
            "label": random.integers(0, 10, NUM_NODES),
        },
        splits={"train": np.arange(0, NUM_NODES, 3)},
    )


def arrays_of(graph: ramet.Graph) -> list[np.ndarray]:
    arrays = [graph.indptr(), graph.indices(), graph.split("train")]
    arrays += [graph.table(name).numpy() for name in graph.tables()]
    return arrays if graph.edge_ids() is None else [*arrays, graph.edge_ids()]


def num_bytes(graph: ramet.Graph) -> int:
    return sum(array.nbytes for array in arrays_of(graph))


def read(graph: ramet.Graph) -> int:
    """Depends on every byte."""
    return sum(int(np.bitwise_xor.reduce(a.reshape(-1).view(np.int32))) << i for i, a in enumerate(arrays_of(graph)))


def first_fingerprint(graph: ramet.Graph) -> str:
    loader = ramet.NeighborLoader(graph, [5, 5], "train", 256, shuffle=True)
    return next(iter(loader)).fingerprint()


def serve(address: str, graphs: list[ramet.Graph]) -> None:
    def each(function):
        return lambda: [function(graph) for graph in graphs]

    requests = {
        "read": each(read),
        "fingerprint": each(first_fingerprint),
        "pickle": each(pickle.dumps),
        "label of node 0": each(lambda graph: int(graph.table("label").numpy()[0])),
    }
    processes.answer(processes.visit(address, "trainer"), requests)


def trainer(address: str, waited, graphs: list[ramet.Graph]) -> None:
    serve(address, graphs)


class Wait:
    """An argument that takes until the test says "go" to unpickle."""

    def __init__(self, address: str):
        self.address = address

    def __reduce__(self):
        return wait, (self.address,)


def wait(address: str) -> None:
    processes.visit(address, "waiting").hear()


def receiver(address: str, connection, queue) -> None:
    """A trainer that is sent its graphs, one by pipe and one by queue, and takes them when told to."""
    wait(address)
    serve(address, [connection.recv(), queue.get()])


def start_all(method: str, address: str, count: int, graphs: list[ramet.Graph]):
    """What it returns is to be kept while the trainers start."""
    name, _, variant = method.partition("-")
    context = multiprocessing.get_context(name)
    if variant == "sent":
        here, there = context.Pipe()
        queue = context.Queue()
        context.Process(target=receiver, args=(address, there, queue)).start()
        here.send(graphs[0])
        queue.put(graphs[1])
        return here, queue
    for _ in range(count):
        waited = Wait(address) if variant == "late" else None
        context.Process(target=trainer, args=(address, waited, graphs)).start()
    return None


def main() -> None:
    method, address, count, *sources = sys.argv[1:]
    if "dropped" in sources:
        make_graph()
    graphs = [make_graph() if source == "memory" else ramet.open(source) for source in sources if source != "dropped"]
    if method == "path":
        serve(address, graphs)
        return
    kept = start_all(method, address, int(count), graphs)
    if method.endswith(("-late", "-sent")):
        graphs.clear()
        gc.collect()
    processes.answer(processes.visit(address, "parent"), {})
    del kept


if __name__ == "__main__":
    main()
