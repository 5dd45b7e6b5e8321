"""A program of the tests: `torchrun machine_rank.py FOLDER HIDDEN RESULTS`, a rank whose machine has of each graph only
the part FOLDER/<kind>/part-<rank>. It trains on them, and writes what `train` returns to RESULTS."""

import pickle
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from cooperative_models import Stack, cast
from small_graphs import CITES, REVERSE, WRITES
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import HeteroConv, SAGEConv
from twin import TwinBatch, TwinBlock

import ramet
from ramet.distributed import Cooperative


class Typed(torch.nn.Module):
    """Papers from papers and authors, and these from papers; then papers."""

    def __init__(self):
        super().__init__()
        inner = {CITES: SAGEConv((6, 6), 8), WRITES: SAGEConv((3, 6), 8), REVERSE: SAGEConv((6, 3), 8)}
        outer = {CITES: SAGEConv(8, 4), WRITES: SAGEConv(8, 4)}
        self.layers = torch.nn.ModuleList([HeteroConv(inner), HeteroConv(outer)])

    def forward(self, x, blocks):
        for layer, block in zip(self.layers, blocks, strict=True):
            x = layer(x, block.edge_index)
            x = {t: rows[: block.num_dst[t]].tanh() for t, rows in x.items()}
        return x["paper"]


# kind of graph, model, seeds, options
RUNS = {
    "uniform": ("homogeneous", lambda: Stack(SAGEConv), "train", {}),
    "labor": ("homogeneous", lambda: Stack(SAGEConv), "train", {"sampler": ramet.Labor(1)}),
    "several types": ("heterogeneous", Typed, ("paper", "train"), {}),
}


def train(run: str, graph: ramet.Graph, cooperative: bool) -> dict:
    """An epoch: loss, nodes and edges of every step, and the weights at the end."""
    _, make, input_nodes, options = RUNS[run]
    torch.manual_seed(0)
    module = model = make().double()
    if cooperative:
        model, options = DistributedDataParallel(Cooperative(module)), options | {"ranks": ramet.Cooperate()}
    else:
        options = options | {"ranks": False}
    loader = ramet.NeighborLoader(graph, [4, 3], input_nodes, batch_size=40, shuffle=True, seed=3, **options)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    steps = []
    for batch in loader:
        out = model(cast(batch.x, torch.float64), batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y, reduction="none"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.append({"loss": loss.item(), "batch": topology(batch, graph)})
    return {"steps": steps, "weights": {name: value.numpy() for name, value in module.state_dict().items()}}


def topology(batch: ramet.Batch, graph: ramet.Graph) -> TwinBatch:
    """As the twin has it, as far as a fingerprint asks."""

    def lists(value, names):
        return {name: part.tolist() for name, part in (value if len(names) > 1 else {names[0]: value}).items()}

    blocks = []
    for hop, block in enumerate(reversed(batch.blocks)):
        num_dst = block.num_dst if graph.is_hetero else {graph.node_types[0]: block.num_dst}
        indptr, e_id = lists(block.indptr, graph.edge_types), lists(block.e_id, graph.edge_types)
        blocks.append(TwinBlock(hop, first_dst=dict.fromkeys(num_dst, 0), num_dst=num_dst, indptr=indptr, e_id=e_id))
    return TwinBatch(lists(batch.n_id, graph.node_types), blocks[::-1])


def main() -> None:
    folder, hidden, results = map(Path, sys.argv[1:])
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    assert list(hidden.iterdir()) == [], "parts of other ranks could be read"
    trained = {}
    for run, (kind, *_) in RUNS.items():
        assert [path.name for path in (folder / kind).iterdir()] == [f"part-{rank}"], "a part of another rank is there"
        trained[run] = train(run, ramet.open(folder / kind / f"part-{rank}"), cooperative=True)
    (results / f"{rank}.pickle").write_bytes(pickle.dumps(trained))
    ramet.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
