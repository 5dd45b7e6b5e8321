"""Table: rows by row id, of a graph, over any array, or in memory of its own that processes share."""

from __future__ import annotations

import functools
import operator

import numpy as np

from ramet import _core
from ramet._support.arguments import as_flag, shortened
from ramet._support.tensors import torch_or_none
from ramet.arrays import as_array
from ramet.dtypes import dtype_name, scaled_by
from ramet.ranks.ranks import OfRanks
from ramet.storage.contents import NODE
from ramet.tables.arguments import core_table
from ramet.tables.calls import start
from ramet.tables.copying import copy_rows, deep_copied
from ramet.tables.create import beside, create
from ramet.tables.files import open_files
from ramet.tables.init_rows import init_rows
from ramet.tables.parts import Pieces, save_parts
from ramet.tables.storage import Storage


class Table(OfRanks):
    """Rows by row id: a table of a graph, or any array on the CPU (numpy, torch, or the result of `ramet.quantize`).

    Keeps the array alive, and reads rows where they lie: what is written to the array later shows in rows that are
    gathered after it. What is not contiguous, or no array yet, is copied once. `scale` is the scale of int8 rows, as in
    Quantized. `Table.create` makes a table with memory of its own.
    """

    def __init__(self, rows, *, scale: np.ndarray | None = None):
        self._storage = storage = rows if isinstance(rows, Storage) else Storage(core_table(rows, scale))
        self._ranks = storage.ranks

    @classmethod
    def create(
        cls,
        shape,
        dtype="float32",
        *,
        placement: str = "continuous",
        location: str = "host",
        ranks=None,
        ownership=None,
        init=0,
        seed: int = 0,
    ) -> Table:
        """A table to be written to, in shared memory: other processes of the machine that unpickle it have the same
        rows. The memory is given back when all of them have dropped it, or ended. Where there are several ranks, all
        of them call this together with the same arguments, and share one table.

        shape: (rows, ...); an int is a table of rows of one value each.
        dtype: any that a store can hold, by its name, numpy's or torch's.
        placement: "continuous", one range of addresses in every process; "chunked", one for each rank; both for ranks
            of one machine, where everyone reads and writes at will; or "distributed", for any ranks.
        location: "host", or "device": each rank's piece is memory of torch's current CUDA device, which the kernels of
            all ranks of the machine read and write.
        ranks: as of a NeighborLoader: None for those of torch.distributed where it is initialized,
            False for this process alone, or a process group.
        ownership: whose memory has which row: None (ranges of ids, as equal as can be), bounds of ranges, "hash", a
            vector with the owner of each row, the path of an .npy file of either, or what a graph's owners are
            (ramet.distributed.ownership). "continuous" takes ranges.
        init: what rows begin with: a number; "normal" (mean 0, variance 1, as torch.nn.Embedding), "uniform" (in
            [0, 1)) or "xavier" (uniform, torch.nn.init.xavier_uniform_ of the whole table), which depend on (seed, row,
            column) alone (docs/semantics.md, section 18); or a function that takes ids, int64 [k], and returns their
            rows, [k, ...]. Each rank writes its own rows. They are the same for any ranks and placement.

        Raises MemoryError or OSError where memory is missing, ValueError and TypeError for what does not fit,
        RuntimeError where there is no device, or two that cannot read each other's memory. An error of one rank is one
        on every rank.
        """

        def fill(storage: Storage) -> None:
            rank = storage.ranks.rank
            init_rows(cls(storage.part(rank)), storage.positions, rank, init, seed)

        options = {"placement": placement, "location": location, "ranks": ranks, "ownership": ownership}
        return cls(create(shape, dtype, fill, init=init, seed=seed, **options))

    @classmethod
    def open(
        cls, paths, name: str | None = None, node_type: str | None = None, dtype=None, shape=None, verify: bool = False
    ) -> Table:
        """The rows of files, mapped as they are, for reading: every process that opens them shares their pages. Of one
        file the table is "continuous", of several "chunked"; it has one rank, whatever the number of files.

        paths: one path or a list of .npy files, or of raw files, which hold the bytes of rows and nothing else: row 0
            of a file follows the last row of the one before. Or a folder: a store, or the parts of `ramet partition` or
            `save` (docs/format.md, sections 7 and 8); or a list of such parts.
        name, node_type: of a folder's table; None for the only one.
        dtype, shape: of raw files, (rows, ...), where rows may be None: the files' sizes say how many. Of .npy files
            they are checked; dtype "bfloat16" reads uint16 as its bits.
        verify: reads all files of a folder first, and compares them with its checksums.txt.

        Raises FileNotFoundError, CorruptStoreError for files that are too short or damaged, and ValueError for files
        that do not fit each other, dtype or shape. A file must not be truncated while the table is used.
        """
        return cls(open_files(paths, name, node_type, dtype, shape, as_flag(verify, "verify")))

    def copy_from(self, other: Table) -> None:
        """Copies all rows of a table of the same shape, whatever its ranks, owners and placement: every rank gathers
        its own, a few megabytes at a time. For loading, for other owners, for another placement.

        float32, float16, bfloat16 and int8 with a scale go into float32, float16 and bfloat16, rounded to the nearest;
        all else into its own dtype. Collective where this table, or a distributed `other`, has several ranks. Raises
        ValueError where shapes or dtypes do not fit, or `other` is a view of this memory, shifted; on every rank.
        """
        if not isinstance(other, Table):
            raise TypeError(f"other is {shortened(other)}, expected a ramet.Table")
        self._storage.require_cache_in_process()
        self.flush()
        try:
            copy_rows(self, self._ranks, other, other._ranks)
        finally:
            self._storage.refresh()

    def cache(self, ids) -> None:
        """Copies the rows `ids` to memory of torch's current CUDA device, in front of the host's, in place of those
        cached before; None ends that. The table is continuous, in host memory, which is page-locked. If several ranks
        share it, all call this with the same ids, and later flush() and refresh(): each device gets a part of the rows,
        which all read in place. docs/caches.md says who reads and writes what.

        gather() of CUDA ids is then by a kernel, which reads the other rows in place. scatter() and add() write to
        both; of several ranks they are a ValueError. Steps of an optimizer of `ramet.optim` write cached rows on the
        device alone. The host has them after flush(), when the table is dropped or the process ends, and whenever this
        process asks for rows there, by gather() of host ids, numpy(), torch() or save(): of several ranks a ValueError
        before flush(), but for save(). If a write cannot be copied to the device, the cache ends.

        Raises IndexError for ids that are no rows, and ValueError for other tables: nothing has changed then.
        RuntimeError and MemoryError where the device or its memory is missing, or devices cannot read each other's:
        then no row is cached.
        """
        if ids is None and self._ranks.size == 1:
            self.flush()
            self._storage.cache = None
            return
        from ramet.tables.cached_rows import cache_rows  # imports torch

        cache_rows(self._storage, ids)

    @property
    def cached(self) -> np.ndarray | None:
        """The ids of cached rows, int64, ascending. None without a cache."""
        return self._storage.cached

    def flush(self) -> None:
        """Writes cached rows that steps have changed to the host, where other processes and views see them. Collective
        where ranks share the table."""
        self._storage.flush()

    def refresh(self) -> None:
        """Copies cached rows from the host again, after somebody has written there: another process, or a view. Call
        flush() before they write: ValueError where steps have changed cached rows since. Collective where ranks share
        the table."""
        self._storage.refresh()

    def save(self, path) -> None:
        """Writes the table to the folder `path`: a part for each rank, or for each file of an opened table, which numpy
        and `open` read (docs/format.md, section 8). A folder that is there already is replaced as a whole, when all
        ranks are done; whatever else is there is refused. Collective: an error of one rank is one on every rank, and
        then nothing has changed. OSError where the disk refuses or is too small."""
        save_parts(path, {NODE: {"rows": self._pieces()}}, {}, self._ranks)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._storage.shape

    @property
    def dtype(self) -> np.dtype:
        """The stored dtype; `ramet.bfloat16` for bfloat16, which numpy does not have."""
        return self._storage.dtype

    @property
    def placement(self) -> str:
        """As of `create`; "continuous" for all other tables."""
        return self._storage.placement

    @property
    def location(self) -> str:
        """ "host" or "device": where the rows lie."""
        return self._storage.location

    @property
    def ownership(self) -> _core.Ownership:
        """Which rank owns which row: what other tables and loaders take as `ownership`."""
        return self._storage.owners

    def owned(self) -> np.ndarray:
        """The ids of this rank's own rows, int64, ascending."""
        return self._storage.owned()

    def local(self) -> Table:
        """This rank's own rows, in the order of `owned()`: a view, a table of its own. ValueError where they lie in
        several files."""
        own = self._storage.own_parts
        if len(own) > 1:
            raise ValueError(f"the rows lie in {len(own)} files: chunks() has those of each")
        return Table(self._storage.part(own[0]))

    def chunks(self) -> list[Table]:
        """The rows of every rank, as `local()`, or of every file. ValueError where ranks are on other machines."""
        if not all(self._ranks.is_local):
            raise ValueError("ranks on other machines have rows of this table: local() has those of this rank")
        return [Table(self._storage.part(part)) for part in range(self._storage.positions.parts)]

    @property
    def scale(self) -> np.ndarray | None:
        """The float32 scale of quantized int8 rows, a view: [num_rows, 1, ...] or [1, columns, ...]. Rows stand for
        rows * scale. None for other rows. ValueError where the scales of rows lie in several files.
        """
        return self._storage.scale

    @property
    def _core(self):
        """The engine's rows by id."""
        return self._storage.core

    @property
    def is_encoded(self) -> bool:
        """Whether rows are stored in less than float32: float16, bfloat16, or int8 with a scale."""
        return self._storage.stored.is_encoded

    def __len__(self) -> int:
        return len(self._storage)

    def __getitem__(self, index):
        """table[ids] is gather(ids), table[3] that row and table[10:20] a view of rows, as they are stored: numpy
        arrays, or a tensor for a tensor of ids. Columns are those of what comes."""
        if isinstance(index, tuple):
            raise TypeError(f"a table takes one index, of rows, not {len(index)}: table[ids][:, columns]")
        if isinstance(index, slice):
            return self._storage.view()[index]
        if hasattr(index, "__index__") and not getattr(index, "shape", ()):
            return self.gather([operator.index(index)])[0]
        return self.gather(index)

    def __setitem__(self, index, rows) -> None:
        """table[ids] = rows is scatter(ids, rows); of table[3] a row, of table[10:20] as many rows."""
        if isinstance(index, tuple):
            raise TypeError(f"a table takes one index, of rows, not {len(index)}: table[ids] = rows, of all columns")
        if isinstance(index, slice):
            index = np.arange(*index.indices(len(self)))
        elif hasattr(index, "__index__") and not getattr(index, "shape", ()):
            index, rows = [operator.index(index)], as_array(rows, "rows")[None]
        self.scatter(index, rows)

    def __dlpack__(self, **options):
        """For torch.from_dlpack(table) and its like: torch(), or numpy() without torch. ValueError where these are;
        BufferError for read-only rows other than a graph's: a write of another library would end the process."""
        if not self._storage.is_exported:
            raise BufferError("the rows are read-only, which other libraries do not heed: gather() copies them")
        return self._exported().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._exported().__dlpack_device__()

    def _exported(self):
        return self.numpy() if torch_or_none() is None else self.torch()

    def numpy(self) -> np.ndarray:
        """The rows as they are stored, without a copy. Read-only unless the graph was opened copy-on-write. ValueError
        for a table that is not continuous, or lies on a device."""
        return self._storage.numpy()

    def torch(self):
        """A tensor of the rows as they are stored, without a copy.

        Torch has no read-only tensors. For a table of a graph, or of files, the tensor is therefore a private
        copy-on-write mapping: reads share the pages, writes stay in it. If the store or a file was replaced or removed
        since it was opened, the tensor is a copy in memory. Of a table on a device it is a CUDA tensor.
        """
        if torch_or_none() is None:
            raise ImportError("Table.torch() needs torch, which is not installed")
        return self._storage.tensor()

    def gather(self, ids, threads: int = 1, *, dtype=None, out=None, async_op: bool = False):
        """The rows `ids` (integers of any shape, numpy or torch), as an array of shape [*ids.shape, ...]: a tensor for
        a tensor of ids, else a numpy array. Ids that are a CUDA tensor, of a table on that device, or
        with rows cached there, give one.

        dtype: None for rows as they are stored; or any float (its name, numpy's or torch's). float16, bfloat16 and int8
            with a scale become float32 during the gather (docs/format.md, section 2); others are rounded from that.
        out: the array to write to and return: C-contiguous, numpy or CPU tensor, of that shape and dtype. It must not
            share memory with the table, its scale or `ids`. None: recycled memory.
        async_op: returns at once an object whose wait() returns the rows.

        Of a distributed table all ranks make the same calls, in one order, each with ids of its own; an error of one is
        one on all. Those with async_op are in an order of their own: nothing else may write the same rows before
        wait().

        Raises IndexError naming the first id out of range, and TypeError for ids that are not integers, and for
        an `out` of a table on a device that is no tensor. Raises ValueError for a dtype that is no float, for rows of
        integers without a scale, and for an `out` that does not fit.
        """
        call = functools.partial(self._storage.gather, ids, threads, dtype, out)
        return start(self._storage.group, call) if async_op else call()

    def scatter(self, ids, rows, threads: int = 1, *, async_op: bool = False):
        """Writes rows[i] to row ids[i]; of a row that is given twice the last stays.

        rows: [*ids.shape, ...] of the table's dtype, numpy or torch. float32 goes into float16 and bfloat16, too,
            rounded to the nearest. Into a table on a device, CUDA tensors go as they are. Views of the table count as
            they are when the call begins.
        async_op: as of gather; wait() returns None when the rows are written.

        Of a distributed table all ranks call this together. What they give follows in the order of the ranks, and when
        it returns all of it is written, on every rank.

        Raises IndexError naming the first id out of range, ValueError for rows that do not fit and for a table that is
        read-only. Nothing is written then. Another process that writes the same rows at the same time is not kept out,
        but by a distributed table.
        """
        call = functools.partial(self._storage.write, "scatter", ids, rows, threads)
        return start(self._storage.group, call) if async_op else call()

    def add(self, ids, rows, threads: int = 1, *, async_op: bool = False):
        """Adds rows[i] to row ids[i]; what is given for a row is summed in order, and the sum added once: the same bits
        for any number of threads, and of a distributed table for any split of a list over its ranks. See scatter."""
        call = functools.partial(self._storage.write, "add", ids, rows, threads)
        return start(self._storage.group, call) if async_op else call()

    def __repr__(self) -> str:
        rows = self._storage.stored
        scale = rows.scale
        scaled = "" if scale is None else f", scale by {scaled_by(scale, rows.shape[0])}"
        where = "" if rows.device is None else f" on device {rows.device}"
        return f"<ramet.Table {rows.name} {dtype_name(self.dtype)}{list(self.shape)}{scaled}{where}>"

    def _write_own(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Writes rows of this rank, int64 [k] and [k, ...]."""
        self.local().scatter(self._storage.positions.look_up(ids) - self._storage.own[0], rows)

    def _pieces(self) -> Pieces:
        """What this process writes of the table where it is saved. Collective."""
        self.flush()
        return self._storage.pieces()

    def _beside(self, row_shape: tuple[int, ...], dtype) -> Table:
        """Zeros with the positions, owners and ranks of this table, in rows of another form. Collective."""
        return Table(beside(self._storage, row_shape, dtype))

    def __deepcopy__(self, memo) -> Table:
        return deep_copied(self, memo)

    def __reduce__(self):
        return Table, (self._storage,)
