"""ramet.nn.Embedding and ramet.optim beside torch's own on dense rows (docs/semantics.md, section 19)."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

import ramet

ROWS, WIDTH = 50, 19  # a width that no vector register divides


def dense_twin(make, rows, gradients_of_steps):
    """Every row stepped by torch's optimizer `make` alone, in those steps where it has a gradient."""
    result = rows.clone()
    for row in range(len(rows)):
        weight = rows[row].clone().requires_grad_()
        optimizer = make([weight])
        for ids, gradients in gradients_of_steps:
            mine = gradients[ids == row]
            if len(mine):
                weight.grad = mine.sum(0)
                optimizer.step()
        result[row] = weight.detach()
    return result


def steps_of(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(count):
        ids = torch.randint(ROWS, (40,), generator=generator)  # some repeat, some are missing
        yield ids, torch.randn(40, WIDTH, generator=generator)


def run(make, gradients_of_steps, dtype="float32", **options):
    embedding = ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=3)
    optimizer = make([embedding], **options)
    for ids, gradients in gradients_of_steps:
        embedding(ids).backward(gradients.to(embedding.weight.dtype))
        optimizer.step()
        optimizer.zero_grad()
    return embedding.weight.clone()


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (ramet.optim.SGD, torch.optim.SGD, {"lr": 0.1}),
        (ramet.optim.SGD, torch.optim.SGD, {"lr": 0.1, "weight_decay": 0.1}),
        (ramet.optim.AdaGrad, torch.optim.Adagrad, {"lr": 0.1, "eps": 1e-6}),
        (ramet.optim.AdaGrad, torch.optim.Adagrad, {"lr": 0.1, "eps": 1e-6, "weight_decay": 0.1}),
        (ramet.optim.RMSProp, torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.8, "eps": 1e-6}),
        (ramet.optim.RMSProp, torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.8, "eps": 1e-6, "weight_decay": 0.1}),
        (ramet.optim.AdamW, torch.optim.AdamW, {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3}),
        (ramet.optim.AdamW, torch.optim.AdamW, {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.5}),
        (ramet.optim.Adam, torch.optim.Adam, {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ],
)
def test_a_step_is_torchs_on_each_row_alone(ours, theirs, options):
    steps = list(steps_of(6))
    begin = ramet.nn.Embedding(ROWS, WIDTH, seed=3).weight.clone()
    expected = dense_twin(lambda weights: theirs(weights, **options), begin, steps)
    torch.testing.assert_close(run(ours, steps, **options), expected, rtol=1e-5, atol=1e-6)


def test_adam_that_counts_all_steps_is_torchs_sparse_adam():
    steps = list(steps_of(6))
    weight = ramet.nn.Embedding(ROWS, WIDTH, seed=3).weight.clone().requires_grad_()
    optimizer = torch.optim.SparseAdam([weight], lr=0.1, eps=1e-3)
    for ids, gradients in steps:
        weight.grad = torch.sparse_coo_tensor(ids[None], gradients, weight.shape, check_invariants=True)
        optimizer.step()
    ours = run(ramet.optim.Adam, steps, lr=0.1, eps=1e-3, steps="all")
    torch.testing.assert_close(ours, weight.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_rowwise_adagrad_has_one_sum_for_a_row(decay):
    steps = list(steps_of(4))
    weight, sums = ramet.nn.Embedding(ROWS, WIDTH, seed=3).weight.clone(), torch.zeros(ROWS)
    for ids, gradients in steps:
        for row in ids.unique():
            gradient = gradients[ids == row].sum(0) + decay * weight[row]
            sums[row] += gradient.square().mean()
            weight[row] -= 0.1 * gradient / (sums[row].sqrt() + 1e-10)
    ours = run(ramet.optim.AdaGrad, steps, lr=0.1, rowwise=True, weight_decay=decay)
    torch.testing.assert_close(ours, weight, rtol=1e-5, atol=1e-6)


def test_rows_without_a_gradient_are_not_touched():
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    optimizer = ramet.optim.Adam([embedding], lr=0.1, weight_decay=0.5)
    before = embedding.weight.clone()
    embedding(torch.tensor([3, 7])).sum().backward()
    optimizer.step()
    changed = (embedding.weight != before).any(1).nonzero().view(-1)
    assert changed.tolist() == [3, 7]
    assert optimizer.state_of(embedding)["steps"].numpy().nonzero()[0].tolist() == [3, 7]


def test_gradients_add_up_until_they_are_zeroed():
    embedding = ramet.nn.Embedding(ROWS, WIDTH, init=0)
    optimizer = ramet.optim.SGD(embedding, lr=1.0)
    rows = embedding(torch.tensor([1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows.sum().backward(retain_graph=True)
        rows.sum().backward()
        optimizer.step()
    assert torch.equal(embedding.weight[1], torch.full((WIDTH,), -2.0))
    optimizer.zero_grad()
    optimizer.step()
    assert torch.equal(embedding.weight[1], torch.full((WIDTH,), -2.0))


def test_a_gradient_that_is_written_to_after_backward_counts_as_it_was():
    embedding = ramet.nn.Embedding(ROWS, WIDTH, init=0)
    other = torch.nn.Parameter(torch.zeros(2 * WIDTH))  # autograd may give both the same memory
    gradients = torch.ones(2, WIDTH)
    (embedding(torch.tensor([1, 2])) + other.view(2, WIDTH)).backward(gradients)
    gradients.zero_()
    other.grad.zero_()
    ramet.optim.SGD(embedding, lr=1.0).step()
    assert (embedding.weight[1:3] == -1).all()


def test_a_nan_stays_in_its_row():
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    gradients = torch.ones(2, WIDTH)
    gradients[0, 5] = float("nan")
    embedding(torch.tensor([4, 6])).backward(gradients)
    ramet.optim.Adam(embedding).step()
    assert embedding.weight.isnan().any(1).nonzero().view(-1).tolist() == [4]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_rows_round_to_the_nearest(dtype):
    embedding = ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=3)
    before = embedding.weight.float()
    gradient = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0)).to(embedding.weight.dtype)
    embedding(torch.arange(ROWS)).backward(gradient)
    ramet.optim.SGD(embedding, lr=0.25).step()
    assert torch.equal(embedding.weight, (before - 0.25 * gradient.float()).to(embedding.weight.dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_stochastic_rounding_is_right_in_the_mean(dtype):
    """Steps of an eighth of the distance between neighbors: the nearest never moves."""
    table = ramet.Table.create((4000, 4), dtype, init=1)
    distance = 2.0 ** (-10 if dtype == "float16" else -7)
    ids, gradient = torch.arange(4000), torch.full((4000, 4), -distance / 8).to(table.torch().dtype)
    means = []
    for rounding in ("nearest", "stochastic"):
        embedding = ramet.nn.Embedding(pickle.loads(pickle.dumps(table)))
        embedding(ids).backward(gradient)
        ramet.optim.SGD(embedding, lr=1.0, rounding=rounding).step()
        means.append((embedding.weight.float().mean().item() - 1) / distance)
    assert means[0] == 0 and abs(means[1] - 1 / 8) < 0.01


SAME_ROWS = {
    "one table": lambda table: (table, table),
    "its pickle": lambda table: (table, pickle.loads(pickle.dumps(table))),
    "a view": lambda table: (table.local(), table),
    "one array": lambda table: (ramet.Table(table.numpy()[5:20]), ramet.Table(table.numpy()[:6])),
}


@pytest.mark.parametrize("tables", SAME_ROWS)
def test_rows_learn_from_one_optimizer_at_a_time(tables):
    one, other = map(ramet.nn.Embedding, SAME_ROWS[tables](ramet.Table.create((ROWS, WIDTH))))
    with pytest.raises(ValueError, match="twice"):
        ramet.optim.SGD([one, other], lr=1.0)
    before, after = ramet.optim.SGD(one, lr=1.0), ramet.optim.SGD(other, lr=1.0)
    for embedding in (one, other):
        embedding(torch.tensor([0])).sum().backward()
    after.step()
    with pytest.raises(ValueError, match="another optimizer has taken the embedding over"):
        before.step()
    assert (other.weight[0] == -1).all() and (one.weight == other.weight[0]).all(1).sum() <= 1


def test_rows_beside_each_other_learn_apart():
    array = np.zeros((ROWS, WIDTH), np.float32)
    embeddings = [ramet.nn.Embedding(ramet.Table(part)) for part in (array[:10], array[10:])]
    optimizers = [ramet.optim.SGD(embedding, lr=1.0) for embedding in embeddings]
    for embedding, optimizer in zip(embeddings, optimizers):
        embedding(torch.tensor([9])).sum().backward()
        optimizer.step()
    assert (array[[9, 19]] == -1).all() and np.count_nonzero(array) == 2 * WIDTH


def test_schedulers_and_closures_of_torch_work():
    embedding = ramet.nn.Embedding(ROWS, WIDTH, init=0)
    optimizer = ramet.optim.SGD(embedding, lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

    def closure():
        optimizer.zero_grad()
        loss = embedding(torch.tensor([0])).sum()
        loss.backward()
        return loss

    losses = []
    for _ in range(3):
        losses.append(optimizer.step(closure).item())
        scheduler.step()
    assert losses == [0, -WIDTH, -1.5 * WIDTH]


def test_ids_of_any_shape_and_dtype():
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    ids = torch.tensor([[1, 2, 3], [4, 5, 1]], dtype=torch.int32)
    rows = embedding(ids)
    assert rows.shape == (2, 3, WIDTH) and torch.equal(rows[1, 2], embedding.weight[1])
    assert embedding(torch.empty(0, dtype=torch.int64)).shape == (0, WIDTH)


def test_copies_of_an_embedding_learn_apart():
    embedding = ramet.nn.Embedding(ROWS, WIDTH, "bfloat16")
    best = copy.deepcopy(embedding)
    before = embedding.weight.clone()
    embedding(torch.arange(ROWS)).sum().backward()
    ramet.optim.SGD(embedding, lr=1.0).step()
    assert torch.equal(best.weight, before) and not torch.equal(embedding.weight, before)


def test_an_embedding_pickles_as_a_handle():
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    other = pickle.loads(pickle.dumps(embedding))
    other.weight[0] = 5
    assert torch.equal(embedding.weight[0], torch.full((WIDTH,), 5.0))


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda e: e(torch.tensor([ROWS])), IndexError, "50"),
        (lambda e: e(torch.tensor([1.0])), TypeError, "float32, expected integers"),
        pytest.param(
            lambda e: e(torch.tensor([2**63], dtype=torch.uint64)),
            IndexError,
            "9223372036854775808, which is beyond",
            marks=pytest.mark.skipif(not hasattr(torch, "uint64"), reason="torch has no uint64"),
        ),
        (lambda e: ramet.nn.Embedding(5), TypeError, "embedding_dim is missing"),
        (lambda e: ramet.nn.Embedding(5, 3, "int64", init=0), ValueError, "int64"),
        (lambda e: ramet.nn.Embedding(ramet.Table(np.ones(5, np.float32))), ValueError, "2 dimensions"),
        (lambda e: ramet.nn.Embedding(e.table, 5), ValueError, r"embedding_dim is 5, but the rows .*\[50, 19\]"),
        (lambda e: ramet.nn.Embedding(e.table, dtype="float16"), ValueError, "dtype is 'float16', but the rows"),
        (lambda e: ramet.nn.Embedding(e.table, init="xavier"), ValueError, "init is 'xavier', but the rows"),
        (lambda e: ramet.nn.Embedding(5, 3, dtype=None), TypeError, "dtype is None"),
        (lambda e: ramet.nn.Embedding.from_pretrained(e.weight, freeze="no"), TypeError, "freeze is 'no'"),
        (lambda e: e(torch.tensor([1]), owned="no"), TypeError, "owned is 'no'"),
        (lambda e: ramet.optim.Adam([torch.nn.Linear(1, 1)]), TypeError, "Linear, expected ramet.nn.Embedding"),
        (
            lambda e: ramet.optim.Adam(torch.nn.Embedding(1, 1)),
            TypeError,
            "torch.*Embedding, expected ramet.nn.Embedding",
        ),
        (lambda e: ramet.optim.Adam(e, steps="some"), ValueError, "'some'"),
        (lambda e: ramet.optim.SGD(e, 0.1, rounding="up"), ValueError, "'up'"),
        (lambda e: ramet.optim.SGD([e, e], 0.1), ValueError, "twice"),
        (lambda e: ramet.optim.SGD(e, 0.1, maximize=True), TypeError, "maximize"),
        (lambda e: ramet.optim.Adam(e, lr="x"), TypeError, "lr is 'x', expected a number"),
        (lambda e: ramet.optim.Adam(e, lr=None), TypeError, "lr is None, expected a number"),
        (lambda e: ramet.optim.Adam(e, lr=1e400), ValueError, "lr is inf, expected at least 0 and finite"),
        (lambda e: ramet.optim.Adam(e, betas=0.9), ValueError, "betas is 0.9, expected two numbers"),
        (lambda e: ramet.optim.Adam(e, betas=(0.9,)), ValueError, r"betas is \(0.9,\), expected two numbers"),
        (lambda e: ramet.optim.Adam(e, betas=(0.9, 0.9, 0.9)), ValueError, "expected two numbers"),
        (lambda e: ramet.optim.Adam(e, betas=(0.9, 1)), ValueError, r"betas\[1\] is 1.0, expected .* below 1"),
        (lambda e: ramet.optim.AdaGrad(e, 0.1, rowwise="no"), TypeError, "rowwise is 'no', expected True or False"),
        (lambda e: ramet.Table.create(1000, 16), TypeError, "dtype is 16, .*a shape is one argument"),
        (lambda e: ramet.optim.SGD(e, 0.1).add_param_group({"params": [e.anchor]}), ValueError, "make another one"),
        (lambda e: ramet.optim.Adam(e).state_dict(), TypeError, r"save\(path\)"),
        (lambda e: ramet.optim.Adam(e).load_state_dict({}), TypeError, r"load\(path\)"),
        (lambda e: copy.deepcopy(ramet.optim.Adam(e)), TypeError, r"save\(path\)"),
        (lambda e: pickle.dumps(ramet.optim.Adam(e)), TypeError, r"save\(path\)"),
    ],
)
def test_wrong_calls_name_what_is_wrong(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong(ramet.nn.Embedding(ROWS, WIDTH))


@pytest.mark.parametrize("options", [{"lr": -1.0}, {"betas": (1.0, 0.9)}, {"eps": float("nan")}, {"weight_decay": -1}])
def test_wrong_options_change_nothing(options):
    embedding = ramet.nn.Embedding(ROWS, WIDTH)
    before = embedding.weight.clone()
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match=next(iter(options))):
        ramet.optim.Adam(embedding, **options).step()
    assert torch.equal(embedding.weight, before)
