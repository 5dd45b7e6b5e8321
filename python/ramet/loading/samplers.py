"""Uniform, Labor, Weighted and Budget: how neighbors are picked. docs/semantics.md defines each to the bit.

A sampler is a frozen dataclass whose fields are those of the engine's struct of that name (sample_options.h). The
command line takes its options from the fields, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ramet import _core
from ramet._support.arguments import as_flag, as_int, as_name, shortened

WEIGHTS = ("normalized", "horvitz-thompson")
_WEIGHT_TABLE = {"flag": "--weight-table", "help": "edge table of weights"}


def _dependent() -> int:
    """A field that every sampler has."""
    return field(default=1, kw_only=True, metadata={"help": "steps for which batches share most neighbors"})


class Sampler:
    """The type of `sampler=`: one of the classes of SAMPLERS, or its name if it needs no options."""

    name: ClassVar[str]
    one_graph: ClassVar[bool] = False  # whether batches are one graph, as with expand="once", and never blocks

    def plain(self) -> dict:
        """The name and the options, as numbers and strings, for states and files."""
        return {"name": self.name, **{option: "" if value is None else value for option, value in vars(self).items()}}

    def _set(self, **checked) -> None:
        for option, value in checked.items():
            object.__setattr__(self, option, value)


@dataclass(frozen=True)
class Uniform(Sampler):
    """Each destination picks on its own, and every set of neighbors is equally likely (docs/semantics.md, sections 3
    and 9).

    replace: whether a neighbor may be drawn several times. A fanout of -1 takes all neighbors once in any case.
    dependent: so many consecutive batches share most neighbors (kappa of arXiv 2310.12403; section 9).
    """

    name: ClassVar[str] = "uniform"
    replace: bool = field(default=False, metadata={"help": "draws may repeat"})
    dependent: int = _dependent()

    def __post_init__(self):
        self._set(replace=as_flag(self.replace, "replace"), dependent=as_int(self.dependent, "dependent", 1))


@dataclass(frozen=True)
class Labor(Sampler):
    """Layer-neighbor sampling (Balin, Çatalyürek, arXiv 2210.13339; docs/semantics.md, section 8).

    Destinations share the random words of their sources, so a batch has fewer nodes: about half where in-degrees are
    several times the fanouts. The fanout is the expected number of neighbors that a destination picks.

    iterations: 0 is LABOR-0. LABOR-i has still fewer nodes, for more work. From 1 on, the samples of a rank depend on
        its whole slice: several ranks do not sample what one process does, unless they cooperate.
    layer_dependent: all hops use the same random words. This gives fewer nodes and correlated layers; only the first
        hop is unbiased.
    weights: defines `block.edge_weight`. "normalized" weights add up to 1 at each destination. "horvitz-thompson"
        weights are unbiased also where nothing may be picked, with a larger error.
    table: as of Weighted: a destination picks in proportion to this edge table, and `block.edge_weight` estimates the
        mean of its neighbors weighted by it. None: all edges are alike.
    dependent: as of Uniform.
    """

    name: ClassVar[str] = "labor"
    iterations: int = field(
        default=0, metadata={"flag": "--importance-iterations", "help": "LABOR-I: fewer nodes still, more work"}
    )
    layer_dependent: bool = field(default=False, metadata={"help": "all hops use the same randomness"})
    weights: str = field(default="normalized", metadata={"choices": WEIGHTS, "help": "what neighbors weigh in means"})
    table: str | None = field(default=None, metadata=_WEIGHT_TABLE)
    dependent: int = _dependent()

    def __post_init__(self):
        if not isinstance(self.weights, str) or self.weights not in WEIGHTS:
            error = ValueError if isinstance(self.weights, str) else TypeError
            raise error(f"weights is {shortened(self.weights)}, expected 'normalized' or 'horvitz-thompson'")
        self._set(
            iterations=as_int(self.iterations, "iterations", 0, _core.MAX_IMPORTANCE_ITERATIONS),
            layer_dependent=as_flag(self.layer_dependent, "layer_dependent"),
            table=as_name(self.table, "table") if self.table else None,
            dependent=as_int(self.dependent, "dependent", 1),
        )


@dataclass(frozen=True)
class Weighted(Sampler):
    """Picks neighbors in proportion to an edge table (docs/semantics.md, section 13).

    It draws by rejection where that takes few tries (von Neumann 1951). Else it uses exponential keys without
    replacement (Efraimidis, Spirakis 2006), and the inverse transform with replacement.

    table: the name of a table with one float32 or float64 per edge: 0, or from 1e-290 to 1e290. Other weights are a
        ValueError that names one, when its row is read. An edge of weight 0 is never drawn. Every edge type with a
        fanout needs the table.
    replace: whether a neighbor may be drawn several times. A fanout of -1 takes all neighbors with a positive weight
        once in any case.
    dependent: as of Uniform.
    """

    name: ClassVar[str] = "weighted"
    table: str = field(metadata=_WEIGHT_TABLE)
    replace: bool = field(default=False, metadata={"help": "draws may repeat"})
    dependent: int = _dependent()

    def __post_init__(self):
        self._set(
            table=as_name(self.table, "table"),
            replace=as_flag(self.replace, "replace"),
            dependent=as_int(self.dependent, "dependent", 1),
        )


@dataclass(frozen=True)
class Budget(Sampler):
    """A number of nodes, whatever their degrees, on the CPU (docs/semantics.md, section 25). Batches are one graph, as
    with expand="once": `batch.edges()` has the edges, and `batch.hop` the hop that found each node.

    nodes_per_tree: None: each hop draws so many nodes of each type, which `num_neighbors` says: a list with a number
        per hop, or a dict of such lists by node type, 0 for none. They are drawn among the neighbors of all nodes
        that the batch has, each with the square of its importance: the sum of 1 / in-degree over the nodes that it
        points to. The batch has all edges among its nodes (Hu et al., "Heterogeneous Graph Transformer", WWW 2020).
        A number: each seed has a tree of its own (`disjoint`) of at most so many nodes, itself included. Hops draw as
        Uniform does, by `num_neighbors` of edge types. Of the hop that does not fit, a random part is kept.
        `batch.parent` is the node whose neighbor each node is.
    dependent: as of Uniform.
    """

    name: ClassVar[str] = "budget"
    one_graph: ClassVar[bool] = True
    nodes_per_tree: int | None = field(default=None, metadata={"help": "nodes of each tree, its seed included"})
    dependent: int = _dependent()

    def __post_init__(self):
        if self.nodes_per_tree is not None:
            self._set(nodes_per_tree=as_int(self.nodes_per_tree, "nodes_per_tree", 1))
        self._set(dependent=as_int(self.dependent, "dependent", 1))

    def plain(self) -> dict:
        return {"name": self.name, **vars(self)}  # a number may be None


SAMPLERS = {sampler.name: sampler for sampler in (Uniform, Labor, Weighted, Budget)}
OF_BLOCKS = {name: sampler for name, sampler in SAMPLERS.items() if not sampler.one_graph}  # what training takes


def draws_by_node_type(sampler: Sampler) -> bool:
    """Whether `num_neighbors` has a list per node type, not per edge type."""
    return isinstance(sampler, Budget) and sampler.nodes_per_tree is None


def as_sampler(sampler) -> Sampler:
    """A sampler from an object, a name, or the result of `plain`."""
    if isinstance(sampler, Sampler):
        return sampler
    options = dict(sampler) if isinstance(sampler, Mapping) else {"name": sampler}
    name = options.pop("name", None)
    if isinstance(name, str) and name in SAMPLERS:
        return _made(SAMPLERS[name], options, f"sampler is {name!r}")
    objects = " or ".join(f"ramet.{found.__name__}(...)" for found in SAMPLERS.values())
    error = ValueError if isinstance(name, str) else TypeError
    raise error(f"sampler is {shortened(sampler)}, expected {', '.join(map(repr, SAMPLERS))}, {objects}")


# ---- the command line


def add_sampler_options(parser) -> None:
    """--sampler, and an option for every field of a sampler."""
    parser.add_argument(
        "--sampler",
        choices=tuple(OF_BLOCKS),
        default="uniform",
        help="labor: fewer nodes a batch (default: %(default)s)",
    )
    for flag, owners in _flags().items():
        option = next(iter(owners.values()))
        words: dict = {"help": f"of {', '.join(owners)}: {option.metadata['help']}", "dest": _dest(flag)}
        if isinstance(option.default, bool):
            words |= {"action": "store_const", "const": True}
        else:
            kind = str if option.default in (dataclasses.MISSING, None) else type(option.default)
            words |= {"type": kind, "choices": option.metadata.get("choices")}
        parser.add_argument(flag, **words)


def sampler_of(arguments) -> Sampler:
    """From the options that `add_sampler_options` added. ValueError for one that the sampler does not have."""
    options = {}
    for flag, owners in _flags().items():
        value = getattr(arguments, _dest(flag))
        if value is None:
            continue
        if arguments.sampler not in owners:
            raise ValueError(f"{flag} is given with --sampler {arguments.sampler}; only {', '.join(owners)} has it")
        options[owners[arguments.sampler].name] = value
    return _made(SAMPLERS[arguments.sampler], options, f"--sampler is {arguments.sampler}")


def _made(sampler: Any, options: dict, given: str) -> Sampler:
    needed = [o.name for o in dataclasses.fields(sampler) if o.default is dataclasses.MISSING]
    missing = [name for name in needed if name not in options]
    if missing:
        raise ValueError(f"{given}, which needs options: ramet.{sampler.__name__}({missing[0]}=...)")
    return sampler(**options)


def _dest(flag: str) -> str:
    return "sampler_" + flag.strip("-").replace("-", "_")


def _flags() -> dict[str, dict[str, dataclasses.Field]]:
    """By option of the command line: the fields that it sets, by name of the sampler."""
    flags: dict[str, dict[str, dataclasses.Field]] = {}
    for sampler in OF_BLOCKS.values():
        for option in dataclasses.fields(sampler):
            flag = option.metadata.get("flag", "--" + option.name.replace("_", "-"))
            flags.setdefault(flag, {})[sampler.name] = option
    return flags
