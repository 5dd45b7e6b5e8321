"""A program of the tests: damages copies of the files and folders that ramet.build() reads, and reads each."""

import zipfile
from collections import Counter
from pathlib import Path

import hostile_programs as hostile
import numpy as np

import ramet
from ramet.stores import readers
from ramet.stores.build import _tables

ANSWERS = (ValueError, OSError, MemoryError)


def repeat(random, content: bytearray) -> bytearray:
    """A piece once more: opcodes of a pickle, members of an archive."""
    begin, end = sorted(random.integers(len(content) + 1, size=2))
    return content[:end] + content[begin:end] + content[end:]


def number(random, content: bytearray) -> bytearray:
    """Eight bytes become a number at which arithmetic goes wrong."""
    at = int(random.integers(max(len(content) - 8, 1)))
    value = int(random.choice([-1, 0, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63)]))
    content[at : at + 8] = value.to_bytes(8, "little", signed=True)
    return content


def letters(random, content: bytearray) -> bytearray:
    places = [i for i, byte in enumerate(content) if chr(byte).isalnum()]
    for at in random.choice(places or [0], 2):
        content[at] = random.choice(list(b"0123456789-,()abiufOSUV<>|=.\n"))
    return content


DAMAGES = (hostile.flip, hostile.bytes_of_a_header, hostile.cut, hostile.add, repeat, number, letters)


def damage_member(random, path: Path, kind) -> None:
    """One array of an archive, whose checksum is right then."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = random.choice(sorted(members))
    members[name] = bytes(kind(random, bytearray(members[name])))
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def damage(seed: int, source: Path) -> str:
    random = np.random.default_rng(seed)
    kind = DAMAGES[seed % len(DAMAGES)]
    files = sorted(source.iterdir())
    path = files[random.integers(len(files))]
    if path.suffix == ".npz" and random.random() < 0.7:
        damage_member(random, path, kind)
        return f"{kind.__name__} in {path.name}"
    path.write_bytes(kind(random, bytearray(path.read_bytes())))
    return f"{kind.__name__} {path.name}"


def use(source: Path, counts: Counter) -> None:
    try:
        found = readers.read(source)
        tables = _tables(found, normalize=True) if found.features is not None else {}
        ramet.from_edge_index((found.src, found.dst), num_nodes=found.num_nodes, nodes=tables, splits=found.splits)
        counts["read"] += 1
    except ANSWERS as error:
        assert 0 < len(str(error)) < 2000, "an exception without a message, or with a page of it"


if __name__ == "__main__":
    np.seterr(all="ignore")
    hostile.main(damage, use)
