"""checksums.txt of a store: SHA-256 of every file, in the form that `sha256sum -c checksums.txt` reads."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

FILE = "checksums.txt"
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_CHUNK = 1 << 20
MANIFEST = "ramet.txt"
MAX_BYTES = 16 << 20  # of either text: a hundred thousand files


def store_files(folder) -> list[str]:
    """The files that make up the store in `folder`, by their path inside it, without checksums.txt.
    Sorted."""
    root = Path(os.fsdecode(folder))
    names = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return sorted(
        name.as_posix()
        for name in names
        if name.as_posix() != FILE and not any(part.startswith(".") for part in name.parts)
    )


def write_checksums(folder, report: Callable[[int, int], None] | None = None) -> None:
    """Writes checksums.txt for the files of `folder` and syncs it. report(done, total): bytes read. OSError, which
    names the file, where the disk refuses."""
    sums = _sum_files(Path(os.fsdecode(folder)), store_files(folder), report)
    path = Path(os.fsdecode(folder)) / FILE
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{digest}  {name}\n" for name, digest in sums.items())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:  # of a write() it names no file
        raise OSError(error.errno, error.strerror, str(path)) from None


def read_checksums(folder) -> dict[str, str] | None:
    """Digest by file name, or None where the store has no checksums.txt. ValueError for a line that
    is no sum, and for a file that is far too long."""
    path = Path(os.fsdecode(folder)) / FILE
    if not path.is_file():
        return None
    with _Regular(path) as file:
        if file.size > MAX_BYTES:
            raise ValueError(f"{path} has {file.size} bytes, at most {MAX_BYTES} are read")
        text = b"".join(bytes(chunk) for chunk in file.chunks()).decode("utf-8", errors="replace")
    sums = {}
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
    root = Path(os.fsdecode(folder))
    present = store_files(folder)
    names = [name for name in present if name in expected]
    if MANIFEST in names and (root / MANIFEST).stat().st_size > MAX_BYTES:
        names.remove(MANIFEST)  # opening the store says so
    found = _sum_files(root, names, report)
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
    for name in names:
        digest = hashlib.sha256()
        with _Regular(root / name) as file:
            for chunk in file.chunks():
                digest.update(chunk)
                done += len(chunk)
                if report:
                    report(done, total)
        sums[name] = digest.hexdigest()
    return sums


class _Regular:
    """A regular file, open, whose bytes are read up to the size that it says it has: a link may lead to a file of
    the kernel, which says 0 and blocks, or does not end."""

    def __init__(self, path: Path):
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        status = os.fstat(self._fd)
        self.size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            os.close(self._fd)
            raise ValueError(f"{path} is not a regular file")

    def __enter__(self) -> _Regular:
        return self

    def __exit__(self, *_) -> None:
        os.close(self._fd)

    def chunks(self) -> Iterator[memoryview]:
        """Views of one buffer, each good until the next."""
        buffer = memoryview(bytearray(_CHUNK))
        left = self.size
        while left > 0 and (got := os.readv(self._fd, [buffer[: min(left, _CHUNK)]])):
            left -= got
            yield buffer[:got]
