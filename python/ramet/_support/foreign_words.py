"""Words of PyG and DGL that Ramet lacks or renames, and their replacements, for errors."""

from __future__ import annotations

import sys

_DGL = "from_edge_index(g.edges(), g.num_nodes())"
_NETWORKX = "from_scipy(networkx.to_scipy_sparse_array(graph))"
_TABLE = "ramet.Table.create(shape, dtype, placement=...)"
_SAMPLER_OF_PYG = "which takes a ramet.pyg.RametSampler"
_NO_START = "nothing is to be started or ended: ranks are those of torch.distributed"
_THREADS = "C++ threads of this process make batches ahead: `threads` and `prefetch`, which may stay None"
_DEVICE = "`device='cuda'` makes batches on the GPU; else move them with batch.to(device)"
_LOOP = "there is no hook; change the batch in the loop (ramet.pyg.NeighborLoader has PyG's arguments)"
_FEATURES = "`features=ramet.Features"
_TIME = "`time=ramet.Time(table, strategy=...)`"
_BLOCKS = "with expand='once' batch.edges() has all edges; else each `block` of `batch.blocks`, the farthest first, has"

LOADER = {
    "num_workers": _THREADS,
    "persistent_workers": _THREADS,
    "prefetch_factor": _THREADS,
    "multiprocessing_context": _THREADS,
    "worker_init_fn": "there are no worker processes; " + _THREADS,
    "filter_per_worker": _THREADS,
    "timeout": "there are no worker processes that could hang",
    "pin_memory": _DEVICE,
    "pin_memory_device": _DEVICE,
    "cache_rows": "`placement=ramet.Placement(cache_rows=...)`",
    "cache_by": "`placement=ramet.Placement(cache_by=...)`",
    "device_memory": "`placement=ramet.Placement(device_memory=...)`",
    "max_sms": "`placement=ramet.Placement(max_sms=...)`",
    "use_uva": "`device='cuda', placement='in_place'` reads the host's memory from the GPU",
    "use_prefetch_thread": _THREADS,
    "transform": _LOOP,
    "transform_sampler_output": _LOOP,
    "collate_fn": _LOOP,
    "generator": "`seed` decides everything random",
    "indices": "`input_nodes`, or the third argument",
    "graph_sampler": "`num_neighbors` and `sampler`",
    "fanouts": "`num_neighbors`, the seeds' hop first (DGL's list has it last)",
    "batch_sampler": "`batch_size`, `shuffle` and `drop_last`",
    "use_ddp": "`ranks`: those of torch.distributed are found, and `batch_size` is that of the global batch",
    "ddp_seed": "`seed`",
    "directed": "batches have the sampled edges, from sources to destinations (PyG's directed=True)",
    "subgraph_type": "batches have the sampled edges, from sources to destinations (PyG's 'directional')",
    "is_sorted": "a store's edges are sorted already",
    "neighbor_sampler": "`num_neighbors` and `sampler`",
    "edge_label_index": "seeds are nodes: `input_nodes`",
    "edge_label": "seeds are nodes: `input_nodes`",
    "neg_sampling": "seeds are nodes: `input_nodes`",
    "input_id": "`batch.input_id` are positions in `input_nodes`: index ids of your own by them",
    "time_attr": _TIME,
    "temporal_strategy": _TIME,
    "temporal_comparison": "`time=ramet.Time(table, comparison=..., monotonic=True)`",
    "weight_attr": "`sampler=ramet.Weighted(table)`",
    "prob": "`sampler=ramet.Weighted(table)`, or ramet.Labor(table=...)",
    "edge_dir": "messages go along edges: in-neighbors are picked",
    "replace": "`sampler=ramet.Uniform(replace=True)`",
    "cooperative": "`ranks=ramet.Cooperate(...)`",
    "ownership": "`ranks=ramet.Cooperate(ownership=...)`",
    "distributed": "`ranks`",
    "embeddings": "`tables={node type: embedding}`",
    "decode": f"{_FEATURES}(decode=...)`",
    "feature_dtype": f"{_FEATURES}(dtype=...)`",
    "fuse": f"{_FEATURES}(fuse=...)`",
    "transpose": f"{_FEATURES}(transpose=...)`",
    "dependent": "`sampler=ramet.Uniform(dependent=...)`, or another sampler's",
    "importance_iterations": "`sampler=ramet.Labor(iterations=...)`",
    "layer_dependent": "`sampler=ramet.Labor(layer_dependent=True)`",
    "weights": "`sampler=ramet.Labor(weights=...)`",
    "prefetch_node_feats": "`tables`",
    "prefetch_edge_feats": "`tables`, which takes edge tables, too",
    "prefetch_labels": "`tables`, by default 'feat' and 'label'",
}

BATCH = {
    "edge_index": f"{_BLOCKS} its `edge_index`",
    "edge_index_dict": f"{_BLOCKS} `edge_index`, a dict by edge type",
    "adj_t": f"{_BLOCKS} its `edge_index`, or `indptr` and `indices`",
    "e_id": f"{_BLOCKS} its `e_id`, the edges' ids, and `position`, their rows of edge tables",
    "edge_attr": f"{_BLOCKS} block.table('edge_attr')",
    "edge_attr_dict": f"{_BLOCKS} block.table('edge_attr'), a dict by edge type",
    "edge_weight": f"{_BLOCKS} its `edge_weight`, of the sampler; rows of an edge table: block.table('edge_weight')",
    "edge_type": "`block.edge_index` of a heterogeneous graph is a dict by edge type",
    "edge_types": "`graph.edge_types`",
    "node_types": "`graph.node_types`",
    "metadata": "(graph.node_types, graph.edge_types)",
    "edata": f"{_BLOCKS} block.table(name)",
    "ndata": "`batch.tables`, by name: rows at `batch.n_id`",
    "srcdata": "`batch.tables`, by name: the first block.num_src rows are those of a block's sources",
    "dstdata": "`batch.tables`, by name: the first block.num_dst rows are those of a block's destinations",
    "batch_size": "`batch.num_seeds`",
    "input_nodes": "`batch.seeds`",
    "output_nodes": "`batch.seeds`",
    "x_dict": "`batch.x` of a heterogeneous graph is a dict by node type",
    "y_dict": "`batch.y` is of the seeds, which are of one type",
    "n_id_dict": "`batch.n_id` of a heterogeneous graph is a dict by node type",
    "train_mask": "`batch.seeds` are the nodes to compute; splits are `input_nodes` of loaders",
    "val_mask": "`batch.seeds` are the nodes to compute; splits are `input_nodes` of loaders",
    "test_mask": "`batch.seeds` are the nodes to compute; splits are `input_nodes` of loaders",
    "pin_memory": _DEVICE,
    "cuda": "batch.to('cuda')",
    "cpu": "batch.to('cpu')",
}

BLOCK = {
    "edge_attr": "block.table('edge_attr')",
    "edata": "block.table(name) has rows of edge tables",
    "srcdata": "rows of `batch.tables`, of which the first block.num_src are the sources'",
    "dstdata": "rows of `batch.tables`, of which the first block.num_dst are the destinations'",
    "ndata": "`batch.tables`, by name",
    "adj_t": "`block.edge_index`, or `block.indptr` and `block.indices`",
    "adj": "`block.edge_index`, or `block.indptr` and `block.indices`",
    "size": "(block.num_src, block.num_dst)",
    "num_nodes": "`block.num_src` and `block.num_dst`",
    "num_src_nodes": "`block.num_src`",
    "num_dst_nodes": "`block.num_dst`",
    "number_of_src_nodes": "`block.num_src`",
    "number_of_dst_nodes": "`block.num_dst`",
    "in_degrees": "block.indptr.diff(), of the sampled edges",
    "edges": "`block.edge_index`",
    "all_edges": "`block.edge_index`",
    "to": "batch.to(device) moves a batch with its blocks",
}

GRAPH = {
    "x": "graph.table('feat')",
    "y": "graph.table('label')",
    "edge_index": "graph.find_edges(ids) is one; in-edges are graph.indptr() and graph.indices()",
    "edge_index_dict": "in-edges are graph.indptr(edge_type) and graph.indices(edge_type)",
    "adj_t": "in-edges are graph.indptr() and graph.indices()",
    "edge_attr": "graph.table('edge_attr'), whose rows are in the order of graph.indices()",
    "ndata": "graph.table(name); graph.tables() has the names",
    "edata": "graph.table(name, edge_type); graph.tables(edge_type) has the names",
    "srcdata": "graph.table(name, node_type)",
    "dstdata": "graph.table(name, node_type)",
    "ntypes": "`graph.node_types`",
    "etypes": "`graph.edge_types`",
    "canonical_etypes": "`graph.edge_types`",
    "metadata": "(graph.node_types, graph.edge_types)",
    "num_node_features": "graph.table('feat').shape[1]",
    "num_features": "graph.table('feat').shape[1]",
    "num_edge_features": "graph.table('edge_attr').shape[1]",
    "num_classes": "graph.table('label').numpy().max() + 1",
    "train_mask": "graph.split('train') are ids",
    "val_mask": "graph.split('val') are ids",
    "test_mask": "graph.split('test') are ids",
    "number_of_nodes": "graph.num_nodes()",
    "number_of_edges": "graph.num_edges()",
    "nodes": "ids are 0 to graph.num_nodes() - 1; tables are graph.table(name, node_type)",
    "edges": "in-edges are graph.indptr() and graph.indices()",
    "in_degrees": "numpy.diff(graph.indptr())",
    "out_degrees": "numpy.bincount(graph.indices(), minlength=graph.num_nodes())",
    "to": "a graph is mapped memory; `device='cuda'` of NeighborLoader reads it from the GPU",
    "pin_memory": "a graph is mapped memory; `device='cuda'` of NeighborLoader reads it from the GPU",
    "subgraph": "ramet.sample(graph, seeds, num_neighbors) gives sampled subgraphs",
    "in_subgraph": "ramet.sample(graph, seeds, [-1])",
}

MODULE = {
    "Data": "ramet.from_pyg(data) makes a ramet.Graph of PyG's",
    "HeteroData": "ramet.from_pyg(data) makes a ramet.Graph of PyG's",
    "from_networkx": f"ramet.{_NETWORKX}",
    "from_dgl": f"ramet.{_DGL}",
    "heterograph": "ramet.from_edge_index with a dict by edge type",
    "load_graphs": "ramet.open(path)",
    "save_graphs": "ramet.save(graph, path)",
    "DataLoader": "ramet.NeighborLoader",
    "DistNeighborLoader": "ramet.NeighborLoader, which finds the ranks of torch.distributed",
    "LinkNeighborLoader": "ramet.LinkLoader, or ramet.pyg.LinkNeighborLoader",
    "NeighborSampler": "ramet.NeighborLoader, or ramet.sample(graph, seeds, num_neighbors)",
    "MultiLayerNeighborSampler": "ramet.NeighborLoader, or ramet.sample(graph, seeds, num_neighbors)",
    "MultiLayerFullNeighborSampler": "ramet.NeighborLoader(graph, [-1, -1])",
    "ClusterData": "ramet.ClusterLoader, over the parts of ramet.partition",
    "ClusterGCNSampler": "ramet.ClusterLoader",
    "SAINTSampler": "ramet.SaintLoader",
    "GraphSAINTSampler": "ramet.SaintLoader",
    "LaborSampler": "ramet.NeighborLoader(..., sampler=ramet.Labor())",
    "ShaDowKHopSampler": "ramet.pyg.ShaDowKHopSampler",
    "trim_to_layer": "ramet.pyg.trim_to_layer; blocks need none",
    "to_block": "batch.blocks; ramet.sample(graph, seeds, [-1]) has all in-edges of seeds",
    "Embedding": "ramet.nn.Embedding",
    "NodeEmbedding": "ramet.nn.Embedding",
    "SparseAdam": "ramet.optim.Adam",
    "Adam": "ramet.optim.Adam",
    "UnifiedTensor": "ramet.cuda.UnifiedTensor",
    "create_wholememory_tensor": _TABLE,
    "create_wholememory_matrix": _TABLE,
    "create_wholememory_array": _TABLE,
    "create_embedding": "ramet.nn.Embedding(rows, width, placement=...)",
    "create_wholememory_optimizer": "ramet.optim.Adam([embedding]), or another of ramet.optim",
    "create_wholememory_cache_policy": "placement=ramet.Placement(cache_rows=...) of a loader, or table.cache(ids)",
    "create_builtin_cache_policy": "placement=ramet.Placement(cache_rows=...) of a loader, or table.cache(ids)",
    "WholeMemoryTensor": _TABLE,
    "WholeMemoryEmbedding": "ramet.nn.Embedding",
    "GraphStructure": "ramet.Graph",
    "init_torch_env": _NO_START,
    "init_torch_env_and_create_wm_comm": _NO_START,
    "finalize": _NO_START,
}

PYG_MODULE = {
    "HGTSampler": "ramet.pyg.RametSampler(data, num_samples, method=ramet.Budget())",
    "ClusterData": "ramet.pyg.ClusterLoader(data, num_parts), which also takes torch_geometric.loader.ClusterData",
    "GraphSAINTSampler": "ramet.pyg.GraphSAINTNodeSampler, GraphSAINTEdgeSampler and GraphSAINTRandomWalkSampler",
    "NeighborSampler": "ramet.pyg.RametSampler",
    "LinkLoader": f"torch_geometric.loader.LinkLoader, {_SAMPLER_OF_PYG}",
    "NodeLoader": f"torch_geometric.loader.NodeLoader, {_SAMPLER_OF_PYG}",
    "DistNeighborLoader": "ramet.NeighborLoader, which finds the ranks of torch.distributed",
    "DataLoader": "torch_geometric.loader.DataLoader: batches of whole graphs are PyG's",
    "Labor": "ramet.Labor",
    "Uniform": "ramet.Uniform",
    "Weighted": "ramet.Weighted",
    "Graph": "ramet.Graph",
    "from_pyg": "ramet.from_pyg makes a graph, ramet.nn.from_pyg converts layers",
}

# What makes a ramet.Graph of another library's: by the first part of the module that its class is in.
GRAPHS = {
    "dgl": _DGL,
    "networkx": _NETWORKX,
    "scipy": "from_scipy(matrix)",
    "torch": "from_edge_index(adj.to_sparse_coo().coalesce().indices(), len(adj))",
    "torch_geometric": "from_pyg(data)",
    "torch_sparse": "from_scipy(adj.to_scipy())",
}


def graph_advice(value) -> str:
    """The end of an error, where `value` is a graph of another library, or its adjacency matrix."""
    library = type(value).__module__.partition(".")[0]
    is_graph = {
        "torch": "sparse" in str(getattr(value, "layout", "")),
        "torch_geometric": hasattr(value, "to_dict"),  # no EdgeIndex, which is a tensor
    }
    return f": ramet.{GRAPHS[library]} makes a graph of it" if is_graph.get(library, library in GRAPHS) else ""


def no_member(module: str, words: dict[str, str], word: str) -> Exception:
    """What `__getattr__(word)` of a module raises. Of an import statement only the words of an ImportError are seen."""
    advice = f": {words[word]}" if word in words else ""
    is_import = advice and sys._getframe(2).f_code.co_name == "_handle_fromlist"  # noqa: SLF001 (who asks)
    error = ImportError if is_import else AttributeError
    return error(f"module {module!r} has no attribute {word!r}{advice}", name=word)


def check_arguments(words: dict, function: str = "NeighborLoader") -> None:
    """TypeError for arguments that the function has not."""
    for word in words:
        if word in LOADER:
            raise TypeError(f"{function} has no {word!r}: {LOADER[word]}")
        raise TypeError(f"{function}() got an unexpected keyword argument {word!r}")


def no_attribute(owner, words: dict[str, str], word: str) -> AttributeError:
    """What `owner.__getattr__(word)` raises; the error of a property whose own code raised one."""
    if hasattr(type(owner), word):
        try:
            object.__getattribute__(owner, word)
        except AttributeError as error:
            return error
    kind = type(owner).__name__
    advice = f": {words[word]}" if word in words else ""
    return AttributeError(f"ramet.{kind} has no {word!r}{advice}", name=word, obj=owner)


class CountMethod:
    """`graph.num_nodes`: a method. Used as a number, as in other libraries, it raises an error that says so."""

    def __init__(self, method):
        self._method = method
        self.__doc__ = method.__doc__

    def __call__(self, *args, **kwargs) -> int:
        return self._method(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<a method: write graph.{self._method.__name__}()>"

    def _refuse(self, *_):
        name = self._method.__name__
        raise TypeError(f"graph.{name} is a method, as it may need a type: write graph.{name}()")

    __int__ = __index__ = __float__ = __bool__ = __len__ = __iter__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse


class counts:
    """Makes a method one that `CountMethod` describes."""

    def __init__(self, function):
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, owner, kind=None):
        if owner is None:
            return self._function
        return CountMethod(self._function.__get__(owner, kind))
