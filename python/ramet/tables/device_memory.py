"""The memory of a table on devices: pieces of CUDA's virtual memory, each on the device of its rank, mapped side by
side into one range of addresses of every rank's device. docs/tables.md"""

from __future__ import annotations

import os
from multiprocessing import context, reduction
from typing import Any, NamedTuple

from ramet import _core
from ramet._support import descriptor_server, torch_devices
from ramet.dtypes import dtype_name
from ramet.ranks.ranks import Ranks
from ramet.tables.layout import Form

_handed_out: list = []  # pieces that pickles name


class PieceHandle(NamedTuple):
    """Of a piece in another process. fd: a DupFd, or the address of a descriptor that is handed out."""

    fd: Any
    bytes: int


class DevicePieces:
    """Makes, hands over and maps pieces for one device of this process."""

    def __init__(self, device: int):
        self.device = device
        self.unit = _core.DevicePiece.unit(device)

    @classmethod
    def here(cls, ranks: Ranks) -> DevicePieces:
        """For torch's current device. RuntimeError says why there is none, or that a device cannot read another's
        memory. Collective."""

        def make() -> tuple[DevicePieces, None]:
            _core.cuda_num_devices()
            return cls(torch_devices.as_device(None).index), None

        pieces = ranks.share(make)[0]
        pieces.require_peers(ranks)
        return pieces

    @staticmethod
    def check(form: Form, ranks: Ranks) -> None:
        """Devices say for themselves what they can hold."""

    @staticmethod
    def storage(*of):
        from ramet.tables.device_storage import DeviceStorage  # imports torch

        return DeviceStorage(*of)

    def create(self, size: int) -> _core.DevicePiece:
        return _core.DevicePiece.create(self.device, -(-size // self.unit) * self.unit)

    def share(self, piece: _core.DevicePiece) -> PieceHandle:
        """A handle for ranks that open it before forget() is called."""
        return PieceHandle(descriptor_server.serve(piece.fd) if piece.bytes else None, piece.bytes)

    @staticmethod
    def forget(handle: PieceHandle) -> None:
        if handle.fd is not None:
            descriptor_server.stop(handle.fd)

    def pack(self, piece: _core.DevicePiece) -> PieceHandle:
        """A handle for a pickle."""
        if piece.bytes and context.get_spawning_popen() is not None:
            return PieceHandle(reduction.DupFd(piece.fd), piece.bytes)
        _handed_out.append(piece)
        return self.share(piece)

    def opened(self, handle: PieceHandle) -> _core.DevicePiece:
        if handle.fd is None:
            return _core.DevicePiece.create(self.device, 0)
        is_served = isinstance(handle.fd, descriptor_server.Address)
        fd = descriptor_server.fetch(handle.fd) if is_served else handle.fd.detach()
        try:
            return _core.DevicePiece.open(self.device, fd, handle.bytes)
        finally:
            os.close(fd)

    def rows(self, placed: list[tuple], shape: tuple[int, ...], form: Form) -> _core.Table:
        return _core.map_on_device(placed, device=self.device, dtype=dtype_name(form.dtype), shape=shape)

    def require_peers(self, ranks: Ranks) -> None:
        """RuntimeError, on every rank, that names two devices that cannot read each other's memory. Collective."""

        def tell():
            return None, _core.cuda_describe(self.device)["pci_bus_id"]

        buses = ranks.share(tell)[1]

        def check():
            here = {_core.cuda_describe(i)["pci_bus_id"]: i for i in range(_core.cuda_num_devices())}
            for rank, (bus, is_local) in enumerate(zip(buses, ranks.is_local)):
                if is_local and bus not in here:
                    raise RuntimeError(
                        f"device {self.device} ({buses[ranks.rank]}) of rank {ranks.rank} cannot read memory of the "
                        f"device {bus} of rank {rank}, which CUDA_VISIBLE_DEVICES hides from it"
                    )
                if is_local:
                    _core.require_access(self.device, here[bus])
            return None, None

        ranks.share(check)

    def __reduce__(self):
        return _pieces_on, (_core.cuda_describe(self.device)["pci_bus_id"],)


def _pieces_on(bus: str) -> DevicePieces:
    """In another process: the same device, whatever its number is there."""
    for index in range(_core.cuda_num_devices()):
        if _core.cuda_describe(index)["pci_bus_id"] == bus:
            return DevicePieces(index)
    raise RuntimeError(f"the table is read on the device {bus}, which this process does not see")
