"""Text files read by lines, in pieces of bounded size, and rows that are made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from ramet.inputs.rows.files import File, find_files
from ramet.inputs.rows.table import Column, Rows

PIECE = 1 << 20  # bytes read at a time
LONGEST_LINE = 64 << 20


def rows(file: File, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]], what: str) -> Rows:
    """Rows that are made from a file anew each time that somebody reads them."""
    return Rows([Stream(file, schema, batches)], what)


class Stream:
    """A part of rows (see rows/table.py)."""

    num_rows: int | None = None

    def __init__(self, file: File, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.name, self.bytes = file.name, file.size
        self.names: tuple[Column, ...] = tuple(schema.names)
        self._schema, self._batches = schema, batches

    def kind(self, position: int) -> pa.DataType:
        return self._schema.field(position).type

    def blocks(self, positions: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        for batch in self._batches():
            yield batch.select(positions)


def pieces(file: File, is_whole: bool = True) -> Iterator[bytes]:
    """The bytes of a file, decompressed where its name says so, without \\r and with a \\n at the end. With `is_whole`
    each piece ends after a line, and ValueError names a file with a line longer than LONGEST_LINE."""
    rest = last = b""
    try:
        with file.open_stream() as stream:
            while piece := stream.read(PIECE):
                last = piece[-1:]
                piece = rest + piece.replace(b"\r", b"")
                end = piece.rfind(b"\n") + 1 if is_whole else len(piece)
                rest = piece[end:]
                if len(rest) > LONGEST_LINE:
                    raise ValueError(f"{file.name}: a line is longer than {LONGEST_LINE} bytes")
                if end:
                    yield piece[:end]
    except OSError as error:  # without a number: what the decompressor says
        raise error if error.errno else ValueError(f"{file.name}: {error}") from None
    if last not in (b"", b"\n"):
        yield rest + b"\n"
    file.check()


def head(file: File, size: int = 1 << 16) -> list[bytes]:
    """The first lines, as far as they are complete; [] of what is no text."""
    found = b""
    for piece in pieces(file, is_whole=False):
        found += piece
        if len(found) > size:
            found = found[: found.rfind(b"\n", 0, size) + 1]
            break
    return [] if b"\0" in found else found.split(b"\n")[:-1]


def one_file(path: Path, *suffixes: str) -> File | None:
    """`path` where it is a file with such a name, or the only such file of a folder."""
    paths = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [p for p in paths if p.name.endswith(suffixes) and p.is_file()]
    return find_files(found[0], (), "rows")[0] if len(found) == 1 else None


def shown(line: bytes) -> str:
    """A line for a message."""
    text = line.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 80 else f"{text[:60]}...")
