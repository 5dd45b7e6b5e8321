"""Parts of models: aggregation over blocks, embeddings, dropout by node, BatchNorm over cooperating ranks, exact
inference layer by layer. Needs torch."""

from ramet.nn.aggregate import aggregate
from ramet.nn.batch_norm import BatchNorm
from ramet.nn.edges import BlockEdges, edges_of
from ramet.nn.embedding import Embedding
from ramet.nn.inference import layerwise
from ramet.nn.node_dropout import Dropout, dropout

__all__ = ["BatchNorm", "BlockEdges", "Dropout", "Embedding", "aggregate", "dropout", "edges_of", "layerwise"]
