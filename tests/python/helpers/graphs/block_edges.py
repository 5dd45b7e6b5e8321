"""Random blocks for tests of aggregation, and what is obviously right for them."""

import torch

from ramet.nn import BlockEdges


def rows(count: int, *shape: int, dtype=torch.float64, seed=2):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def random_edges(num_src=40, num_dst=25, num_edges=150, seed=0) -> BlockEdges:
    """A random block, some of whose destinations have no edges."""
    generator = torch.Generator().manual_seed(seed)
    most = max(num_dst - num_dst // 5, 1)  # the last have none
    destination = torch.randint(0, most, (num_edges,), generator=generator)
    source = torch.randint(0, max(num_src, 1), (len(destination),), generator=generator)
    edges = BlockEdges.from_edge_index(torch.stack([source, destination]), num_src, num_dst)
    return BlockEdges(edges.indptr, edges.indices, num_src)


def edge_index_of(edges: BlockEdges) -> torch.Tensor:
    return torch.stack([edges.indices.long(), edges.destinations])


def loop_aggregate(edges: BlockEdges, x, reduce: str, weights=None):
    """The reductions of aggregate, destination by destination, in float64; `weights` [num_edges, heads]."""
    out = torch.zeros(edges.num_dst, *x.shape[1:], dtype=torch.float64)
    for d in range(edges.num_dst):
        positions = range(int(edges.indptr[d]), int(edges.indptr[d + 1]))
        if not positions:
            continue
        rows = torch.stack([x[int(edges.indices[e])].double() for e in positions])
        if weights is not None:
            of_edges = weights[list(positions)].double()
            if reduce == "softmax":
                of_edges = of_edges.softmax(0)
            rows = (rows.view(*of_edges.shape, -1) * of_edges[:, :, None]).view(rows.shape)
        out[d] = {"mean": rows.mean, "max": rows.amax, "min": rows.amin}.get(reduce, rows.sum)(0)
    return out
