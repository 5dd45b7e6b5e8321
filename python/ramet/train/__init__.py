"""`ramet train`: the packaged form of examples/node_classification.py.

`Config` holds the options, `run` starts the trainers and keeps a run folder, `fit` is one
process's loop. Importing this package does not import torch; calling `run` or `fit` does.
"""

from ramet.train.config import Config

__all__ = ["Config", "fit", "run"]


def __getattr__(name):
    if name == "fit":
        from ramet.train.loop import fit

        return fit
    if name == "run":
        from ramet.train.launch import run

        return run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
