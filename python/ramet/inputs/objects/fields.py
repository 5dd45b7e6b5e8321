"""Which fields of NodeTable and EdgeTable columns of these names are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# The kinds of values, as numpy's dtype.kind has them, that the field takes.
_KINDS = {"label": "iuU", "time": "iuM", "weight": "iuf"}


def fields_of(table_class, kinds: Mapping[str, str]) -> dict[str, Any]:
    """The fields for columns of these kinds: "label", "time" and "weight" where the class and the kind allow, else each
    column is a table of features of its own."""
    fields: dict[str, Any] = {"features": {}}
    for name, kind in kinds.items():
        is_field = name in table_class.__dataclass_fields__ and kind and kind in _KINDS.get(name, "")
        (fields if is_field else fields["features"])[name] = name
    return fields


def unused(name: str, names) -> str:
    """The name of one more column."""
    while name in names:
        name += "_"
    return name
