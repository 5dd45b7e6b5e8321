"""The rows of people's tables, whatever they are kept in: one interface to files, frames and arrays.

  opening.py       what a user gave -> parts in order
  files.py         paths, globs, folders and URLs -> files in the natural order of their names
  parquet.py, arrow_ipc.py, text.py, arrays.py, torch_files.py, frames.py
                   one kind of part each: names, types, and blocks of its rows
  table.py         Part, what each of these is; Rows, several parts as one table
  horizontal.py    several tables of equal length as one
  types.py         the type of a column over all parts
  pieces.py        a block -> pieces of bounded size
  convert.py       a column -> that type, or an error that names file, row, column and value

Nothing here parses: pyarrow and numpy do. All but this file imports pyarrow.
"""

from __future__ import annotations


def open_rows(rows, *, header: bool = True, what: str):
    """The rows of a table, opened: parts are found and their columns are known, but no row is read.

    Args:
      rows: a path, a glob, a folder, a URL of pyarrow.fs, or a list of those, whose order stays; a pandas or polars
          frame, a pyarrow table, or an object with `__arrow_c_stream__`; or a dict of arrays by column. What is opened
          already is returned as it is.
      header: whether text files begin with the names of their columns.
      what: the beginning of messages, such as "NodeTable('user')".

    Returns a `table.Rows`. ImportError where pyarrow is missing, FileNotFoundError for a path, ValueError or TypeError
    for what cannot be read.
    """
    if hasattr(rows, "batches"):
        return rows
    _require_pyarrow(what)
    from ramet.inputs.rows.opening import open_parts
    from ramet.inputs.rows.table import Rows

    return Rows(open_parts(rows, header, what), what)


def side_by_side(*rows):
    """Tables with equally many rows as one table with the columns of all. Columns without names are numbered on.
    ValueError where two columns have one name, or the numbers of rows differ."""
    from ramet.inputs.rows.horizontal import SideBySide

    return rows[0] if len(rows) == 1 else SideBySide(rows)


def _require_pyarrow(what: str) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{what}: rows are read by pyarrow, which is missing: pip install ramet[tables]") from error
