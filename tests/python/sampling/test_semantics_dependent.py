"""Dependent minibatches are those of the twin, bit by bit. docs/semantics.md, section 9."""

import itertools

import numpy as np
import pytest
from comparison import check

import ramet


@pytest.mark.parametrize("kappa", [2, 3, 8])
def test_dependent(small, kappa):
    """Section 9: the steps of two blocks and some of a third."""
    for step, fanouts in itertools.product(range(2 * kappa + 2), ([5, 3], [40])):
        check(small, [3, 8, 299, 3], fanouts, sampler=ramet.Uniform(dependent=kappa), step=step, seed=3, epoch=1)
    for step in (kappa - 1, 100 * kappa + 1):
        check(small, [3, 299], [4, 40], step=step, sampler=ramet.Uniform(replace=True, dependent=kappa), threads=2)


def test_dependent_blocks(small):
    """Section 9: a block begins with plain words; 1 is plain sampling; large kappa changes a step little."""
    graph, _ = small
    seeds = np.arange(300)

    def batch(**options):
        return ramet.sample(graph, seeds, [3], **options)

    assert batch(sampler=ramet.Uniform(dependent=1), step=7).fingerprint() == batch(step=7).fingerprint()
    for sampler, options in ((ramet.Uniform, {"replace": True}), (ramet.Labor, {})):
        first = batch(step=35, sampler=sampler(dependent=5, **options))
        other = batch(step=7, sampler=sampler(**options))
        assert first.fingerprint() == other.fingerprint()
    first, second = (
        set(batch(sampler=ramet.Uniform(dependent=1000), step=s).blocks[0].e_id.tolist()) for s in (500, 501)
    )
    other = set(batch(step=501).blocks[0].e_id.tolist())
    assert len(first & second) > 0.95 * len(first) > 1.3 * len(first & other)
