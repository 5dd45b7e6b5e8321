"""Where a loader has the topology and each table: what the user asks for, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from ramet import _core
from ramet._support.arguments import ROW_ORDERS, as_int, check_word, shortened
from ramet.arrays import INT32_MAX

LOCATIONS = _core.TABLE_LOCATIONS
READ_AHEAD = set(_core.LOCATIONS_READ_AHEAD)
OF_TABLES_ALONE = set(LOCATIONS) - set(_core.TOPOLOGY_LOCATIONS)
CACHED_BY = ("degree", "look-ahead", "presampling", "recency")
TOPOLOGY = "topology"
MAX_LOOK_AHEAD = 65536


@dataclass(frozen=True)
class Placement:
    """Where a loader has the topology and its tables, and what it caches: `placement=` of a NeighborLoader. See
    docs/loader.md, with a device docs/cuda.md, and docs/combinations.md.

    topology, tables: with a device, "device" (a copy in its memory), "in_place" (it reads host memory, of which all
        processes share one copy), "staged" (the CPU gathers or samples, and copies) or "auto" (a copy if it fits, else
        the faster of the other two, measured). On the CPU, "in_place" (threads read the store's memory) or "auto"
        ("disk" where memory could not hold the table). Of tables also "disk": rows are read from files by requests of
        their own (docs/disk.md), and with a device copied there. `tables` may be a dict by table name; others are
        "auto".
    cache_rows: the maximum number of cached rows per node table that is gathered at all nodes; `cache_use` counts hits.
        With a device: in device memory, for tables that are read in place and not writable; or, where a table is on a
        disk, in host memory for such tables alone. On the CPU: in memory, for tables of the graph, and in `tables=` for
        rows on a disk or on other machines, which must not change then.
    cache_by: the rows to cache. "degree": of the nodes with most out-edges. "presampling": of the nodes in most of the
        first 20 batches. Both are chosen when the loader is made, among all nodes; with cooperating ranks, the rank's
        own nodes; for shared tables, rows on other machines. Only in host memory: "recency", the rows used last, and
        "look-ahead", the rows whose next use is nearest. None: "degree" with a device, "look-ahead" in front of a disk
        or of other machines, else "recency". docs/caches.md compares them.
    look_ahead: with "look-ahead", the number of batches that are sampled before the rows of one are chosen.
    device_memory: bytes for copies made by "auto", and for those in-edges of a topology in place that are read most;
        None: half of the free device memory, for "auto" alone.
    max_sms: multiprocessors for gathering, 0: all; None: enough to keep the bus busy for rows in place, else all.
    order: the order in which a device reads rows of a table, or of the topology, in place. "sorted": by region;
        "as_given"; "auto" sorts many rows of a large table or topology. It changes no result.

    Raises TypeError or ValueError naming the field, the value and the bound.
    """

    topology: str = "auto"
    tables: str | Mapping[str, str] = "auto"
    cache_rows: int = 0
    cache_by: str | None = None
    look_ahead: int = 16
    device_memory: int | None = None
    max_sms: int | None = None
    order: str = "auto"

    def __post_init__(self):
        if (location := check_word(self.topology, "placement.topology", LOCATIONS)) in OF_TABLES_ALONE:
            raise ValueError(
                f"placement.topology is {location!r}, which is for tables alone: Placement(tables={location!r})"
            )
        if isinstance(self.tables, Mapping):
            for name, location in self.tables.items():
                check_word(location, f"placement.tables[{shortened(name)}]", LOCATIONS)
        else:
            check_word(self.tables, "placement.tables", LOCATIONS)
        if self.cache_by is not None:
            check_word(self.cache_by, "placement.cache_by", CACHED_BY)
        as_int(self.cache_rows, "placement.cache_rows", 0, INT32_MAX)
        as_int(self.look_ahead, "placement.look_ahead", 0, MAX_LOOK_AHEAD)
        if self.device_memory is not None:
            as_int(self.device_memory, "placement.device_memory", 0)
        if self.max_sms is not None:
            as_int(self.max_sms, "placement.max_sms", 0, INT32_MAX)
        check_word(self.order, "placement.order", ROW_ORDERS)

    def given(self) -> dict[str, object]:
        """The fields that are not the defaults, as docs/combinations.md names them: words by their value."""
        default = Placement()
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        found: dict[str, object] = {}
        for name, value in values.items():
            if name in ("topology", "tables", "cache_by", "order"):
                words = value.values() if isinstance(value, Mapping) else [value]
                found |= {f"placement.{name}={word!r}": word for word in words if word not in ("auto", None)}
            elif value != getattr(default, name):
                found[f"placement.{name}"] = value
        return found

    def location_of(self, table: str) -> str:
        return self.tables.get(table, "auto") if isinstance(self.tables, Mapping) else self.tables


class Placed(NamedTuple):
    """How a loader gets at a table, or a device at the topology.

    place: "in_place", by reading the host's memory, of which all processes share one copy; or "disk", by reading rows
    from files. With a device, also "device", a copy in its memory; or "staged": processors gather rows into page-locked
    memory, which is copied (of the topology: they sample). nbytes: of the whole table. why: a sentence; it names the
    cache, too.
    """

    place: str
    nbytes: int
    why: str


def as_placement(value) -> Placement:
    """A Placement; None for the default; a location for everything, "disk" for tables; or a dict of locations by table
    and "topology"."""
    if isinstance(value, Placement):
        return value
    if value is None:
        return Placement()
    if isinstance(value, str):
        return Placement(topology="auto" if value in OF_TABLES_ALONE else value, tables=value)
    if isinstance(value, Mapping):
        tables = {name: location for name, location in value.items() if name != TOPOLOGY}
        return Placement(topology=value.get(TOPOLOGY, "auto"), tables=tables or "auto")
    raise TypeError(
        f"placement is {shortened(value)}, expected a ramet.Placement, one of {LOCATIONS} or a dict by table"
    )


def on_device(placement: Placement, table_names: list[str], index: int) -> _core.DeviceOptions:
    """What the engine's loader takes of a placement. ValueError for a table that the loader does not gather."""
    locations = _locations(placement, table_names)
    caches_disk = not READ_AHEAD.isdisjoint(locations)
    return _core.DeviceOptions(
        index=index,
        topology=placement.topology,
        tables=locations,
        copy_bytes=-1 if placement.device_memory is None else int(placement.device_memory),
        cache_rows=0 if caches_disk else int(placement.cache_rows),
        cache_by="degree" if caches_disk else placement.cache_by or "degree",
        max_sms=None if placement.max_sms is None else int(placement.max_sms),
        order=placement.order,
    )


def presamples(placement: Placement) -> bool:
    """Whether the rows to cache are those of the first batches."""
    return placement.cache_rows > 0 and placement.cache_by == "presampling"


def on_host(placement: Placement, table_names: list[str], device, *, together: bool, pulls: bool) -> _core.HostOptions:
    """As on_device(). With a device: of its tables on a disk. together: of ranks that cooperate or pull rows from each
    other, whose caches must be of one kind, whatever their machines' memory holds."""
    locations = _locations(placement, table_names)
    reads_ahead = not READ_AHEAD.isdisjoint(locations)
    by_asked = "look-ahead" if pulls or reads_ahead else "recency"
    return _core.HostOptions(
        tables=locations if device is None else [],
        cache_rows=int(placement.cache_rows) if device is None or reads_ahead else 0,
        cache_by=placement.cache_by or (by_asked if together else "auto"),
        look_ahead=int(placement.look_ahead),
    )


def _locations(placement: Placement, table_names: list[str]) -> list[str]:
    if isinstance(placement.tables, Mapping):
        for name in placement.tables:
            if name not in table_names:
                raise ValueError(f"placement.tables names {shortened(name)}; there is {sorted(set(table_names))}")
    return [placement.location_of(name) for name in table_names]
