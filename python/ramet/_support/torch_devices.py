"""All that touches torch.cuda: devices, streams, and tensors on them."""

from __future__ import annotations

from ramet import _core
from ramet._support.tensors import torch_or_none
from ramet.dtypes import dtype_name


def problem() -> str:
    """Why torch cannot use a GPU, as a sentence; "" where it can."""
    torch = torch_or_none()
    if torch is None:
        return "torch is not installed, whose tensors hold what is on the GPU"
    if torch.version.cuda is None:
        return f"torch {torch.__version__} is built without CUDA; install one of its CUDA builds"
    if not torch.cuda.is_available():
        return f"torch {torch.__version__}, which is built for CUDA {torch.version.cuda}, can use no GPU here"
    return ""


def as_device(device):
    """A torch.device with an index: "cuda" and None mean torch's current one. TypeError or ValueError for what names
    no CUDA device, RuntimeError where torch cannot use it."""
    torch = torch_or_none()
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"cuda:{device}"
    result = torch.device("cuda" if device is None else device)
    if result.type != "cuda":
        raise ValueError(f"device is {str(result)!r}, expected a CUDA device ('cuda', 'cuda:1', 1)")
    if why := problem():
        raise RuntimeError(why)
    return torch.device("cuda", torch.cuda.current_device()) if result.index is None else result


def holds(device, tensor) -> bool:
    """Whether `tensor` is on the device."""
    return tensor.device == device


def require(tensor, what: str, shape: tuple[int, ...], dtypes: tuple, device) -> None:
    """TypeError or ValueError unless `tensor` lies on the device, contiguous, in this shape and one of these dtypes."""
    if not isinstance(tensor, torch_or_none().Tensor):
        raise TypeError(f"{what} is a {type(tensor).__name__}, expected a tensor on {device}")
    if not holds(device, tensor):
        raise ValueError(f"{what} lies on {tensor.device}, but the rows are to be on {device}")
    if tuple(tensor.shape) != shape or tensor.dtype not in dtypes:
        rows = f"{dtype_name(dtypes[0])}{list(shape)}"
        raise ValueError(f"{what} is {dtype_name(tensor.dtype)}{list(tensor.shape)}, but the rows are {rows}")
    if not tensor.is_contiguous():
        raise ValueError(f"{what} has strides {tensor.stride()}; it must be contiguous")


def is_on_device(value) -> bool:
    """Whether `value` is a tensor on any CUDA device."""
    return type(value).__module__.startswith("torch") and getattr(value, "is_cuda", False)


def on_host(value):
    """A tensor on a device as one on the CPU, anything else as it is. Waits for the device's current stream."""
    return value.detach().cpu() if is_on_device(value) else value


def page_locked(shape, dtype):
    """A tensor in page-locked memory, of which torch keeps what streams still copy."""
    return torch_or_none().empty(shape, dtype=dtype, pin_memory=True)


def staged(tensor):
    """A copy of a tensor on a device in page-locked memory. Waits for the device's current stream."""
    copy = page_locked(tensor.shape, tensor.dtype).copy_(tensor.detach(), non_blocking=True)
    torch_or_none().cuda.current_stream(tensor.device).synchronize()
    return copy


def free_bytes(device) -> int:
    return torch_or_none().cuda.mem_get_info(device)[0]


def new_stream(device):
    return torch_or_none().cuda.Stream(device)


def wait_for(stream) -> None:
    stream.synchronize()


def empty(shape, dtype, device):
    """A tensor with undefined contents, from torch's allocator, for the current stream."""
    return torch_or_none().empty(shape, dtype=dtype, device=device)


def arange(start: int, stop: int, step: int, device):
    return torch_or_none().arange(start, stop, step, device=device)


def joined(ids):
    """int64: tensors of ids, one after the other; on the current stream."""
    return torch_or_none().cat([part.long() for part in ids])


def as_engine(tensor, device, shape: tuple[int, ...] | None = None):
    """A contiguous tensor on the device as the engine takes it, in another shape if one is given. Keeps no memory
    alive."""
    shape = tuple(tensor.shape) if shape is None else shape
    return _core.DeviceArray(tensor.data_ptr(), dtype=dtype_name(tensor.dtype), shape=shape, device=device.index)


def move(tensor, device):
    """`tensor` on the device, copied on the current stream where it is not there. It may be changed at once: what the
    stream copies is page-locked memory that torch keeps until then. The tensor's own may be page-locked as well, since
    it shares a page with what is registered, and would then be read later."""
    if tensor.is_cpu:
        tensor = page_locked(tensor.shape, tensor.dtype).copy_(tensor)
    return tensor.to(device, non_blocking=True)


def as_stream(stream, device):
    """torch's stream for `stream`: one of torch's, the handle of another library's (a cudaStream_t as an int), or
    None, the device's current one. TypeError and ValueError for what is none of this device."""
    cuda = torch_or_none().cuda
    if stream is None:
        return cuda.current_stream(device)
    if isinstance(stream, int) and not isinstance(stream, bool):
        return cuda.ExternalStream(stream, device)
    if not isinstance(stream, cuda.Stream):
        raise TypeError(f"stream is a {type(stream).__name__}, expected a torch.cuda.Stream or a handle")
    if stream.device != device:
        raise ValueError(f"stream is one of {stream.device}, but the tensor is read on {device}")
    return stream


def handle(stream) -> int:
    return stream.cuda_stream


def using(stream):
    """A context in which `stream` is the current one."""
    return torch_or_none().cuda.stream(stream)


def as_current(device):
    """A context in which the device is torch's current one."""
    return torch_or_none().cuda.device(device)


def mark_use(tensor, stream) -> None:
    """Keeps the memory of `tensor` from reuse until `stream` has finished its work so far."""
    tensor.record_stream(stream)
