"""The fingerprint of batches: docs/semantics.md, section 7."""

import numpy as np
from comparison import both, check

import ramet


def test_fingerprint_is_of_a_set(small):
    """Section 7: neither order nor repetition of seeds, nor the number of batches, but every element."""
    graph, _ = small

    def batch(seeds, **options):
        return ramet.sample(graph, seeds, [5], **options)

    one = batch([3, 8, 299])
    assert batch([299, 3, 8, 3]).fingerprint() == one.fingerprint()
    assert ramet.fingerprint([one, one, batch([8])]) == one.fingerprint()
    assert ramet.fingerprint([batch([3]), batch([8]), batch([299])]) == one.fingerprint()
    assert batch([3, 8]).fingerprint() != one.fingerprint()
    assert batch([3, 8, 299], step=1).fingerprint() != one.fingerprint()


def test_fingerprint_of_repeated_picks():
    """Section 7: an edge picked twice is one element."""
    pair = both(2, np.array([[1], [0]]))
    once = check(pair, [0], [1])
    assert check(pair, [0], [9], sampler=ramet.Uniform(replace=True)).fingerprint() == once.fingerprint()


def test_fingerprint_tells_hops_and_edge_types_apart():
    """Section 7: the hop and the name of the edge type are in each element."""
    pair = both(1, np.array([[0], [0]]))
    prints = {check(pair, [0], fanouts).fingerprint() for fanouts in ([1], [1, 0], [0, 1], [1, 1])}
    assert len(prints) == 3  # [1] and [1, 0] are the same set
    for relation in ("x", "y"):
        graph = ramet.from_arrays({("n", relation, "n"): [0, 1]}, {("n", relation, "n"): [0]})
        prints.add(ramet.sample(graph, [0], [1]).fingerprint())
    assert len(prints) == 5
