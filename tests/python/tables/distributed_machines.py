"""A program of the tests: `torchrun distributed_machines.py RESULTS`, a rank that writes what it sees of its tables."""

import pickle
import sys
from pathlib import Path

import torch.distributed as dist
from distributed_tables import use_table

import ramet

CASES = [("float32", "hash", False), ("bfloat16", None, False), ("float32", None, True)]
ROWS, WIDTH = 3000, 9


def main() -> None:
    dist.init_process_group("gloo")
    results = []
    for dtype, ownership, async_op in CASES:
        options = {"placement": "distributed", "ownership": ownership, "init": "normal", "seed": 5}
        results.append(use_table(ramet.Table.create((ROWS, WIDTH), dtype, **options), async_op, threads=1))
    reached = sum(table_reached())
    (Path(sys.argv[1]) / f"{dist.get_rank()}.pickle").write_bytes(pickle.dumps((reached, results)))
    dist.barrier()
    dist.destroy_process_group()


def table_reached() -> tuple:
    return ramet.Table.create(4, placement="distributed")._ranks.reached


if __name__ == "__main__":
    main()
