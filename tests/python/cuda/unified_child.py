"""What another process does with a UnifiedTensor that it is sent."""

import pickle

import emulated_devices

from ramet import _core


def gather(message: tuple[bytes, list[int]]) -> list:
    if _core.cuda_backend() == "emulated":
        emulated_devices.replace()
    pickled, ids = message
    return pickle.loads(pickled).gather(ids, check=True).tolist()
