"""The sentence about caches."""

from ramet.costs.caches import CacheCount, CacheSize
from ramet.costs.disk import Disk, Reads
from ramet.costs.words import advise, best_policy


def counted(*hits_by_size: dict[str, float]) -> CacheCount:
    sizes = [
        CacheSize(rows=10 * 2**i, share=0.01 * 2**i, bytes=1000 * 2**i, hits=hits)
        for i, hits in enumerate(hits_by_size)
    ]
    facts = {"node_type": "node", "num_rows": 1000, "row_bytes": 100}
    return CacheCount(**facts, epochs=1, batches=9, rows_per_batch=200.0, touched=0.5, sizes=sizes)


def test_the_simplest_policy_that_is_as_good_is_advised():
    hits = {"recency": 0.5, "degree": 0.6, "presampling": 0.61, "look-ahead 1": 0.612, "look-ahead 16": 0.614}
    assert best_policy(counted(hits).sizes[0]) == "presampling"
    assert best_policy(counted(hits | {"degree": 0.61}).sizes[0]) == "degree"
    assert best_policy(counted(hits | {"recency": 0.9}).sizes[0]) == "recency"
    assert best_policy(counted(hits | {"look-ahead 16": 0.7, "optimum": 0.9}).sizes[0]) == "look-ahead 16"


def test_a_larger_cache_is_advised_where_it_saves_much():
    small, larger, largest = ({"degree": hits, "look-ahead 4": hits + 0.1, "optimum": 0.9} for hits in (0.3, 0.5, 0.55))
    assert advise(counted(small, larger, largest)) == (
        "A cache of 20 rows (2.0%, 2.0 kB) by looking ahead 4 batches hits 60.0%, 30.0 points below the optimum: "
        "a batch reads 8.0 kB instead of 20.0 kB."
    )


def test_the_gain_on_a_disk_is_named():
    found = counted({"degree": 0.5, "optimum": 0.5})
    found.disk, found.uncached = Disk("threads", 1e-5, 1e-9), Reads(200.0, 20e3, 1234.5)
    rates = [(2.3456e4, "23,456"), (62.0, "62.0"), (3.14159, "3.14"), (1.2345e-3, "0.00123"), (None, "any number of")]
    for rate, shown in rates:
        found.sizes[0].reads["degree"] = Reads(100.0, 10e3, rate)
        assert advise(found).endswith(
            f"instead of 20.0 kB, and the disk gives {shown} batches a second instead of 1,234."
        )
