"""States of loaders, and the values that must agree: on all ranks, and when a run continues."""

from __future__ import annotations

from collections.abc import Mapping

from ramet._support.arguments import as_int, shortened
from ramet.graph import Graph
from ramet.ranks.ranks import Digest


def checked_position(state: Mapping, own: Mapping, num_steps: int) -> tuple[int, int]:
    """(epoch, step) of a state, for a loader whose own is `own`. See NeighborLoader.load_state_dict."""
    if not isinstance(state, Mapping) or not isinstance(state.get("options", {}), Mapping):
        raise TypeError(f"the state is {shortened(state)}: it is not from NeighborLoader.state_dict")
    missing = set(own) - set(state)
    if missing:
        raise ValueError(f"the state lacks {sorted(missing)}: it is not from NeighborLoader.state_dict")
    for name, value in own["options"].items():
        if state["options"].get(name) != value:
            raise ValueError(f"the state is of a loader with {name}={state['options'].get(name)}, not {value}")
    if state["fingerprint"] != own["fingerprint"]:
        raise ValueError("the state is of a loader over another graph, other input nodes or other input times")
    if len({state["tables"], own["tables"]} - {0}) > 1:  # 0: of a part, which does not know
        drawn_by = [(own["options"][by] or {}).get("table") for by in ("sampler", "time")]
        named = " or ".join(map(repr, filter(None, drawn_by)))
        raise ValueError(f"the state is of a loader over another table {named}")
    epoch, step = as_int(state["epoch"], "epoch", 0), as_int(state["step"], "step", 0)
    if step > num_steps:
        raise ValueError(f"the state is at step {step}, but an epoch has {num_steps}")
    return epoch, step


def inputs_alike(graph: Graph, types: list, ends: list[tuple | None], fingerprint: int) -> Digest:
    """The graph and the inputs of a loader. ends, of each type: their number, and the first; None for all."""
    inputs = [
        f"all of {t!r}" if of_type is None else f"{of_type[0]:,} of {t!r}, {list(of_type[1:9])} first"
        for t, of_type in zip(types, ends)
    ]
    return Digest(fingerprint, f"{graph!r} and {'; '.join(inputs)} (digest {fingerprint:016x})")
