"""Several ranks with torch.distributed: models on cooperative batches, owners, and the end of ranks."""

from ramet.distributed.cooperative import Cooperative
from ramet.distributed.ending import destroy_process_group
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
    "destroy_process_group",
    "dropout",
    "exchange",
    "machine_groups",
    "ownership",
]
