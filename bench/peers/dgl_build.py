"""DGL's two ways from a CSV file of edges to a graph on the disk: CSVDataset, and GraphBolt's OnDiskDataset.

Both get what they need beside the file, which is not timed: the nodes' ids; for GraphBolt edges whose ids are 0, 1, ...
Prints what trainer_processes.spent() says of it, with the number of edges.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from trainer_processes import spent


def main(step: str, way: str, table: str, folder: str) -> None:
    if step == "prepare":
        prepare(way, table, Path(folder))
        return
    import dgl.data
    import dgl.graphbolt

    load = load_csv if way == "csv" else load_graphbolt
    print(json.dumps(spent(load, dgl, folder)))


def prepare(way: str, table: str, folder: Path) -> None:
    frame = pd.read_csv(table)
    codes, names = pd.factorize(pd.concat([frame["s"], frame["t"]], ignore_index=True))
    ends = np.stack([codes[: len(frame)], codes[len(frame) :]], axis=1)
    (prepare_csv if way == "csv" else prepare_graphbolt)(folder, frame, ends, names)


def prepare_csv(folder: Path, frame: pd.DataFrame, ends: np.ndarray, names) -> None:
    frame.rename(columns={"s": "src_id", "t": "dst_id"}).to_csv(folder / "edges.csv", index=False)
    pd.DataFrame({"node_id": names}).to_csv(folder / "nodes.csv", index=False)
    (folder / "meta.yaml").write_text(
        "dataset_name: edges\nedge_data:\n- file_name: edges.csv\nnode_data:\n- file_name: nodes.csv\n"
    )


def load_csv(dgl, folder: str) -> int:
    return dgl.data.CSVDataset(folder, force_reload=True)[0].num_edges()


def prepare_graphbolt(folder: Path, frame: pd.DataFrame, ends: np.ndarray, names) -> None:
    np.savetxt(folder / "edges.csv", ends, fmt="%d", delimiter=",")
    edges = "  edges:\n  - format: csv\n    path: edges.csv\n"
    (folder / "metadata.yaml").write_text(f"dataset_name: edges\ngraph:\n  nodes:\n  - num: {len(names)}\n{edges}")


def load_graphbolt(dgl, folder: str) -> int:
    return dgl.graphbolt.OnDiskDataset(folder).load().graph.total_num_edges


if __name__ == "__main__":
    main(*sys.argv[1:])
