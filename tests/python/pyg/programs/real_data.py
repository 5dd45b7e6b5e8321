"""Real graphs, and what the programs share: a loader by an argument, and seeded splits."""

import argparse
import importlib
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch_geometric.data import Data, HeteroData
from torch_geometric.io import read_planetoid_data
from torch_geometric.transforms import NormalizeFeatures, RandomNodeSplit


def arguments(description: str, epochs: int):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of real data sets")
    parser.add_argument("--pyg", action="store_true", help="PyG's loader, which needs pyg-lib or torch-sparse")
    parser.add_argument("--epochs", type=int, default=epochs)
    return parser


def loaders(args):
    """The module that the program's one import is from."""
    return importlib.import_module("torch_geometric.loader" if args.pyg else "ramet.pyg")


def train(model, loader, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            F.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    model.eval()


def papers(folder: Path) -> Data:
    """Papers of machine learning that cite each other (Cora): 2,708 nodes, 10,556 edges, 7 classes."""
    torch.manual_seed(0)
    data = NormalizeFeatures()(read_planetoid_data(folder / "cora", "cora"))
    return RandomNodeSplit("train_rest", num_val=500, num_test=1000)(data)


def authors(folder: Path) -> HeteroData:
    """Authors, papers and conferences of DBLP. Only conferences have features: which of them they are."""
    data, folder = HeteroData(), folder / "heco_dblp"
    for name, other in (("pa", "author"), ("pc", "conference")):
        edges = torch.from_numpy(np.loadtxt(folder / f"{name}.txt", dtype=np.int64)).t().contiguous()
        data["paper", "to", other].edge_index, data[other, "of", "paper"].edge_index = edges, edges.flip(0)
    data["author"].y = torch.from_numpy(np.load(folder / "labels.npy")).long()
    for split in ("train", "test"):
        data["author"][f"{split}_mask"] = torch.zeros(len(data["author"].y), dtype=torch.bool)
        data["author"][f"{split}_mask"][torch.from_numpy(np.load(folder / f"{split}_60.npy")).long()] = True
    data["author"].num_nodes = len(data["author"].y)
    data["paper"].num_nodes = int(data["paper", "to", "author"].edge_index[0].max()) + 1
    data["conference"].x = torch.eye(int(data["paper", "to", "conference"].edge_index[1].max()) + 1)
    return data
