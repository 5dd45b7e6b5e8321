"""The functions of torch that look at one row at a time: how each is called with the first rows alone.

A rule gets a call, and returns its result, of which the first rows are known; or NotImplemented, where the call's
arguments make the function look at more than a row.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F

from ramet.nn import generator
from ramet.nn.lazy_rows import RULES, Call, LazyRows, leading_rows

# Position, name and default of the argument that says along which dimensions.
_BY_DIM = (
    "softmax log_softmax softmin sum mean prod amax amin max min logsumexp argmax argmin std var all any median cumsum "
    "cumprod count_nonzero"
)
_ALONG = {
    **dict.fromkeys(_BY_DIM.split(), (1, "dim", None)),
    **dict.fromkeys(("norm", "linalg_vector_norm", "vector_norm"), (2, "dim", None)),
    **dict.fromkeys(("sort", "glu"), (1, "dim", -1)),
    **dict.fromkeys(("chunk", "split", "tensor_split"), (2, "dim", 0)),
    "normalize": (2, "dim", 1),
    "topk": (2, "dim", -1),
    "unbind": (1, "dim", 0),
}
_ELEMENTWISE = (
    "abs acos acosh add addcdiv addcmul asin asinh atan atan2 atanh bfloat16 bitwise_and bitwise_not bitwise_or "
    "bitwise_xor bool ceil celu clamp clamp_max clamp_min clip clone contiguous cos cosh detach div divide double elu "
    "eq erf erfc exp exp2 expm1 float float_power floor floor_divide fmax fmin fmod frac full_like ge gelu gt half "
    "hardshrink hardsigmoid hardswish hardtanh int isfinite isinf isnan le leaky_relu lerp log log10 log1p log2 "
    "logical_and logical_not logical_or logical_xor logsigmoid long lt masked_fill maximum minimum mish mul multiply "
    "nan_to_num ne neg negative ones_like positive pow prelu reciprocal relu relu6 remainder round rsqrt rsub selu "
    "sigmoid sign silu sin sinh softplus softshrink softsign special_expit sqrt square sub subtract tan tanh "
    "tanhshrink threshold to true_divide trunc type_as where xlogy zeros_like __and__ __eq__ __floordiv__ __ge__ "
    "__gt__ __le__ __lt__ __mod__ __ne__ __or__ __pow__ __radd__ __rdiv__ __rfloordiv__ __rmod__ __rmul__ __rpow__ "
    "__rsub__ __rtruediv__ __xor__"
)
_IN_PLACE = (
    "abs_ add_ addcdiv_ addcmul_ clamp_ clamp_max_ clamp_min_ div_ elu_ exp_ hardtanh_ leaky_relu_ log_ masked_fill_ "
    "mul_ nan_to_num_ neg_ pow_ relu_ rsqrt_ sigmoid_ sqrt_ square_ sub_ tanh_ zero_ __iadd__ __isub__ __imul__ "
    "__itruediv__ __ipow__"
)


def _rule(names: str) -> Callable:
    def register(rule):
        RULES.update(dict.fromkeys(names.split(), rule))
        return rule

    return register


@_rule(_ELEMENTWISE + " " + _IN_PLACE)
def elementwise(call: Call):
    """Operands are broadcast: in each, rows are as many dimensions from the last."""
    axes = {(rows.dim() - rows.axis, rows.count) for rows in call.rows}
    if len(axes) != 1 or call.kwargs.get("out") is not None:
        return NotImplemented
    if call.writes and not isinstance(call.args[0], LazyRows):
        return NotImplemented
    (from_last, count), known = axes.pop(), call.known

    def first(item):
        if isinstance(item, LazyRows):
            return item.first(known)
        if isinstance(item, torch.Tensor) and item.dim() >= from_last and item.shape[-from_last] == count:
            return leading_rows(item, known, item.dim() - from_last)
        return item

    return call.lazily(call.with_operands(first), lambda part: part.dim() - from_last)


@_rule(" ".join(_ALONG))
def along(call: Call):
    """Other dimensions are reduced, sorted, normalized or divided."""
    rows, dims = call.args[0], call.argument(*_ALONG[call.name])
    if isinstance(dims, torch.Tensor):  # max(rows, other)
        return elementwise(call)
    if not _is_of_one(call) or dims is None or isinstance(dims, bool):
        return NotImplemented
    dims = {dim % rows.dim() for dim in ((dims,) if isinstance(dims, int) else dims)}
    if rows.axis in dims:
        return NotImplemented
    before = sum(dim < rows.axis for dim in dims)
    return _of_known(call, lambda part: rows.axis - (before if part.dim() < rows.dim() else 0))


@_rule("linear")
def linear(call: Call):
    return _of_known(call) if _is_of_one(call) and call.args[0].axis < call.args[0].dim() - 1 else NotImplemented


@_rule("matmul mm __matmul__")
def matmul(call: Call):
    """With a plain matrix."""
    other = call.argument(1, "mat2" if call.name == "mm" else "other")
    return linear(call) if other.dim() == 2 else NotImplemented


@_rule("layer_norm rms_norm")
def layer_norm(call: Call):
    """Over the last dimensions."""
    rows, shape = call.args[0], call.argument(1, "normalized_shape", ())
    return _of_known(call) if _is_of_one(call) and rows.axis < rows.dim() - len(shape) else NotImplemented


@_rule("batch_norm")
def batch_norm(call: Call):
    """Batch normalization with known means and variances."""
    is_given = call.function is F.batch_norm and not call.argument(5, "training", False)
    return _of_known(call) if is_given and _is_of_one(call) and call.args[0].axis == 0 else NotImplemented


@_rule("dropout")
def dropout(call: Call):
    """Consumes the random numbers of all rows, so that known rows and later draws are the same."""
    is_training = call.argument(2, "training" if call.function is F.dropout else "train", True)
    if not _is_of_one(call) or call.args[0].axis != 0 or len(call.args) > 3:
        return NotImplemented
    rows, draws = call.args[0], bool(is_training) and call.argument(1, "p", 0.5) > 0
    if not draws:
        return _of_known(call)
    state = generator.state_of(rows.known.device)
    result = call.with_operands(lambda item: item.known if isinstance(item, LazyRows) else item)
    generator.skip_bernoulli(rows.known, (rows.count - rows.num_known) * rows.shape[1:].numel())
    device = rows.known.device
    return call.lazily(result, lambda _: 0, around=lambda compute: generator.repeated(compute, device, state))


@_rule("cat concat concatenate stack")
def join(call: Call):
    """Along another dimension."""
    parts, dim = call.args[0], call.argument(1, "dim", 0)
    is_stack, known = call.name == "stack", call.known
    axes = {(part.dim(), rows.axis, part.shape[rows.axis]) for part in parts for rows in call.rows}
    if len(axes) != 1 or not isinstance(dim, int) or call.kwargs.get("out") is not None:
        return NotImplemented
    ((num_dims, axis, _),) = axes
    dim %= num_dims + is_stack
    if dim == axis and not is_stack:
        return NotImplemented
    firsts = [part.first(known) if isinstance(part, LazyRows) else leading_rows(part, known, axis) for part in parts]
    return call.lazily(call.function(firsts, dim), lambda _: axis + (is_stack and dim <= axis))


@_rule("view reshape")
def reshape(call: Call):
    """Reshapes each row, if rows are the first dimension."""
    rows, shape = call.args[0], call.args[1:]
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    if not _is_of_one(call) or rows.axis != 0 or call.kwargs or not all(isinstance(size, int) for size in shape):
        return NotImplemented
    of_row = rows.shape[1:].numel()
    others = [size for size in shape[1:] if size != -1]
    missing = of_row // max(torch.Size(others).numel(), 1)
    sizes = [missing if size == -1 else size for size in shape[1:]]
    if shape[0] not in (-1, rows.count) or torch.Size(sizes).numel() != of_row:
        return NotImplemented
    return call.lazily(call.function(rows.known, (rows.num_known, *sizes)), lambda _: 0)


@_rule("unsqueeze squeeze flatten")
def other_dimensions(call: Call):
    """The dimensions after the rows."""
    rows, dim = call.args[0], call.argument(1, "start_dim" if call.name == "flatten" else "dim")
    if not _is_of_one(call) or not isinstance(dim, int):
        return NotImplemented
    dim += (rows.dim() + (call.name == "unsqueeze")) * (dim < 0)
    return _of_known(call) if dim > rows.axis else NotImplemented


@_rule("__getitem__")
def index(call: Call):
    """The first rows, or parts of each row."""
    rows, at = call.args
    at = at if isinstance(at, tuple) else (at,)
    if not isinstance(rows, LazyRows) or len(call.rows) > 1 or rows.axis != 0:
        return NotImplemented
    head, rest = at[0], at[1:]
    if any(isinstance(item, bool) for item in at) or not all(_is_of_each_row(item) for item in rest):
        return NotImplemented
    if head is Ellipsis:
        is_of_each = len(rest) < rows.dim() and None not in rest
        return call.lazily(rows.known[at], lambda _: 0) if is_of_each else NotImplemented
    if isinstance(head, slice) and head == slice(None):
        return call.lazily(rows.known[at], lambda _: 0)
    return rows.known[at] if _are_known(rows, head) else NotImplemented


@_rule("narrow")
def narrow(call: Call):
    rows, dim = call.args[0], call.argument(1, "dim")
    start, length = call.argument(2, "start"), call.argument(3, "length")
    if not isinstance(rows, LazyRows) or not isinstance(start, int):
        return NotImplemented
    if dim % rows.dim() != rows.axis:
        return _of_known(call, lambda _: rows.axis)
    return rows.known.narrow(dim, start, length) if 0 <= start <= start + length <= rows.num_known else NotImplemented


@_rule("index_select")
def index_select(call: Call):
    rows, dim, at = call.args[0], call.argument(1, "dim"), call.argument(2, "index")
    is_known = isinstance(rows, LazyRows) and dim % rows.dim() == rows.axis and _are_known(rows, at)
    return rows.known.index_select(dim, at) if is_known else NotImplemented


def _is_of_each_row(item) -> bool:
    return isinstance(item, (int, slice)) or item is None or item is Ellipsis


def _are_known(rows: LazyRows, at) -> bool:
    """Whether an index along the first dimension is of known rows alone."""
    if isinstance(at, slice):
        start, stop, _ = at.indices(rows.count)
        return max(start, stop) <= rows.num_known
    if isinstance(at, int):
        return 0 <= at < rows.num_known
    if isinstance(at, torch.Tensor) and at.dtype == torch.int64 and at.is_cpu:
        return at.numel() == 0 or 0 <= int(at.min()) <= int(at.max()) < rows.num_known
    return False


def _is_of_one(call: Call) -> bool:
    """Whether the first argument alone has LazyRows."""
    return len(call.rows) == 1 and isinstance(call.args[0], LazyRows) and call.kwargs.get("out") is None


def _of_known(call: Call, axis: Callable | None = None):
    (rows,) = call.rows
    result = call.with_operands(lambda item: item.known if isinstance(item, LazyRows) else item)
    return call.lazily(result, axis or (lambda _: rows.axis))
