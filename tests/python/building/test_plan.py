"""Plans are upper bounds of what builds take, and builds keep their bound of memory."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from test_build_tables import BUYS, shop, tables

import ramet

MEASURE = """
import json, sys, threading, time
import ramet

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("RssAnon"))

def watch():
    while True:
        peak[0] = max(peak[0], anonymous())
        time.sleep(0.002)

folder, before = sys.argv[1], anonymous()
peak = [before]
threading.Thread(target=watch, daemon=True).start()
edges = ramet.EdgeTable(("n", "to", "n"), folder + "/ends.parquet", source="s", destination="d")
graph = ramet.build(folder + "/store", edges=edges, memory="128M")
print(json.dumps([peak[0] - before, graph.num_edges()]))
"""


def test_a_plan_bounds_what_a_build_takes(tmp_path):
    *_, paths = shop(tmp_path, "csv")
    options = {"memory": "128M", "missing": "drop", "order": "degree", "sort_by": "time", "out_edges": True}
    plan = ramet.plan(tmp_path / "store", **tables(paths), **options)
    assert (plan.memory, plan.fits) == (128 << 20, True)
    ramet.build(tmp_path / "store", **tables(paths), **options)
    assert sum(path.stat().st_size for path in (tmp_path / "store").rglob("*")) <= plan.disk
    assert "user buys item" in str(plan)
    with pytest.raises(ValueError, match="order"):
        ramet.plan(tmp_path / "store", **tables(paths), order="no order")


@pytest.mark.parametrize("form", ["parquet", "csv", "arrays"])
def test_nodes_that_only_edges_name_are_at_most_the_range_of_their_ids(tmp_path, form):
    count, ends = 50_000, np.random.default_rng(0).integers(10**15, 10**15 + 100, (2, 50_000))
    rows = dict(zip("sd", ends, strict=True))
    if form != "arrays":
        write = {"parquet": pq.write_table, "csv": csv.write_csv}[form]
        write(pa.table(rows), tmp_path / f"ends.{form}")
        rows = tmp_path / f"ends.{form}"
    edges = ramet.EdgeTable(("n", "to", "n"), rows, source="s", destination="d")
    plan = ramet.plan(tmp_path / "store", edges=edges, memory="128M")
    assert 20 * count < plan.disk < (1 << 20) + 48 * count  # and 100 nodes
    assert plan.edges[0].seconds > 0
    ramet.build(tmp_path / "store", edges=edges, memory="128M")
    assert sum(path.stat().st_size for path in (tmp_path / "store").rglob("*")) <= plan.disk


def test_what_cannot_fit_is_refused(tmp_path, monkeypatch):
    *_, paths = shop(tmp_path, "parquet")
    monkeypatch.setattr("shutil.disk_usage", lambda folder: type("Usage", (), {"free": 1000}))
    with pytest.raises(OSError, match=r"the build takes .*, and 1\.0 kB are free"):
        ramet.build(tmp_path / "store", **tables(paths), memory="128M")
    assert not (tmp_path / "store").exists()


def test_an_estimate_of_a_planned_store(tmp_path):
    *_, paths = shop(tmp_path, "parquet")
    plan = ramet.plan(tmp_path / "store", **tables(paths))
    found = ramet.estimate(plan, {BUYS: [5]}, batch_size=8)
    assert found.disk == sum(step.bytes for step in (*plan.nodes, *plan.edges))
    assert found.fits
    assert found.seconds_per_epoch > 0


@pytest.mark.slow
def test_a_build_keeps_its_bound(tmp_path):
    ends = np.random.default_rng(0).integers(10**8, 10**8 + (1 << 19), (2, 3_000_000), np.int32)
    texts = {name: pa.array(of).cast(pa.string()) for name, of in zip("sd", ends, strict=True)}
    pq.write_table(pa.table(texts), tmp_path / "ends.parquet")
    done = subprocess.run([sys.executable, "-c", MEASURE, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    added, num_edges = json.loads(done.stdout)
    assert num_edges == 3_000_000
    assert added <= 128 << 20
