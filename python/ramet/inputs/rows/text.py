"""CSV and TSV, also compressed, by pyarrow's reader. Every column is text unless another type is wanted.

An empty field is null, a quoted one is not, and neither is NA. Line breaks may stand in quotes. Empty lines are left
out, but in a file of one column, where they are null values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
from pyarrow import csv

from ramet._support.arguments import shortened
from ramet.inputs.rows.files import File

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
READ_AHEAD = 34  # blocks that pyarrow's reader holds at most
BLOCK_BYTES = (1 << 12, 1 << 23)
READER_LIMIT = 1 << 30  # of a block, whose size has 32 bits


class TextPart:
    def __init__(self, file: File, header: bool, what: str):
        self.name, self.bytes, self.num_rows = file.name, file.size, None
        self._file, self._header, self._what = file, header, what
        self._column_names = self._read_names()
        self.names = tuple(self._column_names if header else range(len(self._column_names)))

    def kind(self, position: int) -> pa.DataType:
        return pa.large_string()

    def blocks(self, positions: list[int], max_bytes: int, kinds: list[pa.DataType]) -> Iterator[pa.RecordBatch]:
        lines = self._lines(max_bytes)
        try:
            yield from self._batches(lines, positions, kinds)
        except pa.ArrowInvalid as error:
            self._explain(error, self._batches(self._lines(max_bytes), positions, kinds, use_threads=False))
        if lines.quotes % 2:
            self._require_last_quote(max_bytes)
        self._file.check()

    def _lines(self, max_bytes: int) -> Lines:
        least, most = BLOCK_BYTES
        return Lines(self._file, max(least, min(max_bytes // READ_AHEAD, most)), max_bytes, self._what)

    def _batches(self, lines: Lines, positions, kinds, use_threads: bool = True) -> Iterator[pa.RecordBatch]:
        names = [self._column_names[position] for position in positions]
        convert = csv.ConvertOptions(
            include_columns=names,
            column_types=dict(zip(names, kinds)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        with lines:
            source = pa.PythonFile(lines, mode="r")
            with csv.open_csv(source, self._read_options(use_threads), self._parse_options(), convert) as reader:
                yield from reader

    def _require_last_quote(self, max_bytes: int) -> None:
        """pyarrow takes what follows a quote that is never closed, to the end of the file, as one value: the last."""
        rows, text = 0, ""
        for batch in self._batches(self._lines(max_bytes), [len(self.names) - 1], [pa.large_string()]):
            rows += batch.num_rows
            text = batch.column(0)[-1].as_py() or ""
        if "\n" in text:
            raise ValueError(
                f"{self._what}: {self.name}, row {rows - 1}, column {self.names[-1]!r}: the quote before "
                f"{shortened(text)} is not closed"
            )

    def _read_names(self) -> list[str]:
        """The names of the columns from the first line, those of pyarrow without a header; none of an empty file."""
        with Lines(self._file, BLOCK_BYTES[0], READER_LIMIT, self._what) as lines:
            block = lines.read()
        if not block.strip():
            if self._header:
                raise ValueError(f"{self._what}: {self.name} is empty: it has no names of columns")
            return []
        ends = (end.end() for end in re.finditer(rb"\r|\n", block))
        end = next((end for end in ends if block[:end].strip() and block.count(b'"', 0, end) % 2 == 0), None)
        try:
            first = pa.BufferReader(block[:end])
            with csv.open_csv(first, self._read_options(False), self._parse_options()) as reader:
                return reader.schema.names
        except UnicodeDecodeError as error:
            raise ValueError(f"{self._what}: {self.name}: names of its columns are no UTF-8 text: {error}") from None

    def _read_options(self, use_threads: bool) -> csv.ReadOptions:
        return csv.ReadOptions(
            use_threads=use_threads, block_size=READER_LIMIT, autogenerate_column_names=not self._header
        )

    def _parse_options(self) -> csv.ParseOptions:
        return csv.ParseOptions(
            delimiter=DELIMITERS["." + self._file.form.split(".")[1]],
            newlines_in_values=True,
            ignore_empty_lines=len(getattr(self, "names", ())) != 1,
        )

    def _explain(self, error: Exception, again: Iterator[pa.RecordBatch]) -> None:
        """Raises the error as ours. pyarrow numbers rows only where it reads on one thread, so it reads again."""
        try:
            for _ in again:
                pass
        except pa.ArrowInvalid as same:
            error = same
        location, text = self.name, str(error)
        if row := re.search(r"Row #(\d+): ", text):
            location += f", row {int(row[1]) - 1 - self._header}"
        if column := re.search(r"In CSV column #(\d+): ", text):
            location += f", column {self.names[int(column[1])]!r}"
        raise ValueError(f"{self._what}: {location}: {_in_our_words(text)}") from None


def _in_our_words(text: str) -> str:
    if "invalid UTF8" in text:
        return "the text is not UTF-8; iconv turns another encoding into it"
    if "straddling" in text:
        return "a value with line breaks is too large for this much memory; is a quote missing?"
    if value := re.search(r"conversion error to (.+): invalid value '(.*)'", text, re.DOTALL):
        return f"{shortened(value[2])} is no {value[1]}"
    if columns := re.search(r"Expected (\d+) columns, got (\d+): (.*)", text, re.DOTALL):
        return f"expected {columns[1]} columns, got {columns[2]}: {shortened(columns[3])}"
    return text


class Lines:
    """A file of text for pyarrow's reader. Each block ends a line or more, so that no line is in three blocks: the
    reader refuses that. A line of more than `most` bytes is a ValueError."""

    closed = False
    quotes = 0  # so far

    def __init__(self, file: File, block: int, most: int, what: str):
        self._stream, self._block, self._most, self._name = file.open_stream(), block, most, f"{what}: {file.name}"

    def read(self, size: int = -1) -> bytes:
        blocks, total = [], 0
        while block := self._stream.read(self._block):
            blocks.append(block)
            total += len(block)
            self.quotes += block.count(b'"')
            if b"\n" in block or b"\r" in block:
                break
            if total > self._most:
                raise ValueError(f"{self._name}: a line has more than the {self._most:,} bytes that are read at a time")
        return b"".join(blocks)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.closed = True
        self._stream.close()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_) -> None:
        self.close()
