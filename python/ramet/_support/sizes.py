"""Numbers of bytes in words."""

from __future__ import annotations


def size(count: float) -> str:
    """A number of bytes for people: 1.5 GB (powers of 1000, as disks are sold)."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
