"""Parts of models: layers on blocks, aggregation, embeddings, dropout by node, BatchNorm over cooperating ranks, exact
inference layer by layer. Needs torch."""

import ramet.nn.torch_groups  # noqa: F401
from ramet.loading.table_rows import TableRows
from ramet.nn.aggregate import aggregate
from ramet.nn.attention import edge_softmax
from ramet.nn.batch_norm import BatchNorm
from ramet.nn.conv import GATConv, GATv2Conv, GCNConv, GINConv, GraphConv, HeteroConv, RGCNConv, SAGEConv
from ramet.nn.edges import BlockEdges
from ramet.nn.embedding import Embedding
from ramet.nn.found_edges import edges_of
from ramet.nn.from_pyg import from_pyg
from ramet.nn.inference import layerwise
from ramet.nn.node_dropout import Dropout, dropout

__all__ = [
    "BatchNorm",
    "BlockEdges",
    "Dropout",
    "Embedding",
    "GATConv",
    "GATv2Conv",
    "GCNConv",
    "GINConv",
    "GraphConv",
    "HeteroConv",
    "RGCNConv",
    "SAGEConv",
    "TableRows",
    "aggregate",
    "dropout",
    "edge_softmax",
    "edges_of",
    "from_pyg",
    "layerwise",
]
