"""Graphs for the engine and for the twin, and the comparison of what both sample."""

import dataclasses

import numpy as np
import twin
from small_graphs import numpy_of

import ramet

EDGE = twin.DEFAULT_EDGE
BLOCK_ARRAYS = {
    "indptr": np.int64,
    "indices": np.int32,
    "position": np.int64,
    "e_id": np.int64,
    "edge_weight": np.float32,
}

# ---- graphs, for the engine and for the twin from the same edge lists


def edge_list(num_src, num_dst, num_edges, seed, *, isolated=0.1, hub=0):
    """A multigraph: parallel edges, (between equal types) self loops, a share of isolated destinations, and a
    hub, which is the last destination."""
    rng = np.random.default_rng(seed)
    reached = rng.permutation(num_dst)[: max(1, round(num_dst * (1 - isolated)))]
    src, dst = rng.integers(0, num_src, num_edges), rng.choice(reached, num_edges)
    again = rng.integers(0, num_edges, num_edges // 10)
    loops = rng.integers(0, min(num_src, num_dst), num_edges // 20)
    hub_src = rng.integers(0, num_src, hub)
    src = np.concatenate([src, src[again], loops, hub_src])
    dst = np.concatenate([dst, dst[again], loops, np.full(hub, num_dst - 1)])
    order = rng.permutation(len(src))
    return np.stack([src[order], dst[order]])


def both(num_nodes, edge_index):
    """(engine's graph, twin's graph)."""
    csc = twin.Csc.from_edges(*edge_index, num_nodes)
    return ramet.from_edge_index(edge_index, num_nodes), twin.TwinGraph({"node": num_nodes}, {EDGE: csc})


# "a" < "a-b", but "a-b__..." < "a__..."; "To" < "é", but "%C3%A9" < "To": the order is that of
# the whole encoded name.
ODD_NODES = {"a": 120, "a-b": 80, ".Ärzte/__%_": 50}
ODD_EDGES = [
    ("a", "é", "a"),
    ("a", "to", "a-b"),
    ("a", "To", "a-b"),
    ("a", "to_", "a-b"),
    ("a-b", "_", "a"),
    ("a-b", "β γ", ".Ärzte/__%_"),
    (".Ärzte/__%_", "rev/β", "a"),
    (".Ärzte/__%_", "is", ".Ärzte/__%_"),
]


def odd():
    """A heterogeneous pair whose names need encoding."""
    lists = {
        edge_type: edge_list(ODD_NODES[edge_type[0]], ODD_NODES[edge_type[2]], 300 + 70 * i, seed=i, hub=60)
        for i, edge_type in enumerate(ODD_EDGES)
    }
    graph = ramet.from_edge_index(lists, dict(ODD_NODES))
    cscs = {t: twin.Csc.from_edges(*edges, ODD_NODES[t[2]]) for t, edges in lists.items()}
    return graph, twin.TwinGraph(dict(ODD_NODES), cscs)


def write_store(path, num_nodes, edges):
    """A store written with numpy alone (docs/format.md), indices as they are."""
    path.mkdir()
    lines = [f"node {twin.encode_name(name)} {count}" for name, count in num_nodes.items()]
    (path / "ramet.txt").write_text("\n".join(["ramet-store 1", *lines]) + "\n")
    for edge_type, (indptr, indices) in edges.items():
        folder = path / "edge" / twin.encode_edge_type(edge_type)
        folder.mkdir(parents=True)
        np.save(folder / "indptr.npy", indptr.astype(np.int64))
        np.save(folder / "indices.npy", indices)
    cscs = {t: twin.Csc(indptr.tolist(), indices.tolist()) for t, (indptr, indices) in edges.items()}
    return ramet.open(path), twin.TwinGraph(num_nodes, cscs)


# ---- comparison


def by_type(value, names) -> dict:
    return value if isinstance(value, dict) else {names[0]: value}


def assert_equal(graph, batch, expected):
    """Everything that a batch tells of its blocks, and its fingerprint."""
    n_id = by_type(batch.n_id, graph.node_types)
    assert {t: np.asarray(ids).tolist() for t, ids in n_id.items()} == expected.n_id
    if batch.batch is not None:
        trees = by_type(batch.batch, graph.node_types)
        assert {t: np.asarray(of_type).tolist() for t, of_type in trees.items()} == expected.trees
    assert batch.fingerprint() == twin.fingerprint([expected])
    if batch.expand == "once":
        return assert_equal_edges(graph, batch, expected)
    assert len(batch.blocks) == len(expected.blocks)
    for block, twin_block in zip(batch.blocks, expected.blocks):
        assert by_type(block.num_src, graph.node_types) == twin_block.num_src
        assert by_type(block.num_dst, graph.node_types) == twin_block.num_dst
        for name, dtype in BLOCK_ARRAYS.items():
            for edge_type, array in by_type(getattr(block, name), graph.edge_types).items():
                array, expected_array = np.asarray(array), np.array(getattr(twin_block, name)[edge_type], dtype)
                assert array.dtype == dtype, name
                assert array.tolist() == expected_array.tolist(), (twin_block.hop, name, edge_type)


def assert_equal_edges(graph, batch, expected):
    """The hops one after the other, the seeds' hop first."""
    hops = expected.blocks[::-1]
    for node_type, counts in by_type(batch.num_sampled_nodes, graph.node_types).items():
        ends = [hops[0].num_dst[node_type], *(hop.num_src[node_type] for hop in hops)]
        assert np.cumsum(counts).tolist() == ends
    for edge_type, counts in by_type(batch.num_sampled_edges, graph.edge_types).items():
        assert counts == [len(hop.indices[edge_type]) for hop in hops]
        edges, of_dst = batch.edges(edge_type), edge_type[2]
        assert len(edges) == sum(counts)
        indptr = [np.array(hop.indptr[edge_type]) for hop in hops]
        destinations = [
            hop.first_dst[of_dst] + np.repeat(np.arange(len(p) - 1), np.diff(p)) for hop, p in zip(hops, indptr)
        ]
        found = {name: [value for hop in hops for value in getattr(hop, name)[edge_type]] for name in BLOCK_ARRAYS}
        assert np.asarray(edges.edge_index).tolist() == [found["indices"], np.concatenate(destinations).tolist()]
        assert np.asarray(edges.edge_index).dtype == np.int64
        for name in ("position", "e_id", "edge_weight"):
            array = np.asarray(getattr(edges, name))
            assert array.dtype == BLOCK_ARRAYS[name], name
            assert array.tolist() == np.array(found[name], BLOCK_ARRAYS[name]).tolist(), (name, edge_type)


def check(pair, seeds, fanouts, seed_type=None, threads=1, **options):
    """Samples with both, compares, and gives the engine's batch. seeds: of `seed_type`, or a dict by type. threads: one
    number, or several, with each of which the engine samples."""
    graph, twin_graph = pair
    chosen = seeds if seed_type is None else (seed_type, seeds)
    by_edge = fanouts if isinstance(fanouts, dict) else dict.fromkeys(graph.edge_types, fanouts)
    expected = twin.sample(twin_graph, seed_type or graph.node_types[0], seeds, by_edge, **options)
    given = by_type(seeds, [seed_type])
    for count in [threads] if isinstance(threads, int) else threads:
        batch = ramet.sample(graph, chosen, fanouts, threads=count, **options)
        assert {t: np.asarray(ids).tolist() for t, ids in by_type(batch.seeds, [seed_type]).items()} == {
            t: list(ids) for t, ids in given.items()
        }
        assert_equal(graph, batch, expected)
    return batch


def check_weights(*args, sampler="uniform", **options):
    """Where a sampler has weights of two kinds, with either; gives the batch of the default."""
    if isinstance(sampler, ramet.Labor):
        check(*args, sampler=dataclasses.replace(sampler, weights="horvitz-thompson"), **options)
    return check(*args, sampler=sampler, **options)


LABOR_OPTIONS = ("layer_dependent", "weights", "table", "dependent")


def labor(iterations=0, **options):
    """The options of LABOR-i; what else is given is handed on."""
    of_sampler = {name: options.pop(name) for name in LABOR_OPTIONS if name in options}
    return {"sampler": ramet.Labor(iterations, **of_sampler), **options}


def thompson(iterations=0, **options):
    """LABOR-i with Horvitz-Thompson weights."""
    return labor(iterations, weights="horvitz-thompson", **options)


def assert_same(batch, expected) -> None:
    """Two batches of one process have the same nodes, edges and rows, to the bit."""
    assert batch.fingerprint() == expected.fingerprint()
    assert batch.tables.keys() == expected.tables.keys()
    for name, rows in expected.tables.items():
        by_type = rows if isinstance(rows, dict) else {"": rows}
        found = batch.tables[name] if isinstance(rows, dict) else {"": batch.tables[name]}
        assert found.keys() == by_type.keys()
        for kind, wanted in by_type.items():
            assert numpy_of(found[kind]).dtype == numpy_of(wanted).dtype
            assert np.array_equal(numpy_of(found[kind]), numpy_of(wanted))
