"""The loader's pipeline: how many threads, what it reports, and no fresh memory in a steady loop."""

import itertools
import json
import resource
import time
from pathlib import Path
from statistics import median

import numpy as np
import processes
import pytest
from small_graphs import homogeneous, numpy_of, summary
from tries import least

import ramet

NODES = 20_000
WARM, COUNTED = 30, 60
FEW = max(80 * 1024 // resource.getpagesize(), 2)  # page faults


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    """Batches of it have arrays of some hundred KB each."""
    rng = np.random.default_rng(0)
    return ramet.from_edge_index(
        rng.integers(0, NODES, (2, 10 * NODES)),
        num_nodes=NODES,
        nodes={"feat": rng.normal(size=(NODES, 32)).astype(np.float32)},
    )


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def faults_per_step(step) -> float:
    """Minor page faults of a step of a loop that has warmed up: the median leaves out what others in the process do."""
    for _ in range(WARM):
        step()
    counts = []
    for _ in range(COUNTED):
        before = faults()
        step()
        counts.append(faults() - before)
    return median(counts)


@pytest.mark.parametrize("threads", [1, 2, None])
def test_a_steady_loop_takes_no_page_faults(graph, threads):
    loader = ramet.NeighborLoader(graph, [10, 5], batch_size=200, shuffle=True, threads=threads)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    largest = 0

    def step():
        nonlocal largest
        largest = max(largest, next(batches).nbytes)

    assert least(lambda: faults_per_step(step), FEW) < FEW
    assert largest > 5 * FEW * resource.getpagesize()  # so many faults a fresh batch would take


def test_sampling_and_gathering_in_a_loop_take_no_page_faults(graph):
    rng = np.random.default_rng(1)
    table = graph.table("feat")
    for step in (
        lambda: ramet.sample(graph, rng.integers(0, NODES, rng.integers(150, 300)), [10, 5]),
        lambda: table.gather(rng.integers(0, NODES, rng.integers(5_000, 10_000))),
    ):
        assert least(lambda step=step: faults_per_step(step), FEW) < FEW


def test_the_pool_does_not_grow(graph):
    loader = ramet.NeighborLoader(graph, [10, 5], batch_size=200, shuffle=True, threads=2)
    for _ in range(3):
        for _ in loader:
            pass
    told = loader.summary()
    assert loader.buffer_bytes["idle"] + loader.buffer_bytes["in_use"] == told.pool_bytes
    # A buffer may be twice its array; a quarter is there for sizes that vary; one batch is in the loop's hands.
    assert told.pool_bytes <= 2.5 * (told.max_prefetch + 1) * told.largest_batch_bytes


# ---- how many threads


def test_automatic_threads_give_the_same_batches():
    graph = homogeneous()
    loaders = [
        ramet.NeighborLoader(graph, [4, 3], "train", 10, shuffle=True, threads=t, prefetch=p)
        for t, p in [(1, None), (None, None), (None, 1), (None, 7)]
    ]
    expected, *others = ([summary(batch) for batch in loader] for loader in loaders)
    assert all(other == expected for other in others)
    assert loaders[2].summary().max_prefetch == 1 and loaders[3].summary().max_prefetch == 7


TRIES = 5  # of what other programs on the machine disturb: one of them must do


def of_a_slow_loop(graph) -> ramet.Summary:
    loader = ramet.NeighborLoader(graph, [5], batch_size=50)
    for batch in itertools.islice(loader, 12):
        time.sleep(20 * sum(batch.timings.values()))
    return loader.summary()


def test_a_loop_that_is_slower_than_one_thread_gets_one(graph):
    tries = (of_a_slow_loop(graph) for _ in range(TRIES))
    assert any(told.threads == 1 and told.bound == "training" and "training-bound" in str(told) for told in tries)


def of_a_fast_loop(graph) -> ramet.Summary:
    loader = ramet.NeighborLoader(graph, [10, 10, 10], batch_size=500)
    for batch in itertools.islice(loader, 12):
        numpy_of(batch.n_id)
    return loader.summary()


def test_a_loop_that_only_iterates_gets_all(graph):
    tries = (of_a_fast_loop(graph) for _ in range(TRIES))
    told = next((told for told in tries if told.threads == told.max_threads and told.bound != "training"), None)
    assert told is not None
    assert told.bound in ("sampling", "memory") and f"{told.bound}-bound: the loop waited" in str(told)


def test_a_number_of_threads_is_exact(graph):
    loader = ramet.NeighborLoader(graph, [5], batch_size=500, threads=3)
    for _ in loader:
        pass
    told = loader.summary()
    assert (told.threads, told.max_threads, told.max_prefetch) == (3, 3, 3)


# ---- the summary


def test_the_summary_adds_up(graph):
    loader = ramet.NeighborLoader(graph, [10, 5], batch_size=1000)
    assert loader.summary().bound == "unknown" and "too few" in str(loader.summary())
    begin = time.perf_counter()
    batches = [
        (batch.num_nodes, batch.num_edges, batch.nbytes, batch.timings["wait"]) for _ in range(2) for batch in loader
    ]
    elapsed = time.perf_counter() - begin
    nodes, edges, size, wait = map(sum, zip(*batches, strict=True))
    told = loader.summary()
    assert (told.batches, told.nodes, told.edges, told.bytes) == (len(batches), nodes, edges, size)
    assert told.table_bytes == nodes * 32 * 4
    assert told.largest_batch_bytes == max(b[2] for b in batches)
    assert told.wait_seconds == pytest.approx(wait)
    assert told.loop_seconds <= elapsed
    assert 0 <= told.first_wait_seconds <= told.wait_seconds
    assert f"{told.batches} batches" in str(told) and "the pool holds" in str(told)


def test_a_batch_counts_what_it_holds(graph):
    batch = ramet.sample(graph, [0, 1, 2], [3, 2])
    assert batch.num_nodes == len(batch.n_id)
    assert batch.num_edges == sum(len(block.indices) for block in batch.blocks)
    arrays = [batch.n_id, batch.input_id, *(a for b in batch.blocks for a in (b.indptr, b.indices))]
    positions = 4 * batch.num_edges  # 32 bits wide until somebody asks for them
    assert batch.nbytes == sum(numpy_of(a).nbytes for a in arrays) + positions
    assert batch.timings == {"sample": 0, "gather": 0, "read": 0, "wait": 0}


def told(**changes) -> ramet.Summary:
    seconds = {
        "sample_seconds": 6.0,
        "gather_seconds": 4.0,
        "read_seconds": 0.0,
        "wait_seconds": 0.0,
        "first_wait_seconds": 0.0,
        "core_wait_seconds": 0.1,
        "use_core_wait_seconds": 0.1,
        "streams": 1,
    }
    counts = {"batches": 10, "nodes": 1000, "edges": 5000, "bytes": 10_000_000, "table_bytes": 9_000_000}
    counts |= {"cache_hits": 0, "cache_misses": 0, "rows_read": 0, "requests_read": 0, "bytes_read": 0}
    other = {"largest_batch_bytes": 1_500_000, "threads": 1, "max_threads": 2, "max_prefetch": 3, "pool_bytes": 2**22}
    other |= {"cores": 2, "max_sampled": 3, "cache_bytes": 0, "derived_bytes": 0}
    return ramet.Summary(**{**seconds, **counts, **other, "use_seconds": 10.0} | changes)


def test_a_loop_of_one_batch_per_epoch_may_be_bound_by_waiting():
    waiting = told(wait_seconds=90.0, first_wait_seconds=90.0, streams=10)
    assert waiting.bound == "sampling" and waiting.wait_share == 0.9
    assert "first of each" not in str(waiting)


def test_the_summary_says_what_bounds_the_loop():
    training = told(wait_seconds=1.5, first_wait_seconds=1.4)
    assert training.bound == "training"
    assert "waited 1% of its time for batches, and 12% for the first of each epoch" in str(training)
    preparation = told(wait_seconds=10.0, threads=2)
    assert preparation.bound == "sampling" and preparation.wait_share == 0.5
    assert told(wait_seconds=10.0, gather_seconds=7.0).bound == "memory"
    assert "loop    [################================]  # own work 50%, = waiting 50%\n" in str(preparation)
    assert "waited 50%" in str(preparation) and "# sampling 60%, = gathering 40%\n" in str(preparation)
    assert "2 of 2 threads needed on 2 cores\n" in str(preparation)
    assert "at most 3 batches ahead, the largest 1.5 MB; the pool holds 4.2 MB" in str(training)
    assert json.loads(json.dumps(vars(training)))["batches"] == 10


def test_the_summary_advises_to_sort_rows_by_time():
    advice = "a graph that is made with sort_by='day' is sampled faster"
    assert advice in str(told(wait_seconds=10.0, unsorted_by="day"))
    assert advice not in str(told(unsorted_by="day")) and "sort_by" not in str(told(wait_seconds=10.0))


def test_the_summary_says_what_a_disk_does():
    reads = {"rows_read": 3000, "requests_read": 1000, "bytes_read": 2_000_000, "max_sampled": 23}
    disk = told(wait_seconds=10.0, read_seconds=30.0, cache_bytes=5_000_000, derived_bytes=3_000, **reads)
    assert disk.bound == "disk"
    assert "threads [#####===------------------------]  # sampling 15%, = gathering 10%, - disk 75%\n" in str(disk)
    assert "disk 75%" in disk._repr_html_() and "300 rows of a batch" in disk._repr_html_()
    assert "300 rows of a batch come from a disk, by 100 requests of 200.0 kB together" in str(disk)
    assert "at most 3 batches ahead and 20 sampled" in str(disk)
    assert "caches 5.0 MB, what sampling made of the graph 3.0 kB" in str(disk)


def test_the_summary_says_that_cores_are_short():
    short = told(use_core_wait_seconds=3.0, core_wait_seconds=2.0)
    assert short.short_of_cores == (0.3, 0.2)
    assert "on 2 cores, which are short: the loop waited 30% of its own time for a core, threads 20%" in str(short)


CROWDED = """
import os, subprocess, sys, time, numpy as np, ramet

os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
spin = (
    "import os, sys\\n"
    "print('it runs', flush=True)\\n"
    "while os.getppid() == int(sys.argv[1]): pass"
)

def seconds_waited():
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except FileNotFoundError:
        return 0

def work(seconds=0.05):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass

edges = np.random.default_rng(0).integers(0, 5000, (2, 100_000))
loader = ramet.NeighborLoader(ramet.from_edge_index(edges, num_nodes=5000), [10, 10], batch_size=1000, threads=2)
other = subprocess.Popen([sys.executable, "-c", spin, str(os.getpid())], stdout=subprocess.PIPE)
waited = used = 0
try:
    assert other.stdout.readline() == b"it runs\\n"
    for batch in loader:
        before, began = seconds_waited(), time.monotonic()
        work()
        waited, used = waited + seconds_waited() - before, used + time.monotonic() - began
    assert other.poll() is None
finally:
    other.kill()
told = loader.summary()
print(told.cores, *told.short_of_cores, waited / used, sep="\\n")
"""


def counts_waits_for_a_core() -> bool:
    """Whether the kernel does; one that does not has zeros, or no such file."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[0]) > 0
    except FileNotFoundError:
        return False


def test_a_loop_that_shares_its_core_waits_for_it():
    """With a program that ends with the loop's process, however that ends. Each of the loop's steps takes longer than
    the kernel leaves a core to one program.
    """
    cores, loop, making, counted = map(float, processes.run("-c", CROWDED).split())
    assert cores == 1 and 0 <= loop <= 1 and 0 <= making <= 1
    if not counts_waits_for_a_core():
        pytest.skip("the kernel does not count waits for a core")
    assert counted > 0.1 and loop == pytest.approx(counted, rel=0.2)


# ---- memory that the process keeps

KEEP = """
import resource, sys
import numpy as np, ramet

def faults_of_a_step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for size in (40, 25, 30):
        np.ones(size << 17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

fresh = min(faults_of_a_step() for _ in range(3))
kept = ramet.keep_memory()
recycled = min(faults_of_a_step() for _ in range(8))
print(int(kept), fresh, recycled)
"""


def test_keeping_memory_ends_the_page_faults():
    kept, fresh, recycled = map(int, processes.run("-c", KEEP).split())
    if not kept:
        pytest.skip("the C library has no mallopt")
    assert recycled < FEW < fresh
