"""LazyRows give what a tensor of all rows gives, and know the first rows as long as functions look at one row at a time
(docs/pyg.md, "Rows that nobody needs")."""

import copy

import pytest
import torch
import torch.nn.functional as F

from ramet.nn import row_wise  # noqa: F401 (the rules)
from ramet.nn.lazy_rows import LazyRows

COUNT, KNOWN, WIDTH = 9, 4, 6
TABLE = torch.randn(COUNT, WIDTH, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
OTHER = torch.randn(COUNT, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
WEIGHT = torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


class Asked(Exception):
    """Somebody needs all rows."""


def lazy(table=TABLE, known=KNOWN, may_ask=True):
    def compute(needed_by):
        if not may_ask:
            raise Asked(needed_by)
        return table.clone()

    return LazyRows.of(table[:known].clone(), len(table), compute)


ROW_WISE = {
    "relu": lambda x: F.relu(x, inplace=True),
    "relu_": lambda x: (x + 1).relu_(),
    "operators": lambda x: (2 - x) * (x / 3) ** 2 - abs(x) + 1 / (x * x + 1),
    "in place": lambda x: x.mul_(2).add_(x),
    "with all rows": lambda x: x * OTHER + OTHER.sum(1, keepdim=True),
    "with one row": lambda x: x + OTHER[0],
    "compare": lambda x: torch.where(x > 0, x, OTHER).masked_fill(OTHER < 0, 0.5),
    "linear": lambda x: F.linear(x, WEIGHT).relu(),
    "matmul": lambda x: x @ WEIGHT.t(),
    "softmax": lambda x: torch.log_softmax(x, -1).exp(),
    "sum": lambda x: x.sum(-1),
    "mean keepdim": lambda x: x.mean(dim=1, keepdim=True),
    "max": lambda x: x.max(dim=1).values + x.max(dim=1)[1],
    "maximum": lambda x: torch.max(x, OTHER),
    "topk": lambda x: x.topk(2, dim=-1).values,
    "normalize": lambda x: F.normalize(x) + F.normalize(x, p=1, dim=-1),
    "norm": lambda x: x.norm(dim=-1) + torch.linalg.vector_norm(x, dim=1),
    "layer_norm": lambda x: F.layer_norm(x, (WIDTH,)),
    "batch_norm": lambda x: F.batch_norm(x, OTHER[0], OTHER[1].abs(), training=False),
    "cat": lambda x: torch.cat([x, OTHER, x.relu()], dim=-1),
    "stack first": lambda x: torch.stack([x, OTHER]).sum(0),
    "stack last": lambda x: torch.stack([x, OTHER], dim=-1).amax(-1),
    "heads": lambda x: x.view(-1, 2, 3).mean(1) + x.view(x.size(0), 2, -1).mean(dim=1) + x.reshape(len(x), -1)[:, :3],
    "columns": lambda x: x[:, 1:3] + x[..., :2] + x[:, 0:1],
    "column": lambda x: x[:, 2] * 2,
    "unsqueeze": lambda x: x.unsqueeze(-1).squeeze(-1).unsqueeze(1).flatten(1),
    "chunk": lambda x: x.chunk(2, dim=-1)[0] * x.split(3, -1)[1],
    "dtype": lambda x: x.float().to(torch.float64).double(),
    "like": lambda x: torch.zeros_like(x) + torch.ones_like(x) * x,
    "new": lambda x: x + x.new_ones(x.size(0), 1),
    "detach": lambda x: x.detach().clone().contiguous(),
    "by keyword": lambda x: torch.relu(input=x) + torch.cat(tensors=[x, x], dim=1)[:, :WIDTH],
}
OF_ALL = {
    "mean": lambda x: x - x.mean(0),
    "mean of all": lambda x: x.mean(),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "softmax": lambda x: x.softmax(0),
    "cumsum": lambda x: x.cumsum(0),
    "mask": lambda x: x[OTHER[:, 0] > 0],
    "last row": lambda x: x[-1],
    "transposed": lambda x: x.t() @ x,
    "written to": lambda x: x.index_fill(0, torch.tensor([1]), 0.0),
    "random": lambda x: torch.rand_like(x) * 0 + x,
    "numpy": lambda x: torch.from_numpy(x.numpy()),
    "list": lambda x: torch.tensor(x.tolist(), dtype=torch.float64),
    "copy": lambda x: copy.deepcopy(x),
    "columns": lambda x: torch.cat([x, x], dim=0),
    "rows of another": lambda x: OTHER.clone().add_(x),
}
FIRST = {
    "slice": lambda x: x[:KNOWN],
    "fewer": lambda x: x[:2, 1:],
    "slice with a step": lambda x: x[0:KNOWN:2],
    "row": lambda x: x[KNOWN - 1],
    "narrow": lambda x: x.narrow(0, 1, 2),
    "narrow by name": lambda x: x.narrow(dim=0, start=0, length=KNOWN),
    "ids": lambda x: x[torch.tensor([3, 0])] + x.index_select(0, torch.tensor([1, 2])),
    "of a function": lambda x: (x * 2).relu()[:KNOWN],
}


@pytest.mark.parametrize("name", ROW_WISE)
def test_functions_of_rows(name):
    expected = ROW_WISE[name](TABLE.clone())
    result = ROW_WISE[name](lazy(may_ask=False))
    assert isinstance(result, LazyRows)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    torch.testing.assert_close(result[:KNOWN], expected[:KNOWN], rtol=0, atol=0)
    torch.testing.assert_close(ROW_WISE[name](lazy()) + 0 * expected.sum(), expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ROW_WISE[name](lazy()).all_rows("a test"), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", OF_ALL)
def test_functions_of_all_rows(name):
    result = OF_ALL[name](lazy())
    assert not isinstance(result, LazyRows)
    torch.testing.assert_close(result, OF_ALL[name](TABLE.clone()), rtol=0, atol=0)
    with pytest.raises(Asked):
        OF_ALL[name](lazy(may_ask=False))


@pytest.mark.parametrize("name", FIRST)
def test_first_rows_are_plain(name):
    result = FIRST[name](lazy(may_ask=False))
    assert type(result) is torch.Tensor
    torch.testing.assert_close(result, FIRST[name](TABLE), rtol=0, atol=0)


def test_rows_of_two_hops_meet():
    x, y = lazy(may_ask=False), lazy(OTHER, known=2, may_ask=False)
    torch.testing.assert_close((x + y)[:2], (TABLE + OTHER)[:2])
    torch.testing.assert_close(torch.cat([y, x], dim=1)[:2], torch.cat([OTHER, TABLE], dim=1)[:2])
    assert (lazy() + lazy(OTHER, known=2)).all_rows("a test").equal(TABLE + OTHER)
    x.add_(y)
    assert x.num_known == 2


def test_what_was_computed_before_a_write_stays():
    x = lazy()
    twice = x * 2
    x.add_(1)
    assert torch.equal(twice.all_rows("a test"), TABLE * 2)
    assert torch.equal(x.all_rows("a test"), TABLE + 1)
    assert torch.equal(x * 2, (TABLE + 1) * 2)


def test_dropout_of_all_rows_is_that_of_the_first():
    torch.manual_seed(0)
    expected, following = F.dropout(TABLE, 0.3), torch.rand(2)
    torch.manual_seed(0)
    result = F.dropout(lazy(), 0.3)
    assert torch.equal(torch.rand(2), following)
    assert torch.equal(result[:KNOWN], expected[:KNOWN])
    assert torch.equal(result.all_rows("a test"), expected)
    assert F.dropout(lazy(may_ask=False), training=False)[:2].equal(TABLE[:2])


def test_a_tensor_for_autograd():
    table = TABLE.clone().requires_grad_()
    rows = LazyRows.of(table[:KNOWN], COUNT, lambda _: table * 1)
    assert rows.requires_grad
    assert rows.grad_fn is not None
    (rows * 2)[:3].sum().backward()
    assert table.grad[:4, 0].tolist() == [2, 2, 2, 0]
    rows.sum().backward()
    assert table.grad[:, 0].tolist() == [3, 3, 3] + [1] * 6


def test_rows_that_are_known_to_all_behave_as_a_tensor():
    table = TABLE.clone().requires_grad_()
    rows = LazyRows.of(table[:KNOWN], COUNT, lambda _: table * 1)
    rows.retain_grad()
    (rows * 3)[:2].sum().backward()
    assert rows.grad[:3, 0].tolist() == [3, 3, 0]
    assert "tensor" in repr(rows)
