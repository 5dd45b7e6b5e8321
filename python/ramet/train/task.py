"""The tasks of `ramet train`. One says what is trained on, the loss, the metrics, and what messages follow."""

from __future__ import annotations

from ramet.train.link_task import LinkTask
from ramet.train.node_task import NodeTask

TASKS = {"node": NodeTask, "link": LinkTask}


def find_task(graph, config, splits=None):
    """The task of `config` in a homogeneous graph; `splits` replaces those of the store.

    Raises ValueError naming what is missing or unfit.
    """
    return TASKS[config.task](graph, splits)
