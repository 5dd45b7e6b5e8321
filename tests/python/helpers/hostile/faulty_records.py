"""Faults of the engine's rows of a table, for the tests of embeddings on a disk."""

import contextlib
import signal


def ended_by_ctrl_c(function):
    """Ctrl-C while it runs, which is after it as Python sees it."""

    def ended(*arguments, **options):
        function(*arguments, **options)
        signal.raise_signal(signal.SIGINT)

    return ended


def entered_by_ctrl_c(function):
    """Ctrl-C on the way in."""

    def entered(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return function(*arguments, **options)

    return entered


def refused_by_the_disk(function):
    def refused(*arguments, **options):
        raise OSError("the disk is full")

    return refused


class Faulty:
    """Stands for the engine's rows: `name` is what `fault` makes of it."""

    def __init__(self, core, name: str, fault):
        self._core, self._name, self._fault = core, name, fault

    def __getattr__(self, name):
        function = getattr(self._core, name)
        return self._fault(function) if name == self._name else function


@contextlib.contextmanager
def faulty(table, name: str, fault):
    core = table._core
    table._core = Faulty(core, name, fault)
    try:
        yield
    finally:
        table._core = core
