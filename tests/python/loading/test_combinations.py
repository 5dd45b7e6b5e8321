"""Which options go together: what docs/combinations.md says is what loaders take and refuse."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from loader_options import OPTIONS
from small_graphs import NUM_NODES, homogeneous

import ramet
from ramet.loading.combinations import (
    CPU,
    EMBEDDED,
    EMBEDDED_ON_DISK,
    PART,
    PROVIDED_THERE,
    RANKS,
    SUPPORTED,
    as_markdown,
)

PAGE = Path(__file__).parents[3] / "docs" / "combinations.md"


def test_the_page_is_what_the_code_says():
    assert PAGE.read_text() == as_markdown()


def test_every_option_is_tried():
    """Samplers that no string names have tests of their own."""
    listed = {name for name in SUPPORTED if name in OPTIONS or "sampler" not in name}
    assert set(OPTIONS) | {"device", EMBEDDED, EMBEDDED_ON_DISK, PROVIDED_THERE, PART} == listed


def test_a_loader_has_few_arguments():
    """Later options belong into objects, such as a sampler or a Placement."""
    assert len(inspect.signature(ramet.NeighborLoader).parameters.keys() - {"unknown"}) <= 19


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", [CPU, RANKS])
def test_loaders_take_what_the_table_says(kind, option, tmp_path):
    if kind == RANKS:
        pytest.importorskip("torch")
    for ranks in [ramet.Cooperate()] if kind == RANKS else [None, False]:
        arguments = {"ranks": ranks, **OPTIONS[option]}
        if kind in SUPPORTED[option]:
            ramet.save(homogeneous(time=np.arange(NUM_NODES)), tmp_path / f"store-{ranks is None}")
            graph = ramet.open(tmp_path / f"store-{ranks is None}")
            assert next(iter(ramet.NeighborLoader(graph, [2], **arguments))).num_seeds == 1
        else:
            with pytest.raises(ValueError, match=f"^{option}( is .*)?, which {kind} does not take, only a .*loader"):
                ramet.NeighborLoader(homogeneous(), [2], **arguments)


def test_parts_are_for_cooperative_loaders(tmp_path):
    pytest.importorskip("torch")
    ramet.partition(homogeneous(), 2, tmp_path / "parts", method="range")
    part = ramet.open(tmp_path / "parts" / "part-0")
    with pytest.raises(ValueError, match="parts are for cooperative loaders"):
        ramet.NeighborLoader(part, [2])


WRONG = [
    ({"topology": "gpu"}, ValueError, r"placement\.topology is 'gpu', expected one of \('auto', 'device'"),
    ({"topology": "disk"}, ValueError, r"topology is 'disk', which is for tables alone: Placement\(tables='disk'\)"),
    ({"topology": 3}, TypeError, r"placement\.topology is 3, expected one of"),
    ({"tables": {"feat": "gpu"}}, ValueError, r"placement\.tables\['feat'\] is 'gpu', expected one of"),
    ({"tables": ["feat"]}, TypeError, r"placement\.tables is \['feat'\], expected one of"),
    ({"cache_rows": -1}, ValueError, r"placement\.cache_rows is -1, expected at least 0"),
    ({"cache_rows": 2**31}, ValueError, r"placement\.cache_rows is 2147483648, expected at most 2147483647"),
    ({"cache_rows": 1.5}, TypeError, r"placement\.cache_rows is 1\.5, expected an integer"),
    ({"cache_by": "luck"}, ValueError, r"placement\.cache_by is 'luck', expected one of"),
    ({"device_memory": -1}, ValueError, r"placement\.device_memory is -1, expected at least 0"),
    ({"max_sms": -1}, ValueError, r"placement\.max_sms is -1, expected at least 0"),
    ({"order": "random"}, ValueError, r"placement\.order is 'random', expected one of \('auto', 'as_given'"),
]


@pytest.mark.parametrize("fields, error, words", WRONG)
def test_fields_of_a_placement_are_checked_when_it_is_made(fields, error, words):
    with pytest.raises(error, match=words):
        ramet.Placement(**fields)


def test_what_is_no_placement():
    with pytest.raises(TypeError, match=r"placement is 3, expected a ramet\.Placement"):
        ramet.NeighborLoader(homogeneous(), [2], placement=3)
    with pytest.raises(TypeError, match=r"no 'cache_rows': `placement=ramet\.Placement\(cache_rows="):
        ramet.NeighborLoader(homogeneous(), [2], cache_rows=3)
