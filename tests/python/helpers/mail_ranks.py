"""What every rank of a world does for the tests of Mail."""

import os

import numpy as np
import torch.distributed as dist
from table_ranks import group_of

import ramet
from ramet.distributed import mail as mails
from ramet.distributed.mail import Mail

ROWS, WIDTH = 1000, 4
_tables: dict = {}  # by name, kept from call to call


def make(name: str, size: int, dtype="float32", placement="chunked"):
    """Keeps a table of the first `size` ranks."""
    group = group_of(tuple(range(size)))
    if dist.get_rank() < size:
        _tables[name] = ramet.Table.create((ROWS, WIDTH), dtype, distributed=group, placement=placement)


def lists_of(seed: int, rank: int, counts) -> list:
    """(places, rows) of each count, for any owner."""
    random = np.random.default_rng([seed, rank])
    return [
        (random.integers(0, ROWS, count), random.standard_normal((count, WIDTH)).astype("float32")) for count in counts
    ]


def deliver(name: str, seed: int, counts, steps: int = 1):
    """What comes in the last of several deliveries; `counts` by rank."""
    table = _tables.get(name)
    if table is None:
        return None
    mail = Mail.of(table)
    for step in range(steps):
        sent = lists_of(seed + step, table.rank, counts[table.rank])
        came = mail.deliver(sent, threads=2, step=step)
        copies = [(places.copy(), rows.copy()) for places, rows in came]
        mail.done()
    return copies


def deliver_two(first: str, second: str):
    """What comes for two tables in one delivery: of each rank its number in `second`, nothing in `first`."""
    tables = [_tables[first], _tables[second]]
    letters = [Mail.of(table) for table in tables]
    number = np.full((1, WIDTH), tables[0].rank, np.float32)
    came = mails.deliver_all([(letters[0], []), (letters[1], [(np.array([7]), number)])])
    values = [[rows[0, 0] for _, rows in lists] for lists in came]
    mails.done_all(letters)
    return values


def same_memory(name: str) -> bool:
    """Whether what comes from others lies in memory that was mapped before."""
    mail = Mail.of(_tables[name])
    addresses = []
    for _ in range(2):
        came = mail.deliver(lists_of(0, dist.get_rank(), [50]))
        addresses.append([rows.ctypes.data for _, rows in came[: dist.get_rank()] + came[dist.get_rank() + 1 :]])
        mail.done()
    return addresses[0] == addresses[1]


def outcome(function) -> str:
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "fine"


def faults(name: str, fault: str) -> list[str]:
    """How a delivery ends that rank 1 spoils, and the one after it."""
    mail, rank = Mail.of(_tables[name]), dist.get_rank()
    bad = rank == 1
    lists = lists_of(1, rank, [3])

    def spoiled():
        if fault == "before" and bad:
            mail.fail()
            raise ArithmeticError("no rows")
        if fault == "shape" and bad:
            mail.deliver([(lists[0][0], lists[0][1][:2])])
        if fault == "done" and bad:
            mail.done()
        mail.deliver(lists, step=5 + (fault == "step" and bad))
        if fault == "twice":
            mail.deliver(lists)
        if fault == "between" and bad:
            mail.fail()
            raise ArithmeticError("no step")
        mail.done()

    def good():
        came = mail.deliver(lists)
        assert len(came) == dist.get_world_size()
        mail.done()

    return [outcome(spoiled), outcome(good)]


def other_table(first: str, second: str) -> str:
    return outcome(lambda: Mail.of(_tables[second if dist.get_rank() == 1 else first]).deliver([]))


def pickled(name: str) -> str:
    import pickle

    return outcome(lambda: Mail.of(pickle.loads(pickle.dumps(_tables[name]))).deliver([]))


def killed(victim: int) -> str:
    """How a delivery ends for the others."""
    if dist.get_rank() == victim:
        os.kill(os.getpid(), 9)
    return outcome(lambda: Mail.of(_tables["table"]).deliver(lists_of(0, dist.get_rank(), [100])))
