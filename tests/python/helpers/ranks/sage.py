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
    """Linear in a node's own row and in the weighted sums of its neighbors', one per edge type; in float64."""

    def __init__(self, graph: ramet.Graph, widths: dict, out: int, types: list):
        super().__init__()
        self.into = [t for t in graph.edge_types if t[2] in types]
        self.types = types
        self.own = nn.ModuleDict({t: nn.Linear(widths[t], out, dtype=torch.float64) for t in types})
        self.neighbors = nn.ModuleDict({str(t): nn.Linear(widths[t[0]], out, dtype=torch.float64) for t in self.into})

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
    def __init__(self, graph: ramet.Graph, seed_type: str):
        super().__init__()
        torch.manual_seed(0)
        types = graph.node_types
        self.hetero, self.seed_type = graph.is_hetero, seed_type
        widths = {t: graph.table("feat", t).shape[1] for t in types}
        hidden = dict.fromkeys(types, HIDDEN)
        self.layers = nn.ModuleList(
            [
                Layer(graph, widths, HIDDEN, types),
                Layer(graph, hidden, HIDDEN, types),
                Layer(graph, hidden, CLASSES, [seed_type]),
            ]
        )
        self.optimizer = torch.optim.Adam(self.parameters(), lr=0.01)

    def forward(self, batch: ramet.Batch, x=None) -> torch.Tensor:
        """x: rows in place of the batch's."""
        types = batch.graph.node_types
        rows = {t: of_type.double() for t, of_type in by_type(batch.x if x is None else x, types).items()}
        for i, (layer, block) in enumerate(zip(self.layers, batch.blocks, strict=True)):
            # Of a graph of one type the rows themselves are exchanged.
            sources = by_type(exchange(rows if self.hetero else rows[types[0]], block), types)
            rows = layer(sources, block)
            if i < 2:
                rows = {t: F.elu(r) for t, r in rows.items()}
        return rows[self.seed_type]


def learn(loader, module: nn.Module, optimizer, steps: int, losses_of):
    """(loss, gradients in a row, ...) of every step, for numpy. losses_of: the loss of each seed of a batch, and what
    else there is to tell of the step. Epochs follow each other."""
    for batch in itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), steps):
        losses, *more = losses_of(batch)
        loss = batch.mean(losses)
        optimizer.zero_grad()
        loss.backward()
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in module.parameters()]
        yield (loss.item(), torch.cat([of_one.flatten() for of_one in gradients]).numpy(), *more)
        optimizer.step()


def seed_losses(out: torch.Tensor, batch: ramet.Batch) -> tuple:
    """For learn(): with the seeds and their outputs."""
    return F.cross_entropy(out, batch.y, reduction="none"), batch.seeds.numpy().copy(), out.detach().numpy()


def train(loader, model: Sage, wrapped: nn.Module | None, steps: int) -> list[tuple]:
    """(loss, gradients, seeds, their outputs) of every step."""
    return list(
        learn(loader, model, model.optimizer, steps, lambda batch: seed_losses((wrapped or model)(batch), batch))
    )
