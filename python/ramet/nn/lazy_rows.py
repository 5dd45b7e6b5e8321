"""LazyRows: rows for all nodes of a batch; unneeded rows are not computed."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

import torch
from torch._C import DisableTorchFunctionSubclass, DispatchKey, _dispatch_tls_is_dispatch_key_excluded

from ramet._support.old_torch import get_autocast_dtype, is_autocast_enabled
from ramet.loading.origins import version_of

_log = logging.getLogger("ramet")
_PLAIN = (torch.Tensor, torch.nn.Parameter)

# Of the shape and dtype alone.
_OF_SHAPE = (
    "shape ndim dtype itemsize size dim ndimension numel nelement __len__ is_floating_point is_complex is_signed "
    "element_size __hash__"
)
# The same for any rows that were computed in the same way; or new tensors like them.
_OF_KNOWN = (
    "requires_grad grad_fn is_leaf device is_cuda is_cpu is_xpu is_mps is_meta layout is_sparse is_sparse_csr "
    "is_quantized is_mkldnn is_nested is_contiguous get_device is_inference is_conj is_neg names has_names new_zeros "
    "new_ones new_full new_empty new_tensor"
)
_IS_OF_SHAPE, _IS_OF_KNOWN = frozenset(_OF_SHAPE.split()), frozenset(_OF_KNOWN.split())


class LazyRows(torch.Tensor):
    """A tensor with a row for each node, of which the first few are known, and the others computed on demand.

    Its shape is that of all rows. A function that looks at one row at a time (row_wise.py) gives LazyRows again. The
    first rows, `rows[:n]`, are a plain tensor where they are known. Any other function gets all rows, so results are
    those of a tensor in any case.

    known: the first rows, along dimension `axis`. count: the number of all rows. demand: computes all rows.
    """

    @staticmethod
    def of(known: torch.Tensor, count: int, compute: Callable[[str], torch.Tensor], axis: int = 0) -> LazyRows:
        """compute: all rows, from the name of the function that needs them."""
        shape = [*known.shape[:axis], count, *known.shape[axis + 1 :]]
        rows = torch.empty(shape, dtype=known.dtype, device="meta").as_subclass(LazyRows)
        rows.known, rows.count, rows.axis, rows.demand = known, count, axis, Demand(compute, known.device)
        return rows

    @property
    def num_known(self) -> int:
        return self.known.shape[self.axis]

    def first(self, num_rows: int) -> torch.Tensor:
        """So many of the known rows."""
        return leading_rows(self.known, num_rows, self.axis)

    def all_rows(self, needed_by: str) -> torch.Tensor:
        """All rows, as a plain tensor. needed_by: the name of the function or layer that needs them."""
        return self.demand(needed_by)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        call = Call(function, args, kwargs or {})
        if call.name in _IS_OF_SHAPE:
            with DisableTorchFunctionSubclass():
                return function(*args, **call.kwargs)
        if call.name in _IS_OF_KNOWN:
            return function(call.args[0].known, *call.args[1:], **call.kwargs)
        rule = RULES.get(call.name)
        result = NotImplemented if rule is None or not call.args or call.has_all_rows else rule(call)
        return call.with_all_rows() if result is NotImplemented else result


class Demand:
    """Computes all rows, once, in the modes in which it was made: of gradients, inference and autocast."""

    def __init__(self, compute: Callable[[str], torch.Tensor], device: torch.device):
        self._compute, self._rows, self._device = compute, None, device.type
        self._modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        self._autocast = is_autocast_enabled(self._device), get_autocast_dtype(self._device)

    @property
    def is_met(self) -> bool:
        return self._rows is not None

    def __call__(self, needed_by: str) -> torch.Tensor:
        if self._rows is None:
            is_cast, dtype = self._autocast
            with (
                torch.inference_mode(self._modes[0]),
                torch.set_grad_enabled(self._modes[1]),
                torch.autocast(self._device, dtype=dtype, enabled=is_cast),
            ):
                self._rows, self._compute = self._compute(needed_by), None
        return self._rows


class Call:
    """A call of a function of torch with LazyRows among its arguments.

    rows: these. known: how many rows of each are known.
    """

    def __init__(self, function, args: tuple, kwargs: dict):
        if not args:  # of torch.relu(input=rows), torch.cat(tensors=list)
            name = next((name for name in ("input", "tensors") if name in kwargs), None)
            args, kwargs = (() if name is None else (kwargs[name],)), {k: v for k, v in kwargs.items() if k != name}
        self.function, self.args, self.kwargs, self.name = function, args, kwargs, name_of(function)
        self.rows = lazy_in((args, kwargs))

    @property
    def known(self) -> int:
        return min(rows.num_known for rows in self.rows)

    @property
    def has_all_rows(self) -> bool:
        return any(rows.demand.is_met for rows in self.rows)

    @property
    def writes(self) -> bool:
        """Whether the first argument takes the values of the result."""
        is_operator = self.name.startswith("__")
        in_place = self.name.startswith("__i") if is_operator else self.name.endswith("_")
        return in_place or bool(self.kwargs.get("inplace"))

    def argument(self, position: int, name: str, default=None):
        return self.args[position] if len(self.args) > position else self.kwargs.get(name, default)

    def with_operands(self, operand: Callable):
        """The function's result with operand(argument) for each argument, also those in lists."""
        args, kwargs = mapped((self.args, self.kwargs), operand)
        return self.function(*args, **kwargs)

    def with_all_rows(self):
        if _is_below_autograd() and any(rows.known.requires_grad for rows in self.rows):
            raise NotImplementedError(
                f"{self.name} of a layer's rows lose their gradient inside of transforms of torch.func, as vmap: "
                "call from_pyg(model, trim=False)"
            )
        return self.with_operands(lambda item: item.all_rows(self.name) if isinstance(item, LazyRows) else item)

    def lazily(self, result, axis: Callable[[torch.Tensor], int], around: Callable = lambda compute: compute()):
        """`result` with LazyRows instead of tensors, whose other rows the same call gives.

        axis: the dimension of rows in a tensor of the result. around: calls what computes all rows, and returns it.
        """
        args, kwargs = demands((self.args, self.kwargs))
        count, writes = self.rows[0].count, count_of_writes((args, kwargs))

        def compute(needed_by: str):
            tell_of_writes(writes, count_of_writes((args, kwargs)), needed_by)
            now, named = met((args, kwargs), needed_by)
            first = now[0].clone() if self.writes else now[0]  # what it was is known to others
            return around(lambda: self.function(first, *now[1:], **named))

        every = Demand(compute, self.rows[0].known.device)
        if isinstance(result, torch.Tensor):
            rows = LazyRows.of(result, count, every, axis(result))
            return self._written(rows) if self.writes else rows
        parts = [LazyRows.of(part, count, partial(_part_of, every, i), axis(part)) for i, part in enumerate(result)]
        return type(result)(parts)

    def _written(self, result: LazyRows) -> LazyRows:
        rows = self.args[0]
        rows.known, rows.demand = result.known, result.demand
        return rows


def _is_below_autograd() -> bool:
    """Whether gradients are wanted, but torch has recorded the call already, as under vmap."""
    key = DispatchKey.ADInplaceOrView
    return torch.is_grad_enabled() and _dispatch_tls_is_dispatch_key_excluded(key)


def _part_of(every: Demand, position: int, needed_by: str) -> torch.Tensor:
    return every(needed_by)[position]


def leading_rows(rows: torch.Tensor, count: int, axis: int = 0) -> torch.Tensor:
    """So many rows. All of them are the tensor itself: backward of a view makes another gradient of all rows."""
    return rows if count == rows.shape[axis] else rows.narrow(axis, 0, count)


RULES: dict[str, Callable[[Call], object]] = {}


def name_of(function) -> str:
    """The name as users write it; for a property its own name."""
    name = getattr(function, "__name__", "")
    if name not in ("__get__", "__set__", "__delete__"):
        return name
    of = getattr(function.__self__, "__name__", "")
    return of if name == "__get__" else f"{name} of {of}"


def mapped(value, function):
    """The same lists, tuples and dicts with function(item) for each item."""
    if type(value) in (list, tuple):
        return type(value)(mapped(item, function) for item in value)
    if type(value) is dict:
        return {key: mapped(item, function) for key, item in value.items()}
    return function(value)


def settled(value):
    """The same arguments with plain tensors instead of LazyRows of which all rows are known."""
    return mapped(value, lambda item: item.demand("") if isinstance(item, LazyRows) and item.demand.is_met else item)


def demands(value):
    """The same arguments with their demands instead of LazyRows: later writes to these change nothing."""
    return mapped(value, lambda item: item.demand if isinstance(item, LazyRows) else item)


def met(value, needed_by: str):
    """The same arguments with all rows instead of demands."""
    return mapped(value, lambda item: item(needed_by) if isinstance(item, Demand) else item)


def count_of_writes(value) -> list:
    """How often torch wrote to each tensor among arguments."""
    found: list = []
    mapped(value, lambda item: found.append(version_of(item)) if type(item) in _PLAIN else None)
    return found


def tell_of_writes(before: list, now: list, needed_by: str) -> None:
    if before != now:
        _log.warning(
            "rows of all nodes of this batch, for %s, are made of tensors that were written to since", needed_by
        )


def lazy_in(value) -> list[LazyRows]:
    """The LazyRows among arguments."""
    found: list[LazyRows] = []
    mapped(value, lambda item: found.append(item) if isinstance(item, LazyRows) else None)
    return found
