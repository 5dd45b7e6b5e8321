"""The names of Ramet that pages for people who come from PyG or DGL mention exist, and PyG's arguments are ours."""

import inspect
import operator
import re
from pathlib import Path

import pytest

pytest.importorskip("torch_geometric")

import numpy as np
import torch_geometric.loader

import ramet
import ramet.distributed
import ramet.nn
import ramet.pyg

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
NAMES_OF_RAMET = re.compile(r"\bramet(?:\.\w+)+")
OF_AN_OBJECT = re.compile(r"\b(batch|block|graph)\.(\w+)")
ARGUMENTS = re.compile(r"\b([a-z_]+)=")
OF_OTHERS = {"dynamic", "use_distributed_sampler"}  # arguments of torch.compile and of Lightning


def examples_of_objects() -> dict:
    """What `batch`, `block` and `graph` stand for in a page."""
    nodes = {"feat": np.ones((3, 2), "float32"), "label": np.arange(3)}
    graph = ramet.from_edge_index([[0, 1], [1, 2]], 3, nodes=nodes, edges={"w": np.ones(2)})
    batch = next(iter(ramet.NeighborLoader(graph, [2])))
    return {"graph": graph, "batch": batch, "block": batch.blocks[0]}


def arguments_of_functions() -> set[str]:
    """Those of all public functions, classes and methods of classes."""
    found = set()
    for value in [getattr(module, name) for module in (ramet, ramet.nn, ramet.pyg) for name in module.__all__]:
        for function in vars(value).values() if inspect.isclass(value) else [value]:
            if inspect.isfunction(function):
                found |= set(inspect.signature(function).parameters)
    return found


def missing_names(text: str) -> list[str]:
    """The names of Ramet in code spans that do not exist. In tables only the last column is Ramet's."""
    spans = [
        span
        for line in CODE.sub("", text).splitlines()
        for span in re.findall(r"`([^`]+)`", line.rstrip(" |").rsplit(" | ", 1)[-1])
    ]
    objects, arguments = examples_of_objects(), arguments_of_functions() | OF_OTHERS
    wrong = []
    for span in spans:
        for name in NAMES_OF_RAMET.findall(span):
            try:
                operator.attrgetter(name.removeprefix("ramet."))(ramet)
            except AttributeError:
                wrong.append(name)
        wrong += [f"{of}.{name}" for of, name in OF_AN_OBJECT.findall(span) if not hasattr(objects[of], name)]
        wrong += [f"{name}=" for name in ARGUMENTS.findall(span) if name not in arguments]
    return wrong


@pytest.mark.parametrize("page", ["guide", "loader", "dgl", "pyg", "epochs"])
def test_the_names_on_a_page_exist(page):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert not missing_names(text)


def test_a_name_that_does_not_exist_is_found():
    table = "| `dgl.f(k=1)` | `ramet.g(2)`, `sampler=ramet.Uniform(repeat=1)`, `batch.nodes`, `graph.split(name)` |"
    assert missing_names(table) == ["ramet.g", "repeat=", "batch.nodes"]


def test_pygs_arguments_are_ours():
    ours, theirs = (
        inspect.signature(loader.NeighborLoader).parameters for loader in (ramet.pyg, torch_geometric.loader)
    )
    assert {name: (p.default, p.kind) for name, p in ours.items()} == {
        name: (p.default, p.kind) for name, p in theirs.items()
    }
