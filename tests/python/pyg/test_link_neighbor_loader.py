"""ramet.pyg.LinkNeighborLoader gives the batches that PyG documents: seeds, labels, negatives, trees, times. Links of
two node types and of graphs without edges are in test_links.py."""

import pickle

import pytest
import torch
from pyg_graphs import CITES, WRITES, heterogeneous, homogeneous, pairs, pairs_of, same, stores_of
from torch_geometric.data import Data, HeteroData
from torch_geometric.sampler import NegativeSampling

import ramet
import ramet.pyg


def make(data=None, links=None, fanouts=(-1, -1), **options):
    data = homogeneous() if data is None else data
    options = {"batch_size": 20} | options
    return ramet.pyg.LinkNeighborLoader(data, list(fanouts), links, **options)


def some_links(count: int = 500, num_nodes: int = 100) -> torch.Tensor:
    return torch.randint(num_nodes, (2, count), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("subgraph_type", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("ratio", [None, 1.0])
@pytest.mark.parametrize("filter_per_worker", [None, False])
def test_edges_as_seeds(subgraph_type, ratio, filter_per_worker):
    data = homogeneous()
    loader = make(
        data,
        neg_sampling_ratio=ratio,
        subgraph_type=subgraph_type,
        filter_per_worker=filter_per_worker,
        shuffle=True,
    )
    assert str(loader) == "LinkNeighborLoader()" and len(loader) == 25
    found = []
    for batch in loader:
        assert isinstance(batch, Data) and batch.e_id.shape == (batch.num_edges,)
        assert torch.equal(batch.x, batch.n_id) and torch.equal(batch.edge_attr, batch.e_id)
        if subgraph_type != "bidirectional":
            assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert torch.equal(batch.n_id[batch.edge_label_index[:, :20]], data.edge_index[:, batch.input_id])
        assert pairs(batch.edge_label_index[:, :20]) <= pairs(batch.edge_index), "as in PyG, a seed is a message"
        assert not {"edge_label_time", "batch", "batch_size"} & set(batch.keys())
        assert batch.edge_label_index.shape == (2, 20 if ratio is None else 40)
        if ratio is None:
            assert "edge_label" not in batch
        else:
            assert batch.edge_label.tolist() == [1.0] * 20 + [0.0] * 20
        found += batch.input_id.tolist()
    assert sorted(found) == list(range(500))


@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
def test_seeds_ascend(mode):
    links = some_links()
    for batch in make(links=(links[0], links[1]), fanouts=[2], neg_sampling=mode):
        assert mode == "triplet" or torch.equal(batch.n_id[batch.edge_label_index[:, :20]], links[:, batch.input_id])
        if mode == "triplet":
            ends = torch.cat([batch.src_index, batch.dst_pos_index, batch.dst_neg_index])
        else:
            ends = batch.edge_label_index.flatten()
        seeds, places = batch.n_id[ends].unique(return_inverse=True)
        assert torch.equal(batch.n_id[: len(seeds)], seeds) and torch.equal(ends, places)
        assert batch.num_sampled_nodes[0] == len(seeds)


def test_an_edge_type_of_two_words():
    data = HeteroData(paper={"x": torch.arange(100)}, author={"x": torch.arange(100, 300)})
    edge_index = torch.stack([some_links()[0], some_links(num_nodes=200)[1]])
    data["paper", "author"].edge_index = edge_index
    data["author", "paper"].edge_index = edge_index.flip(0)
    for asked in (("paper", "author"), (("paper", "author"), None), (("paper", "to", "author"), edge_index)):
        for batch in make(data, asked, neg_sampling_ratio=1.0, shuffle=True):
            links = batch["paper", "author"]
            expected = ("paper", "to", "author")
            assert getattr(batch, "input_type", expected) == expected  # since PyG 2.7
            assert links.edge_label.tolist() == [1] * 20 + [0] * 20
            row, col = links.edge_label_index
            ends = torch.stack([batch["paper"].x[row], batch["author"].x[col] - 100])
            assert torch.equal(ends[:, :20], edge_index[:, links.input_id])
            assert not pairs(ends[:, 20:]) & pairs(edge_index)


def test_labels():
    zero_and_one = torch.arange(500) % 2
    for batch in make(edge_label=zero_and_one, neg_sampling_ratio=1.0):
        assert batch.edge_label.tolist() == [1, 2] * 10 + [0] * 20, "raised by one"
    assert next(iter(make(edge_label=zero_and_one))).edge_label.tolist() == [0, 1] * 10
    for dtype in (torch.int64, torch.float64, torch.bfloat16):
        batch = next(iter(make(edge_label=torch.ones(500, 3, dtype=dtype), neg_sampling_ratio=0.25)))
        assert batch.edge_label.dtype == dtype and batch.edge_label.tolist() == [[1] * 3] * 20 + [[0] * 3] * 5


def test_labels_of_a_random_split():
    """The data has labels and links of its own, which those of the batch replace."""
    from torch_geometric.transforms import RandomLinkSplit

    train, _, _ = RandomLinkSplit(num_val=0.1, num_test=0.1)(homogeneous())
    for batch in make(train, train.edge_label_index, edge_label=train.edge_label):
        ids = batch.input_id
        assert torch.equal(batch.n_id[batch.edge_label_index], train.edge_label_index[:, ids])
        assert torch.equal(batch.edge_label, train.edge_label[ids])
    triplets = next(iter(make(train, train.edge_label_index, neg_sampling="triplet")))
    assert "edge_label_index" not in triplets


def test_binary_negatives_are_pairs_of_their_own():
    data, links = homogeneous(), some_links()
    known = pairs(data.edge_index) | pairs(links)
    found = []
    for batch in make(data, links, neg_sampling=NegativeSampling("binary", 2)):
        negatives = batch.n_id[batch.edge_label_index[:, 20:]]
        assert not pairs(negatives) & known
        found.append(negatives)
    sources, destinations = torch.cat(found, dim=1)
    kept = links[:, : len(sources)]
    assert (sources[:500] == kept[0]).float().mean() < 0.05 and (destinations[:500] == kept[1]).float().mean() < 0.05
    assert len(sources.unique()) == 100 and len(destinations.unique()) == 100


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_weights_of_negatives(mode):
    source, destination = torch.zeros(100), torch.zeros(100)
    source[[3, 4]], destination[[50, 60]] = 1.0, torch.tensor([1.0, 3.0])
    data = Data(x=torch.arange(100), edge_index=some_links() % 50)
    sampling = {"mode": mode, "amount": 5, "src_weight": source, "dst_weight": destination}
    nodes = []
    for batch in make(data, neg_sampling=sampling):
        if mode == "binary":
            row, col = batch.n_id[batch.edge_label_index[:, 20:]]
            assert set(row.tolist()) == {3, 4}
        else:
            col = batch.n_id[batch.dst_neg_index].flatten()
        nodes.append(col)
    share = (torch.cat(nodes) == 60).float().mean()
    assert set(torch.cat(nodes).tolist()) == {50, 60} and 0.7 < share < 0.8


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_a_complete_graph_has_edges_as_negatives(mode):
    data = Data(edge_index=torch.cartesian_prod(torch.arange(6), torch.arange(6)).t(), num_nodes=6)
    batch = next(iter(make(data, neg_sampling=mode)))
    count = len(batch.dst_neg_index) if mode == "triplet" else int((batch.edge_label == 0).sum())
    assert count == 20


@pytest.mark.parametrize("is_hetero", [False, True])
@pytest.mark.parametrize("amount", [1, 2])
@pytest.mark.parametrize("kind", ["merged", "disjoint", "temporal"])
def test_triplets(is_hetero, amount, kind):
    links, times, options = some_links(), None, {"disjoint": kind != "merged"}
    if is_hetero:
        data = heterogeneous()
        nodes, asked = data["paper"], (CITES, links)
        data["author"].time = torch.arange(200)
    else:
        data = nodes = homogeneous()
        asked = links
    if kind == "temporal":
        nodes.time = torch.arange(100)
        times = links.max(dim=0).values + 50
        options = {"time_attr": "time", "edge_label_time": times}
    sampling = {"mode": "triplet", "amount": amount, "dst_weight": torch.rand(100) + 0.1}
    for batch in make(data, asked, neg_sampling=sampling, shuffle=True, **options):
        papers, input_id = (batch["paper"], batch[CITES].input_id) if is_hetero else (batch, batch.input_id)
        assert torch.equal(papers.x[papers.src_index], links[0, input_id])
        assert torch.equal(papers.x[papers.dst_pos_index], links[1, input_id])
        assert papers.dst_neg_index.shape == ((20,) if amount == 1 else (20, amount))
        assert "edge_label_index" not in (batch[CITES] if is_hetero else batch)
        if kind == "merged":
            continue
        assert papers.src_index.tolist() == list(range(20)) and papers.dst_pos_index.tolist() == list(range(20, 40))
        expected = torch.arange(40, 40 + 20 * amount).view(amount, 20).t().squeeze(-1)
        assert torch.equal(papers.dst_neg_index, expected)
        assert torch.equal(papers.batch[: 40 + 20 * amount], torch.arange(20).repeat(2 + amount))
        if kind == "temporal":
            assert torch.equal(papers.seed_time, times[input_id])
            assert (papers.time <= papers.seed_time[papers.batch]).all()


@pytest.mark.parametrize("amount", [0.5, 1, 3])
def test_disjoint_binary_trees_are_those_of_pairs(amount):
    for batch in make(homogeneous(), some_links(), disjoint=True, neg_sampling=NegativeSampling("binary", amount)):
        negatives = int(20 * amount)
        assert batch.edge_label_index.tolist() == torch.arange(40 + 2 * negatives).view(2, -1).tolist()
        row, col = batch.batch[batch.edge_label_index]
        assert torch.equal(row, col) and torch.equal(row[:20], torch.arange(20)) and int(batch.batch.max()) == 19
        if amount >= 1:
            assert torch.equal(row[20:], torch.arange(negatives) % 20)
        row, col = batch.edge_index
        assert torch.equal(batch.batch[row], batch.batch[col])


def test_times_of_binary_negatives():
    """Every node of a pair's tree, and each negative of it, exists at the pair's time."""
    papers, authors = torch.arange(100) - 100, torch.arange(200)
    data = HeteroData(paper={"time": papers, "num_nodes": 100}, author={"time": authors, "num_nodes": 200})
    data["paper", "paper"].edge_index = some_links(1000)
    data["author", "paper"].edge_index = torch.stack([some_links(1000, 200)[0], some_links(1000)[1]])
    times = torch.arange(1000) % 40 + 5
    options = {"edge_label_time": times, "time_attr": "time", "batch_size": 32, "drop_last": True}
    loader = make(data, ("author", "paper"), neg_sampling_ratio=0.5, **options)
    assert len(loader) == 31
    drawn = []
    for batch in loader:
        links = batch["author", "paper"]
        row, col = links.edge_label_index
        of_pairs = batch["author"].batch[row]
        assert int(of_pairs.max()) == 31 and torch.equal(of_pairs, batch["paper"].batch[col])
        assert torch.equal(links.edge_label_time, times[links.input_id][of_pairs])
        existing = batch["author"].time[row][32:] <= links.edge_label_time[32:]
        assert len(existing) == 16 and existing.all()
        drawn.append(batch["author"].time[row][32:])
    assert len(torch.cat(drawn).unique()) > 30, "as many nodes as exist"


def test_times_of_edges_alone():
    data = homogeneous()
    data.edge_time = torch.arange(500)
    options = {"time_attr": "edge_time", "edge_label_time": data.edge_time}
    for batch in make(data, **options, neg_sampling="binary", batch_size=1):
        assert (batch.edge_time <= batch.edge_label_time[0]).all() and (batch.batch == 0).all()


def test_stores():
    data = heterogeneous()
    asked = (WRITES, data[WRITES].edge_index)
    for given in (WRITES, asked):
        stores, plain = make(stores_of(data), given), make(data, given)
        assert str(stores) == str(plain)
        for one, other in zip(stores, plain, strict=True):
            assert torch.equal(one[WRITES].edge_label_index, other[WRITES].edge_label_index)
            assert all(torch.equal(one[t].x.sort()[0], other[t].x.sort()[0]) for t in data.node_types)
            assert all(one[t].num_edges == other[t].num_edges for t in data.edge_types)


def test_a_graph_of_ramet():
    data = homogeneous()
    graph = ramet.from_pyg(data)
    for links in (None, data.edge_index):
        of_graph, of_data = make(graph, links), make(data, links)
        for one, other in zip(of_graph, of_data, strict=True):
            assert torch.equal(one.edge_label_index, other.edge_label_index)
            assert torch.equal(one.n_id[one.edge_index], other.n_id[other.edge_index])
            assert torch.equal(one.x, other.x)
    assert torch.equal(of_graph.data.edge_index, data.edge_index)


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_threads_and_workers_change_nothing(mode):
    runs = []
    for options in (
        {},
        {"num_workers": 2},
        {"num_workers": 5, "persistent_workers": True},
        {"threads": 1},
        {"threads": 3},
    ):
        torch.manual_seed(3)
        runs.append(list(make(fanouts=[3, 2], neg_sampling=mode, shuffle=True, **options)))
    for run in runs[1:]:
        assert all(map(same, runs[0], run))
    assert not all(map(same, runs[0], make(fanouts=[3, 2], neg_sampling=mode)))


def test_positions_transform_and_pickles():
    links = some_links()
    ids = torch.arange(1000, 1500)
    loader = make(links=links, neg_sampling="binary", input_id=ids, transform=lambda batch: (batch, "more"))
    batch, more = loader([3, 7])
    assert batch.input_id.tolist() == [1003, 1007] and more == "more"
    assert torch.equal(batch.n_id[batch.edge_label_index[:, :2]], links[:, [3, 7]])
    loader = make(links=links, neg_sampling="binary", transform_sampler_output=lambda output: output)
    plain = make(links=links, neg_sampling="binary")
    for other in (loader, pickle.loads(pickle.dumps(plain))):  # PyG's code makes the batches, and another process
        torch.manual_seed(1)
        one = other([3, 7])
        torch.manual_seed(1)
        assert same(one, plain([3, 7]))


def test_data_that_changes():
    """Links stay those of the edges that the data had."""
    data = homogeneous()
    loader, before = make(data), data.edge_index
    data.edge_index = before.flip(1)[:, :400]
    for batch in loader:
        assert torch.equal(batch.n_id[batch.edge_label_index], before[:, batch.input_id])
        assert pairs_of(batch.edge_index, batch.n_id, batch.n_id) <= pairs(data.edge_index)
