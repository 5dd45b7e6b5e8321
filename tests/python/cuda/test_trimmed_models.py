"""Batches of PyG's loader that were moved to a GPU are trimmed there, too (docs/pyg.md, "Rows that nobody needs")."""

import copy

import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

from trimmed import batch_of, rows_known, without_hops  # noqa: E402 (needs torch)

import ramet.nn  # noqa: E402

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch has no GPU")


@needs_cuda
@pytest.mark.parametrize("kind", ["GraphSAGE", "GAT", "GIN", "GCN", "EdgeCNN"])
def test_models_of_pyg(kind):
    batch = batch_of([5, 4, 3]).to("cuda")
    model = getattr(pyg, kind)(12, 16, 3, 4).double().cuda()
    trimmed = copy.deepcopy(model)
    ramet.nn.from_pyg(trimmed)
    known = rows_known(trimmed)
    results = []
    for of, edge_index in ((model, without_hops(batch).edge_index), (trimmed, batch.edge_index)):
        out = of(batch.x, edge_index)[: batch.batch_size]
        out.square().sum().backward()
        results.append([out.detach(), *(parameter.grad for parameter in of.parameters())])
    torch.testing.assert_close(results[1], results[0], rtol=1e-9, atol=1e-9)
    assert known == [sum(batch.num_sampled_nodes[:n]) for n in (3, 2, 1)]
