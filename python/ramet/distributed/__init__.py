"""Cooperative minibatching with torch.distributed: what moves rows between the ranks of a group."""

from ramet.distributed.dropout import Dropout, dropout
from ramet.distributed.exchange import Exchange, exchange

__all__ = ["Dropout", "Exchange", "dropout", "exchange"]
