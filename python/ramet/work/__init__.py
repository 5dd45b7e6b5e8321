"""The work of a batch: of ranks that make it together, and of as many that work each on its own."""

from ramet.work.count import Work, count_work
from ramet.work.memory import memory_per_machine
from ramet.work.together import make_together

__all__ = ["Work", "count_work", "make_together", "memory_per_machine"]
