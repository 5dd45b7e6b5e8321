"""ramet.nn.Embedding where a program expects torch.nn.Embedding (docs/embeddings.md)."""

import copy
import io
import resource

import numpy as np
import pytest
import torch

import ramet

ROWS, WIDTH = 30, 5


def places(tmp_path):
    return {}, {"dtype": "bfloat16"}, {"location": "disk", "path": tmp_path, "cache_rows": 7}


def model_of(seed: int, **options) -> torch.nn.Sequential:
    return torch.nn.Sequential(ramet.nn.Embedding(ROWS, WIDTH, seed=seed, **options), torch.nn.Linear(WIDTH, 2))


# ---- what a module's state holds


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("assign", [False, True])
def test_a_saved_state_has_the_rows(dtype, assign):
    model, other, file = model_of(1, dtype=dtype), model_of(2, dtype=dtype), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    table = other[0].table
    other.load_state_dict(torch.load(file), assign=assign)
    assert other[0].table is table and torch.equal(table.torch(), model[0].weight)
    assert list(model.state_dict()) == ["0.weight", "1.weight", "1.bias"]
    assert not list(model[0].parameters()) and not list(model[0].buffers())


def test_states_are_torchs():
    ours, theirs = ramet.nn.Embedding(ROWS, WIDTH), torch.nn.Embedding(ROWS, WIDTH)
    ours.load_state_dict(theirs.state_dict())
    assert torch.equal(ours.weight, theirs.weight)
    ours.weight[3] = 7
    theirs.load_state_dict(ours.state_dict())
    assert (theirs.weight[3] == 7).all()
    for state, message in (({}, "Missing key.*weight"), ({"weight": torch.ones(3, 2)}, "size mismatch for weight")):
        with pytest.raises(RuntimeError, match=message):
            ours.load_state_dict(state)
    assert (ours.weight[3] == 7).all()


@pytest.mark.parametrize("where", [{"placement": "chunked"}, {"location": "disk", "cache_rows": 7}])
def test_a_state_that_cannot_have_the_rows_is_refused(tmp_path, where):
    model = model_of(1, **where | ({"path": tmp_path} if "location" in where else {}))
    for call in (model.state_dict, lambda: model.load_state_dict(model_of(1).state_dict())):
        with pytest.raises(TypeError, match=r"no rows of this ramet.nn.Embedding.*optimizer.save\(path\)"):
            call()


def test_a_model_is_moved_but_its_rows_are_not_cast():
    model = model_of(1)
    assert model.to("cpu").float().share_memory() is model
    for cast in (model.half, model.double, lambda: model.to(torch.bfloat16)):
        with pytest.raises(TypeError, match=r"are torch.float32 and not cast to torch\."):
            cast()
    assert model_of(1, dtype="bfloat16").bfloat16()[0].weight.dtype == torch.bfloat16


# ---- gradients that nobody takes


def test_a_loop_without_an_optimizer_for_the_rows_is_told_and_fills_no_memory():
    model = torch.nn.Sequential(ramet.nn.Embedding(50_000, 64), torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train(steps):
        for _ in range(steps):
            ids = torch.randint(50_000, (4096,))
            optimizer.zero_grad()
            (model(ids) * model[0](ids)).sum().backward()  # several calls of one backward
            optimizer.step()

    with pytest.warns(UserWarning, match=r"no optimizer of ramet.optim has it") as found:
        train(20)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        train(80)
    assert len(found) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB; all of them are 160 MB
    assert sum(len(kept.ids) for kept in model[0].pending.in_order()) == 2 * 4096


def test_rows_that_are_frozen_get_no_gradients():
    embedding = ramet.nn.Embedding(ROWS, WIDTH).requires_grad_(False)
    assert not embedding(torch.tensor([1])).requires_grad
    assert embedding.requires_grad_()(torch.tensor([1])).requires_grad


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"), reason="torch has scalers for CUDA alone")
def test_a_scaler_of_losses_is_refused():
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    optimizer, scaler = ramet.optim.Adam(embedding), torch.amp.GradScaler("cpu")
    scaler.scale(embedding(torch.tensor([1])).sum()).backward()
    with pytest.raises(TypeError, match="a GradScaler does not see the gradients of rows"):
        scaler.step(optimizer)


# ---- what programs do with results


CHANGES = {
    "+=": lambda x: x.add_(1),
    "relu": lambda x: torch.nn.functional.relu(x, inplace=True),
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5, inplace=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_results_change_in_place_as_torchs(tmp_path, change):
    ids = torch.tensor([[1, 2], [2, 3]])
    for place in places(tmp_path):
        embedding = ramet.nn.Embedding(ROWS, WIDTH, seed=1, **place)
        rows = torch.from_numpy(embedding.table.gather(np.arange(ROWS)).view("i2" if "dtype" in place else "f4"))
        rows = rows.view(torch.bfloat16) if "dtype" in place else rows
        theirs = torch.nn.Embedding.from_pretrained(rows.clone(), freeze=False)
        results = []
        for module in (embedding, theirs):
            torch.manual_seed(0)
            results.append(CHANGES[change](module(ids)))
            results[-1].square().sum().backward()
        assert torch.equal(*results)
        ramet.optim.SGD(embedding, lr=1.0).step()
        torch.optim.SGD(theirs.parameters(), lr=1.0).step()
        torch.testing.assert_close(embedding(torch.arange(ROWS)).detach(), theirs.weight.detach())


def test_a_compiled_program_calls_an_embedding():
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    optimizer = ramet.optim.SGD(embedding, lr=1.0)
    before = embedding.weight.clone()
    loss = torch.compile(lambda ids: embedding(ids).pow(2).sum(), backend="eager")
    loss(torch.tensor([1, 1])).backward()
    optimizer.step()
    torch.testing.assert_close(embedding.weight[1], before[1] * -3)


def test_transforms_of_torch_func_see_the_rows():
    embedding, head, ids = ramet.nn.Embedding(ROWS, WIDTH), torch.nn.Linear(WIDTH, 1), torch.tensor([[1, 2], [3, 3]])
    dense = torch.nn.Embedding.from_pretrained(embedding.weight.clone(), freeze=False)

    def of_each(rows):
        def loss(parameters, ids):
            return torch.func.functional_call(head, parameters, (rows(ids),)).square().sum()

        return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 1))(dict(head.named_parameters()), ids)

    for ours, theirs in zip(of_each(embedding).values(), of_each(dense).values()):
        torch.testing.assert_close(ours, theirs)
    ours, theirs = ramet.optim.SGD(embedding, lr=1.0), torch.optim.SGD(dense.parameters(), lr=1.0)
    for rows, optimizer in ((embedding, ours), (dense, theirs)):
        torch.vmap(lambda i, rows=rows: rows(i).square())(ids).sum().backward()
        optimizer.step()
    torch.testing.assert_close(embedding.weight, dense.weight.detach())


def test_a_padding_row_is_zeros_and_does_not_learn(tmp_path):
    for place in places(tmp_path):
        embedding = ramet.nn.Embedding(ROWS, WIDTH, seed=1, padding_idx=-1, **place)
        optimizer = ramet.optim.Adam(embedding, lr=0.1, weight_decay=0.1)
        ids = torch.tensor([[ROWS - 1, 3], [ROWS - 1, ROWS - 1]])
        assert not embedding(ids)[1].any() and embedding(ids)[0, 1].any()
        (embedding(ids) + 1).float().square().sum().backward()
        optimizer.step()
        assert not embedding(ids)[1].any()
        steps = optimizer.state_of(embedding)["steps"].gather(np.arange(ROWS))
        assert steps.nonzero()[0].tolist() == [3]
    table = ramet.Table.create((ROWS, WIDTH), init=1)
    assert (ramet.nn.Embedding(table, padding_idx=0).weight == 1).all()
    assert ramet.nn.Embedding(table, WIDTH, torch.float32, init="normal", seed=0).table is table
    for other in ({"seed": "0"}, {"embedding_dim": str(WIDTH)}, {"init": lambda ids: ids}, {"dtype": "float16"}):
        with pytest.raises(ValueError, match=r"is .*, but the rows are those of"):
            ramet.nn.Embedding(table, **other)
    with pytest.raises(ValueError, match="padding_idx is 30, expected at most 29"):
        ramet.nn.Embedding(ROWS, WIDTH, padding_idx=ROWS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_embedding_begins_with_given_rows(dtype):
    rows = torch.randn(ROWS, WIDTH).to(dtype)
    embedding = ramet.nn.Embedding.from_pretrained(rows, padding_idx=2)
    assert torch.equal(embedding.weight, rows) and not embedding(torch.tensor([1])).requires_grad
    embedding.weight[0] = 9
    assert not (rows[0] == 9).any()
    learning = ramet.nn.Embedding.from_pretrained(rows, freeze=False, placement="chunked")
    assert learning(torch.tensor([1])).requires_grad
    with pytest.raises(ValueError, match=r"int64.*learn"):
        ramet.nn.Embedding.from_pretrained(np.zeros((3, 2), np.int64))


def test_a_copy_of_a_model_has_rows_of_its_own():
    model = model_of(1)
    best = copy.deepcopy(model.state_dict())
    model[0].weight.zero_()
    assert best["0.weight"].any()
    shallow, optimizer = copy.copy(model[0]), ramet.optim.SGD(model[0], lr=1.0)
    shallow(torch.tensor([1])).sum().backward()
    optimizer.step()
    assert (model[0].weight[1] == -1).all()
