"""ramet.toml: a Description as a file. Each NodeTable is a table [[nodes]], each EdgeTable a table [[edges]], and their
keys are the fields of these classes. Or the file has one key, `source`: a folder or file whose known layout says the
tables. Paths are relative to the file."""

from __future__ import annotations

import glob
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import date, datetime
from typing import Any

import numpy as np

from ramet._support.arguments import as_name, as_path, shortened
from ramet.inputs import layouts
from ramet.inputs.tables import Description, EdgeTable, NodeTable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CLASSES: dict[str, type[NodeTable] | type[EdgeTable]] = {"nodes": NodeTable, "edges": EdgeTable}


def read(path) -> Description:
    """The graph that the file describes. ValueError or TypeError naming the file, the table and the key that is wrong;
    OSError where the file cannot be read."""
    path = as_path(path)
    with open(path, "rb") as file:
        content = file.read()
    try:
        return _description(tomllib.loads(content.decode()), os.path.dirname(os.path.abspath(path)))
    except (ValueError, TypeError) as error:  # TOMLDecodeError and UnicodeDecodeError are ValueErrors
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{path}: {error}") from None


def write(description: Description, target, source=None) -> None:
    """Writes the file to a path, or to a text stream. Notes become comments. Paths of rows below the file's folder are
    written as relative ones, all others as absolute ones, and so are all in a stream.

    source: the path whose known layout has this description. It is named where the rows are no files by themselves.
    Raises TypeError, before anything is written, for such rows without a source.
    """
    is_stream = hasattr(target, "write")
    folder = None if is_stream else os.path.dirname(os.path.abspath(as_path(target)))
    notes = list(description.notes)
    try:
        tables = [f"[[nodes]]\n{_lines(table, folder)}" for table in description.nodes]
        tables += [f"[[edges]]\n{_lines(table, folder)}" for table in description.edges]
    except TypeError:
        if source is None:
            raise
        notes += [f"nodes: {table.type}" for table in description.nodes]
        notes += [f"edges: {' '.join(table.type)}" for table in description.edges]
        tables = [f"source = {_value(_written(source, folder))}\n"]
    parts = ["".join(f"# {' '.join(note.split())}\n" for note in notes), *tables]
    text = "\n".join(part for part in parts if part)
    if is_stream:
        target.write(text)
    else:
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)


def _description(content: dict[str, Any], folder: str) -> Description:
    _check_keys(content, (*CLASSES, "source"), "the file")
    if "source" in content:
        return _of_source(content, folder)
    found: dict[str, tuple] = {}
    for name, table_class in CLASSES.items():
        tables = content.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise TypeError(f"{name} is {shortened(tables)}, expected tables that begin with [[{name}]]")
        found[name] = tuple(_table(t, table_class, f"[[{name}]] {i}", folder) for i, t in enumerate(tables, 1))
    return Description(**found)


def _of_source(content: dict[str, Any], folder: str) -> Description:
    if len(content) > 1 or not _is_text(content["source"]):
        raise TypeError(f"source is {shortened(content['source'])}, expected the path of the tables, and no other key")
    path = os.path.join(folder, content["source"])
    description = layouts.describe(path)
    if description is None:
        raise ValueError(f"source: {path} has no layout that is known; those are {layouts.forms()}")
    return description


def _table(content: dict[str, Any], table_class, where: str, folder: str) -> NodeTable | EdgeTable:
    if "type" in content:
        where += f" ({_value(content['type'])})"
    known = {field.name for field in fields(table_class)}
    _check_keys(content, known, where)
    for key, value in content.items():
        is_kind, kind = _KINDS["edge type" if (key, table_class) == ("type", EdgeTable) else key]
        if not is_kind(value):
            raise TypeError(f"{where}: {key} is {shortened(value)}, expected {kind}")
    for field in fields(table_class):
        if field.default is MISSING and field.name not in content:
            raise ValueError(f"{where}: {field.name} is missing")
    given = dict(content)
    if "rows" in given:
        rows = given["rows"]
        given["rows"] = _joined(folder, rows) if isinstance(rows, str) else [_joined(folder, path) for path in rows]
    for key in ("type", "split"):
        if isinstance(given.get(key), list):
            given[key] = tuple(given[key])
    try:
        return table_class(**given)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from None


def _check_keys(content: Mapping, known, where: str) -> None:
    for key in content:
        if key not in known:
            raise ValueError(f"{where}: {key!r} is not a key; keys are {', '.join(sorted(known))}")


def _is_list_of(is_item: Callable[[Any], bool], value) -> bool:
    return isinstance(value, list) and all(map(is_item, value))


def _is_text(value) -> bool:
    return isinstance(value, str)


def _is_flag(value) -> bool:
    return isinstance(value, bool)


def _is_count(value) -> bool:
    return isinstance(value, int) and not _is_flag(value) and value >= 0


def _is_column(value) -> bool:
    return _is_text(value) or _is_count(value)


def _is_columns(value) -> bool:
    return _is_column(value) or _is_list_of(_is_column, value)


def _is_features(value) -> bool:
    return _is_columns(value) or (isinstance(value, dict) and all(map(_is_columns, value.values())))


def _is_split(value) -> bool:
    return _is_column(value) or isinstance(value, dict) or (isinstance(value, list) and len(value) == 3)


# The kind of each field: a test, and its words.
_FLAG, _WORD = (_is_flag, "true or false"), (_is_text, "a string")
_COLUMN = (_is_column, "a column: its name, or its number from 0")
_COLUMNS = (_is_columns, "a column, its name or its number from 0, or a list of columns")
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(("header", "normalize", "undirected", "self_loops"), _FLAG),
    **dict.fromkeys(("type", "duplicates", "reverse"), _WORD),
    **dict.fromkeys(("label", "time", "weight"), _COLUMN),
    **dict.fromkeys(("id", "source", "destination"), _COLUMNS),
    **dict.fromkeys(("seed", "num_nodes"), (_is_count, "an integer of at least 0")),
    "edge type": (
        lambda value: _is_list_of(_is_text, value) and len(value) == 3,
        'a list ["source type", "relation", "destination type"]',
    ),
    "rows": (lambda value: _is_text(value) or _is_list_of(_is_text, value), "a path or a list of paths"),
    "features": (_is_features, "a list of columns, or {table = columns, ...}"),
    "split": (_is_split, "a column, {train = share, ...} or [time column, t_val, t_test]"),
}


def _joined(folder: str, path: str) -> str:
    if "://" in path:
        return path
    return os.path.join(_as_pattern(folder, path), path)


def _as_pattern(folder: str, path: str) -> str:
    """The folder before a path that may be a glob, which the folder itself is not."""
    return glob.escape(folder) if glob.has_magic(path) else folder


def _lines(table: NodeTable | EdgeTable, folder: str | None) -> str:
    lines = []
    for field in fields(table):
        value = getattr(table, field.name)
        if type(value) is type(field.default) and value == field.default:
            continue
        value = () if value is None else value  # an end without columns, which is the number of the row
        try:
            lines.append(f"{field.name} = {_value(_written(value, folder) if field.name == 'rows' else value)}\n")
        except (TypeError, ValueError) as error:
            raise type(error)(f"{type(table).__name__}({table.type!r}): {field.name}: {error}") from None
    return "".join(lines)


def _written(rows, folder: str | None):
    """Paths as the file has them. What is no path stays as it is."""
    if isinstance(rows, (list, tuple)):
        return [_written(path, folder) for path in rows]
    if not isinstance(rows, (str, os.PathLike)):
        return rows
    path = os.fspath(rows)
    absolute = _joined(os.getcwd(), path)
    return absolute if folder is None else absolute.removeprefix(os.path.join(_as_pattern(folder, path), ""))


def _value(value) -> str:
    """A value as TOML has it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_value(item)}' for name, item in value.items())}}}"
    raise TypeError(f"a {type(value).__name__} cannot stand in a file, only paths can: write it to one first")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """As JSON has it, except for the one character that TOML escapes, too."""
    return json.dumps(as_name(text, "text"), ensure_ascii=False).replace("\x7f", "\\u007f")
