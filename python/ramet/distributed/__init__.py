"""Cooperative minibatching with torch.distributed: models on batches that several ranks make together."""

from ramet.distributed.cooperative import Cooperative
from ramet.distributed.row_exchange import Exchange, exchange
from ramet.nn.batch_norm import BatchNorm
from ramet.nn.node_dropout import Dropout, dropout

__all__ = ["BatchNorm", "Cooperative", "Dropout", "Exchange", "dropout", "exchange"]
