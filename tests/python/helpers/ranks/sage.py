"""A plain PyTorch model of three layers for graphs of one or several types, and a training loop that remembers."""

import itertools

import torch
import torch.nn.functional as F
from comparison import by_type
from torch import nn

import ramet
from ramet.distributed import exchange

HIDDEN = 8
CLASSES = 5


class Layer(nn.Module):
    """Linear in a node's own row and in the weighted sums of its neighbors', one per edge type."""

    def __init__(self, graph: ramet.Graph, widths: dict, out: int, types: list, dtype):
        super().__init__()
        self.into = [t for t in graph.edge_types if t[2] in types]
        self.types = types
        self.own = nn.ModuleDict({t: nn.Linear(widths[t], out, dtype=dtype) for t in types})
        self.neighbors = nn.ModuleDict({str(t): nn.Linear(widths[t[0]], out, dtype=dtype) for t in self.into})

    def forward(self, rows: dict, block: ramet.loading.batch.Block) -> dict:
        graph = block.batch.graph
        num_dst = by_type(block.num_dst, graph.node_types)
        index, weight = by_type(block.edge_index, graph.edge_types), by_type(block.edge_weight, graph.edge_types)
        out = {t: self.own[t](rows[t][: num_dst[t]]) for t in self.types}
        for edge_type in self.into:
            src, dst = index[edge_type]
            messages = rows[edge_type[0]][src] * weight[edge_type].unsqueeze(1).to(rows[edge_type[0]].dtype)
            sums = messages.new_zeros(num_dst[edge_type[2]], messages.shape[1]).index_add(0, dst, messages)
            out[edge_type[2]] = out[edge_type[2]] + self.neighbors[str(edge_type)](sums)
        return out


class Sage(nn.Module):
    def __init__(self, graph: ramet.Graph, seed_type: str, dtype=torch.float64, optimizer: str = "Adam"):
        super().__init__()
        torch.manual_seed(0)
        types = graph.node_types
        self.hetero, self.seed_type, self.dtype = graph.is_hetero, seed_type, dtype
        widths = {t: graph.table("feat", t).shape[1] for t in types}
        hidden = dict.fromkeys(types, HIDDEN)
        self.layers = nn.ModuleList(
            [
                Layer(graph, widths, HIDDEN, types, dtype),
                Layer(graph, hidden, HIDDEN, types, dtype),
                Layer(graph, hidden, CLASSES, [seed_type], dtype),
            ]
        )
        self.optimizer = getattr(torch.optim, optimizer)(self.parameters(), lr=0.01)

    def forward(self, batch: ramet.Batch) -> torch.Tensor:
        types = batch.graph.node_types
        rows = {t: x.to(self.dtype) for t, x in by_type(batch.x, types).items()}
        for i, (layer, block) in enumerate(zip(self.layers, batch.blocks, strict=True)):
            # Of a graph of one type the rows themselves are exchanged.
            sources = by_type(exchange(rows if self.hetero else rows[types[0]], block), types)
            rows = layer(sources, block)
            if i < 2:
                rows = {t: F.elu(r) for t, r in rows.items()}
        return rows[self.seed_type]


def train(loader, model: Sage, wrapped: nn.Module | None, steps: int) -> list[tuple]:
    """(loss, seeds, their outputs, gradients in a row) of every step, for numpy. Epochs follow each other."""
    result = []
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    for batch in itertools.islice(batches, steps):
        out = (wrapped or model)(batch)
        loss = batch.mean(F.cross_entropy(out, batch.y, reduction="none"))
        model.optimizer.zero_grad()
        loss.backward()
        gradients = torch.cat([p.grad.flatten() for p in model.parameters()])
        result.append((loss.item(), batch.seeds.numpy().copy(), out.detach().numpy(), gradients.numpy()))
        model.optimizer.step()
    return result
