"""Keys and values of a file of YAML or JSON that describes a graph."""

from __future__ import annotations

from pathlib import Path


class Entry:
    """Keys and values, and where in which file they stand. What is not as expected is a ValueError that says that."""

    def __init__(self, value, path: Path, where: str = "") -> None:
        self.path, self.where, self._value = path, where, value
        if not isinstance(value, dict):
            raise self.error(f"{type(value).__name__}, expected keys and values")

    def __contains__(self, key: str) -> bool:
        return key in self._value

    def get(self, key: str, default=None):
        return self._value.get(key, default)

    def text(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str):
            raise self.error(f"{key} is {value!r}, expected a string")
        return value

    def entries(self, key: str) -> list[Entry]:
        """Those of a list, none where there is no such key."""
        value = self.get(key) or []
        if not isinstance(value, list):
            raise self.error(f"{key} is {type(value).__name__}, expected a list")
        return [Entry(item, self.path, f"{self.where}{key} {number}: ") for number, item in enumerate(value, 1)]

    def check_keys(self, known: set[str]) -> None:
        if unknown := sorted(set(self._value) - known):
            raise self.error(f"{', '.join(map(repr, unknown))} cannot be a part of a Description; leave it out")

    def error(self, message: str) -> ValueError:
        return ValueError(f"{self.path}: {self.where}{message}")
