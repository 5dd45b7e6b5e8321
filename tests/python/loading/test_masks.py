"""A mask of integers, as DGL's and GraphStorm's files have them, is never read as the ids 0 and 1."""

import numpy as np
import pytest

import ramet

EDGES = np.array([[0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6, 7]])
MASK = np.array([0, 0, 1, 1, 0, 1, 1, 1])
INTEGERS = ["uint8", "int8", "int32", "int64"]


def graph(**options) -> ramet.Graph:
    return ramet.from_edge_index(EDGES, 8, nodes={"feat": np.eye(8, dtype="float32")}, **options)


def eight_edges() -> ramet.Graph:
    return ramet.from_edge_index(np.hstack([EDGES, [[7], [0]]]), 8)


needs = pytest.importorskip
DOORS = {
    r"splits\['train'\]": lambda mask: graph(splits={"train": mask}),
    "input_nodes": lambda mask: ramet.NeighborLoader(graph(), [1], mask),
    r"input_nodes\['node'\]": lambda mask: ramet.NeighborLoader(graph(), [1], {"node": mask}),
    "edges": lambda mask: eight_edges().edge_subgraph(mask),
    "edges ": lambda mask: ramet.LinkLoader(eight_edges(), [1], mask),
    "seeds": lambda mask: ramet.sample(graph(), mask, [1]),
    "nodes": lambda mask: needs("ramet.nn").layerwise(graph(), [lambda x, block: x[: block.num_dst]], nodes=mask),
    "input_nodes ": lambda mask: needs("ramet.pyg").NeighborLoader(graph(), [1], mask),
    "node_idx": lambda mask: needs("ramet.pyg").ShaDowKHopSampler(graph(), 1, 1, node_idx=mask),
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("door", DOORS)
def test_a_mask_of_integers_is_refused_at_every_door(door, dtype):
    call, what = DOORS[door], door.strip()
    for mask in (MASK, 1 - MASK, np.zeros(8), np.ones(8)):
        with pytest.raises(ValueError, match=rf"^{what} has 8 entries, all 0 or 1, .*mask\.astype\(bool\).*as ids"):
            call(mask.astype(dtype))
    call(MASK.astype(bool))


def test_what_can_be_ids_are_ids():
    """Fewer or more of them than nodes, other ids among them, or each once."""
    for ids in ([0, 1, 0], [1] * 9, [0, 1, 0, 1, 0, 1, 0, 2]):
        assert ramet.sample(graph(), ids, [1]).seeds.tolist() == ids
    two = ramet.from_edge_index([[0], [1]])
    assert ramet.sample(two, [1, 0], [1]).seeds.tolist() == [1, 0]
    with pytest.raises(ValueError, match="2 entries, all 0 or 1"):
        ramet.sample(two, [1, 1], [1])
    one = ramet.from_edge_index([[0], [0]])
    assert ramet.sample(one, [0], [1]).seeds.tolist() == [0]


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float32"])
def test_an_attribute_called_a_mask_is_one(dtype):
    torch = pytest.importorskip("torch")
    data_module = pytest.importorskip("torch_geometric.data")
    columns = np.stack([MASK, 1 - MASK], axis=1)
    given = {name: torch.from_numpy(mask.astype(dtype)) for name, mask in (("train", MASK), ("val", columns))}
    masks = {f"{name}_mask": mask for name, mask in given.items()}
    data = data_module.Data(x=torch.eye(8), edge_index=torch.from_numpy(EDGES), **masks)
    data.soft_mask = torch.linspace(0, 1, 8)
    made = ramet.from_pyg(data)
    assert sorted(made.tables("node")) == ["feat", "soft_mask"]
    for name, mask in {"train": MASK, "val_0": MASK, "val_1": 1 - MASK}.items():
        assert made.split(name).tolist() == np.flatnonzero(mask).tolist()
