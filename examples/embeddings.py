"""Trains rows for nodes that have no features: an embedding and GraphSAGE learn to tell the edges of a graph from pairs
of nodes drawn at random.

    ramet generate STORE --nodes 100000 --edges 2000000
    torchrun --nproc_per_node=4 examples/embeddings.py STORE [--cooperative]

STORE needs no table. Where it is not there, it is made of --edges, lines of "source,destination", as edge.csv.gz of
ogbl-ddi. The losses are the same up to rounding on any number of ranks, each on its own or together. --checkpoint is a
folder: what was saved there goes on, on any number of ranks. So a run goes on after a rank dies, under
`torchrun --nnodes=1:8 --max-restarts=3`.
"""

import argparse
import os
import shutil
from itertools import chain, islice, pairwise, repeat
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import ramet
import ramet.distributed
from ramet.distributed import Cooperative
from ramet.nn import SAGEConv


class Sage(torch.nn.Module):
    """An ordinary model on blocks."""

    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks, strict=True)):
            x = conv(x, block)
            x = x.relu() if i + 1 < len(self.convs) else x
        return x


class Trainer:
    """An edge is likely where the destination's output is like the source's context, a second row of each node."""

    def __init__(self, graph, args):
        torch.manual_seed(args.seed)  # the same first model on every rank
        self.sources = torch.as_tensor(graph.indices().astype("int64"))
        destinations = np.repeat(np.arange(graph.num_nodes()), np.diff(graph.indptr()))
        loader = {"batch_size": args.batch_size, "shuffle": True, "seed": args.seed, "tables": ()}
        loader |= {"ranks": ramet.Cooperate()} if args.cooperative else {}
        self.loader = ramet.NeighborLoader(graph, args.num_neighbors, destinations, **loader)

        # Ranks that cooperate each have the nodes of a batch that they own, and so the rows of these.
        self.owned = args.cooperative
        rows = {"placement": args.placement, "ownership": self.loader.ownership if self.owned else None}
        shape = graph.num_nodes(), args.hidden
        self.rows = ramet.nn.Embedding(*shape, init="xavier", seed=args.seed, **rows)
        self.contexts = ramet.nn.Embedding(*shape, init="xavier", seed=args.seed + 1, **rows)
        self.sparse = ramet.optim.Adam([self.rows, self.contexts], args.lr)

        model = Cooperative(Sage([args.hidden] * (len(args.num_neighbors) + 1)))
        self.model = DistributedDataParallel(model)
        self.dense = torch.optim.Adam(model.parameters(), args.lr)

    def step(self, batch):
        out = self.model(self.rows(batch.n_id, owned=self.owned), batch.blocks)
        found = (out * self.contexts(self.sources[batch.input_id])).sum(1)
        drawn = (out * self.contexts(self.draw(batch))).sum(1)
        loss = batch.mean(F.softplus(-found) + F.softplus(drawn))
        self.sparse.zero_grad()
        self.dense.zero_grad()
        loss.backward()  # averaged over ranks: the global batch's gradient
        self.sparse.step()
        self.dense.step()
        return loss.detach()

    def draw(self, batch):
        """A node for each seed, the same on any number of ranks."""
        random = torch.Generator().manual_seed(batch.epoch)
        return torch.randint(len(self.rows.table), self.sources.shape, generator=random)[batch.input_id]

    @property
    def steps(self):
        """How many were trained, in all epochs."""
        state = self.loader.state_dict()
        return state["epoch"] * len(self.loader) + state["step"]

    def save(self, folder):
        """model.pt names the rows, so that they are of the same step, whenever a rank is killed."""
        rows = folder / f"rows-{self.steps}"
        folder.mkdir(parents=True, exist_ok=True)
        self.sparse.save(rows)  # of all ranks
        if dist.get_rank() == 0:
            parts = {name: getattr(self, name).state_dict() for name in ("model", "dense", "loader")}
            torch.save((rows.name, parts), folder / "model.tmp")
            os.replace(folder / "model.tmp", folder / "model.pt")
            for old in set(folder.glob("rows-*")) - {rows}:
                shutil.rmtree(old)

    def load(self, folder):
        """The last checkpoint, where there is one."""
        found = [None]  # rank 0 looks, for all
        if dist.get_rank() == 0 and (folder / "model.pt").exists():
            found = [torch.load(folder / "model.pt")]
        dist.broadcast_object_list(found)
        if found == [None]:
            return
        rows, parts = found[0]
        self.sparse.load(folder / rows)
        for name, state in parts.items():
            getattr(self, name).load_state_dict(state)


def open_graph(args):
    if args.edges and dist.get_rank() == 0 and not Path(args.store).exists():
        edges = np.loadtxt(args.edges, "int64", delimiter=",").T
        ramet.save(ramet.from_edge_index(edges, undirected=True), args.store)
    dist.barrier()
    return ramet.open(args.store)


def main(args):
    trainer = Trainer(open_graph(args), args)
    if args.checkpoint:
        trainer.load(args.checkpoint)
    for batch in islice(chain.from_iterable(repeat(trainer.loader)), max(0, args.steps - trainer.steps)):
        loss = trainer.step(batch)
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(f"epoch {batch.epoch}, step {batch.step}: loss {loss / dist.get_world_size():.6f}")
        if args.checkpoint and (trainer.steps == args.steps or trainer.steps % args.save_every == 0):
            trainer.save(args.checkpoint)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--edges", help="what STORE is made of where it is not there")
    parser.add_argument("--cooperative", action="store_true", help="ranks make each batch together")
    parser.add_argument("--placement", choices=("continuous", "chunked", "distributed"), default="continuous")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[10, 10])
    parser.add_argument("--batch-size", type=int, default=4096, help="of the global batch, over all ranks")
    parser.add_argument("--steps", type=int, default=100, help="in all, those before a checkpoint too")
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", type=Path, help="folder")
    parser.add_argument("--save-every", type=int, default=100, help="steps between checkpoints")
    args = parser.parse_args()

    dist.init_process_group("gloo")
    try:
        main(args)
    finally:
        ramet.distributed.destroy_process_group()
