"""checksums.txt of a store: SHA-256 of every file, in the form that `sha256sum -c checksums.txt` reads."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

FILE = "checksums.txt"
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_CHUNK = 1 << 20


def store_files(folder) -> list[str]:
    """The files that make up the store in `folder`, by their path inside it, without checksums.txt.
    Sorted."""
    root = Path(folder)
    names = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(
        name.as_posix()
        for name in names
        if name.as_posix() != FILE and not any(part.startswith(".") for part in name.parts)
    )


def write_checksums(folder, report: Callable[[int, int], None] | None = None) -> None:
    """Writes checksums.txt for the files of `folder` and syncs it. report(done, total): bytes read."""
    sums = _sum_files(Path(folder), store_files(folder), report)
    with open(Path(folder) / FILE, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{digest}  {name}\n" for name, digest in sums.items())
        file.flush()
        os.fsync(file.fileno())


def read_checksums(folder) -> dict[str, str] | None:
    """Digest by file name, or None where the store has no checksums.txt. ValueError for a line that
    is no sum."""
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    sums = {}
    text = path.read_bytes().decode("utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.fullmatch(line)
        if not match:
            raise ValueError(f"{path}, line {number}: not a SHA-256 sum and a file name")
        sums[match[2].removeprefix("./")] = match[1].lower()
    return sums


def find_damage(folder, report: Callable[[int, int], None] | None = None) -> list[str] | None:
    """One sentence for each file that differs from checksums.txt, is missing or is not listed
    there; None where there is no checksums.txt. Reads every file."""
    try:
        expected = read_checksums(folder)
    except ValueError as error:
        return [str(error)]
    if expected is None:
        return None
    root = Path(folder)
    present = store_files(folder)
    found = _sum_files(root, [name for name in present if name in expected], report)
    damage = [
        f"{root / name}: its SHA-256 is {digest}, but {FILE} says {expected[name]}"
        for name, digest in found.items()
        if digest != expected[name]
    ]
    damage += [f"{root / name}: listed in {FILE}, but missing" for name in expected.keys() - set(present)]
    damage += [f"{root / name}: not listed in {FILE}" for name in set(present) - expected.keys()]
    return sorted(damage)


def _sum_files(root: Path, names: list[str], report) -> dict[str, str]:
    total = sum((root / name).stat().st_size for name in names)
    done = 0
    sums = {}
    buffer = bytearray(_CHUNK)
    for name in names:
        digest = hashlib.sha256()
        with open(root / name, "rb", buffering=0) as file:
            while size := file.readinto(buffer):
                digest.update(memoryview(buffer)[:size])
                done += size
                if report:
                    report(done, total)
        sums[name] = digest.hexdigest()
    return sums
