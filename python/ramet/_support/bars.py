"""Shares of a whole as a bar of characters, for a terminal of any encoding."""

from __future__ import annotations

from collections.abc import Mapping

FILLS = "#=-."
WIDTH = 32


def bar(shares: Mapping[str, float]) -> str:
    """At most four parts, such as `[######==]  # sampling 75%, = gathering 25%`; parts of nothing are left out."""
    total = sum(shares.values())
    parts = [(name, fill, part / total) for (name, part), fill in zip(shares.items(), FILLS) if part > 0]
    drawn, begin, sum_so_far = "", 0, 0.0
    for _, fill, share in parts:
        sum_so_far += share
        end = round(WIDTH * sum_so_far)
        drawn += fill * (end - begin)
        begin = end
    return f"[{drawn:<{WIDTH}}]  " + ", ".join(f"{fill} {name} {share:.0%}" for name, fill, share in parts)
