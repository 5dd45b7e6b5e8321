"""Several ranks with torch.distributed: models on batches that they make together, and who owns what."""

from ramet.distributed.cooperative import Cooperative
from ramet.distributed.machines import MachineGroups, machine_groups
from ramet.distributed.owners import ownership
from ramet.distributed.row_exchange import Exchange, exchange
from ramet.nn.batch_norm import BatchNorm
from ramet.nn.node_dropout import Dropout, dropout

__all__ = [
    "BatchNorm",
    "Cooperative",
    "Dropout",
    "Exchange",
    "MachineGroups",
    "dropout",
    "exchange",
    "machine_groups",
    "ownership",
]
