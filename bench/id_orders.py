"""Orders in which the same ids can be given to a gather."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

import torch

from ramet.cuda import UnifiedTensor

REGION_BITS = 21  # 2 MiB: what a GPU translates by one large page
OWN_ORDERS = ("sorted", "auto")  # that gather() makes itself, where it has the option
AS_GIVEN = {"order": "as_given"} if "order" in inspect.signature(UnifiedTensor.gather).parameters else {}


def by_region(ids: torch.Tensor, row_bytes: int) -> torch.Tensor:
    """`ids` by the 2 MiB of the table that their rows begin in, in no order inside."""
    return ids[((ids * row_bytes) >> REGION_BITS).argsort()]


def orders(ids: torch.Tensor, row_bytes: int) -> dict[str, torch.Tensor]:
    return {"random": ids, "sorted": ids.sort().values, "by 2 MiB": by_region(ids, row_bytes)}


def gathers(table: UnifiedTensor, ids: torch.Tensor, out: torch.Tensor) -> dict[str, Callable]:
    """{order: gather of `ids` into `out`} of all orders; those that gather() makes itself take random ids."""
    row_bytes = table.nbytes // len(table)
    made = {name: partial(table.gather, given, out=out, **AS_GIVEN) for name, given in orders(ids, row_bytes).items()}
    if AS_GIVEN:
        made |= {f"order={name!r}": partial(table.gather, ids, out=out, order=name) for name in OWN_ORDERS}
    return made
