"""What every rank of a world does for the tests of embeddings. The first `size` ranks are a process group; the others
return None."""

import contextlib
import functools
import itertools
import os
import pickle
import signal

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from sage import Layer
from torch.nn.parallel import DistributedDataParallel

import ramet

ROWS, WIDTH, STEPS = 83, 19, 3  # a width that no vector register divides
DTYPES = ("float32", "float16", "bfloat16")
METHODS = {
    "SGD": {"lr": 0.1},
    "AdaGrad": {"lr": 0.1},
    "AdaGrad rowwise": {"lr": 0.1, "rowwise": True},
    "RMSProp": {"lr": 0.1},
    "Adam": {"lr": 0.1, "weight_decay": 0.01},
    "Adam steps": {"lr": 0.1, "steps": "all"},
}
LAYOUTS = [
    ("continuous", None),
    *itertools.product(("chunked", "distributed"), (None, "hash", "vector")),
]

group_of = functools.cache(lambda size: dist.new_group(list(range(size))))  # every rank of the world asks for it
open_store = functools.cache(ramet.open)


def owners_of(ownership, size: int):
    """Of all rows; "vector": in no order."""
    return np.random.default_rng(5).integers(0, size, ROWS) if ownership == "vector" else ownership


def gradients_of(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(ids, gradients) of all ranks. Some ids repeat, some are missing."""
    generator = torch.Generator().manual_seed(step)
    return torch.randint(ROWS, (120,), generator=generator), torch.randn(120, WIDTH, generator=generator)


def share(step: int, rank: int, size: int) -> slice:
    """Of 120 pairs: what a rank gets, in the order of the ranks, and one of them nothing."""
    cuts = np.sort(np.random.default_rng(step).integers(0, 121, size - 1))
    if size > 1:
        nobody = step % size
        cuts[max(nobody - 1, 0)] = cuts[nobody] if 0 < nobody < size - 1 else 0 if nobody == 0 else 120
    cuts = [0, *cuts.tolist(), 120]
    return slice(cuts[rank], cuts[rank + 1])


def optimizer_of(method: str, embeddings, **options):
    return getattr(ramet.optim, method.split()[0])(embeddings, **METHODS[method], **options)


def roundings_of(method: str) -> tuple[str, ...]:
    """Those to try: what is stochastic is the same code for every method."""
    return ("nearest", "stochastic") if method in ("SGD", "Adam") else ("nearest",)


def learn(method: str, rounding: str, rank: int, size: int, **where) -> dict[str, bytes]:
    """All rows and states after some steps, in which every rank has two calls."""
    dtypes = DTYPES if rounding == "nearest" else DTYPES[1:]
    embeddings = {dtype: ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=3, **where) for dtype in dtypes}
    optimizer = optimizer_of(method, embeddings.values(), rounding=rounding, seed=4, average=False)
    for step in range(STEPS):
        mine = share(step, rank, size)
        ids, gradients = (values[mine] for values in gradients_of(step))
        for embedding in embeddings.values():
            calls = [embedding(part) for part in ids.tensor_split(2)]
            for rows, part in reversed(list(zip(calls, gradients.tensor_split(2)))):
                rows.backward(part.to(rows.dtype))
        optimizer.step()
        optimizer.zero_grad()
    result = {}
    for dtype, embedding in embeddings.items():
        tables = {"rows": embedding.table, **optimizer.state_of(embedding)}
        result |= {f"{name} of {dtype}": table.gather(np.arange(ROWS)).tobytes() for name, table in tables.items()}
    return result


def learn_everywhere(size: int, method: str) -> dict:
    """What `learn` says of every layout and rounding; every rank has other numbers of threads."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    torch.set_num_threads(1 + rank % 2)
    return {
        (placement, ownership, rounding): learn(
            method,
            rounding,
            rank,
            size,
            placement=placement,
            ownership=owners_of(ownership, size),
            distributed=group,
        )
        for placement, ownership in LAYOUTS
        for rounding in roundings_of(method)
    }


# ---- training


class Model(torch.nn.Module):
    """Layers over rows of an embedding, whose owners may be this rank alone."""

    def __init__(self, graph: ramet.Graph, hops: int):
        super().__init__()
        torch.manual_seed(0)
        (node_type,) = self.types = graph.node_types
        self.layers = torch.nn.ModuleList(
            Layer(graph, {node_type: WIDTH}, out, self.types, torch.float64) for out in [WIDTH] * (hops - 1) + [5]
        )

    def forward(self, x: torch.Tensor, blocks: list) -> torch.Tensor:
        for layer, block in zip(self.layers, blocks, strict=True):
            rows = ramet.distributed.exchange(x, block)
            x = layer({self.types[0]: rows}, block)[self.types[0]].tanh()
        return x


def train(size: int, store, options: dict, method: str, steps: int, placement: str = "continuous"):
    """(losses, rows and state) of training, in which cooperative ranks ask for their own rows alone."""
    group = group_of(size) if dist.is_initialized() else None
    if group is not None and dist.get_rank() >= size:
        return None
    torch.set_num_threads(1)
    graph, owned = open_store(store), "cooperative" in options
    among = False if group is None else group
    loader = ramet.NeighborLoader(graph, **options, tables=["label"], distributed=among)
    where = {"ownership": loader.ownership} if owned else {}
    embedding = ramet.nn.Embedding(graph.num_nodes(), WIDTH, seed=1, placement=placement, distributed=among, **where)
    model = module = Model(graph, len(options["num_neighbors"]))
    if group is not None:
        model = DistributedDataParallel(module, process_group=group)
    sparse, dense = optimizer_of(method, embedding), torch.optim.SGD(module.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(sparse, step_size=2, gamma=0.5)
    losses = []
    for batch in itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), steps):
        out = model(embedding(batch.n_id, owned=owned).double(), batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y, reduction="none"))
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        sparse.step()
        dense.step()
        scheduler.step()
        losses.append(loss.item())
    if owned:
        dist.barrier(group)  # rows of others are read from here on
    tables = [embedding.table, *sparse.state_of(embedding).values()]
    return losses, [table.gather(torch.arange(len(table))) for table in tables]


# ---- what goes wrong


def end_in_step(who: int, moment: str) -> str:
    """How the third step of two embeddings is refused where rank `who` is killed, or raises."""
    embeddings = [ramet.nn.Embedding(ROWS, WIDTH, placement=placement) for placement in ("chunked", "distributed")]
    optimizer = ramet.optim.Adam(embeddings, 0.1)
    for step in range(3):
        for embedding in embeddings:
            embedding(torch.arange(10)).sum().backward()
        if step == 2 and dist.get_rank() == who:
            MOMENTS[moment](optimizer)
        said = refused(optimizer.step)
        optimizer.zero_grad()
    return said


def kill_when_applying(optimizer) -> None:
    ramet._core.apply_gradients = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)


def raise_when_applying(optimizer) -> None:
    optimizer.param_groups[0]["lr"] = -1.0


MOMENTS = {
    "is killed before": lambda optimizer: os.kill(os.getpid(), signal.SIGKILL),
    "is killed within": kill_when_applying,
    "raises": raise_when_applying,
}


def refused(call) -> str:
    """How this rank's call is refused."""
    try:
        call()
    except (ValueError, IndexError, TypeError, RuntimeError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def unlike_optimizers(size: int) -> dict[str, str]:
    """How optimizers are refused that rank 1 makes otherwise than the rest."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    one, two = (ramet.nn.Embedding(ROWS, WIDTH, distributed=group) for _ in range(2))
    make = {
        "optimizer": lambda: ramet.optim.SGD(one, 0.1),
        "betas": lambda: ramet.optim.Adam(one, 0.1, betas=(0.5, 0.9)),
        "steps": lambda: ramet.optim.Adam(one, 0.1, steps="all"),
        "average": lambda: ramet.optim.Adam(one, 0.1, average=False),
        "rounding": lambda: ramet.optim.Adam(one, 0.1, rounding="stochastic"),
        "embeddings": lambda: ramet.optim.Adam([one, two], 0.1),
        "fails": lambda: ramet.optim.Adam(one, 0.1, steps="some"),
    }
    usual = functools.partial(ramet.optim.Adam, one, 0.1)
    return {name: refused(other if rank == 1 else usual) for name, other in make.items()}


def unlike_steps(size: int) -> list[str]:
    """What a step says whose rate differs between ranks, and then one whose rate is wrong on rank 1."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    embedding = ramet.nn.Embedding(ROWS, WIDTH, distributed=group, init=1)
    optimizer = ramet.optim.SGD(embedding, lr=0.1)
    embedding(torch.arange(ROWS)).sum().backward()
    said = []
    for rates in ([0.1, 0.2], [0.1, -1.0]):
        optimizer.param_groups[0]["lr"] = rates[rank]
        said.append(refused(optimizer.step))
        assert (embedding.weight == 1).all()
    return said


def unpickled(size: int) -> tuple:
    """All rows of an embedding that was unpickled, and how an optimizer of it is refused."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    embedding = ramet.nn.Embedding(ROWS, WIDTH, placement="chunked", init=1, distributed=group)
    other = pickle.loads(pickle.dumps(embedding))
    return other(torch.arange(ROWS)), refused(lambda: ramet.optim.SGD(other, 0.1))


def owned_ids(size: int) -> dict:
    """What each rank gets for ids of its own, and how it is refused those of others and views of what is in pieces."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    said = {}
    for placement, ownership in LAYOUTS:
        owners = owners_of(ownership, size)
        embedding = ramet.nn.Embedding(ROWS, WIDTH, placement=placement, ownership=owners, distributed=group, seed=3)
        mine = torch.as_tensor(embedding.table.owned())
        others = np.setdiff1d(np.arange(ROWS), mine.numpy())
        rows = embedding(mine[None], owned=True)[0]
        wrong = torch.tensor([*mine[:2].tolist(), int(others[0])])
        said[placement, ownership] = (
            mine,
            rows,
            refused(lambda: embedding(wrong, owned=True)),  # noqa: B023 (called here)
            refused(lambda: embedding(torch.tensor([ROWS]), owned=True)),  # noqa: B023
            refused(lambda: embedding.weight),  # noqa: B023
        )
    return said


@contextlib.contextmanager
def recording():
    """The names of the collectives of torch that are called inside this context."""
    called = []
    names = [name for name in dir(dist) if name.startswith(("all_", "barrier", "broadcast", "gather", "scatter"))]
    kept = {name: getattr(dist, name) for name in names}

    def record(name, *arguments, **options):
        called.append(name)
        return kept[name](*arguments, **options)

    for name in kept:
        setattr(dist, name, functools.partial(record, name))
    try:
        yield called
    finally:
        for name, function in kept.items():
            setattr(dist, name, function)


def collectives(size: int) -> list[int]:
    """How many there are in a step of two embeddings in which all ranks ask for rows of their own, then one of them for
    others, then both."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    embeddings = [
        ramet.nn.Embedding(ROWS, WIDTH, placement=placement, distributed=group) for placement, _ in LAYOUTS[:2]
    ]
    optimizer = ramet.optim.Adam(embeddings, 0.1)
    result = []
    for owned in ((True, True), (True, False), (False, False)):
        for embedding, own in zip(embeddings, owned):
            mine = torch.as_tensor(embedding.table.owned())[: 0 if rank == 0 else None]  # rank 0 has no ids
            embedding(mine, owned=own).sum().backward()
        with recording() as called:
            optimizer.step()
        optimizer.zero_grad()
        result.append(len(called))
    return result


def few_rows(size: int) -> list[np.ndarray]:
    """Three rows of two dimensions, also where most ranks own none, after a step in which every rank asks for two of
    them twice."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    result = []
    for placement, ownership in (("continuous", None), ("chunked", np.full(3, size - 1)), ("distributed", "hash")):
        where = {"placement": placement, "ownership": ownership, "distributed": group}
        embedding = ramet.nn.Embedding(ramet.Table.create((3, 2, 4), init=5, **where))
        optimizer = ramet.optim.SGD(embedding, lr=1.0)
        embedding(torch.tensor([[0, 2], [2, 0]])).sum().backward()
        optimizer.step()
        result.append(embedding.table.gather(np.arange(3)))
    return result


def poisoned(size: int) -> list[int]:
    """The rows with a NaN after a step in which the last rank has one in the gradient of row 7."""
    group, rank = group_of(size), dist.get_rank()
    if rank >= size:
        return None
    embedding = ramet.nn.Embedding(ROWS, WIDTH, distributed=group)
    gradients = torch.ones(3, WIDTH)
    if rank == size - 1:
        gradients[1, 5] = float("nan")
    embedding(torch.tensor([[6], [7], [8]])).backward(gradients[:, None])
    ramet.optim.Adam(embedding).step()
    return torch.as_tensor(embedding.table.gather(np.arange(ROWS))).isnan().any(1).nonzero().view(-1).tolist()
