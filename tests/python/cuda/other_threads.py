"""Whether other Python threads run while something is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def turns_during(work: Callable[[], None]) -> tuple[float, int]:
    """The seconds that `work` takes, and how often another thread that wakes up every 10 ms has a turn meanwhile."""
    is_done, turns = threading.Event(), []

    def take_turns():
        while not is_done.wait(0.01):
            turns.append(time.monotonic())

    thread = threading.Thread(target=take_turns)
    thread.start()
    begin = time.monotonic()
    work()
    end = time.monotonic()
    is_done.set()
    thread.join()
    return end - begin, sum(begin < at < end for at in turns)
