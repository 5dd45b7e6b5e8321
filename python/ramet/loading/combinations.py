"""Which options of a NeighborLoader go together: what refuses the others, and docs/combinations.md, made from it.

usage: python -m ramet.loading.combinations > docs/combinations.md
"""

from __future__ import annotations

from ramet._support.arguments import shortened
from ramet.loading.ranks import Cooperate
from ramet.loading.samplers import SAMPLERS

CPU, GPU, RANKS = "a loader on the CPU", "a loader with a device", "a cooperative loader"
RANKS_ON_GPU = "a cooperative loader with a device"
PART = "a part of a graph"  # ramet.partition
PROVIDED = "a ramet.Table in tables"
EMBEDDED = "a ramet.nn.Embedding in tables"
EMBEDDED_ON_DISK = "a ramet.nn.Embedding on a disk in tables"
PROVIDED_THERE = "a ramet.Table with rows on a device in tables"
ON_DISK = "placement.tables='disk'"
EVERYWHERE = (CPU, GPU, RANKS, RANKS_ON_GPU)
ON_GPU = (GPU, RANKS_ON_GPU)

# Option, as errors spell it -> who takes it. What is not named here goes with everything.
SUPPORTED = {
    **{f"sampler={name!r}": EVERYWHERE for name in SAMPLERS},
    "expand": EVERYWHERE,
    "disjoint": EVERYWHERE,
    "time": EVERYWHERE,
    "input_time": EVERYWHERE,
    "tables": EVERYWHERE,
    PROVIDED: EVERYWHERE,
    PROVIDED_THERE: ON_GPU,
    EMBEDDED: EVERYWHERE,
    EMBEDDED_ON_DISK: EVERYWHERE,
    "features.decode": EVERYWHERE,
    "features.fuse": EVERYWHERE,
    "features.hide": EVERYWHERE,
    "features.transpose": EVERYWHERE,
    "features.dtype": EVERYWHERE,
    "device": ON_GPU,
    "placement.topology='device'": ON_GPU,
    "placement.topology='in_place'": EVERYWHERE,
    "placement.topology='staged'": ON_GPU,
    "placement.tables='device'": ON_GPU,
    ON_DISK: EVERYWHERE,
    "placement.tables='in_place'": EVERYWHERE,
    "placement.tables='staged'": ON_GPU,
    "placement.cache_rows": EVERYWHERE,
    "placement.cache_by='degree'": EVERYWHERE,
    "placement.cache_by='look-ahead'": EVERYWHERE,
    "placement.cache_by='presampling'": EVERYWHERE,
    "placement.cache_by='recency'": EVERYWHERE,
    "placement.look_ahead": EVERYWHERE,
    "placement.device_memory": ON_GPU,
    "placement.max_sms": ON_GPU,
    "placement.order='as_given'": ON_GPU,
    "placement.order='sorted'": ON_GPU,
    PART: (RANKS, RANKS_ON_GPU),
}

FUSE = "features.fuse"
NEED_BLOCKS = (FUSE, "features.transpose")  # which expand="once" does not make
# What a device's loader caches in host memory alone, before a disk.
OF_HOST_CACHES = ("placement.cache_by='look-ahead'", "placement.cache_by='recency'", "placement.look_ahead")
NOT_FUSED = ("placement.cache_rows", "features.hide")


def kind_of(device, ranks) -> str:
    if isinstance(ranks, Cooperate):
        return RANKS if device is None else RANKS_ON_GPU
    return CPU if device is None else GPU


def check(kind: str, given: dict) -> None:
    """ValueError for the first of the options `given` that this kind of loader does not take."""
    for name, value in given.items():
        takers = SUPPORTED.get(name, EVERYWHERE)
        said = name if "=" in name else f"{name} is {shortened(value)}"
        if kind not in takers:
            raise ValueError(f"{said}, which {kind} does not take, only {' or '.join(takers)}")
        if name in OF_HOST_CACHES and kind in ON_GPU and ON_DISK not in given:
            raise ValueError(f"{said}, which {kind} takes only with {ON_DISK}")
        if name in NEED_BLOCKS and given.get("expand") == "once":
            raise ValueError(f"{said}, which expand='once' does not take: it makes no blocks")
    for name in NOT_FUSED:
        if FUSE in given and name in given:
            raise ValueError(f"{FUSE} is True, which sums rows where they lie, but {name} is {given[name]}")


def as_markdown() -> str:
    """The page."""
    lines = [
        "# Which options go together",
        "",
        "A `NeighborLoader` makes batches on the CPU, on a GPU (`device=`), or together with other ranks",
        "(`ranks=ramet.Cooperate()`), or both: each rank on its GPU. Each combination without a mark is refused with",
        "an error that names the option.",
        "Options that are not listed work everywhere. This page is generated from the code that checks them.",
        "",
        f"{' and '.join(f'`{name}`' for name in NEED_BLOCKS)} are for blocks: `expand='once'` refuses them.",
        f"On a GPU these are for rows on a disk: {', '.join(f'`{name}`' for name in OF_HOST_CACHES)}.",
        f"`{FUSE}` sums rows where they lie: it refuses {' and '.join(f'`{name}`' for name in NOT_FUSED)}.",
        f"Cooperating ranks read all rows there, and exchange none. So {PART} refuses it: it lacks the rows of others.",
        "",
        "| option | CPU | GPU | cooperating ranks | cooperating ranks on GPUs |",
        "|---|---|---|---|---|",
    ]
    for name, takers in SUPPORTED.items():
        marks = " | ".join("yes" if kind in takers else "" for kind in EVERYWHERE)
        lines.append(f"| {name if ' ' in name else f'`{name}`'} | {marks} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
