"""ramet.distributed.BatchNorm on the rows of several ranks against torch's BatchNorm1d on their union."""

import numpy as np
import pytest
import torch
import torch.distributed as dist

from ramet.distributed import BatchNorm, context
from ramet.nn import cooperation
from ramet.nn.batch_norm import convert

WORLD = 3
WIDTH, STEPS = 5, 3
SIZES = [[40, 25, 10], [7, 0, 1], [0, 0, 2], [1, 1, 1]]  # rows of each rank


class Layers(context.Cooperation):
    """A forward whose layers have so many own rows, by name."""

    def __init__(self, group, levels: dict[str, int]):
        self.group = group
        self._levels = levels


def rows_of_step(step: int, count: int, shape: tuple, dtype) -> tuple:
    """Rows far from 0, and what their outputs are multiplied with."""
    generator = torch.Generator().manual_seed(step)
    x, factor = (torch.randn(count, WIDTH, *shape, generator=generator, dtype=torch.float64) for _ in range(2))
    return (1000 + (1 + step) * x).to(dtype), factor.to(dtype)


def train(norm, sizes, shape, dtype, rank=None) -> dict:
    """Some steps, and one in evaluation: on the rows of a rank, or on all."""
    outputs, gradients = [], []
    for step in range(STEPS):
        x, factor = rows_of_step(step, sum(sizes), shape, dtype)
        if rank is not None:
            x, factor = x.split(sizes)[rank], factor.split(sizes)[rank]
        x = x.requires_grad_()
        out = norm(x)
        (out * factor).sum().backward()
        outputs.append(out.detach())
        gradients.append(x.grad)
    state = {name: value.double() for name, value in norm.state_dict().items()}
    return {
        "outputs": outputs,
        "gradients": gradients,
        "weights": [p.grad for p in norm.parameters()],
        "state": state,
        "evaluated": norm.eval()(x.detach()),
    }


def make(kind, options, dtype):
    norm = kind(WIDTH, **options).to(dtype)
    for i, parameter in enumerate(norm.parameters()):
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(i))
    return norm


def on_rank(options, sizes, shape, dtype):
    dtype, rank = getattr(torch, dtype), dist.get_rank()
    with cooperation.inside(Layers(dist.group.WORLD, {"n_id": sizes[rank]})):
        return train(make(BatchNorm, options, dtype), sizes, shape, dtype, rank)


def compare(parts, whole, tolerance):
    def close(ours, theirs):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=tolerance, atol=tolerance)

    for name in ("outputs", "gradients"):
        for step in range(STEPS):
            close(np.concatenate([part[name][step] for part in parts]), whole[name][step])
    for i, weight in enumerate(whole["weights"]):  # each rank has its share
        close(sum(part["weights"][i] for part in parts), weight)
    for part in parts:
        assert part["state"].keys() == whole["state"].keys()
        for name, value in whole["state"].items():
            close(part["state"][name], value)
    return close


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize(
    "options",
    [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}, {"eps": 0.1, "momentum": 0.3}],
    ids=str,
)
def test_ranks_are_one_process_over_the_union(world, options, sizes):
    parts = world.call(on_rank, options, sizes, (), "float64")
    whole = train(make(torch.nn.BatchNorm1d, options, torch.float64), sizes, (), torch.float64)
    # The gradient of two rows is the small difference of large numbers.
    close = compare(parts, whole, 1e-10 if sum(sizes) > 3 else 1e-6)
    close(np.concatenate([part["evaluated"] for part in parts]), whole["evaluated"].detach())
    assert all((part["state"][n] == parts[0]["state"][n]).all() for part in parts for n in part["state"])  # to the bit


def test_rows_with_a_length(world):
    parts = world.call(on_rank, {}, SIZES[0], (4,), "float64")
    compare(parts, train(make(torch.nn.BatchNorm1d, {}, torch.float64), SIZES[0], (4,), torch.float64), 1e-10)


def test_float32_is_as_good_as_torch(world):
    """Means of 1,000 at deviations of 1: no worse than BatchNorm1d in float32, beside float64."""
    sizes = SIZES[0]
    parts = world.call(on_rank, {}, sizes, (), "float32")
    exact, plain = (train(make(torch.nn.BatchNorm1d, {}, d), sizes, (), d) for d in (torch.float64, torch.float32))
    for step in range(STEPS):
        # In float64, of the rows as float32 has them.
        wanted = exact["outputs"][step].numpy()
        ours = np.concatenate([part["outputs"][step] for part in parts])
        error, of_torch = np.abs(ours - wanted).max(), np.abs(plain["outputs"][step].numpy() - wanted).max()
        assert error < 2 * of_torch + 1e-6


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_rows(world, dtype):
    x, factor = (rows.float().requires_grad_() for rows in rows_of_step(0, 6, (), getattr(torch, dtype)))
    wanted = torch.nn.BatchNorm1d(WIDTH)(x)
    (wanted * factor).sum().backward()
    for out, gradient in world.call(half_rows, dtype):
        np.testing.assert_allclose(out, wanted.detach(), atol=0.02)
        np.testing.assert_allclose(gradient, x.grad, rtol=0.02, atol=0.02)


def half_rows(dtype):
    x, factor = rows_of_step(0, 6, (), getattr(torch, dtype))
    x.requires_grad_()
    with cooperation.inside(Layers(dist.group.WORLD, {"n_id": 6})):  # three times the same rows
        out = BatchNorm(WIDTH)(x)
    (out * factor).sum().backward()
    assert out.dtype == x.grad.dtype == x.dtype
    return out.float(), x.grad.float()  # numpy has no bfloat16


def failure(sizes, levels):
    """What a rank is told, and whether the ranks can go on."""
    rank = dist.get_rank()
    norm = BatchNorm(WIDTH)
    with cooperation.inside(Layers(dist.group.WORLD, levels[rank])):
        try:
            norm(torch.zeros(sizes[rank], WIDTH))
        except ValueError as error:
            message = str(error)
    count = torch.ones(1)
    dist.all_reduce(count)
    return message, int(count), norm.num_batches_tracked


def test_one_row_in_all_is_torchs_error_on_every_rank(world):
    with pytest.raises(ValueError) as theirs:
        torch.nn.BatchNorm1d(WIDTH)(torch.zeros(1, WIDTH))
    sizes = [0, 1, 0]
    for answer in world.call(failure, sizes, [{"n_id": size} for size in sizes]):
        assert answer == (str(theirs.value), 3, 0)


def test_no_rows_at_all(world):
    for part in world.call(on_rank, {}, [0, 0, 0], (), "float64"):
        assert part["state"]["num_batches_tracked"] == STEPS
        assert (part["state"]["running_var"] == 1).all()


@pytest.mark.parametrize(
    "levels",
    [
        [{"n_id": 4, "layer 1": 3}, {"n_id": 4, "layer 1": 3}, {"n_id": 5, "layer 1": 3}],  # one rank alone is wrong
        [
            {"n_id": 4, "layer 1": 3},
            {"n_id": 5, "layer 1": 4},
            {"n_id": 4, "layer 1": 4},
        ],  # 4 rows, of no one layer
    ],
)
def test_rows_that_were_pulled_are_an_error_on_every_rank(world, levels):
    answers = world.call(failure, [4, 4, 4], levels)
    for rank, (message, count, tracked) in enumerate(answers):
        assert (count, tracked) == (3, 0)
        own = levels[rank]
        assert "got 4 rows here; on every rank they must be all own rows of one layer" in message
        assert f"this rank has {own['n_id']} (n_id), {own['layer 1']} (layer 1)" in message


def test_outside_of_a_cooperative_it_is_batch_norm():
    x = rows_of_step(0, 20, (), torch.float32)[0]
    ours, theirs = make(BatchNorm, {}, torch.float32), make(torch.nn.BatchNorm1d, {}, torch.float32)
    assert torch.equal(ours(x), theirs(x))
    with cooperation.inside(Layers(None, {})):  # an ordinary batch
        assert torch.equal(ours(x), theirs(x))
    assert torch.equal(ours.running_var, theirs.running_var)


def test_conversion_keeps_everything():
    shared = torch.nn.BatchNorm1d(4)
    model = torch.nn.Sequential(shared, torch.nn.Sequential(torch.nn.Linear(4, 4), shared), torch.nn.BatchNorm2d(3))
    before, parameters = list(model.state_dict()), list(model.parameters())
    convert(model)
    assert type(model[0]) is BatchNorm and model[1][1] is model[0] is shared
    assert type(model[2]) is torch.nn.BatchNorm2d
    assert list(model.state_dict()) == before
    assert all(a is b for a, b in zip(model.parameters(), parameters, strict=True))
