"""The state of a Cooperative's forward that the layers below it need."""

from __future__ import annotations

import torch

from ramet.distributed.row_exchange import exchange
from ramet.loading.block import Block
from ramet.loading.table_rows import TableRows
from ramet.nn.cooperation import own_rows


class Cooperation:
    """One forward over blocks of one batch. `group` is its process group, None where one rank has all rows; of an
    ordinary batch nothing else is known."""

    def __init__(self, blocks: list):
        self.group = blocks[0].group
        blocks = [block for block in blocks if block.is_cooperative]
        self.is_cooperative = bool(blocks)
        self._blocks = {(id(block.batch), block.index): block for block in blocks}
        self._levels = _levels(blocks)  # of own rows that layers have, by name; the same names on every rank
        # By the id of edge_index, which blocks keep alive.
        self._edges = {id(edges): (block, kind) for block in blocks for kind, edges in _edges_of(block)}
        self._latest = None  # the block that was pulled for last
        self._pulled: dict = {}  # for it: what makes rows the same -> (rows, what exchange made of them)

    def find(self, edges):
        """(block, edge type or None) of a Block, or that have this very edge_index; or None."""
        if not isinstance(edges, Block):
            return self._edges.get(id(edges))
        block = self._blocks.get((id(edges.batch), edges.index))
        return None if block is None else (block, edges.edge_type)

    def pull(self, block, rows: list) -> list:
        """exchange() for a list of (node type or None, tensor), in as few collectives as there are different tensors of
        a type. What has been pulled for this block, and not for another since, is not pulled again. That is decided by
        the identity of tensors, so by the program, and never differs between ranks. What was pulled without gradients
        is not what a layer with gradients needs."""
        if block is not self._latest:
            self._latest, self._pulled = block, {}
        with_grad = torch.is_grad_enabled()
        keys = [(id(x), _version(x), kind, with_grad) for kind, x in rows]
        missing = {key: pair for key, pair in zip(keys, rows) if key not in self._pulled}
        while missing:
            now = {pair[0]: (key, pair[1]) for key, pair in reversed(missing.items())}  # the first of each type
            pulled = _exchange({kind: x for kind, (_, x) in now.items()}, block)
            for kind, (key, x) in now.items():
                self._pulled[key] = (x, pulled[kind])  # x stays alive, and so its id is its own
                del missing[key]
        return [self._pulled[key][1] for key in keys]

    def levels_of(self, rows: int) -> list[bool]:
        """For every level of own rows, whether it has so many."""
        return [rows == count for count in self._levels.values()]

    def describe_levels(self) -> str:
        return ", ".join(f"{count} ({name})" for name, count in self._levels.items())


def _version(x) -> int | None:
    """Of the numbers of rows; None where nothing counts it."""
    return None if isinstance(x, TableRows) or x.is_inference() else x._version  # noqa: SLF001


def _levels(blocks: list) -> dict[str, int]:
    graph = blocks[0].batch.graph if blocks else None
    levels = {}
    for block in blocks:
        for kind in graph.node_types if graph.is_hetero else [None]:
            of = f"of {block.name}" + ("" if kind is None else f", {kind!r}")
            levels[f"input {of}"] = own_rows(block, kind)
            levels[f"output {of}"] = block.num_dst if kind is None else block.num_dst[kind]
    return levels


def _edges_of(block) -> list:
    edges = block.edge_index
    return list(edges.items()) if isinstance(edges, dict) else [(None, edges)]


def _exchange(rows: dict, block) -> dict:
    return {None: exchange(rows[None], block)} if None in rows else exchange(rows, block)
