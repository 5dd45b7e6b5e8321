"""Embeddings whose rows lie on a disk, beside those in memory (docs/embeddings.md, "Rows on a disk")."""

import copy
import os
import pickle
import resource

import numpy as np
import processes
import pytest
import torch
from embedding_rows import OPTIMIZERS, assert_same_rows
from refusals import error_of

import ramet

ROWS, WIDTH, BATCH = 200, 67, 60


def on_disk(path, cache_rows, **options):
    return ramet.nn.Embedding(ROWS, WIDTH, seed=3, location="disk", path=path, cache_rows=cache_rows, **options)


def batch(step):
    return torch.randint(0, ROWS, (BATCH,), generator=torch.Generator().manual_seed(step))


def train(optimizer, steps, announced=0) -> None:
    """`announced`: batches ahead of the step."""
    (embedding,) = optimizer.embeddings
    for step in steps:
        if announced:
            embedding.announce(batch(step + announced))
        optimizer.zero_grad()
        (embedding(batch(step)).float() ** 2).sum().backward()
        if step % 3 == 2:  # another call of the step
            embedding(batch(step + 100).view(2, -1)).float().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_rows_in_memory_to_the_bit(tmp_path, name):
    dtype = "bfloat16" if name == "rounded Adam" else "float32"
    expected = OPTIMIZERS[name](ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=3))
    train(expected, range(6))
    threads = torch.get_num_threads()
    try:
        for cache_rows, count, announced in ((0, 1, 0), (1, 2, 0), (20, 2, 1), (100, 1, 2), (10 * ROWS, 2, 0)):
            torch.set_num_threads(count)
            optimizer = OPTIMIZERS[name](on_disk(tmp_path, cache_rows, dtype=dtype))
            train(optimizer, range(6), announced)
            assert_same_rows(optimizer, expected)
            assert os.listdir(tmp_path) == []
    finally:
        torch.set_num_threads(threads)


def test_a_checkpoint_goes_to_a_disk_and_back_to_memory(tmp_path):
    (tmp_path / "rows").mkdir()
    for name in ("SGD", "Adam", "rounded Adam"):
        dtype = "bfloat16" if name == "rounded Adam" else "float32"
        embeddings = [on_disk(tmp_path / "rows", 30, dtype=dtype) for _ in range(2)]
        optimizer, again = (OPTIMIZERS[name](embedding) for embedding in embeddings)
        in_memory = OPTIMIZERS[name](ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=5))
        train(optimizer, range(4))
        optimizer.save(tmp_path / "checkpoint")
        train(again, range(9, 12))  # rows that are overwritten
        for other in (again, in_memory):
            other.load(tmp_path / "checkpoint")
            assert_same_rows(optimizer, other)
        in_memory.save(tmp_path / "checkpoint")
        again.load(tmp_path / "checkpoint")
        for each in (optimizer, again, in_memory):
            train(each, range(4, 7))
        assert_same_rows(optimizer, again)
        assert_same_rows(optimizer, in_memory)
    weights = ramet.Table.open(tmp_path / "checkpoint", "weight", "embedding-0")
    assert weights.shape == (ROWS, WIDTH)


def test_a_failed_save_leaves_the_checkpoint_before(tmp_path):
    optimizer = ramet.optim.Adam(on_disk(tmp_path, 30))
    train(optimizer, range(2))
    optimizer.save(tmp_path / "checkpoint")
    train(optimizer, range(2, 4))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, before[1]))
        with pytest.raises(OSError, match="File too large"):
            optimizer.save(tmp_path / "checkpoint")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    again = ramet.optim.Adam(on_disk(tmp_path, 30))
    again.load(tmp_path / "checkpoint")
    train(again, range(2, 4))
    assert_same_rows(optimizer, again)
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_rows_of_a_tensor_of_ids_are_a_tensor(tmp_path):
    embedding = ramet.nn.Embedding(9, 4, "bfloat16", location="disk", path=tmp_path, cache_rows=5)
    ids = torch.tensor([[1, 2], [3, 3]])
    assert torch.equal(embedding.table.gather(ids), embedding(ids))
    assert torch.equal(ramet.optim.Adam(embedding).state_of(embedding)["moment1"].gather(ids), torch.zeros(2, 2, 4))


def test_another_optimizer_begins_with_the_rows_and_no_state(tmp_path):
    embedding = on_disk(tmp_path, 30)
    first = ramet.optim.Adam(embedding)
    train(first, range(2))
    weights = embedding.table.gather(np.arange(ROWS))
    second = ramet.optim.AdaGrad(embedding, lr=0.1)
    np.testing.assert_array_equal(embedding.table.gather(np.arange(ROWS)), weights)
    assert not second.state_of(embedding)["moment2"].gather(np.arange(ROWS)).any()
    train(second, range(2))
    with pytest.raises(ValueError, match="another optimizer has taken the embedding over"):
        train(first, range(2))


def test_what_does_not_work_is_said(tmp_path):
    embedding = on_disk(tmp_path, 5)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        pickle.dumps(embedding)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        copy.deepcopy(embedding)
    with pytest.raises(ValueError, match="lie on a disk"):
        _ = embedding.weight
    with pytest.raises(IndexError, match=r"ids\[1\] = 200 is outside the 200 rows"):
        embedding(torch.tensor([1, ROWS]))
    with pytest.raises(IndexError, match=r"ids\[0\] = -1"):
        embedding.announce([-1])
    for error, match, options in (
        (ValueError, "path is missing", {"path": None}),
        (ValueError, "cache_rows is missing", {"cache_rows": None}),
        (ValueError, "cache_rows is -1", {"cache_rows": -1}),
        (FileNotFoundError, "absent", {"path": tmp_path / "absent"}),
        (ValueError, "init is a function", {"init": lambda ids: ids}),
        (ValueError, "placement is 'chunked'", {"placement": "chunked"}),
        (ValueError, "ownership is of 5 rows", {"ownership": ramet._core.Ownership.hashed("node", 5, 1)}),
        (ValueError, "those of .* learn", {"dtype": "int32"}),
        (ValueError, "location is 'tape'", {"location": "tape"}),
        (ValueError, "are of rows on a disk", {"location": "host"}),
    ):
        with pytest.raises(error, match=match):
            ramet.nn.Embedding(ROWS, WIDTH, **{"location": "disk", "path": tmp_path, "cache_rows": 5, **options})
    said = processes.in_fork(error_of, lambda: embedding(torch.tensor([1])))
    assert said.startswith("ValueError") and "this is its fork" in said


def test_a_loader_reads_ahead_what_the_loop_will_ask_for(tmp_path):
    """As a value of `tables`: the same bits, also where a loop is left early and starts again."""
    edges = np.random.default_rng(0).integers(0, ROWS, (2, 2000))
    graph = ramet.from_edge_index(edges, num_nodes=ROWS)
    ends = []
    for embedding in (ramet.nn.Embedding(ROWS, WIDTH, seed=3), on_disk(tmp_path, 400)):
        options = {"batch_size": 20, "shuffle": True, "threads": 2, "tables": {"node": embedding}}
        loader = ramet.NeighborLoader(graph, [3, 2], **options)
        optimizer = ramet.optim.Adam(embedding, lr=0.1)
        for steps in (4, 100):
            for batch, _ in zip(loader, range(steps)):
                optimizer.zero_grad()
                embedding(batch.n_id).square().sum().backward()
                optimizer.step()
        ends.append(optimizer)
    assert_same_rows(*ends)
    assert ends[1].embeddings[0].table.counts()["batches_read_ahead"] > 0


def test_what_a_loader_does_not_tell_ahead(tmp_path):
    graph = ramet.from_edge_index(np.zeros((2, 1), np.int64), num_nodes=ROWS + 1)
    embedding = on_disk(tmp_path, 10)
    with pytest.raises(ValueError, match=r"tables\['node'\] has 200 rows, but there are 201 nodes"):
        ramet.NeighborLoader(graph, [3], tables={"node": embedding})
    with pytest.raises(ValueError, match=r"tables\['paper'\] is an embedding, but of no node type"):
        ramet.NeighborLoader(graph, [3], tables={"paper": embedding})
    with pytest.raises(TypeError, match=r"no 'embeddings': `tables={node type: embedding}`"):
        ramet.NeighborLoader(graph, [3], embeddings={"node": embedding})
