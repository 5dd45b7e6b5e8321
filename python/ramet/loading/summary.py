"""Summary: the bottleneck of a loop over a NeighborLoader, in figures and in words."""

from __future__ import annotations

from dataclasses import dataclass

from ramet._support import html
from ramet._support.bars import bar
from ramet._support.sizes import size

HIDDEN = 0.05  # a loop that waits for a smaller part of its time is bound by its own work


@dataclass(frozen=True, repr=False)
class Summary:
    """Counts and seconds of the batches that a loader returned; `str()` interprets them.

    The loop's time is `wait_seconds`, in which it waited for batches, plus `use_seconds`, its own work between batches.
    `sample_seconds`, `gather_seconds` and `read_seconds` are those of all loader threads, and overlap with it; in the
    last they waited for rows of a disk. All others include waits for a core that others were using: of the loop's
    thread `use_core_wait_seconds`, of loader threads `core_wait_seconds`; 0 where the kernel does not count them.
    """

    batches: int
    nodes: int
    edges: int
    bytes: int  # of all arrays of the batches
    table_bytes: int  # of these, gathered rows
    largest_batch_bytes: int
    cache_hits: int  # rows that a cache had
    cache_misses: int  # rows that were read from behind a cache
    sample_seconds: float
    gather_seconds: float
    read_seconds: float
    rows_read: int  # distinct rows of a batch, from disks
    requests_read: int
    bytes_read: int
    wait_seconds: float
    first_wait_seconds: float  # of these, for the first batch of each iterator: nothing was made ahead
    streams: int  # iterators that handed out a batch
    use_seconds: float
    core_wait_seconds: float
    use_core_wait_seconds: float
    cores: int  # that this process may use
    threads: int  # that made batches at the end
    max_threads: int
    max_prefetch: int  # batches that wait or are being made, at most
    max_sampled: int  # the same with those of which a cache knows the ids, and those whose rows are being read
    cache_bytes: int  # of caches whose rows change
    pool_bytes: int  # held now, by batches and for those to come
    derived_bytes: int  # made of the graph in this process, for faster sampling
    unsorted_by: str | None = None  # the table of times that draws neighbors, where rows of edges are not sorted by it

    @property
    def loop_seconds(self) -> float:
        return self.wait_seconds + self.use_seconds

    @property
    def wait_share(self) -> float:
        """The share of its time that the loop waited for batches, in [0, 1]. The first batch of an iterator does not
        count, unless no iterator had a second.
        """
        only_first = self.batches == self.streams
        waited = self.wait_seconds - (0 if only_first else self.first_wait_seconds)
        return waited / max(waited + self.use_seconds, 1e-9)

    @property
    def bound(self) -> str:
        """ "training"; or what takes loader threads longer: "sampling", "memory", which is the gathering of rows, or
        "disk", which is waiting for them; or "unknown" before the second batch.
        """
        if self.batches < 2:
            return "unknown"
        if self.wait_share < HIDDEN:
            return "training"
        seconds = {"sampling": self.sample_seconds, "memory": self.gather_seconds, "disk": self.read_seconds}
        return max(seconds, key=seconds.get)

    @property
    def short_of_cores(self) -> tuple[float, float]:
        """The shares of their time, in [0, 1], that the loop's thread, in its own work, and loader threads waited for a
        core. Others were using it: this process's threads, where these are more than cores, or other programs.
        """
        making = self.sample_seconds + self.gather_seconds
        return self.use_core_wait_seconds / max(self.use_seconds, 1e-9), self.core_wait_seconds / max(making, 1e-9)

    def __str__(self) -> str:
        if self.bound == "unknown":
            return f"{self.batches} batches: too few to say what bounds the loop"
        bars = [f"{name:<8}{bar(shares)}" for name, shares in self._shares().items()]
        title = f"{self._verdict()}; {self._threads()}"
        lines = [title, *bars, self._work(), self._disk(), self._memory(), self._advice()]
        return "\n".join(line for line in lines if line)

    def __repr__(self) -> str:
        return f"<ramet.Summary: {self}>"

    def _repr_html_(self) -> str:
        if self.bound == "unknown":
            return html.table(str(self), (), ())
        rows = [
            ("batches", self._work()),
            ("disk", self._disk()),
            ("memory", self._memory()),
            ("advice", self._advice()),
        ]
        title = f"{self._verdict()}; {self._threads()}"
        return html.table(title, ("", ""), [row for row in rows if row[1]], self._shares())

    def _shares(self) -> dict[str, dict[str, float]]:
        """The seconds of the loop, and of the threads that make batches, by use."""
        making = {"sampling": self.sample_seconds, "gathering": self.gather_seconds, "disk": self.read_seconds}
        waits = {"waiting": self.wait_seconds - self.first_wait_seconds, "first of an epoch": self.first_wait_seconds}
        shares = {"loop": {"own work": self.use_seconds, **waits}, "threads": making}
        return {name: parts for name, parts in shares.items() if sum(parts.values()) > 0}

    def _verdict(self) -> str:
        first = self.first_wait_seconds / max(self.loop_seconds, 1e-9)
        apart = first >= HIDDEN and self.batches > self.streams
        ahead = f", and {first:.0%} for the first of each epoch" if apart else ""
        if self.bound == "training":
            return f"training-bound: the loop waited {self.wait_share:.0%} of its time for batches{ahead}"
        return f"{self.bound}-bound: the loop waited {self.wait_share:.0%} of its time for batches{ahead}"

    def _threads(self) -> str:
        needed = f"{self.threads} of {self.max_threads} threads needed on {self.cores} cores"
        loop, making = self.short_of_cores
        if max(loop, making) < HIDDEN:
            return needed
        return f"{needed}, which are short: the loop waited {loop:.0%} of its own time for a core, threads {making:.0%}"

    def _work(self) -> str:
        n = self.batches
        sample, gather, wait, use = (
            f"{seconds / n * 1e3:,.1f} ms"
            for seconds in (self.sample_seconds, self.gather_seconds, self.wait_seconds, self.use_seconds)
        )
        return (
            f"{n:,} batches of {self.nodes / n:,.0f} nodes, {self.edges / n:,.0f} edges, {size(self.bytes / n)}: "
            f"{sample} sampling, {gather} gathering in a thread; {wait} waiting, {use} in the loop"
        )

    def _disk(self) -> str:
        if not self.rows_read:
            return ""
        n = self.batches
        return (
            f"{self.rows_read / n:,.0f} rows of a batch come from a disk, by {self.requests_read / n:,.0f} requests "
            f"of {size(self.bytes_read / n)} together; a thread waits {self.read_seconds / n * 1e3:,.1f} ms for them"
        )

    def _memory(self) -> str:
        sampled = self.max_sampled - self.max_prefetch
        more = f" and {sampled} sampled" if sampled else ""
        caches = f", caches {size(self.cache_bytes)}" if self.cache_bytes else ""
        derived = f", what sampling made of the graph {size(self.derived_bytes)}" if self.derived_bytes else ""
        return (
            f"at most {self.max_prefetch} batches ahead{more}, the largest {size(self.largest_batch_bytes)}; "
            f"the pool holds {size(self.pool_bytes)}{caches}{derived}"
        )

    def _advice(self) -> str:
        if self.bound != "sampling" or self.unsorted_by is None:
            return ""
        return f"a graph that is made with sort_by={self.unsorted_by!r} is sampled faster"
