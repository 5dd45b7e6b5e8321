"""Names and graphs of other libraries: what takes their place, in a sentence."""

import subprocess
import sys

import numpy as np
import pytest

import ramet
from ramet._support import foreign_words


def names_in(advice: str):
    """The names of ramet that it has."""
    for word in advice.replace("(", " ").replace(")", " ").replace(",", " ").replace(":", " ").split():
        if word.startswith("ramet."):
            yield word.rstrip(".;").removeprefix("ramet.").partition("=")[0]


@pytest.mark.parametrize("module", ["ramet", "ramet.pyg"])
def test_a_foreign_name_gets_a_sentence(module):
    pytest.importorskip("torch_geometric")
    here, words = (ramet, foreign_words.MODULE) if module == "ramet" else (ramet.pyg, foreign_words.PYG_MODULE)
    for word, advice in words.items():
        with pytest.raises(AttributeError) as raised:
            getattr(here, word)
        assert str(raised.value) == f"module {module!r} has no attribute {word!r}: {advice}"
        assert not hasattr(here, word)
        with pytest.raises(ImportError) as raised:
            exec(f"from {module} import {word}")
        assert advice in str(raised.value)
        for name in names_in(advice):
            owner = ramet
            for part in name.split("."):
                owner = getattr(owner, part)
    with pytest.raises(AttributeError, match=f"^module '{module}' has no attribute 'nothing'$"):
        _ = here.nothing
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec(f"from {module} import nothing")


def test_graphs_of_scipy_and_networkx():
    sparse, networkx = pytest.importorskip("scipy.sparse"), pytest.importorskip("networkx")
    matrix = sparse.csr_array((np.ones(2), ([0, 1], [1, 2])), (3, 3))
    graph = networkx.path_graph(3, networkx.DiGraph)
    for given, advice in ((matrix, "from_scipy(matrix)"), (graph, foreign_words.GRAPHS["networkx"])):
        for call in (ramet.from_edge_index, ramet.from_pyg, lambda g: ramet.NeighborLoader(g, [1])):
            with pytest.raises(TypeError) as raised:
                call(given)
            assert str(raised.value).endswith(f": ramet.{advice} makes a graph of it")
        made = eval(f"ramet.{advice}", {"ramet": ramet, "networkx": networkx, "matrix": matrix, "graph": graph})
        assert made.indices().tolist() == [0, 1] and made.indptr().tolist() == [0, 0, 1, 2]


def test_graphs_of_torch():
    torch, data_module = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    ends = torch.tensor([[0, 1], [1, 2]])
    adj = torch.sparse_coo_tensor(ends, torch.ones(2), (3, 3))
    data = data_module.Data(edge_index=ends, num_nodes=3)
    for given, library in ((adj, "torch"), (adj.to_sparse_csr(), "torch"), (data, "torch_geometric")):
        advice = foreign_words.GRAPHS[library]
        with pytest.raises(TypeError) as raised:
            ramet.from_edge_index(given)
        assert str(raised.value).endswith(f": ramet.{advice} makes a graph of it")
        made = eval(f"ramet.{advice}", {"ramet": ramet, "adj": given, "data": data})
        assert made.indices().tolist() == [0, 1] and made.num_nodes() == 3
    edge_index = pytest.importorskip("torch_geometric").EdgeIndex(ends, sparse_size=(3, 3))
    assert ramet.from_edge_index(edge_index, 3).indices().tolist() == [0, 1]


def test_importing_ramet_for_a_foreign_name_loads_nothing():
    program = "import sys, ramet; hasattr(ramet, 'LinkNeighborLoader'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
