"""Where a loader with a device has the topology and each table: what the user asks for, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ramet.arguments import as_int
from ramet.arrays import INT32_MAX

PLACES = ("auto", "device", "in_place", "staged")
CACHED_BY = ("degree", "presampling")
TOPOLOGY = "topology"


class Placed(NamedTuple):
    """How a device gets at a table, or at the topology.

    place: "device", a copy in its memory; "in_place", by reading the host's memory, of which all processes share one
    copy; "staged": processors gather rows into page-locked memory, which is copied (of the topology: they sample).
    nbytes: of the whole table. why: a sentence.
    """

    place: str
    nbytes: int
    why: str


def device_options(
    device: int, placement, table_names: list[str], *, device_memory, cache_rows, cache_by, max_sms
) -> dict:
    """What `_core.DeviceOptions` takes, of what a user wrote."""
    if cache_by not in CACHED_BY:
        raise ValueError(f"cache_by is {cache_by!r}, expected one of {CACHED_BY}")
    places = _by_name(placement, table_names)
    return {
        "device": device,
        "topology": PLACES.index(places[TOPOLOGY]),
        "tables": [PLACES.index(places[name]) for name in table_names],
        "copy_bytes": -1 if device_memory is None else as_int(device_memory, "device_memory", 0),
        "cache_rows": as_int(cache_rows, "cache_rows", 0, 2**31 - 1),
        "cache_by": CACHED_BY.index(cache_by),
        "max_sms": 0 if max_sms is None else as_int(max_sms, "max_sms", 1, INT32_MAX),
    }


def _by_name(placement, table_names: list[str]) -> dict[str, str]:
    """The place of the topology and of every table, from one for all or a dict of some."""
    names = [TOPOLOGY, *table_names]
    if placement is None or isinstance(placement, str):
        placement = dict.fromkeys(names, placement or "auto")
    if not isinstance(placement, Mapping):
        raise TypeError(f"placement is {placement!r}, expected one of {PLACES} or a dict of them by table")
    for name, place in placement.items():
        if name not in names:
            raise ValueError(f"placement names {name!r}; there is {sorted(set(names))}")
        if place not in PLACES:
            raise ValueError(f"placement[{name!r}] is {place!r}, expected one of {PLACES}")
    return {name: placement.get(name, "auto") for name in names}
