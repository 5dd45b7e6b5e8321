"""Cooperative minibatching with torch.distributed: models on batches that several ranks make together."""

from ramet.distributed.batch_norm import BatchNorm
from ramet.distributed.cooperative import Cooperative
from ramet.distributed.dropout import Dropout, dropout
from ramet.distributed.exchange import Exchange, exchange

__all__ = ["BatchNorm", "Cooperative", "Dropout", "Exchange", "dropout", "exchange"]
