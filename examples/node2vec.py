"""Trains rows of nodes on walks alone (node2vec), and judges them by a linear classifier.

    ramet build STORE amazon_computers --undirected
    python examples/node2vec.py STORE

STORE is undirected and has a node table "label". A tenth of the nodes fits the classifier, the others test it.
"""

import argparse
import itertools

import numpy as np
import torch
import torch.nn.functional as F
from tqdm import tqdm

import ramet


class Trainer:
    """Nodes that are near each other on a walk get rows with a high product, nodes drawn at random a low one."""

    def __init__(self, graph, args):
        self.graph, self.args = graph, args
        self.starts = torch.from_numpy(np.flatnonzero(np.diff(graph.indptr())))  # nodes with edges: no walk ends
        self.seeds = itertools.count(args.seed)
        self.rows = ramet.nn.Embedding(graph.num_nodes(), args.width, init="xavier", seed=args.seed)
        self.optimizer = ramet.optim.Adam(self.rows, args.lr)
        place = torch.arange(args.length + 1)
        distance = place - place[:, None]
        self.is_near = (distance > 0) & (distance <= args.window)

    def epoch(self):
        """A walk from each node; the mean loss."""
        order = self.starts[torch.randperm(len(self.starts))]
        return torch.stack([self.step(part) for part in order.split(self.args.batch_size)]).mean().item()

    def step(self, starts):
        p, q = self.args.p, self.args.q
        walks = ramet.node2vec_walk(self.graph, starts, self.args.length, p, q, seed=next(self.seeds))
        x = self.rows(walks)  # [walks, nodes of a walk, width]
        others = self.rows(torch.randint(self.graph.num_nodes(), walks.shape))
        loss = F.softplus(-(x @ x.mT)[:, self.is_near]).mean() + F.softplus(x @ others.mT).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def accuracy(rows, labels, seed, share=0.1, decay=0.01):
    """Of logistic regression, on the nodes that it was not fitted to."""
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    fitted, test = order.tensor_split([int(share * len(labels))])
    rows = (rows - rows[fitted].mean(0)) / rows[fitted].std(0)
    model = torch.nn.Linear(rows.shape[1], int(labels.max()) + 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = F.cross_entropy(model(rows[fitted]), labels[fitted]) + decay * model.weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return (model(rows[test]).argmax(1) == labels[test]).double().mean().item()


def main(args):
    torch.manual_seed(args.seed)
    graph = ramet.open(args.store)
    trainer = Trainer(graph, args)
    bar = tqdm(range(args.epochs))
    for _ in bar:
        bar.set_postfix(loss=trainer.epoch())
    rows, labels = trainer.rows.weight.clone(), graph.table("label").gather(torch.arange(graph.num_nodes())).long()
    found = torch.tensor([accuracy(rows, labels, seed) for seed in range(5)])
    print(f"accuracy {found.mean():.4f} +- {found.std():.4f} over 5 splits")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--length", type=int, default=20, help="steps of a walk")
    parser.add_argument("--window", type=int, default=9, help="steps between nodes that are near")
    parser.add_argument("--p", type=float, default=1.0)
    parser.add_argument("--q", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=40, help="walks from each node")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
