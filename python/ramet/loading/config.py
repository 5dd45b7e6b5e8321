"""LoaderConfig: a loader's arguments, checked, and their meaning for its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ramet import _core
from ramet._support.arguments import as_flag, as_int, encoded_edge_type
from ramet.graph import Graph, array_name
from ramet.loading import combinations
from ramet.loading.embeddings import (
    names_on_disk,
    require_all_rows,
    require_own_rows,
    rows_of_embeddings,
    split_embeddings,
)
from ramet.loading.features import Features, as_features
from ramet.loading.fused import fused_tables
from ramet.loading.links import LinkOrigin, Links, ends_of, seed_inputs
from ramet.loading.options import Input, as_device, as_graph, as_inputs, for_sampling, require_whole, sample_options
from ramet.loading.pairs import Pairs
from ramet.loading.placement import Placement, as_placement
from ramet.loading.provided_tables import names_on_device, pulling_group, require_owned_alike
from ramet.loading.ranks import Cooperate, LoaderRanks, cooperating_group
from ramet.loading.samplers import Sampler, as_sampler, draws_by_node_type
from ramet.loading.states import inputs_alike
from ramet.loading.table_requests import as_requests, described
from ramet.loading.times import Time
from ramet.ranks.ranks import Digest
from ramet.ranks.world import rank_and_world
from ramet.stores.ownership import as_owners
from ramet.tables.owners import digest_of


@dataclass(frozen=True, eq=False)
class LoaderConfig:
    """The arguments of a loader. See NeighborLoader.

    What does not go together is refused when it is made. What the arguments mean for the graph is found on first
    access, which may raise: where ranks work together, they access it together, so that an error is one of all.
    """

    graph: Graph
    num_neighbors: Any
    input_nodes: Any = None
    batch_size: int = 1
    shuffle: bool = False
    drop_last: bool = False
    sampler: Sampler | str = "uniform"
    seed: int = 0
    expand: str = "every"
    disjoint: bool = False
    time: Time | str | None = None
    input_time: Any = None
    tables: tuple[str, ...] | Mapping | None = None
    features: Features | None = None
    threads: int | None = None
    prefetch: int | None = None
    ranks: Any = None
    device: Any = None
    placement: Placement = None  # whatever stands for one, until it is checked
    links: Links | None = None  # of a LinkLoader, instead of input_nodes
    subgraphs: _core.Subgraphs | None = None  # what batches are, instead of neighborhoods

    def __post_init__(self):
        checked = {
            "graph": as_graph(self.graph),
            "device": as_device(self.device),
            "placement": as_placement(self.placement),
            "features": as_features(self.features),
            "shuffle": as_flag(self.shuffle, "shuffle"),
            "drop_last": as_flag(self.drop_last, "drop_last"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.subgraphs is not None and isinstance(self.ranks, Cooperate):
            raise ValueError("ranks is a ramet.Cooperate, which loaders of subgraphs do not take: such ranks own nodes")
        if self.subgraphs is not None and self.features.hide is not None:
            raise ValueError("features.hide is given, but all nodes of a subgraph are seeds")
        combinations.check(self.kind, self.given())
        if self.kind not in combinations.SUPPORTED[combinations.PART]:
            require_whole(self.graph)

    @property
    def kind(self) -> str:
        """The loader's kind in docs/combinations.md."""
        return combinations.kind_of(self.device, self.ranks)

    def given(self) -> dict[str, object]:
        """The options that not every loader takes, as docs/combinations.md names them."""
        sampler = as_sampler(self.sampler)
        expand = "once" if sampler.one_graph else self.expand
        options = {
            "device": self.device,
            "input_time": self.input_time,
            "time": self.time,
            f"sampler={sampler.name!r}": sampler,
            "expand": None if isinstance(expand, str) and expand == "every" else expand,
            "disjoint": None if self.disjoint is False else self.disjoint,
            combinations.PROVIDED_THERE: names_on_device(self.rows),
            combinations.EMBEDDED_ON_DISK: names_on_disk(self.embeddings),
        }
        options = {name: value for name, value in options.items() if value is not None}
        return options | self.features.given() | self.placement.given()

    def of_topology(self) -> LoaderConfig:
        """The same batches, on the CPU and without rows of tables."""
        return replace(self, tables=(), features=None, placement=None, device=None)

    def find_ranks(self) -> LoaderRanks:
        """Collective, where ranks cooperate."""
        cooperates = isinstance(self.ranks, Cooperate)
        among = self.ranks.among if cooperates else self.ranks
        group = cooperating_group(self.ranks) if cooperates else None
        pulling = None if cooperates else pulling_group(self.rows)
        return LoaderRanks(among, *rank_and_world(among), group, pulling)

    # ---- what the arguments mean for the graph

    @cached_property
    def sample(self) -> dict:
        """All options that affect the neighbors of seeds, as numbers and strings."""
        return sample_options(
            self.graph,
            self.num_neighbors,
            sampler=self.sampler,
            seed=self.seed,
            expand=self.expand,
            disjoint=self.disjoint,
            time=self.time,
        )

    @cached_property
    def sampling(self) -> _core.SampleOptions:
        """`sample`, as the engine takes it."""
        return for_sampling(self.sample)

    @cached_property
    def pairs(self) -> list[Pairs]:
        """Of a LinkLoader."""
        if self.links is None:
            return []
        return self.links.pairs(self.graph, self._time_table)

    @cached_property
    def pairs_for_engine(self) -> list[_core.InputEdges]:
        return [] if self.links is None else self.links.for_engine(self.graph, self.pairs, self._time_table)

    @property
    def link_origin(self) -> LinkOrigin | None:
        return None if self.links is None else self.links.origin(self.pairs)

    @property
    def _time_table(self) -> str | None:
        return None if self.sample["time"] is None else self.sample["time"]["table"]

    @property
    def unsorted_by(self) -> str | None:
        """The table of times, where an edge type has it and its rows are not sorted by it."""
        table, sorted_rows = self._time_table, self.graph._core.sorted_rows
        for edge_type in self.graph.edge_types if table is not None else []:
            owners = [of for of in (edge_type, edge_type[0]) if table in self.graph.tables(of)]
            if owners and sorted_rows.get(encoded_edge_type(edge_type)) != array_name(table, owners[0]):
                return table
        return None

    @cached_property
    def inputs(self) -> list[Input]:
        if self.links is not None:
            return seed_inputs(self.graph, self.pairs)
        if self.subgraphs is not None:
            return [Input(t, None, None) for t in range(len(self.graph.node_types))]
        return as_inputs(self.input_nodes, self.input_time, self.graph, "input_nodes", self.sample["time"])

    @cached_property
    def seed_types(self) -> list[str]:
        return [self.graph.node_types[of_type.node_type] for of_type in self.inputs]

    @cached_property
    def options(self) -> dict:
        """All options that affect the batches of these seeds, as numbers and strings, for states."""
        batch_size = as_int(self.batch_size, "batch_size", 1)
        links = {} if self.links is None else self.links.plain()
        return self.sample | {"batch_size": batch_size, "shuffle": self.shuffle, "drop_last": self.drop_last} | links

    @cached_property
    def requests(self) -> dict:
        """See as_requests()."""
        return as_requests(self.graph, self.seed_types, self.rows, self.sample["expand"])

    @cached_property
    def fused(self) -> dict:
        """See fused_tables(). Without hops there is no block to sum over."""
        fuses = self.features.fuse and any(self.sample["fanouts"])
        return fused_tables(self.graph, self.requests, self.features.decode) if fuses else {}

    @property
    def rows(self):
        """`tables` without embeddings."""
        return self._split[0]

    @property
    def embeddings(self) -> dict:
        return self._split[1]

    @cached_property
    def _split(self) -> tuple:
        return split_embeddings(self.tables)

    @cached_property
    def looked_up(self) -> dict:
        """As of rows_of_embeddings()."""
        return rows_of_embeddings(self.graph, self.embeddings)

    def owners(self, ranks: LoaderRanks) -> list[_core.Ownership] | None:
        """By node type, where ranks cooperate."""
        return None if ranks.group is None else as_owners(self.ranks.ownership, self.graph, ranks.group.size)

    def require_rows(self, ranks: LoaderRanks, owners: list[_core.Ownership] | None) -> None:
        """ValueError where this rank has not all rows that it will be asked for."""
        if owners is None:
            require_all_rows(self.looked_up)
            return
        require_owned_alike(self.graph, self.requests, owners, ranks.group.rank)
        require_own_rows(self.graph, self.looked_up, owners, ranks.group.rank)

    def release(self) -> None:
        """Drops ids, times and embeddings, which the engine now has."""
        _ = self.seed_types, self.input_ends, self.input_name, self.requests
        for name in ("input_nodes", "input_time", "tables", "links"):
            object.__setattr__(self, name, None)
        for name in ("inputs", "pairs", "pairs_for_engine", "looked_up", "_split"):
            vars(self).pop(name, None)

    # ---- what others see of it

    @cached_property
    def input_name(self) -> str:
        if self.links is not None:
            return "its edges"
        return f"{self.input_nodes!r}" if isinstance(self.input_nodes, str) else "its input nodes"

    @cached_property
    def input_ends(self) -> list[tuple | None]:
        """The number of ids and of times of each type, and those at the ends, which cost nothing to compare."""
        arrays = [array for of_type in self.inputs for array in (of_type.ids, of_type.times)] + ends_of(self.pairs)
        return [a if a is None else (len(a), *a[:8].tolist(), *a[-8:].tolist()) for a in arrays]

    def shown(self) -> dict:
        """The entries of a loader's repr."""
        options, fanouts = self.options, self.options["fanouts"]
        sampler = as_sampler(options["sampler"])
        types = self.graph.node_types if draws_by_node_type(sampler) else self.graph.edge_types
        return {
            "batch_size": f"{options['batch_size']:,}",
            "num_neighbors": dict(zip(types, fanouts)) if self.graph.is_hetero else next(iter(fanouts), []),
            "sampler": sampler,
            "seed_type": " and ".join(self.seed_types),
            "shuffle": options["shuffle"],
            "tables": sorted({name for _, name in self.requests}),
        }

    def alike(self, ranks: LoaderRanks, owners: list[_core.Ownership] | None, core: _core.NeighborLoader) -> dict:
        """The values that ranks must share if they make batches together, or pull rows from each other."""
        shared = {
            "placement": f"{self.placement}",
            "prefetch": core.max_prefetch,
            "tables": [described(self.graph, of, name, table) for (of, name), table in self.requests.items()],
        }
        if owners is None:
            return {"batches": core.num_steps} | shared
        group = ranks.group
        return self.options | {
            **shared,
            "device": "the CPU" if self.device is None else "a GPU",
            "part": "its own" if self.graph.part in (None, (group.rank, group.size)) else self.graph.part[0],
            "ownership": list(map(digest_of, owners)),
            f"graph and {'input_nodes' if self.links is None else 'edges'}": self._inputs_alike(core.fingerprint()),
            "features": self.features,
        }

    def _inputs_alike(self, digest: int) -> Digest:
        names, ends = self.seed_types, self.input_ends[::2]
        if self.links is not None:
            of_pairs = self.input_ends[2 * len(self.inputs) :]
            names = [of_type.edge_type for of_type in self.pairs]
            ends = [positions or sources for positions, sources in zip(of_pairs[::4], of_pairs[1::4])]
        return inputs_alike(self.graph, names, ends, digest)
