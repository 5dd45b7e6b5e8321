"""Models that are trained on subgraphs are about as accurate as on sampled neighbors."""

import numpy as np
import pytest

import ramet

torch = pytest.importorskip("torch")
F = torch.nn.functional

WIDTH, CLASSES = 64, 10


class Sage(torch.nn.Module):
    """Two layers that add a node's own row and the weighted sum of its neighbors'."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, 2 * width) for width in (WIDTH, CLASSES))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        source, destination = edge_index
        for layer in self.layers:
            own, message = layer(x).chunk(2, dim=1)
            x = own.index_add(0, destination, message[source] * weight[:, None])
            x = x if layer is self.layers[-1] else x.relu()
        return x


def mean_weights(batch) -> torch.Tensor:
    """That make sums of messages their means."""
    _, destination = batch.edges().edge_index
    return (1 / torch.bincount(destination, minlength=len(batch.n_id)))[destination]


class Task:
    """amazon_computers with narrow features, trained on three of five nodes and tested on the others."""

    def __init__(self, graph: ramet.Graph):
        self.graph, num_nodes = graph, graph.num_nodes()
        rows = np.asarray(graph.table("feat").numpy(), np.float32)
        rows = rows @ np.random.default_rng(0).standard_normal((rows.shape[1], WIDTH), np.float32)
        self.tables = {"feat": ramet.Table((rows - rows.mean(0)) / rows.std(0)), "label": None}
        self.is_train = torch.arange(num_nodes) * 7 % 5 < 3
        self.degree = torch.from_numpy(np.diff(graph.indptr())).float()

    def loss_of_neighbors(self, batch, model):
        out = model(batch.x, batch.edges().edge_index, mean_weights(batch))
        return F.cross_entropy(out[: batch.num_seeds], batch.y[: batch.num_seeds])

    def loss_of_clusters(self, batch, model):
        seeds = self.is_train[batch.n_id]
        return F.cross_entropy(model(batch.x, batch.edge_index, mean_weights(batch))[seeds], batch.y[seeds])

    def loss_of_samples(self, batch, model):
        seeds = self.is_train[batch.n_id]
        weight = batch.edge_norm / self.degree[batch.n_id][batch.edge_index[1]]
        losses = F.cross_entropy(model(batch.x, batch.edge_index, weight)[seeds], batch.y[seeds], reduction="none")
        return (losses * batch.node_norm[seeds]).sum() / self.is_train.float().mean()

    def accuracy(self, loader, loss_of, epochs: int) -> float:
        model = Sage()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(epochs):
            for batch in loader:
                optimizer.zero_grad()
                loss_of(batch, model).backward()
                optimizer.step()
        (whole,) = ramet.ClusterLoader(self.graph, np.zeros(len(self.is_train), int), tables=self.tables)
        with torch.no_grad():
            out = model(whole.x, whole.edge_index, mean_weights(whole))
        return (out.argmax(1) == whole.y)[~self.is_train].float().mean().item()


@pytest.mark.slow
def test_subgraphs_train_as_well_as_sampled_neighbors(data_dir, tmp_path, one_thread):
    pytest.importorskip("pymetis")
    ramet.build(tmp_path / "computers", data_dir / "amazon_computers", undirected=True, normalize=True)
    graph = ramet.open(tmp_path / "computers")
    ramet.partition(graph, 60, tmp_path / "parts", only_owner=True)
    task = Task(graph)
    options = {"tables": task.tables}
    seeds = task.is_train.numpy()
    neighbors = ramet.NeighborLoader(graph, [5, 5], seeds, 512, shuffle=True, expand="once", **options)
    clusters = ramet.ClusterLoader(graph, tmp_path / "parts", 6, shuffle=True, **options)
    edges, walks = (ramet.SaintLoader(graph, by, n, 10, **options) for by, n in (("edge", 2000), ("walk", 1500)))
    expected = task.accuracy(neighbors, task.loss_of_neighbors, epochs=4)
    assert expected > 0.8
    assert task.accuracy(clusters, task.loss_of_clusters, epochs=6) > expected - 0.04
    assert task.accuracy(edges, task.loss_of_samples, epochs=6) > expected - 0.04
    assert task.accuracy(walks, task.loss_of_samples, epochs=6) > expected - 0.04
