"""Ranks that torch.multiprocessing spawns, over one Data: its tensors are in memory once, and so are its edges.

Each rank makes its own loader. Prints the test accuracy, and what the loaders added to memory.
"""

import re
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from real_data import arguments, loaders, papers, train
from torch.nn.parallel import DistributedDataParallel
from torch_geometric.nn import GraphSAGE


def pss() -> float:
    """Bytes in memory of this process; a page that n processes have counts 1/n."""
    return 1024 * int(re.search(r"^Pss: +(\d+)", Path("/proc/self/smaps_rollup").read_text(), re.MULTILINE)[1])


def memory_of_all() -> float:
    dist.barrier()
    total = torch.tensor(pss(), dtype=torch.float64)
    dist.all_reduce(total)
    return total.item()


def run(rank: int, world: int, file: str, args, data):
    NeighborLoader = loaders(args).NeighborLoader
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    model = DistributedDataParallel(GraphSAGE(data.num_features, 64, num_layers=2, out_channels=7, dropout=0.5))
    before = memory_of_all()
    nodes = data.train_mask.nonzero().view(-1).chunk(world)[rank]
    own = NeighborLoader(data, num_neighbors=[10, 10], input_nodes=nodes, batch_size=100, shuffle=True)
    next(iter(own))
    added = memory_of_all() - before
    train(model, own, args.epochs)
    if rank == 0:
        right = total = 0
        for batch in NeighborLoader(data, num_neighbors=[25, 25], input_nodes=data.test_mask, batch_size=1000):
            with torch.no_grad():
                out = model.module(batch.x, batch.edge_index)[: batch.batch_size]
            right += int((out.argmax(dim=1) == batch.y[: batch.batch_size]).sum())
            total += batch.batch_size
        print(f"accuracy {right / total:.3f}, MB added by loaders {added / 1e6:.0f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = arguments(__doc__, epochs=8)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--file", required=True, help="where ranks meet: a path of no file")
    args = parser.parse_args()
    mp.spawn(run, args=(args.ranks, args.file, args, papers(args.folder)), nprocs=args.ranks)
