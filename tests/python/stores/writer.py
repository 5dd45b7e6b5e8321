"""A program of the tests: `writer.py ADDRESS PATH VALUE MEGABYTES` saves a graph as the store at PATH when it
is asked to, and can be made to stop in the middle: it then says so and waits."""

import sys

import numpy as np
import processes

import ramet
from ramet.stores import contents


def constant(value: int, megabytes: int = 0) -> ramet.Graph:
    """A graph whose every number is `value`, so that a mixture of two would show."""
    rows = max(1, megabytes * 2**20 // 256)
    nodes = {"feat": np.full((rows, 64), value, np.float32), "label": np.full(rows, value)}
    return ramet.from_arrays(np.zeros(rows + 1, np.int64), [], nodes=nodes, splits={"train": [0]})


def value_of(graph: ramet.Graph) -> int:
    """The value of a graph made by `constant`, all of which is looked at."""
    (value,) = {*np.unique(graph.table("label").numpy()), *np.unique(graph.table("feat").numpy())}
    assert graph.split("train").tolist() == [0]
    return int(value)


def stop_at(line: processes.Line, fraction: float) -> None:
    """Makes the next save stop when it has written this fraction of the arrays; at 2, when it has written
    them all and is making the checksums."""

    class Report:
        def __init__(self, phase: str):
            self.phase = phase

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def __call__(self, done: int, total: int) -> None:
            if self.phase == ("checksums" if fraction == 2 else "writing") and done >= min(fraction, 1) * total:
                line.tell("stopped")
                line.hear()

    contents.byte_progress = lambda shown, phase: Report(phase)


def main() -> None:
    address, path, value, megabytes = sys.argv[1:]
    graph = constant(int(value), int(megabytes))
    line = processes.visit(address, value)

    def save(times: int = 1) -> None:
        for _ in range(times):
            ramet.save(graph, path)

    processes.answer(line, {"save": save, "stop at": lambda fraction: stop_at(line, fraction)})


if __name__ == "__main__":
    main()
