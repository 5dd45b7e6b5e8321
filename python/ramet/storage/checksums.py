"""checksums.txt: SHA-256 of every file of a store, or of those beside the parts of a folder of parts, in the form that
`sha256sum -c checksums.txt` reads."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from ramet._core import CorruptStoreError

FILE = "checksums.txt"
MANIFEST, PARTS_TEXT = "ramet.txt", "parts.json"  # of a store, and of a folder of parts
MAX_BYTES = 16 << 20  # of any of the three texts: a hundred thousand files
_LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](.+)")
_PART = re.compile(r"part-(0|[1-9]\d*)")
_CHUNK = 1 << 20
_LOOK = 0.1  # seconds between reports


def store_files(folder) -> list[str]:
    """The files that make up the store in `folder`, by their path inside it, without checksums.txt. Of a folder of
    parts, those beside the parts, which have checksums of their own. Sorted."""
    root, names = _path(folder), []
    for parent, folders, files in os.walk(root):
        at_top = Path(parent) == root
        # Other ranks write and remove such folders meanwhile.
        folders[:] = [name for name in folders if not _is_left_out(name, at_top)]
        found = [Path(parent) / name for name in files if not _is_left_out(name, at_top)]
        names += [path.relative_to(root).as_posix() for path in found if path.is_file()]
    return sorted(name for name in names if name != FILE)


def _is_left_out(name: str, at_top: bool) -> bool:
    return name.startswith(".") or (at_top and _PART.fullmatch(name) is not None)


def parts_in(folder) -> list[str]:
    """The paths of part-0, part-1, ... in `folder`, as many as there are, by number. None of a store."""
    folder = os.fsdecode(folder)
    is_of_parts = os.path.isdir(folder) and not os.path.exists(os.path.join(folder, MANIFEST))
    parts = [entry for entry in os.listdir(folder) if _PART.fullmatch(entry)] if is_of_parts else []
    return [os.path.join(folder, part) for part in sorted(parts, key=lambda part: int(part[5:]))]


def has_checksums(folder) -> bool:
    return (_path(folder) / FILE).is_file()


def write_checksums(folder, report: Callable[[int, int], None] | None = None) -> None:
    """Writes checksums.txt for the files of `folder` and syncs it. report(done, total): bytes read. OSError, which
    names the file, where the disk refuses."""
    root, names = _path(folder), store_files(folder)
    sums = _sum_files([root / name for name in names], report)
    path = root / FILE
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{sums[root / name]}  {name}\n" for name in names)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:  # of a write() it names no file
        raise OSError(error.errno, error.strerror, str(path)) from None


def read_checksums(folder) -> dict[str, str] | None:
    """Digest by file name, or None where the store has no checksums.txt. ValueError for a line that
    is no sum, and for a file that is far too long."""
    path = _path(folder) / FILE
    if not has_checksums(folder):
        return None
    sums = {}
    for number, line in enumerate(read_bounded(path).splitlines(), 1):
        match = _LINE.fullmatch(line)
        if not match:
            raise ValueError(f"{path}, line {number}: not a SHA-256 sum and a file name")
        sums[match[2].removeprefix("./")] = match[1].lower()
    return sums


def find_damage(*folders, report: Callable[[int, int], None] | None = None) -> list[str]:
    """One sentence for each file that differs from the checksums.txt of its folder, is missing or is not listed there.
    Reads every file of the folders that have one."""
    damage: list[str] = []
    expected: dict[Path, str] = {}
    for root in map(_path, folders):
        try:
            listed = read_checksums(root)
        except ValueError as error:
            damage.append(str(error))
            continue
        if listed is None:
            continue
        present = set(store_files(root))
        damage += [f"{root / name}: listed in {FILE}, but missing" for name in listed.keys() - present]
        damage += [f"{root / name}: not listed in {FILE}" for name in present - listed.keys()]
        expected |= {root / name: listed[name] for name in present & listed.keys() if not _is_too_long(root / name)}
    damage += [
        f"{path}: its SHA-256 is {digest}, but {FILE} says {expected[path]}"
        for path, digest in _sum_files(list(expected), report).items()
        if digest != expected[path]
    ]
    return sorted(damage)


def require_undamaged(*folders) -> None:
    """Raises CorruptStoreError with the first result of find_damage()."""
    damage = find_damage(*folders)
    if damage:
        more = f"; and {len(damage) - 1} more like it" if len(damage) > 1 else ""
        raise CorruptStoreError(damage[0] + more)


def read_bounded(path) -> str:
    """A text of a store. ValueError for a file that is not regular, or far too long."""
    with _Regular(path) as file:
        if file.size > MAX_BYTES:
            raise ValueError(f"{path} has {file.size} bytes, at most {MAX_BYTES} are read")
        return b"".join(bytes(chunk) for chunk in file.chunks()).decode("utf-8", errors="replace")


def _path(folder) -> Path:
    return Path(os.fsdecode(folder))


def _is_too_long(path: Path) -> bool:
    """Whether a reader would refuse this text for its length."""
    return path.name in (MANIFEST, PARTS_TEXT) and path.stat().st_size > MAX_BYTES


def _sum_files(paths: list[Path], report: Callable[[int, int], None] | None) -> dict[Path, str]:
    """The files' digests; several files at a time, since hashlib lets other threads run."""
    sizes = {path: path.stat().st_size for path in paths}
    done = dict.fromkeys(paths, 0)
    stopped = False

    def sum_file(path: Path) -> str:
        digest = hashlib.sha256()
        with _Regular(path) as file:
            for chunk in file.chunks():
                digest.update(chunk)
                done[path] += len(chunk)
                if stopped:
                    break
        return digest.hexdigest()

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = {path: pool.submit(sum_file, path) for path in sorted(paths, key=sizes.__getitem__, reverse=True)}
        left = set(jobs.values())
        try:
            while left:
                ended, left = wait(left, _LOOK, FIRST_EXCEPTION)
                for job in ended:
                    job.result()
                if report:
                    report(sum(done.values()), sum(sizes.values()))
        except BaseException:
            stopped = True
            pool.shutdown(cancel_futures=True)
            raise
    return {path: jobs[path].result() for path in paths}


class _Regular:
    """A regular file, open, whose bytes are read up to the size that it says it has: a link may lead to a file of
    the kernel, which says 0 and blocks, or does not end."""

    def __init__(self, path):
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
