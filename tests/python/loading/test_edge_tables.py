"""Rows of edge tables, ahead of the loop and on access, against the slow way: one edge after the other, by its id."""

import numpy as np
import pytest
from small_graphs import CITES, REVERSE, WRITES, numpy_of
from together import Together

import ramet

WORLD = 2
NUM_NODES, NUM_EDGES = 120, 700
FANOUTS = [5, 3, 2]


def edges(num_src, num_dst, count, seed):
    random = np.random.default_rng(seed)
    return np.stack([random.integers(0, num_src, count), random.integers(0, num_dst, count)])


def tables_of(count, seed):
    random = np.random.default_rng(seed)
    return {
        "edge_attr": random.standard_normal((count, 3)).astype(np.float32),
        "weight": random.integers(0, 10**12, count),
        "half": random.standard_normal((count, 2)).astype(np.float16),
        "int8": ramet.quantize(random.standard_normal((count, 4)).astype(np.float32)),
    }


def decoded(table):
    if isinstance(table, ramet.Quantized):
        return table.values * table.scale
    return table.astype(np.float32) if table.dtype == np.float16 else table


def homogeneous(undirected=False):
    """(graph, tables by the edges' order as the user gave them)"""
    nodes = {"feat": np.arange(NUM_NODES, dtype=np.float32)[:, None]}
    edge_list = edges(NUM_NODES, NUM_NODES, NUM_EDGES, 0)
    if undirected:  # keeps no parallel edges of different rows
        edge_list = np.unique(edge_list, axis=1)
    tables = tables_of(edge_list.shape[1], 1)
    graph = ramet.from_edge_index(edge_list, NUM_NODES, undirected=undirected, nodes=nodes, edges=tables)
    return graph, tables


def heterogeneous():
    """`CITES` and `WRITES` have a table "edge_attr", `REVERSE` has none."""
    written = edges(60, 100, 400, 3)
    given = {CITES: tables_of(500, 4), WRITES: {"edge_attr": tables_of(400, 5)["edge_attr"]}}
    graph = ramet.from_edge_index(
        {CITES: edges(100, 100, 500, 2), WRITES: written, REVERSE: written[::-1].copy()},
        nodes={"paper": {"label": np.arange(100)}, "author": {"age": np.arange(60)}},
        edges=given,
    )
    return graph, given


def slow_rows(table, e_id):
    """What the user gave each edge: the reverse of edge e, which has id e + count, has the row of e."""
    rows = decoded(table)
    return np.array([rows[int(e) % len(rows)] for e in numpy_of(e_id)]).reshape(-1, *rows.shape[1:])


def assert_rows(block, tables, graph):
    for name, table in tables.items():
        rows = numpy_of(block.table(name))
        assert rows.shape == (block.num_edges, *decoded(table).shape[1:])
        np.testing.assert_array_equal(rows, slow_rows(table, block.e_id), strict=False)
        assert rows.dtype == decoded(table).dtype
        at_position = graph.table(name).gather(numpy_of(block.position), dtype=None)
        if table is tables["edge_attr"]:
            np.testing.assert_array_equal(rows, at_position)


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sampler", [{}, {"sampler": ramet.Uniform(replace=True)}, {"sampler": "labor"}])
@pytest.mark.parametrize("undirected", [False, True])
def test_rows_are_those_of_the_edges(undirected, sampler, threads, ahead):
    graph, tables = homogeneous(undirected)
    options = {"tables": ("feat", *tables)} if ahead else {}
    loader = ramet.NeighborLoader(graph, FANOUTS, None, 50, threads=threads, shuffle=True, **sampler, **options)
    for batch in loader:
        assert list(batch.tables) == ["feat"]
        np.testing.assert_array_equal(numpy_of(batch.x)[:, 0], numpy_of(batch.n_id))
        assert sum(block.num_edges for block in batch.blocks) == batch.num_edges > 0
        for block in batch.blocks:
            assert_rows(block, tables, graph)


def test_ids_are_no_rows():
    graph, tables = homogeneous()
    block = ramet.sample(graph, np.arange(50), [4]).blocks[0]
    assert_rows(block, tables, graph)
    wrong = graph.table("edge_attr").gather(numpy_of(block.e_id))
    assert (wrong != numpy_of(block.table("edge_attr"))).any()


@pytest.mark.parametrize("tables", [("edge_attr", "half"), ()])
def test_heterogeneous_rows_are_a_dict_of_types_that_have_them(tables):
    graph, given = heterogeneous()
    loader = ramet.NeighborLoader(graph, [3, 2], ("paper", None), 30, tables=tables)
    for batch in loader:
        for block in batch.blocks:
            rows = block.table("edge_attr")
            assert list(rows) == [t for t in graph.edge_types if t in given]
            for edge_type, of_type in rows.items():
                expected = slow_rows(given[edge_type]["edge_attr"], block.e_id[edge_type])
                np.testing.assert_array_equal(numpy_of(of_type), expected)
                assert len(of_type) == block.num_edges[edge_type]
            assert list(block.table("half")) == [CITES]
            np.testing.assert_array_equal(
                numpy_of(block.table("half")[CITES]), slow_rows(given[CITES]["half"], block.e_id[CITES])
            )


@pytest.mark.parametrize("ahead", [True, False])
def test_encoded_rows_as_they_are_stored(ahead):
    graph, tables = homogeneous()
    names = ("half", "int8") if ahead else ()
    batch = next(iter(ramet.NeighborLoader(graph, [4], None, 60, features=ramet.Features(decode=False), tables=names)))
    block = batch.blocks[0]
    given = numpy_of(block.e_id)
    assert numpy_of(block.table("half")).dtype == np.float16
    np.testing.assert_array_equal(numpy_of(block.table("half")), tables["half"][given])
    np.testing.assert_array_equal(numpy_of(block.table("int8")), tables["int8"].values[given])


def test_bytes_of_rows_are_counted():
    graph, _ = homogeneous()
    without, with_rows = (
        ramet.NeighborLoader(graph, FANOUTS, None, 50, seed=3, threads=1, tables=tables)
        for tables in ((), ("edge_attr", "weight"))
    )
    for one, other in zip(without, with_rows, strict=True):
        assert other.nbytes - one.nbytes == other.num_edges * (3 * 4 + 8)
    assert with_rows.summary().table_bytes == with_rows.summary().edges * 20
    assert with_rows.state_dict() == without.state_dict()


def test_no_edges_no_rows():
    graph, _ = homogeneous()
    batch = next(iter(ramet.NeighborLoader(graph, [0, 2], None, 10, tables=("edge_attr",))))
    assert [len(block.table("edge_attr")) for block in batch.blocks] == [batch.num_edges, 0]


def test_a_node_table_of_the_name_wins():
    tables = {"feat": np.arange(NUM_EDGES)}
    nodes = {"feat": np.zeros((NUM_NODES, 2), np.float32)}
    graph = ramet.from_edge_index(edges(NUM_NODES, NUM_NODES, NUM_EDGES, 0), NUM_NODES, nodes=nodes, edges=tables)
    assert graph.table("feat").shape == (NUM_NODES, 2)
    assert graph.table("feat", graph.edge_types[0]).shape == (NUM_EDGES,)
    batch = next(iter(ramet.NeighborLoader(graph, [3], None, 10, tables=("feat",))))
    assert batch.x.shape[1:] == (2,)
    np.testing.assert_array_equal(numpy_of(batch.blocks[0].table("feat")), numpy_of(batch.blocks[0].e_id))


def test_the_one_edge_type_need_not_be_named():
    graph, _ = homogeneous()
    one = graph.table("edge_attr")
    np.testing.assert_array_equal(one.numpy(), graph.table("edge_attr", graph.edge_types[0]).numpy())
    with pytest.raises(KeyError, match=r"no table 'wieght'; there is .*'feat'.* of nodes and .*'weight'.* of edges"):
        graph.table("wieght")
    bipartite = ramet.from_edge_index(
        {WRITES: edges(60, 100, 400, 3)},
        num_nodes={"author": 60, "paper": 100},
        edges={WRITES: {"edge_attr": np.arange(400)}},
    )
    assert len(bipartite.table("edge_attr")) == 400
    with pytest.raises(ValueError, match="several node types"):
        bipartite.table("feat")
    with pytest.raises(ValueError, match="several node types"):
        heterogeneous()[0].table("edge_attr")


def test_names_that_no_type_has():
    graph, _ = homogeneous()
    with pytest.raises(KeyError, match=r"tables names 'wieght'.*'edge_attr'"):
        ramet.NeighborLoader(graph, [3], tables=("wieght",))
    block = ramet.sample(graph, [1], [3]).blocks[0]
    with pytest.raises(KeyError, match=r"no edge type has a table 'feat'.*'edge_attr'.*batch.tables"):
        block.table("feat")


def test_ranks_that_cooperate_gather_their_own_edges():
    graph, tables = homogeneous()
    group = Together(graph, 3, num_neighbors=FANOUTS, batch_size=40, tables=("edge_attr", "int8"), cache_rows=20)
    for together, alone in group.pairs(steps=2):
        assert sum(batch.num_edges for batch in together) == alone.num_edges
        for batch in together:
            for block in batch.blocks:
                assert_rows(block, tables, graph)


def rows_of_part(out):
    import torch.distributed as dist

    graph = ramet.open(f"{out}/part-{dist.get_rank()}")
    loader = ramet.NeighborLoader(graph, FANOUTS, None, 40, tables=("edge_attr",), ranks=ramet.Cooperate())
    return [
        (numpy_of(block.e_id), numpy_of(block.table("edge_attr")), numpy_of(block.table("weight")))
        for batch in loader
        for block in batch.blocks
    ]


def test_parts_have_the_rows_of_their_edges(world, tmp_path):
    graph, tables = homogeneous(undirected=True)
    ramet.partition(graph, WORLD, tmp_path, method="hash")
    for of_rank in world.call(rows_of_part, str(tmp_path)):
        assert sum(len(e_id) for e_id, _, _ in of_rank) > 0
        for e_id, attr, weight in of_rank:
            np.testing.assert_array_equal(attr, slow_rows(tables["edge_attr"], e_id))
            np.testing.assert_array_equal(weight, slow_rows(tables["weight"], e_id))
