"""Skipped random numbers are those that torch would have drawn (docs/pyg.md, "Rows that nobody needs")."""

import pytest
import torch

from ramet.nn import generator


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("drawn", [0, 1, 311, 312, 313])
def test_as_if_all_had_been_drawn(drawn, dtype):
    for count in (0, 1, 311, 312, 313, 5000):
        torch.manual_seed(drawn)
        torch.rand(drawn)
        state = torch.get_rng_state()
        every = torch.nn.functional.dropout(torch.ones(7 + count, dtype=dtype))
        after = torch.rand(3)
        torch.set_rng_state(state)
        first = torch.nn.functional.dropout(torch.ones(7, dtype=dtype))
        generator.skip_bernoulli(first, count)
        assert torch.equal(first, every[:7])
        assert torch.equal(torch.rand(3), after)


def test_no_element_is_drawn_of_many():
    torch.manual_seed(2)
    torch.nn.functional.dropout(torch.ones(9))
    after = torch.rand(3)
    torch.manual_seed(2)
    generator.skip_bernoulli(torch.nn.functional.dropout(torch.ones(0)), 9)
    assert torch.equal(torch.rand(3), after)


def test_parts_are_those_of_one_draw():
    def draw(count: int):
        return torch.nn.functional.dropout(torch.ones(count, 2))

    for first, second in ((0, 0), (5, 0), (0, 3), (5, 3), (9, 7)):
        torch.manual_seed(1)
        every, after = draw(16), torch.rand(3)
        torch.manual_seed(1)
        parts = generator.first_of_parts(draw, [(first, 9), (second, 7)], every)
        assert torch.equal(parts, torch.cat([every[:first], every[9 : 9 + second]]))
        assert torch.equal(torch.rand(3), after)


def test_repeated_draws_leave_the_generator_alone():
    torch.manual_seed(3)
    state = generator.state_of(torch.device("cpu"))
    first = torch.rand(4)
    following = torch.rand(4)
    torch.set_rng_state(state)
    torch.rand(4)
    assert torch.equal(generator.repeated(lambda: torch.rand(4), torch.device("cpu"), state), first)
    assert torch.equal(torch.rand(4), following)
