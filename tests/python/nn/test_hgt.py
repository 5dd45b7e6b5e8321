"""HGTConv after ramet.nn.from_pyg: against PyG's, its attention against a loop; docs/semantics.md, section 21."""

import copy

import pytest
import torch
import torch_geometric.nn as pyg
from block_edges import edge_index_of, random_edges, rows
from small_graphs import CITES, REVERSE, WRITES, heterogeneous
from torch.nn.utils import prune
from whole import edges_of

import ramet
from ramet import nn
from ramet.nn import attention

pytestmark = pytest.mark.usefixtures("one_thread")
COUNTS = {"paper": 40, "author": 200, "venue": 3}
WIDTHS = {"paper": 40, "author": 8, "venue": 5}  # papers are mapped once for all types of edges
IN, READS = ("paper", "in", "venue"), ("author", "reads", "paper")
METADATA = (list(COUNTS), [CITES, WRITES, REVERSE, IN, READS])
NUM_EDGES = {CITES: 150, WRITES: 60, REVERSE: 90, IN: 0}  # READS is missing; most authors wrote nothing


def edges() -> dict:
    """In no order, and into the first halves of nodes alone."""
    generator = torch.Generator().manual_seed(3)
    return {
        t: torch.stack([torch.randint(0, n, (count,), generator=generator) for n in (COUNTS[t[0]], COUNTS[t[2]] // 2)])
        for t, count in NUM_EDGES.items()
    }


def layers(heads: int = 2, widths=WIDTHS, metadata=METADATA) -> tuple:
    """(converted, PyG's)"""
    torch.manual_seed(0)
    theirs = pyg.HGTConv(widths, 8, metadata, heads).double()
    with torch.no_grad():
        for parameter in (*theirs.skip.values(), *theirs.p_rel.values()):
            parameter.copy_(torch.randn(parameter.shape))
    ours = copy.deepcopy(theirs).double()  # PyG 2.6 copies maps of unknown width as float32
    assert nn.from_pyg(ours)[0].reason is None
    assert list(ours.state_dict()) == list(theirs.state_dict()) and repr(ours) == repr(theirs)
    return ours, theirs


def results(layer, x: dict, *args) -> tuple:
    """(rows by type, gradients of x and of parameters)"""
    layer.zero_grad()
    x = {t: part.clone().requires_grad_() for t, part in x.items()}
    out = layer(x, *args)
    sum(part.square().sum() for part in out.values()).backward()
    of_parameters = {name: parameter.grad for name, parameter in layer.named_parameters()}
    return {t: part.detach() for t, part in out.items()}, {t: part.grad for t, part in x.items()}, of_parameters


def test_the_layer_is_that_of_pyg():
    x = {t: rows(count, WIDTHS[t]) for t, count in COUNTS.items()}
    for heads in 1, 4:
        ours, theirs = layers(heads)
        mine, expected = results(ours, x, edges()), results(theirs, x, edges())
        assert list(mine[0]) == list(expected[0])
        torch.testing.assert_close(mine[:2], expected[:2])
        known = {name: grad for name, grad in expected[2].items() if grad is not None}
        torch.testing.assert_close({name: mine[2][name] for name in known}, known)


def test_widths_of_the_first_rows_and_the_twin_of_other_devices(monkeypatch):
    ours, theirs = layers(widths=-1)
    x = {t: rows(count, WIDTHS[t]) for t, count in COUNTS.items()}
    first = {"paper": x["paper"], "author": x["author"][:0]}  # PyG's has no width of no rows
    assert ours(first, {CITES: edges()[CITES]})["paper"].shape == (40, 8)
    ours(x, edges())
    theirs(x, edges())
    theirs.load_state_dict(ours.state_dict())
    expected = results(theirs, x, edges())
    monkeypatch.setattr(attention, "by_torch", lambda _: True)
    torch.testing.assert_close(results(ours, x, edges())[:2], expected[:2])


def test_blocks_and_inference():
    """On blocks of all in-edges, and over all nodes, rows are those of PyG on the graph."""
    graph = heterogeneous()
    ours, theirs = layers(widths={"paper": 6, "author": 3}, metadata=(graph.node_types, graph.edge_types))
    ours, theirs = ours.float(), theirs.float()
    x = {t: torch.from_numpy(graph.table("feat", t).numpy().copy()) for t in graph.node_types}
    expected = theirs(x, {t: torch.from_numpy(edges_of(graph, t)) for t in graph.edge_types})
    seeds = torch.arange(0, 500, 7)
    batch = ramet.sample(graph, ("paper", seeds.numpy()), [-1])
    out = ours({t: x[t][batch.n_id[t]] for t in x}, batch.blocks[0])
    assert out["author"].shape == (0, 8)
    torch.testing.assert_close(out["paper"], expected["paper"][seeds])
    papers_alone = {t: batch.blocks[0][t] for t in graph.edge_types if t[2] == "paper"}
    assert ours({t: x[t][batch.n_id[t]] for t in x}, papers_alone)["author"].shape == (0, 8)
    in_tables = {t: nn.TableRows(x[t], batch.n_id[t], batch.blocks[0].num_dst[t]) for t in x}
    assert torch.equal(ours(in_tables, batch.blocks[0])["paper"], out["paper"])
    found = nn.layerwise(graph, [ours])
    for node_type, part in expected.items():
        torch.testing.assert_close(found[node_type], part)


def test_attention_is_a_loop_and_has_the_same_bits_with_any_threads(monkeypatch):
    edges, heads = random_edges(30, 12, 90), 3
    query, key, value = rows(12, 6), rows(33, 6, seed=2), rows(33, 6, seed=3)
    expected = torch.zeros(12, 6, dtype=torch.float64)
    source, destination = edge_index_of(edges)
    for d in destination.unique():
        from_d = source[destination == d]
        for part in torch.arange(6).chunk(heads):
            shares = (key[from_d][:, part] @ query[d, part]).softmax(0)
            expected[d, part] = shares @ value[from_d][:, part]
    torch.testing.assert_close(attention.dot_attention(edges, query, key, value, heads), expected)
    inputs = [part.requires_grad_() for part in (query, key, value)]
    assert torch.autograd.gradcheck(lambda *parts: attention.dot_attention(edges, *parts, heads), inputs)
    many, bits = random_edges(3000, 1000, 20_000), []
    for threads in 1, 2:
        torch.set_num_threads(threads)
        wide = [rows(n, 32, dtype=torch.float32).requires_grad_() for n in (1000, 3000, 3000)]
        out = attention.dot_attention(many, *wide, 4)
        bits.append((out.detach(), *torch.autograd.grad(out.sin().sum(), wide)))
    assert all(map(torch.equal, *bits))
    halves = [4 * part.detach().bfloat16() for part in wide]  # of scores that bfloat16 would round coarsely
    near = attention.dot_attention(many, *halves, 4)
    monkeypatch.setattr(attention, "by_torch", lambda _: True)
    torch.testing.assert_close(attention.dot_attention(many, *halves, 4), near, rtol=1e-2, atol=0.05)


def test_autocast_and_half_rows_are_near():
    ours, _ = layers()
    ours.float()
    x = {t: rows(count, WIDTHS[t], dtype=torch.float32) / 4 for t, count in COUNTS.items()}
    exact = ours(x, edges())["paper"]
    with torch.autocast("cpu", torch.bfloat16):
        near = ours(x, edges())["paper"]
    near.float().sum().backward()
    half = ours.bfloat16()({t: part.bfloat16() for t, part in x.items()}, edges())["paper"]
    assert half.dtype == torch.bfloat16
    for other in near, half:
        torch.testing.assert_close(other.float(), exact, rtol=5e-2, atol=5e-2)


def test_inner_modules_that_were_changed_after_it_are_called():
    x = {t: rows(count, WIDTHS[t]) for t, count in COUNTS.items()}
    both = layers()
    for layer in both:
        torch.manual_seed(1)
        lins = layer.kqv_lin.lins
        prune.random_unstructured(lins["paper"], "weight", 0.5)
        lins["paper"].register_forward_hook(lambda _, __, out: out.sin())
        lins["venue"] = torch.nn.Sequential(torch.nn.Linear(5, 24, bias=False).double(), torch.nn.Tanh())
    torch.testing.assert_close(*(results(layer, x, edges())[:2] for layer in both))
    both[0].v_rel.register_forward_hook(lambda *_: None)
    with pytest.raises(ValueError, match="v_rel"):
        both[0](x, edges())


def test_what_is_left_and_wrong_calls():
    theirs = layers()[1]
    hooked, plain = copy.deepcopy(theirs), copy.deepcopy(theirs)
    hooked.kqv_lin.lins["paper"].register_forward_hook(lambda *_: None)
    plain.k_rel = torch.nn.Linear(1, 1)
    assert "kqv_lin" in nn.from_pyg(hooked)[0].reason
    assert "its k_rel is a Linear" in nn.from_pyg(plain)[0].reason
    ours, x = layers()[0], {t: rows(count, WIDTHS[t]) for t, count in COUNTS.items()}
    with pytest.raises(KeyError, match=r"no rows of \['venue'\]"):
        ours({t: part for t, part in x.items() if t != "venue"}, {IN: torch.zeros(2, 1, dtype=torch.int64)})
    with pytest.raises(TypeError, match=r"x\['venue'\] is a list"):
        ours(x | {"venue": [1.0]}, edges())
    with pytest.raises(ValueError, match=r"x\['venue'\] has shape \[3\]"):
        ours(x | {"venue": x["venue"][:, 0]}, edges())
    with pytest.raises(ValueError, match="edge types"):
        ours(x, {("paper", "is", "paper"): edges()[CITES]})
    with pytest.raises(IndexError, match="40"):
        ours(x, {CITES: torch.tensor([[40], [0]])})
