"""Models for the tests of Cooperative, written for ordinary blocks, and a loop that ranks and one process share."""

import functools

import numpy as np
import torch
import torch.distributed as dist
from sage import learn, seed_losses
from small_graphs import WIDTH, heterogeneous, homogeneous
from together import edges, nodes
from torch.nn.parallel import DistributedDataParallel
from torch_geometric import nn as pyg

import ramet
from ramet import nn as ours
from ramet.distributed import Cooperative, dropout, exchange

CLASSES, HIDDEN = 5, 8
AUTHOR, PAPER = 3, 6  # widths


class Stack(torch.nn.Module):
    """Convolutions, one per block, with something between them. Called with all rows where `whole`, else with pairs;
    with edges, or with blocks where they are ours."""

    def __init__(self, make, between=None, whole=False, weights=False, p=0.0, are_ours=False):
        super().__init__()
        self.convs = torch.nn.ModuleList([make(WIDTH, HIDDEN), make(HIDDEN, CLASSES)])
        self.between = torch.nn.Identity() if between is None else between
        self.whole, self.weights, self.p, self.are_ours = whole, weights, p, are_ours

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks, strict=True)):
            edges = [block if self.are_ours else block.edge_index]
            edges += [block.edge_weight.to(x.dtype)] if self.weights else []
            if self.whole:
                x = conv(x, *edges)[: block.num_dst]
            else:
                x = conv((x, x[: block.num_dst]), *edges)
            if i == 0:
                x = dropout(self.between(x).relu(), block, self.p, self.training)
        return x


class Twice(torch.nn.Module):
    """One convolution for both layers, beside another that reads the same rows."""

    def __init__(self):
        super().__init__()
        self.shared = pyg.SAGEConv(WIDTH, WIDTH)
        self.other = pyg.GATConv((WIDTH, WIDTH), WIDTH)
        self.out = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, x, blocks):
        for block in blocks:
            pair = x, x[: block.num_dst]
            x = (self.shared(pair, block.edge_index) + self.other(pair, edge_index=block.edge_index)).relu()
        return self.out(x)


class Gcn(torch.nn.Module):
    """Normalized by a table of degrees, as docs/layers.md has it."""

    def __init__(self, graph):
        super().__init__()
        self.convs = torch.nn.ModuleList(
            [pyg.GCNConv(WIDTH, HIDDEN, normalize=False), pyg.GCNConv(HIDDEN, CLASSES, normalize=False)]
        )
        degree = np.diff(graph.indptr())
        destination = np.repeat(np.arange(len(degree)), degree)
        loops = np.bincount(destination[graph.indices() == destination], minlength=len(degree))
        self.degree, self.scale = torch.as_tensor(degree), torch.as_tensor(degree - loops + 1.0).rsqrt()

    def layer(self, conv, x, block):
        source, destination = block.n_id[block.edge_index]
        scale = self.scale.to(x.dtype)
        weight = block.edge_weight * self.degree[destination] * scale[source] * scale[destination]
        weight = weight.to(x.dtype).masked_fill(source == destination, 0)
        own = conv.lin(x[: block.num_dst]) * scale[block.n_id[: block.num_dst], None] ** 2
        return conv(x, block.edge_index, weight)[: block.num_dst] + own

    def forward(self, x, blocks):
        for conv, block in zip(self.convs, blocks, strict=True):
            x = self.layer(conv, x, block).relu()
        return x


class Plain(torch.nn.Module):
    """Sums of neighbors without PyG, with exchange() called by hand, also where the batch is an ordinary one."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2 * WIDTH, WIDTH), torch.nn.Linear(2 * WIDTH, CLASSES)])
        self.norm = torch.nn.BatchNorm1d(WIDTH)

    def forward(self, x, blocks):
        for i, (layer, block) in enumerate(zip(self.layers, blocks, strict=True)):
            own, x = x[: block.num_dst], exchange(x, block)
            source, destination = block.edge_index
            sums = x.new_zeros(block.num_dst, WIDTH).index_add(0, destination, x[source])
            x = layer(torch.cat([own, sums], dim=1))
            if i == 0:
                x = self.norm(x).relu()
        return x


class Typed(torch.nn.Module):
    """HeteroConv, `by` node type (with weights or without) or edge type, or ours, of two kinds; or a convolution per
    edge type, called one by one."""

    def __init__(self, edge_types, by):
        super().__init__()
        self.by = by
        into_papers = [t for t in edge_types if t[2] == "paper"]
        self.layers = torch.nn.ModuleList([self.layer(edge_types, HIDDEN), self.layer(into_papers, CLASSES)])
        self.inputs = torch.nn.ModuleDict({"paper": torch.nn.Linear(PAPER, 4), "author": torch.nn.Linear(AUTHOR, 4)})

    def layer(self, edge_types, width):
        kind = {"weights": pyg.GraphConv, "ours": ours.SAGEConv}.get(self.by, pyg.SAGEConv)
        convs = {t: kind((4 if width == HIDDEN else HIDDEN,) * 2, width) for t in edge_types}
        if self.by == "ours":
            convs[edge_types[0]] = ours.GraphConv((4 if width == HIDDEN else HIDDEN,) * 2, width)
            return ours.HeteroConv(convs)
        return pyg.HeteroConv(convs) if self.by != "conv" else torch.nn.ModuleDict(map(self.named, convs.items()))

    @staticmethod
    def named(pair):
        return "-".join(pair[0]), pair[1]

    def forward(self, x, blocks):
        x = {t: self.inputs[t](rows) for t, rows in x.items()}
        for layer, block in zip(self.layers, blocks, strict=True):
            x = {t: rows[: block.num_dst[t]] for t, rows in self.run(layer, x, block).items()}
            if layer is self.layers[0]:
                x = {t: dropout(rows.relu(), block, 0.3, self.training, node_type=t) for t, rows in x.items()}
        return x["paper"]

    def run(self, layer, x, block):
        edges = block.edge_index
        if self.by in ("node type", "ours"):
            return layer(x, block if self.by == "ours" else edges)
        if self.by == "weights":
            return layer(x, edges, {t: weight.to(x["paper"].dtype) for t, weight in block.edge_weight.items()})
        pairs = {t: (x[t[0]], x[t[2]][: block.num_dst[t[2]]]) for t in edges}
        if self.by == "edge type":
            return layer(x_dict=pairs, edge_index_dict=edges)
        out = {}
        for t in [t for t in edges if "-".join(t) in layer]:
            part = layer["-".join(t)](pairs[t], edges[t])
            out[t[2]] = out[t[2]] + part if t[2] in out else part
        return out


class Transformer(torch.nn.Module):
    """HGTConv, which has dicts and no HeteroConv around it: ours, then PyG's."""

    def __init__(self, graph):
        super().__init__()
        metadata = (graph.node_types, graph.edge_types)
        self.convs = torch.nn.ModuleList(
            [pyg.HGTConv({"paper": PAPER, "author": AUTHOR}, HIDDEN, metadata), pyg.HGTConv(HIDDEN, CLASSES, metadata)]
        )
        ours.from_pyg(self.convs[0])

    def forward(self, x, blocks):
        for conv, block in zip(self.convs, blocks, strict=True):
            x = {t: rows[: block.num_dst[t]] for t, rows in conv(x, block.edge_index).items()}
        return x["paper"]


def gin(width, out):
    mlp = torch.nn.Sequential(
        torch.nn.Linear(width, HIDDEN), torch.nn.BatchNorm1d(HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, out)
    )
    return pyg.GINConv(mlp, train_eps=True)


def gin_on_blocks(width, out):
    return ours.GINConv(gin(width, out).nn, train_eps=True)


on_blocks = functools.partial(Stack, whole=True, are_ours=True)
MODELS = {
    "sage": lambda graph: Stack(pyg.SAGEConv),
    "sage on all rows": lambda graph: Stack(pyg.SAGEConv, whole=True, between=torch.nn.LayerNorm(HIDDEN)),
    "gat": lambda graph: Stack(lambda a, b: pyg.GATConv((a, a), b, heads=2, concat=False)),
    "gat on all rows": lambda graph: Stack(lambda a, b: pyg.GATv2Conv(a, b), whole=True),
    "gin": lambda graph: Stack(gin),
    "graph conv with weights": lambda graph: Stack(pyg.GraphConv, weights=True),
    "gcn with weights": lambda graph: Stack(lambda a, b: pyg.GCNConv(a, b, normalize=False), weights=True, whole=True),
    "gcn by degrees": Gcn,
    "norm and dropout": lambda graph: Stack(pyg.SAGEConv, between=pyg.BatchNorm(HIDDEN), p=0.5),
    "shared": lambda graph: Twice(),
    "plain": lambda graph: Plain(),
    "by node type": lambda graph: Typed(graph.edge_types, "node type"),
    "by edge type": lambda graph: Typed(graph.edge_types, "edge type"),
    "weights": lambda graph: Typed(graph.edge_types, "weights"),
    "conv per edge type": lambda graph: Typed(graph.edge_types, "conv"),
    "hgt": lambda graph: Transformer(graph),
    "our sage": lambda graph: on_blocks(ours.SAGEConv),
    "our graph conv": lambda graph: on_blocks(ours.GraphConv, whole=False),
    "our gin": lambda graph: on_blocks(gin_on_blocks),
    "our gcn": lambda graph: on_blocks(lambda a, b: ours.GCNConv(a, b, normalize=False)),
    "our gat": lambda graph: on_blocks(ours.GATConv),
    "our gatv2": lambda graph: on_blocks(lambda a, b: ours.GATv2Conv((a, a), b, heads=2, concat=False), whole=False),
    "our types": lambda graph: Typed(graph.edge_types, "ours"),
}
HETERO = ("our types", "by node type", "by edge type", "weights", "conv per edge type", "hgt")


def graph_for(name):
    return heterogeneous() if name in HETERO else homogeneous()


def loader_for(name, graph, batch_size=40, **options):
    inputs = ("paper", "train") if name in HETERO else "train"
    return ramet.NeighborLoader(graph, [4, 3], inputs, batch_size, shuffle=True, seed=3, **options)


def model_for(name, graph, dtype):
    torch.manual_seed(0)
    return MODELS[name](graph).to(dtype)


def cast(x, dtype):
    return {t: rows.to(dtype) for t, rows in x.items()} if isinstance(x, dict) else x.to(dtype)


def run(name, graph, ranks, dtype="float64", batch_size=40, **options):
    """(steps, as sage.learn() has them, each with its edges and nodes; the state of the model; the model that ran)."""
    dtype = getattr(torch, dtype)
    model = module = model_for(name, graph, dtype)
    if ranks:
        model = DistributedDataParallel(Cooperative(model), find_unused_parameters=name == "hgt")

    def losses_of(batch):
        out = model(cast(batch.x, dtype), batch.blocks)
        return *seed_losses(out, batch), edges([batch]), nodes([batch])

    loader, optimizer = (
        loader_for(name, graph, batch_size, ranks=ranks, **options),
        torch.optim.SGD(model.parameters(), 0.1),
    )
    steps = list(learn(loader, module, optimizer, 6, losses_of))
    return steps, {key: value.numpy() for key, value in module.state_dict().items()}, model


def train(name, dtype, groups=None, batch_size=40):
    """(steps, state) of ranks that cooperate in `groups` or of one process. The state has an evaluation, too."""
    graph, ranks = graph_for(name), False
    if groups:
        (mine,) = (group for group in map(dist.new_group, groups) if dist.get_rank(group) >= 0)
        ranks = ramet.Cooperate(mine, ownership_for(graph))
    steps, state, model = run(name, graph, ranks, dtype, batch_size)
    return steps, state | {"evaluated": evaluate(name, graph, model, getattr(torch, dtype)).numpy()}


def ownership_for(graph):
    return dict.fromkeys(graph.node_types, "hash") if graph.is_hetero else "hash"


def evaluate(name, graph, model, dtype):
    """The outputs of a model in eval mode for an ordinary batch of this process alone."""
    batch = next(iter(loader_for(name, graph, ranks=False)))
    with torch.no_grad():
        return getattr(model, "module", model).eval()(cast(batch.x, dtype), batch.blocks)
