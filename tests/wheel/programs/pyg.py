"""A program for PyG as its users write them."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GraphSAGE

torch.manual_seed(0)
label = torch.randint(4, (2000,))
edge_index = torch.randint(2000, (2, 20_000))
data = Data(x=F.one_hot(label, 4) + torch.randn(2000, 4), edge_index=edge_index, y=label)
loader = NeighborLoader(data, [10, 5], input_nodes=torch.arange(1000), batch_size=100, shuffle=True)
model = GraphSAGE(4, 32, num_layers=2, out_channels=4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
losses = []
for _ in range(4):
    for batch in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(batch.x, batch.edge_index)[: batch.batch_size], batch.y[: batch.batch_size])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
assert sum(losses[-10:]) < 0.9 * sum(losses[:10]), losses
