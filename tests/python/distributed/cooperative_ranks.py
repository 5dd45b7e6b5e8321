"""What ranks do for the tests of cooperative ranks. options: as of a NeighborLoader."""

import functools
import itertools
import random
import time
from dataclasses import replace

import pytest
import torch
import torch.distributed as dist
from learning import refused
from sage import Sage
from sage import train as train_alone
from together import edges
from torch.nn.parallel import DistributedDataParallel
from world import group_of

import ramet
from ramet.distributed import Cooperative, exchange

open_store = functools.cache(ramet.open)


def make_loader(group, store: str, options: dict, groups: tuple = ()) -> ramet.NeighborLoader:
    """groups: as of cooperating()."""
    ranks = cooperating(group, options.get("ranks", ramet.Cooperate()), groups)
    return ramet.NeighborLoader(open_store(store), **options | {"ranks": ranks})


def cooperating(group, asked, groups: tuple):
    """groups: those inside the group that cooperate, tuples of ranks; by default all of it."""
    mine = [group_of(members) for members in groups if dist.get_rank() in members]
    return group if asked is None else replace(asked, group=mine[0] if mine else None, among=group)


def train(group, store, options, steps, model_options, groups=(), sleep_seed=None):
    """What sage.train says, with the model in DistributedDataParallel, whose small buckets are under way early."""
    loader = make_loader(group, store, options, groups)
    model = Sage(loader.graph, **model_options)
    wrapped = DistributedDataParallel(model, process_group=group, bucket_cap_mb=0.0005)
    with pytest.MonkeyPatch.context() as patch:
        if sleep_seed is not None:
            patch.setattr(dist, "all_to_all_single", late(dist.all_to_all_single, sleep_seed))
        return train_alone(loader, model, wrapped, steps)


def late(collective, seed: int):
    """Up to 20 ms late, in every thread and rank others."""
    lengths = random.Random(seed * 1000 + dist.get_rank())

    def call(*arguments, **options):
        time.sleep(lengths.uniform(0, 0.02))
        return collective(*arguments, **options)

    return call


def sample(group, store, options, epochs=1, groups=()):
    """The edges of every step of some epochs."""
    loader = make_loader(group, store, options, groups)
    return [[edges([batch]) for batch in loader] for _ in range(epochs)]


def leave_early(group, store, options, step):
    """The edges of some steps, of all steps of the next epoch, and of all steps of that and the one after it at the
    same time."""
    loader = make_loader(group, store, options)
    result = []
    for batch in loader:
        result.append(edges([batch]))
        if batch.step == step:
            break
    result += [edges([batch]) for batch in loader]
    loader.set_epoch(1)
    for one, other in zip(loader, loader):
        result += [edges([one]), edges([other])]
    return result


def state(group, store, options, step):
    loader = make_loader(group, store, options)
    for _ in itertools.islice(loader, step):
        pass
    return loader.state_dict()


def resume(group, store, options, state):
    loader = make_loader(group, store, options)
    loader.load_state_dict(state)
    return [edges([batch]) for batch in loader]


def exchange_rows(group, store, options, dtype: str, shape):
    """(n_id, their gradients, ids of the sources) of the input layer of one batch, through which rows of a dtype and
    shape are exchanged. A node's rows are what its id says."""
    batch = next(iter(make_loader(group, store, options)))
    block = batch.blocks[0]
    own = rows_of(batch.n_id, dtype, shape)
    own.requires_grad_(own.is_floating_point())
    sources = exchange(own, block)
    assert sources.dtype == own.dtype
    assert torch.equal(sources, rows_of(block.n_id, dtype, shape))
    gradient = None
    if own.requires_grad:
        sources.backward(rows_of(block.n_id, dtype, shape))
        assert own.grad.dtype == own.dtype
        gradient = own.grad.double()
    return batch.n_id, gradient, block.n_id


def rows_of(ids: torch.Tensor, dtype: str, shape) -> torch.Tensor:
    """Small integers, so that sums are exact whatever the dtype."""
    elements = torch.arange(torch.Size(shape).numel()).view(1, -1)
    return ((ids.view(-1, 1) * 7 + elements) % 5).to(getattr(torch, dtype)).view(len(ids), *shape)


class Layers(torch.nn.Module):
    """Three layers of ramet.nn."""

    def __init__(self, graph):
        super().__init__()
        torch.manual_seed(0)
        first = {t: graph.table("feat", t).shape[1] for t in graph.node_types}
        self.layers = torch.nn.ModuleList(self.layer(graph, w) for w in (first, *2 * [dict.fromkeys(first, 6)]))

    @staticmethod
    def layer(graph, widths):
        convs = {t: ramet.nn.SAGEConv((widths[t[0]], widths[t[2]]), 6) for t in graph.edge_types}
        return ramet.nn.HeteroConv(convs) if graph.is_hetero else next(iter(convs.values()))

    def forward(self, x, blocks):
        for layer, block in zip(self.layers, blocks, strict=True):
            x = layer(x, block)
        return list(x.values()) if isinstance(x, dict) else [x]


def train_fused(group, store, options):
    """Compares a loader with fuse=True with the same without: outputs and gradients. Fused features do not travel."""
    loaders = [make_loader(group, store, options | {"features": ramet.Features(fuse=fuse)}) for fuse in (True, False)]
    model = Cooperative(Layers(loaders[0].graph))
    for fused, plain in zip(*loaders, strict=True):
        x = fused.x if isinstance(fused.x, dict) else {None: fused.x}
        pulled = exchange(fused.x if len(x) > 1 else x[None], fused.blocks[0])
        assert all(rows is x[t] for t, rows in (pulled if len(x) > 1 else {None: pulled}).items())
        said = []
        for batch in (fused, plain):
            out = model(batch.x, batch.blocks)
            model.zero_grad()
            sum(rows.square().sum() for rows in out).backward()
            said.append([*out, *(p.grad for p in model.parameters())])
        assert all(map(torch.equal, *said))


def exchange_types(group, store, options):
    """How many sources of each type there are, for every choice of types that are exchanged together."""
    batch = next(iter(make_loader(group, store, options)))
    block = batch.blocks[0]
    counts = []
    for chosen in ((), ("paper",), ("author",), ("author", "paper")):
        sources = exchange({t: rows_of(batch.n_id[t], "float32", (2,)) for t in chosen}, block)
        assert set(sources) == set(chosen)
        for t, rows in sources.items():
            assert torch.equal(rows, rows_of(block.n_id[t], "float32", (2,)))
        counts.append({t: len(rows) for t, rows in sources.items()})
    return counts


def wrong_rows(group, store, options):
    """How rows are refused that are not a layer's input; nothing is exchanged then."""
    batch = next(iter(make_loader(group, store, options)))
    wrong = (batch.x[:-1], torch.cat([batch.x, batch.x]), torch.tensor(0.0))
    return [refused(lambda: exchange(rows, batch.blocks[0])) for rows in wrong]  # noqa: B023 (called at once)


def unlike_rows(group, store, options):
    """What ranks say whose rows differ in dtype, and that they can go on."""
    batch = next(iter(make_loader(group, store, options)))
    rows, block = batch.x.double() if dist.get_rank() == 1 else batch.x, batch.blocks[0]
    return refused(lambda: exchange(rows, block)), len(exchange(batch.x, block)) == block.num_src
