"""Makes the engine's loader from a LoaderConfig."""

from __future__ import annotations

from functools import partial

from ramet import _core
from ramet._support.arguments import as_int
from ramet._support.progress import locking_progress
from ramet.loading.config import LoaderConfig
from ramet.loading.embeddings import prefetch_hints_of
from ramet.loading.options import MAX_PREFETCH, MAX_THREADS
from ramet.loading.placement import on_device, on_host
from ramet.loading.ranks import LoaderRanks
from ramet.loading.table_requests import for_engine, hidden_cells, narrowed_tables

PULLED_AHEAD = 4  # batches: the same on every rank, however many cores its machine has


def make_core(
    config: LoaderConfig,
    ranks: LoaderRanks,
    owners: list[_core.Ownership] | None,
    *,
    presampled: list | None = None,
    edges_ahead: bool,
    link_order: _core.LinkOrder,
) -> _core.NeighborLoader:
    """owners, presampled: by node type, where ranks cooperate; the latter as of presample()."""
    group, pulls, features = ranks.group, ranks.pulling is not None, config.features
    shares_seeds = group is not None and config.links is None  # else each rank has pairs of its own
    few = 0 if group is None else 1  # 0: the engine decides, which ranks that pull rows do alike
    inputs, requests, fused = config.inputs, config.requests, config.fused
    narrowed = narrowed_tables(config.graph, requests, features)
    hidden = hidden_cells(config.graph, requests, features, config.seed_types)
    options = config.options
    make = partial(
        _core.NeighborLoader,
        config.graph._core,
        config.sampling,
        batch_size=options["batch_size"],
        shuffle=options["shuffle"],
        drop_last=options["drop_last"],
        inputs=inputs,
        links=config.pairs_for_engine,
        link_order=link_order,
        rank=group.index if shares_seeds else ranks.rank,
        world=group.count if shares_seeds else ranks.world,
        threads=_or(few, config.threads, "threads", MAX_THREADS),
        prefetch=_or(PULLED_AHEAD if pulls else few, config.prefetch, "prefetch", MAX_PREFETCH),
        tables=for_engine(
            config.graph, requests, options["expand"], pulls, fused=fused, narrowed=narrowed, hidden=hidden
        ),
        prefetch_hints=prefetch_hints_of(config.graph, config.looked_up),
        decode=features.decode,
        edges_ahead=edges_ahead,
        transpose=features.transposed,
        subgraphs=config.subgraphs,
        **_placed(config, ranks, owners, presampled),
    )
    if config.device is None:
        return make()
    with locking_progress() as report:
        return make(progress=report)


def _or(default: int, value, name: str, most: int) -> int:
    return default if value is None else as_int(value, name, 1, most)


def _placed(config: LoaderConfig, ranks: LoaderRanks, owners: list | None, presampled: list | None) -> dict:
    names = [name for _, name in config.requests]
    together, pulls = ranks.together is not None, ranks.pulling is not None
    placed: dict = {"host": on_host(config.placement, names, config.device, together=together, pulls=pulls)}
    if config.device is not None:
        placed["device"] = on_device(config.placement, names, config.device.index)
    if owners is not None:
        rank = ranks.group.rank
        placed["cooperative"] = _core.CooperativeOptions(owners=owners, rank=rank, presampled=presampled or [])
    return placed
