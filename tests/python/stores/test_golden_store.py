"""Stores of format 1 as they were first written: every later version opens them. "whole" and its "part-1" are of the
first version. "tables" is the first that has users' ids, sorted rows, reverses, edges by source and splits of edges.

They lie in tests/golden/v1 and are never written anew. A change of the format gets a folder of its own beside them.
"""

from pathlib import Path

import numpy as np
import pytest

import ramet
from ramet.commands.main import main

GOLDEN = Path(__file__).parents[2] / "golden" / "v1"
PAPER, AUTHOR, ODD = "paper", "author", ".Ärzte/__%_"
COUNTS = {PAPER: 40, AUTHOR: 30, ODD: 20}
CITES, WRITES, TREATS = (PAPER, "cites", PAPER), (AUTHOR, "writes", PAPER), (ODD, "β γ", AUTHOR)
DEGREES = {CITES: 4, WRITES: 2, TREATS: 3}
BATCH = "c2e9c4428ccda4ffdc03964eaa6a3803"


# ---- what the store holds, from integer arithmetic alone


def numbers(shape, step: int, bound: int) -> np.ndarray:
    return (np.arange(np.prod(shape)) * step % bound).reshape(shape)


def csc(edge_type) -> tuple[np.ndarray, np.ndarray]:
    """In-degrees from 0 up, parallel edges among them."""
    degrees = numbers(COUNTS[edge_type[2]], 3, 2 * DEGREES[edge_type])
    indptr = np.concatenate([[0], np.cumsum(degrees)])
    return indptr, numbers(indptr[-1], 7, COUNTS[edge_type[0]])


def bfloat16(values: np.ndarray) -> np.ndarray:
    return (values.astype("<f4").view("<u4") >> 16).astype("<u2").view(ramet.bfloat16)


def node_tables() -> dict:
    votes = (numbers((40, 3), 5, 255) - 127).astype(np.int8)
    doses = (numbers((20, 2), 11, 255) - 127).astype(np.int8)
    return {
        PAPER: {
            "feat": (numbers((40, 3), 3, 64) / 8).astype(np.float16),
            "label": numbers(40, 1, 7),
            "votes": ramet.Quantized(votes, np.array([[0.5, 0.25, 2]], np.float32)),
        },
        AUTHOR: {"feat": bfloat16(numbers((30, 2), 5, 64) / 4)},
        ODD: {
            "feat": ramet.Quantized(doses, (numbers((20, 1), 1, 8) / 16).astype(np.float32)),
            "age": numbers(20, 3, 90).astype(np.uint8),
        },
    }


def edge_tables() -> dict:
    return {CITES: {"weight": (numbers(num_edges(CITES), 1, 9) / 2).astype(np.float32)}}


def edge_ids() -> dict:
    return {CITES: np.arange(num_edges(CITES))[::-1] * 2}


def num_edges(edge_type) -> int:
    return int(csc(edge_type)[0][-1])


def splits() -> dict:
    return {"train": {PAPER: np.arange(0, 40, 3), AUTHOR: np.arange(5)}, "val": {PAPER: np.array([38, 1])}}


def write(folder: Path) -> None:
    cscs = {edge_type: csc(edge_type) for edge_type in DEGREES}
    graph = ramet.from_arrays(
        {edge_type: arrays[0] for edge_type, arrays in cscs.items()},
        {edge_type: arrays[1] for edge_type, arrays in cscs.items()},
        nodes=node_tables(),
        edges=edge_tables(),
        splits=splits(),
        edge_ids=edge_ids(),
    )
    ramet.save(graph, folder / "whole")
    ramet.partition(folder / "whole", 2, folder / "parts", method="hash")


BUYS, IN = ("user", "buys", "item"), ("shop", "in", "town")
USERS, ITEMS = ["u17", "", "007", "é"], [2**53 + 1, -5, 7]


def build(folder: Path) -> None:
    """A store of tables: ids that are texts, integers and tuples of several columns."""
    users = {"id": USERS, "age": np.arange(4) / 2}
    items = {"id": np.array(ITEMS)}
    shops = {"street": ["a", "ab"], "number": ["bc", "c"]}
    orders = {"who": ["", "é", "", "u17"], "sku": np.array([7, -5, 7, 7]), "at": np.array([9, 8, 3, 3])}
    places = {**shops, "town": ["T", "T"]}
    split = {"train": [2, 0], "val": [3]}
    ramet.build(
        folder / "tables",
        nodes=[
            ramet.NodeTable("user", users, id="id", features=["age"]),
            ramet.NodeTable("item", items, id="id"),
            ramet.NodeTable("shop", shops, id=["street", "number"]),
        ],
        edges=[
            ramet.EdgeTable(BUYS, orders, source="who", destination="sku", time="at", split=split, reverse="sold"),
            ramet.EdgeTable(IN, places, source=["street", "number"], destination="town"),
        ],
        sort_by="time",
        out_edges=True,
    )


# ---- the tests


@pytest.fixture(scope="module", params=["whole", "part-1"])
def graph(request):
    return ramet.open(GOLDEN / request.param)


def rows_of(value, rows) -> list[np.ndarray]:
    """These rows of a table, and their scale where it has one."""
    if isinstance(value, ramet.Quantized):
        return [value.values[rows], value.scale if len(value.scale) == 1 else value.scale[rows]]
    return [value[rows]]


def assert_same(table: ramet.Table, value, rows) -> None:
    expected = rows_of(value, rows)
    found = [table.numpy()] if table.scale is None else [table.numpy(), table.scale]
    for array, wanted in zip(found, expected, strict=True):
        assert (array.dtype, array.shape) == (wanted.dtype, wanted.shape)
        assert array.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("store", ["whole", "part-1", "tables"])
def test_it_verifies(store, capsys):
    assert main(["verify", str(GOLDEN / store)]) == 0
    assert "ok" in capsys.readouterr().out


def test_it_holds_what_was_written(graph):
    assert {t: graph.num_nodes(t) for t in graph.node_types} == COUNTS
    for node_type, tables in node_tables().items():
        assert sorted(tables) == sorted(graph.tables(node_type))
        for name, value in tables.items():
            assert_same(graph.table(name, node_type), value, graph.owned(node_type))
    for name, by_type in splits().items():
        for node_type, ids in by_type.items():
            assert graph.split(name, node_type).tolist() == ids.tolist()


def test_rows_have_their_edges(graph):
    for edge_type in DEGREES:
        indptr, indices = csc(edge_type)
        rows = graph.owned(edge_type[2])
        edges = np.concatenate([np.arange(indptr[v], indptr[v + 1]) for v in rows])
        assert graph.indptr(edge_type).tolist() == [0, *np.cumsum(np.diff(indptr)[rows])]
        assert graph.indices(edge_type).tolist() == indices[edges].tolist()
        ids = graph.edge_ids(edge_type)
        if edge_type == CITES:
            assert ids.tolist() == edge_ids()[CITES][edges].tolist()
            assert_same(graph.table("weight", CITES), edge_tables()[CITES]["weight"], edges)
        else:
            assert (edges if ids is None else ids).tolist() == edges.tolist()


def test_a_batch_of_it():
    graph = ramet.open(GOLDEN / "whole")
    batch = ramet.sample(graph, (PAPER, graph.split("train", PAPER)), [3, 2], seed=5)
    assert batch.fingerprint() == BATCH


def test_a_part_knows_its_place():
    part = ramet.open(GOLDEN / "part-1")
    assert part.part == (1, 2)
    assert 0 < part.num_rows(PAPER) < part.num_nodes(PAPER)


def test_what_tables_hold():
    graph = ramet.open(GOLDEN / "tables")
    assert graph.ids("user").of(range(4)).tolist() == USERS
    assert graph.ids("item").of(range(3)).tolist() == ITEMS
    assert graph.ids("shop").find([("ab", "c"), ("a", "bc")]).tolist() == [1, 0]
    assert graph.ids("town").find(["T"]).tolist() == [0]
    assert graph.table("feat", "user").numpy().tolist() == [[0], [0.5], [1], [1.5]]
    assert graph.indptr(BUYS).tolist() == [0, 0, 1, 4]
    assert graph.indices(BUYS).tolist() == [3, 1, 0, 1]
    assert graph.edge_ids(BUYS).tolist() == [1, 2, 3, 0]
    assert graph.table("time", BUYS).numpy().tolist() == [8, 3, 3, 9]
    assert graph.split("train", BUYS).tolist() == [2, 0]
    assert ramet.random_walk(graph, ("item", [1]), 1, metapath=[("item", "sold", "user")]).tolist() == [[1, 3]]


def test_the_same_bytes_are_written_today(tmp_path):
    """All but the random id of a store, which stands in ramet.txt. Other bytes are another format."""
    write(tmp_path)
    build(tmp_path)
    for name, new in ("whole", "whole"), ("part-1", "parts/part-1"), ("tables", "tables"):
        old, new = GOLDEN / name, tmp_path / new
        files = {path.relative_to(old) for path in old.rglob("*") if path.is_file()}
        assert files == {path.relative_to(new) for path in new.rglob("*") if path.is_file()}
        for file in files:
            assert content(old / file) == content(new / file), file


def content(path: Path):
    if path.suffix == ".npy":
        return path.read_bytes()
    lines = path.read_text().splitlines()
    return [line for line in lines if not line.startswith(("id ", "part ")) and not line.endswith("ramet.txt")]
