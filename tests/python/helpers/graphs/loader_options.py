"""An argument of a NeighborLoader for each option of docs/combinations.md."""

import numpy as np
from small_graphs import NUM_NODES

import ramet
from ramet.loading.combinations import PROVIDED

OPTIONS = {
    "sampler='uniform'": {"sampler": "uniform"},
    "sampler='labor'": {"sampler": "labor"},
    "expand": {"expand": "once"},
    "disjoint": {"disjoint": True},
    "time": {"time": ramet.Time("time")},
    "input_time": {"input_nodes": None, "time": ramet.Time("time"), "input_time": np.zeros(NUM_NODES, np.int64)},
    "tables": {"tables": ("feat",)},
    PROVIDED: {"tables": {"feat": ramet.Table(np.zeros(NUM_NODES))}},
    "features.decode": {"features": ramet.Features(decode=False)},
    "features.fuse": {"features": ramet.Features(fuse=True)},
    "features.hide": {"features": ramet.Features(hide={"feat": 0})},
    "features.transpose": {"features": ramet.Features(transpose=True)},
    "features.dtype": {"features": ramet.Features(dtype="bfloat16")},
    "placement.topology='device'": {"placement": ramet.Placement(topology="device")},
    "placement.topology='in_place'": {"placement": "in_place"},
    "placement.topology='staged'": {"placement": ramet.Placement(topology="staged")},
    "placement.tables='device'": {"placement": ramet.Placement(tables="device")},
    "placement.tables='disk'": {"placement": {"feat": "disk"}},
    "placement.tables='in_place'": {"placement": {"feat": "in_place"}},
    "placement.tables='staged'": {"placement": {"feat": "staged"}},
    "placement.cache_rows": {"placement": ramet.Placement(cache_rows=5)},
    "placement.look_ahead": {"placement": ramet.Placement(tables="disk", look_ahead=3)},
    "placement.cache_by='look-ahead'": {"placement": ramet.Placement("auto", "disk", 5, cache_by="look-ahead")},
    "placement.cache_by='degree'": {"placement": ramet.Placement(cache_rows=5, cache_by="degree")},
    "placement.cache_by='presampling'": {"placement": ramet.Placement(cache_rows=5, cache_by="presampling")},
    "placement.cache_by='recency'": {"placement": ramet.Placement("auto", "disk", 5, cache_by="recency")},
    "placement.device_memory": {"placement": ramet.Placement(device_memory=1)},
    "placement.max_sms": {"placement": ramet.Placement(max_sms=3)},
    "placement.order='as_given'": {"placement": ramet.Placement(order="as_given")},
    "placement.order='sorted'": {"placement": ramet.Placement(order="sorted")},
}
