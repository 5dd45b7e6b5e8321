"""Programs that damage copies of folders and use them, and how tests run them.

A program prints each seed before it begins, so that whoever finds it dead knows the culprit, and in the end its memory
and how often there was which result. An exception that is no answer to bad input ends it.
"""

import ast
import re
import resource
import shutil
import sys
from collections import Counter
from pathlib import Path

import processes

MEMORY = 3 * 2**30  # address space

# ---- damage to bytes


def flip(random, content: bytearray) -> bytearray:
    for at in random.integers(len(content), size=random.integers(1, 9)) if content else ():
        content[at] ^= 1 << random.integers(8)
    return content


def bytes_of_a_header(random, content: bytearray) -> bytearray:
    for at in random.integers(min(len(content), 160), size=random.integers(1, 4)) if content else ():
        content[at] = random.integers(256)
    return content


def cut(random, content: bytearray) -> bytearray:
    return content[: random.integers(len(content) + 1)]


def add(random, content: bytearray) -> bytearray:
    at = int(random.choice([0, random.integers(len(content) + 1), len(content)]))
    return content[:at] + random.bytes(random.integers(1, 5000)) + content[at:]


# ---- programs


def main(damage, use) -> None:
    """`PROGRAM FOLDERS SCRATCH FIRST LAST`. damage: of a seed and a copy, says what it does. use: of a copy, counts."""
    sys.modules["torch"] = None  # slow to import, and not needed
    folders, scratch, first, last = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts: Counter = Counter()
    bases = sorted(Path(folders).iterdir())
    for seed in range(int(first), int(last)):
        copy = Path(scratch) / str(seed)
        shutil.copytree(bases[seed % len(bases)], copy)
        print(f"seed {seed}:", damage(seed, copy), flush=True)
        use(copy, counts)
        shutil.rmtree(copy)
    print(*(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")))
    print(dict(counts))


def counts_of(program: str, folders: Path, scratch: Path, first: int, last: int) -> dict:
    """What a program counts, which ends neither by a signal nor with gigabytes."""
    process = processes.start(program, folders, scratch, first, last)
    output = processes.finish(process)
    last_words = "\n".join(output.splitlines()[-25:])
    assert process.returncode == 0, f"ended with {process.returncode}:\n{last_words}"
    assert int(re.search(r"VmHWM:\s+(\d+) kB", output)[1]) < 200_000
    return ast.literal_eval(output.splitlines()[-1])
