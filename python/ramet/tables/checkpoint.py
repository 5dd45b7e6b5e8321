"""Tables saved together with a text about them, and loaded again by any ranks. docs/format.md, section 8."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ramet import _core
from ramet._support.arguments import as_path
from ramet.ranks.ranks import Ranks
from ramet.ranks.world import this_machine
from ramet.storage.checksums import PARTS_TEXT, require_undamaged
from ramet.tables.files import FileStorage, open_parts, stores_of, unreplaced
from ramet.tables.parts import read_text, save_parts
from ramet.tables.records import copy_tables
from ramet.tables.table import Table

Tables = dict[str, dict[str, Table]]  # by node type and name
AT_A_TIME = 1 << 20


def save_tables(path, tables: Tables, text: dict) -> None:
    """Writes the tables, which have the same ranks, in one step. Collective, as Table.save."""
    pieces = {}
    for of, named in tables.items():
        pieces[of] = {name: table._pieces() for name, table in named.items()}  # noqa: SLF001 (the package's)
    save_parts(path, pieces, text, _ranks_of(tables))


def load_tables(path, tables: Tables, fits: Callable[[dict], None], begin: Callable[[], None]) -> dict:
    """Fills the tables from a folder that save_tables() has written, also for other ranks, owners and placements;
    returns the text, at which fits() has looked first. Collective: an error of one rank is one on every rank. Before
    begin() is called, nothing has changed; after it, an error leaves some rows filled, and others as they were.
    CorruptStoreError for bytes that are not those of checksums.txt, where there is one.

    A machine may have some of the parts alone: those with the rows of its own ranks."""
    ranks = _ranks_of(tables)

    def read() -> tuple[_Saved, tuple[str, list]]:
        folder = os.path.abspath(as_path(path))
        saved = unreplaced([folder], lambda: _open(folder, tables, fits))
        for of, named in saved.tables.items():
            for name, storage in named.items():
                _check_parts(folder, tables[of][name], storage)
        return saved, (saved.text["id"], list(saved.paths))

    saved, told = ranks.share(read)
    ids, seen = zip(*told)
    if len(set(ids)) > 1:
        said = ranks.share(lambda: (None, f"{saved.text['id']}, step {saved.text.get('step')}"))[1]
        other = next(rank for rank, id in enumerate(ids) if id != ids[0])
        raise ValueError(f"rank 0 loads {said[0]}, but rank {other} {said[other]}: they are of different saves")
    ranks.share(lambda: _verify(saved, _shares(seen)[ranks.rank]))
    begin()
    for of, named in saved.tables.items():
        copy_tables(tables[of], {name: Table(storage) for name, storage in named.items()})
    return saved.text


class _Saved(NamedTuple):
    """What lies in a folder."""

    folder: str
    text: dict
    tables: dict[str, dict[str, FileStorage]]
    paths: dict[tuple, str]  # see _paths()


def _open(folder: str, tables: Tables, fits: Callable[[dict], None]) -> _Saved:
    text = read_text(folder)
    fits(text)
    stores, id = stores_of([folder]), int(text["id"], 16)
    opened = {of: {name: open_parts(stores, name, of, whole=id)[0] for name in tables[of]} for of in tables}
    for of, named in opened.items():
        for name, storage in named.items():
            if len(storage.own_parts) != text["parts"]:
                raise _core.CorruptStoreError(
                    f"{os.path.join(folder, PARTS_TEXT)} says {text['parts']} parts, but {name!r} of {of!r} has "
                    f"{len(storage.own_parts)}"
                )
    return _Saved(folder, text, opened, _paths(folder))


def _paths(folder: str) -> dict[tuple, str]:
    """Paths of the folder and its parts, by what tells them from all others, of other machines, too."""
    machine = this_machine()
    status = {path: os.stat(path) for path in (folder, *stores_of([folder]))}
    return {(machine, found.st_dev, found.st_ino): path for path, found in status.items()}


def _shares(seen: Sequence[list[tuple]]) -> list[list[tuple]]:
    """Which rank verifies which of the folders that ranks see, by their keys of _paths(): each of them once."""
    shares: list[list[tuple]] = [[] for _ in seen]
    for number, key in enumerate(dict.fromkeys(key for of_rank in seen for key in of_rank)):
        ranks = [rank for rank, of_rank in enumerate(seen) if key in of_rank]
        shares[ranks[number % len(ranks)]].append(key)
    return shares


def _verify(saved: _Saved, share: list[tuple]) -> tuple[None, None]:
    """OSError where other folders are there by now: what was read may be theirs."""
    try:
        require_undamaged(*(saved.paths[key] for key in share))
    finally:
        if _paths(saved.folder) != saved.paths:
            raise OSError(f"{saved.folder} was replaced while it was loaded: load it again") from None
    return None, None


def _check_parts(folder: str, table: Table, storage: FileStorage) -> None:
    """ValueError where rows of this rank lie in parts that are not there."""
    if not storage.missing:
        return
    ids, owners = table.owned(), storage.positions.owners
    for begin in range(0, len(ids), AT_A_TIME):
        some = ids[begin : begin + AT_A_TIME]
        for id, part in zip(some.tolist(), owners.owners(some).tolist()):
            if part in storage.missing:
                raise ValueError(f"row {id}, of rank {table.rank}, lies in part-{part}, which is not in {folder}")


def _ranks_of(tables: Tables) -> Ranks:
    every = [table._ranks for named in tables.values() for table in named.values()]  # noqa: SLF001 (the package's)
    members = [None if ranks.group is None else ranks.group.members for ranks in every]
    if any(other != members[0] for other in members):
        raise ValueError(f"tables of several sets of ranks, {members}, cannot be saved together")
    return every[0]
