"""A store from a table of edges: from Parquet, CSV and csv.gz, with ids that are integers or texts.

Beside it, what people write today: pandas reads the table, factorize() numbers the ids, numpy sorts the edges by their
destinations and saves the arrays. Beside CSV also DGL's CSVDataset, and GraphBolt's OnDiskDataset, which gets ids that
are numbered already. Edges are R-MAT's. Each measurement is a process of its own; files are in the page cache. Memory
is what the process had at most, less what it had before.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from build_csc import CHUNK, rmat
from harness import HERE, Figure, Report, benchmark, interleave
from trainer_processes import apart, spent

import ramet

PEER = HERE / "peers" / "dgl_build.py"
FORMS = ("parquet", "csv", "csv.gz", "text.parquet")
PANDAS = "pandas and numpy"
ROUTES = {"ramet": None, "ramet, 256 MiB": "256M", PANDAS: None}
OF_DGL = {"DGL's CSVDataset": "csv", "GraphBolt": "graphbolt"}


def table_file(folder: Path, form: str, scale: int) -> Path:
    """A table with columns s and t, made if it is not there."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    path, edges = folder / f"edges-{scale}.{form}", 5 << scale
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    schema = pa.schema({name: pa.string() if form.startswith("text") else pa.int64() for name in "st"})
    new = path.with_name(f"new-{path.name}")
    with pa.output_stream(str(new), compression="gzip" if form.endswith("gz") else None) as file:
        kind = pq.ParquetWriter if form.endswith("parquet") else pyarrow.csv.CSVWriter
        with kind(file, schema) as writer:
            for begin in range(0, edges, CHUNK):
                ends = rmat(random, scale, min(CHUNK, edges - begin)).astype(np.int64) * 7 + 11
                columns = [pa.array(end) for end in ends.T]
                if form.startswith("text"):
                    columns = [pa.array(np.char.add("user-", end.astype(str))) for end in ends.T]
                writer.write_table(pa.table(columns, schema=schema))
    new.rename(path)
    return path


def by_ramet(path: str, folder: str, memory: str | None) -> int:
    edges = ramet.EdgeTable(("n", "to", "n"), path, source="s", destination="t")
    return ramet.build(Path(folder) / "store", edges=edges, memory=memory).num_edges()


def by_pandas(path: str, folder: str) -> int:
    import pandas as pd

    frame = pd.read_parquet(path) if path.endswith("parquet") else pd.read_csv(path)
    codes, names = pd.factorize(pd.concat([frame["s"], frame["t"]], ignore_index=True))
    src, dst = codes[: len(frame)], codes[len(frame) :]
    order = np.argsort(dst, kind="stable")
    np.save(Path(folder) / "indices.npy", src[order].astype(np.int32))
    np.save(Path(folder) / "edge_ids.npy", order)
    np.save(Path(folder) / "indptr.npy", np.concatenate([[0], np.cumsum(np.bincount(dst, minlength=len(names)))]))
    pd.Series(names).to_frame("id").to_parquet(Path(folder) / "ids.parquet")
    return len(order)


def measure(path: str, folder: str, route: str) -> dict:
    """What the process of a measurement does."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    return spent(by_pandas, path, folder) if route == PANDAS else spent(by_ramet, path, folder, ROUTES[route])


@benchmark("A store from a table of edges")
def main(chosen, report: Report) -> None:
    scale = 10 if chosen.small else 21
    files = {form: table_file(Path(chosen.data) / "tables", form, scale) for form in FORMS}
    cases = [(form, route) for form in FORMS for route in ROUTES]
    if "dgl" in chosen.peers:
        cases += [("csv", route) for route in OF_DGL]
    memory, cpu = {case: Figure() for case in cases}, {case: Figure() for case in cases}

    def once(case) -> float:
        form, route = case
        with tempfile.TemporaryDirectory(dir=chosen.data) as folder:
            if route in OF_DGL:
                peer, table = [chosen.peers["dgl"], str(PEER)], [OF_DGL[route], str(files[form]), folder]
                environment = os.environ | {"PYTHONPATH": str(HERE)}
                subprocess.run([*peer, "prepare", *table], check=True, env=environment)
                answer = subprocess.check_output([*peer, "load", *table], env=environment)
                found = json.loads(answer.splitlines()[-1])
            else:
                found = apart(measure, str(files[form]), folder, route)
        assert found["result"] == 5 << scale
        memory[case].values.append(found["memory"])
        cpu[case].values.append(found["cpu"])
        return found["seconds"]

    took = interleave({case: partial(once, case) for case in cases}, 1 if chosen.small else 3)
    rows = []
    for form, route in sorted(cases, key=lambda case: FORMS.index(case[0])):
        figure, peer = took[form, route], took[form, PANDAS]
        used = [cpu[form, route].text(), memory[form, route].text(0, 1e-6)]
        speed = f"{(5 << scale) / figure.median / 1e6:.1f}"
        rows.append([form, route, speed, figure.text(), *used, peer.over(figure).text()])
        if route != PANDAS:
            report.ratio(f"{form}, {route}: pandas over it, seconds", peer.over(figure))
    report.note(f"{5 << scale:,} edges; ids are kept. 'text' are ids such as 'user-123'.")
    report.table(["table", "", "M edges/s", "seconds", "CPU seconds", "memory, MB", "speed, pandas = 1"], rows)


if __name__ == "__main__":
    main()
