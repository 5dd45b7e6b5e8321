"""The engine, for mypy, which does not look into it: lint comes before the build, which makes the real stub."""

from typing import Any

def __getattr__(name: str) -> Any: ...
