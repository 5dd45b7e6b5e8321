"""Prints what the first GPU's driver can do with host memory, as JSON: {attribute: value}.

A program of its own, as a driver may hang. The names and numbers are those of CUdevice_attribute.
"""

import ctypes
import json
import sys

ATTRIBUTES = {
    "PAGEABLE_MEMORY_ACCESS": 88,
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 91,
    "HOST_REGISTER_SUPPORTED": 99,
    "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES": 100,
    "READ_ONLY_HOST_REGISTER_SUPPORTED": 113,
}


def attribute(driver: ctypes.CDLL, device: ctypes.c_int, number: int) -> str:
    value = ctypes.c_int()
    error = driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
    return f"error {error}" if error else str(value.value)


def main() -> str:
    """What went wrong; nothing: it has printed them."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    device = ctypes.c_int()
    error = driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0)
    if error:
        return f"the driver's error {error}"
    print(json.dumps({name: attribute(driver, device, number) for name, number in ATTRIBUTES.items()}))
    return ""


if __name__ == "__main__":
    sys.exit(main())
