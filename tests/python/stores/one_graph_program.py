"""A program of the tests: `one_graph_program.py ADDRESS` keeps graphs by their content, as it is asked to."""

import sys

import processes

import ramet
from ramet.stores.one_per_machine import find_or_make


def small() -> ramet.Graph:
    return ramet.from_edge_index([[0, 1], [1, 2]], 3)


def identity(graph: ramet.Graph) -> tuple[int, int]:
    return graph._core.identity


def main(address: str) -> None:
    line, graphs = processes.visit(address), {}

    def get(content: bytes):
        graphs[content], is_found = find_or_make(content, small)
        return is_found, identity(graphs[content])

    def get_slowly(content: bytes):
        """Says "making" when it makes the graph, and goes on when it is told how: "fail", or anything else."""

        def make():
            line.tell("making")
            if line.hear(None) == "fail":
                raise ValueError("no graph")
            return small()

        graphs[content], is_found = find_or_make(content, make)
        return is_found, identity(graphs[content])

    processes.answer(line, {"get": get, "get_slowly": get_slowly, "drop": lambda content: bool(graphs.pop(content))})


if __name__ == "__main__":
    main(sys.argv[1])
