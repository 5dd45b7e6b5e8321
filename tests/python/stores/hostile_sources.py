"""A program of the tests: `hostile_sources.py SOURCES SCRATCH FIRST LAST` damages copies of the files and folders in
SOURCES that ramet.build() reads, one for each seed from FIRST to before LAST, and reads each.

It prints the seed before it begins, so that whoever finds it dead knows the culprit, and in the end how many could be
read. An exception that is no answer to bad input ends it, and so does a message of more than a few lines.
"""

import resource
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np

import ramet
from ramet.stores import readers
from ramet.stores.build import _tables

sys.modules["torch"] = None  # slow to import, and not needed

MEMORY = 3 * 2**30  # address space
ANSWERS = (ValueError, OSError, MemoryError)


def flip(random, content: bytearray) -> bytearray:
    for at in random.integers(len(content), size=random.integers(1, 5)):
        content[at] ^= 1 << random.integers(8)
    return content


def bytes_of_a_header(random, content: bytearray) -> bytearray:
    for at in random.integers(min(len(content), 160), size=random.integers(1, 4)):
        content[at] = random.integers(256)
    return content


def cut(random, content: bytearray) -> bytearray:
    return content[: random.integers(len(content) + 1)]


def add(random, content: bytearray) -> bytearray:
    at = int(random.integers(len(content) + 1))
    return content[:at] + random.bytes(random.integers(1, 300)) + content[at:]


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


DAMAGES = (flip, bytes_of_a_header, cut, add, repeat, number, letters)


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


def use(source: Path) -> None:
    found = readers.read(source)
    tables = _tables(found, normalize=True) if found.features is not None else {}
    ramet.from_edge_index((found.src, found.dst), num_nodes=found.num_nodes, nodes=tables, splits=found.splits)


def main() -> None:
    sources, scratch, first, last = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    np.seterr(all="ignore")
    bases = sorted(Path(sources).iterdir())
    read = 0
    for seed in range(int(first), int(last)):
        source = Path(scratch) / str(seed)
        shutil.copytree(bases[seed % len(bases)], source)
        print(f"seed {seed}:", damage(seed, source), flush=True)
        try:
            use(source)
            read += 1
        except ANSWERS as error:
            assert 0 < len(str(error)) < 2000, "an exception without a message, or with a page of it"
        shutil.rmtree(source)
    print(*(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
    print(read)


if __name__ == "__main__":
    main()
