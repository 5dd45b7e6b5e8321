"""A program of the tests: ranks of torch.distributed (gloo), started as users do, that call functions for the meeting
at ADDRESS.

`torchrun launched_ranks.py ADDRESS STORE`, or `launched_ranks.py ADDRESS STORE WORLD`, which starts WORLD of them with
torch.multiprocessing.
"""

import sys
import tempfile

import torch
import torch.distributed as dist
import world

import ramet

early = None  # a loader of this rank that was made before the ranks knew each other


def be_rank(address: str, store: str, **place) -> None:
    global early
    early = ramet.NeighborLoader(ramet.open(store), [2], "val", 7)
    dist.init_process_group("gloo", **place)
    world.serve(address, dist.get_rank())
    dist.destroy_process_group()


def be_spawned(rank: int, size: int, file: str, *arguments) -> None:
    be_rank(*arguments, init_method=f"file://{file}", rank=rank, world_size=size)


def main() -> None:
    address, store, *size = sys.argv[1:]
    if not size:
        be_rank(address, store)
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments = (int(size[0]), f"{folder}/meet", address, store)
        torch.multiprocessing.spawn(be_spawned, arguments, nprocs=int(size[0]))


if __name__ == "__main__":
    import launched_ranks  # as the functions do: this one is another module

    launched_ranks.main()
