
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "arrays.h"
#include "batch.h"
#include "gil.h"
#include "ramet/fingerprint.h"
#include "ramet/induced.h"
#include "ramet/sampler.h"

namespace ramet::bind {

namespace {

const Block& block_of(const PyBatch& b, size_t block) {
  return b.batch.minibatch.blocks.at(block);
}

const Relation& relation_of(const PyBatch& b, size_t block, size_t edge_type) {
  return block_of(b, block).relations.at(edge_type);
}

// What is derived from a relation: by the CPU, or by the device that has it, on `stream`.
template <typename OnHost, typename OnDevice>
Array derive(const PyBatch& b,
             size_t block,
             size_t type,
             uintptr_t stream,
             const OnHost& on_host,
             const OnDevice& on_device) {
  const Relation& relation = relation_of(b, block, type);
  if (relation.indptr.device == kHost) return on_host(relation);
  auto* const handle = reinterpret_cast<CudaStreamHandle>(stream);
  for (const Array* read : {&relation.indptr, &relation.indices, &relation.position})
    DevicePool::add_user(*read, handle);
  return on_device(relation, *b.pool->on(handle), handle);
}

// What a loader's thread made with the batch; nullptr where it made nothing.
const MergedEdges* edges_ahead(const PyBatch& b, int edge_type) {
  const auto& edges = b.batch.edges;
  return edges.empty() ? nullptr : &edges.at(static_cast<size_t>(edge_type));
}

void bind_batch(nb::module_& m) {
  // Types are positions in Graph.node_types and Graph.edge_types.
  nb::class_<PyBatch>(m, "Batch")
      .def("__getstate__",
           [](const PyBatch&) {
             throw nb::type_error(
                 "a Batch is not pickled: pickle the tensors that are needed, such as batch.n_id "
                 "and batch.x, or make the loader in the process that uses its batches");
           })
      .def_prop_ro("step", [](const PyBatch& b) { return b.batch.step; })
      .def_prop_ro("epoch", [](const PyBatch& b) { return b.batch.epoch; })
      .def_prop_ro("num_seeds", [](const PyBatch& b) { return b.batch.minibatch.num_seeds; })
      .def_prop_ro("global_num_seeds", [](const PyBatch& b) { return b.batch.global_num_seeds; })
      // (node type, number) of each type of seeds.
      .def_prop_ro("seeds",
                   [](const PyBatch& b) {
                     std::vector<std::pair<int, int64_t>> seeds;
                     for (const SeedCount& of_type : b.batch.minibatch.seeds)
                       seeds.emplace_back(of_type.type, of_type.count);
                     return seeds;
                   })
      .def_prop_ro("num_blocks", [](const PyBatch& b) { return b.batch.minibatch.blocks.size(); })
      .def_prop_ro("sample_seconds",
                   [](const PyBatch& b) { return b.batch.timings.sample_seconds; })
      .def_prop_ro("gather_seconds",
                   [](const PyBatch& b) { return b.batch.timings.gather_seconds; })
      .def_prop_ro("read_seconds", [](const PyBatch& b) { return b.batch.timings.read_seconds; })
      .def_prop_ro("wait_seconds", [](const PyBatch& b) { return b.batch.timings.wait_seconds; })
      .def_prop_ro("num_nodes", [](const PyBatch& b) { return size_of(b.batch).nodes; })
      .def_prop_ro("num_edges", [](const PyBatch& b) { return size_of(b.batch).edges; })
      .def_prop_ro("nbytes", [](const PyBatch& b) { return size_of(b.batch).bytes; })
      .def_prop_ro("merged", [](const PyBatch& b) { return b.batch.minibatch.merged; })
      .def_prop_ro("induced", [](const PyBatch& b) { return b.batch.minibatch.induced; })
      .def_prop_ro("hops", [](const PyBatch& b) { return hops_of_nodes(b.batch.minibatch); })
      .def_prop_ro(
          "parents",
          [](const PyBatch& b) { return parents_of_nodes(*b.graph, to_host(b.batch.minibatch)); })
      .def_prop_ro("disjoint", [](const PyBatch& b) { return !b.batch.minibatch.trees.empty(); })
      .def("trees", [](const PyBatch& b, size_t type) { return b.batch.minibatch.trees.at(type); })
      // None where time plays no part.
      .def_prop_ro("seed_times", [](const PyBatch& b) { return b.batch.minibatch.seed_times; })
      .def("num_sampled_nodes",
           [](const PyBatch& b, size_t type) { return num_sampled_nodes(b.batch.minibatch, type); })
      .def("num_sampled_edges",
           [](const PyBatch& b, size_t type) { return num_sampled_edges(b.batch.minibatch, type); })
      // (number of pairs, edge_label_index, pair of each negative) of each kind of pairs.
      .def_prop_ro("links",
                   [](const PyBatch& b) {
                     std::vector<std::tuple<int64_t, Array, Array>> all;
                     for (const Links& links : b.batch.links)
                       all.emplace_back(links.num_pairs, links.edge_label_index,
                                        links.pair_of_negative);
                     return all;
                   })
      .def_prop_ro("input_id", [](const PyBatch& b) { return b.batch.input_id; })
      .def("n_id", [](const PyBatch& b, size_t type) { return b.batch.minibatch.n_id.at(type); })
      .def("table", [](const PyBatch& b, size_t i) { return b.batch.tables.at(i); })
      .def("rows_of_block",
           [](const PyBatch& b, size_t i, int edge_type, size_t block) {
             return rows_of_block(b.batch, i, edge_type, block);
           })
      .def("num_edges_of", [](const PyBatch& b, size_t block,
                              size_t type) { return relation_of(b, block, type).indices.rows(); })
      .def("num_src", [](const PyBatch& b, size_t block,
                         size_t type) { return block_of(b, block).num_src.at(type); })
      .def("num_dst", [](const PyBatch& b, size_t block,
                         size_t type) { return block_of(b, block).num_dst.at(type); })
      .def("plan", [](const PyBatch& b, size_t block,
                      size_t type) { return block_of(b, block).exchange.at(type); })
      .def("has_plan",
           [](const PyBatch& b, size_t block) { return !block_of(b, block).exchange.empty(); })
      .def("merged_plan",
           [](const PyBatch& b, size_t type) { return b.batch.minibatch.merged_exchange.at(type); })
      .def_prop_ro("has_merged_plan",
                   [](const PyBatch& b) { return !b.batch.minibatch.merged_exchange.empty(); })
      .def("seed_plan",
           [](const PyBatch& b, size_t type) { return b.batch.minibatch.seed_exchange.at(type); })
      .def_prop_ro("has_seed_plan",
                   [](const PyBatch& b) { return !b.batch.minibatch.seed_exchange.empty(); })
      .def("indptr", [](const PyBatch& b, size_t block,
                        size_t type) { return relation_of(b, block, type).indptr; })
      .def("indices", [](const PyBatch& b, size_t block,
                         size_t type) { return relation_of(b, block, type).indices; })
      .def("block_edges", [](PyBatch& b, size_t block,
                             size_t type) { return block_edges(*b.graph, b.batch, block, type); })
      // (indptr, indices, edges) where a device transposed them ahead.
      .def("transposed",
           [](const PyBatch& b, size_t block,
              size_t type) -> std::optional<std::tuple<Array, Array, Array>> {
             const size_t at = block * b.graph->edge_types().size() + type;
             if (at >= b.batch.transposed.size()) return std::nullopt;
             const auto& [indptr, indices, edges] = b.batch.transposed[at];
             if (indptr.data == nullptr) return std::nullopt;
             return std::tuple(indptr, indices, edges);
           })
      // (table, edge type, rows) of each.
      .def_prop_ro("means",
                   [](const PyBatch& b) {
                     std::vector<std::tuple<int, int, Array>> all;
                     for (const TableMeans& means : b.batch.means)
                       all.emplace_back(means.table, means.edge_type, means.rows);
                     return all;
                   })
      .def("has_weights",
           [](const PyBatch& b, size_t block) { return has_weights(block_of(b, block)); })
      .def("position",
           [](const PyBatch& b, size_t block, size_t type, uintptr_t stream) {
             return derive(
                 b, block, type, stream, [](const Relation& r) { return positions(r); },
                 [](const Relation& r, BufferPool& pool, CudaStreamHandle s) {
                   return positions(r, pool, s);
                 });
           })
      .def("edge_weights",
           [](const PyBatch& b, size_t block, size_t type, uintptr_t stream) {
             return derive(
                 b, block, type, stream, [](const Relation& r) { return edge_weights(r); },
                 [](const Relation& r, BufferPool& pool, CudaStreamHandle s) {
                   return edge_weights(r, pool, s);
                 });
           })
      .def("edge_ids",
           [](const PyBatch& b, size_t block, size_t type, uintptr_t stream) {
             return derive(
                 b, block, type, stream, [&](const Relation& r) { return edge_ids(*b.graph, r); },
                 [&](const Relation& r, BufferPool& pool, CudaStreamHandle s) {
                   if (b.cuda_graph != nullptr) return edge_ids(*b.cuda_graph, r, pool, s);
                   // Processors sampled: there is no CudaGraph to look the ids up in.
                   const Minibatch copied = to_host(b.batch.minibatch);
                   return edge_ids(*b.graph, copied.blocks[block].relations[type]);
                 });
           })
      .def("edge_index",
           [](const PyBatch& b, size_t block, size_t type, uintptr_t stream) {
             return derive(
                 b, block, type, stream, [](const Relation& r) { return edge_index(r); },
                 [](const Relation& r, BufferPool& pool, CudaStreamHandle s) {
                   return edge_index(r, pool, s);
                 });
           })
      .def("merged_positions",
           [](const PyBatch& b, int type) {
             return merged_positions(to_host(b.batch.minibatch), type);
           })
      .def("merged_edge_ids",
           [](const PyBatch& b, int type) {
             const auto* ahead = edges_ahead(b, type);
             return ahead != nullptr ? ahead->edge_ids
                                     : merged_edge_ids(*b.graph, to_host(b.batch.minibatch), type);
           })
      .def("merged_edge_weights",
           [](const PyBatch& b, int type) {
             return merged_edge_weights(to_host(b.batch.minibatch), type);
           })
      .def("merged_edge_index",
           [](const PyBatch& b, int type) {
             const auto* ahead = edges_ahead(b, type);
             return ahead != nullptr
                        ? ahead->edge_index
                        : merged_edge_index(*b.graph, to_host(b.batch.minibatch), type);
           })
      .def_prop_ro("cache_hits", [](const PyBatch& b) { return b.batch.cache.hits; })
      .def_prop_ro("cache_misses", [](const PyBatch& b) { return b.batch.cache.misses; })
      .def("set_stream",
           [](const PyBatch& b, uintptr_t stream) {
             set_stream(b.batch, reinterpret_cast<CudaStreamHandle>(stream));
           })
      .def("record_stream", [](const PyBatch& b, uintptr_t stream) {
        record_stream(b.batch, reinterpret_cast<CudaStreamHandle>(stream));
      });
}

void assign(bool& field, nb::handle value) {
  field = nb::cast<bool>(value);
}
void assign(int64_t& field, nb::handle value) {
  field = nb::cast<int64_t>(value);
}
void assign(std::optional<int64_t>& field, nb::handle value) {
  field = nb::cast<std::optional<int64_t>>(value);
}
void assign(std::string& field, nb::handle value) {
  field = nb::cast<std::string>(value);
}
void assign(Weights& field, nb::handle value) {
  field = parse_weights(nb::cast<std::string>(value));
}
void assign(Strategy& field, nb::handle value) {
  field = parse_strategy(nb::cast<std::string>(value));
}
void assign(Comparison& field, nb::handle value) {
  field = parse_comparison(nb::cast<std::string>(value));
}

template <typename Options>
void assign_fields(Options& options, const nb::dict& fields) {
  for_each_field(options, [&](const char* field, auto& value) { assign(value, fields[field]); });
}

// From the fields of the Python object, by name: a new method needs nothing here.
Method to_method(const std::string& name, const nb::dict& fields) {
  Method method = method_named(name);
  std::visit([&](auto& chosen) { assign_fields(chosen, fields); }, method);
  return method;
}

std::optional<Time> to_time(const std::optional<nb::dict>& fields) {
  if (!fields) return std::nullopt;
  Time time;
  assign_fields(time, *fields);
  return time;
}

void bind_options(nb::module_& m) {
  nb::class_<SampleOptions>(m, "SampleOptions")
      .def(
          "__init__",
          [](SampleOptions* self, std::vector<std::vector<int64_t>> fanouts,
             const std::string& method, const nb::dict& fields, uint64_t seed, int64_t dependent,
             const std::string& expand, bool disjoint, const std::optional<nb::dict>& time) {
            new (self) SampleOptions{.fanouts = std::move(fanouts),
                                     .method = to_method(method, fields),
                                     .seed = seed,
                                     .dependent = dependent,
                                     .expand = parse_expand(expand),
                                     .disjoint = disjoint,
                                     .time = to_time(time)};
          },
          nb::kw_only(), nb::arg("fanouts"), nb::arg("sampler"), nb::arg("fields"), nb::arg("seed"),
          nb::arg("dependent"), nb::arg("expand"), nb::arg("disjoint"), nb::arg("time").none());
}

// Of a node type: its position, ids, and times, one or two of each.
using Times = nb::ndarray<const int64_t, nb::c_contig, nb::device::cpu>;
using SeedsTuple = std::tuple<int, Ids, std::optional<Times>>;

std::vector<Seeds> borrow_seeds(const std::vector<SeedsTuple>& all) {
  std::vector<Seeds> seeds;
  for (const auto& [type, ids, times] : all) {
    seeds.push_back({.type = type, .ids = borrow(ids)});
    if (times) seeds.back().times = {times->data(), times->size()};
  }
  return seeds;
}

// Of an edge type: its position, and positions in its CSC.
using ExcludedTuple = std::tuple<int, Ids>;

std::vector<ExcludedEdges> borrow_excluded(const std::vector<ExcludedTuple>& all) {
  std::vector<ExcludedEdges> excluded;
  for (const auto& [type, positions] : all)
    excluded.push_back({.edge_type = type, .positions = borrow(positions)});
  return excluded;
}

void take_sample(Minibatch minibatch, uint64_t epoch, uint64_t step, Batch& batch) {
  batch.minibatch = std::move(minibatch);
  batch.epoch = static_cast<int64_t>(epoch);
  batch.step = static_cast<int64_t>(step);
  batch.global_num_seeds = batch.minibatch.num_seeds;
  batch.input_id = BufferPool::shared()->allocate_array(DType::kInt64, {batch.global_num_seeds});
  auto* position = static_cast<int64_t*>(batch.input_id.data);
  for (const SeedCount& of_type : batch.minibatch.seeds) {
    std::iota(position, position + of_type.count, 0);
    position += of_type.count;
  }
}

}  // namespace

void bind_sampler(nb::module_& m) {
  bind_batch(m);
  bind_options(m);
  m.attr("MAX_IMPORTANCE_ITERATIONS") = kMaxImportanceIterations;

  m.def(
      "sample",
      [](std::shared_ptr<Graph> graph, SampleOptions options, const std::vector<SeedsTuple>& seeds,
         uint64_t epoch, uint64_t step, int threads, const std::vector<ExcludedTuple>& excluded) {
        const GilRelease release;
        NeighborSampler sampler(graph, std::move(options), nullptr, threads);
        PyBatch result{.batch = {}, .graph = std::move(graph)};
        take_sample(
            sampler.sample(borrow_seeds(seeds), epoch, step, nullptr, borrow_excluded(excluded)),
            epoch, step, result.batch);
        return result;
      },
      nb::arg("graph"), nb::arg("sample"), nb::arg("seeds").noconvert(), nb::kw_only(),
      nb::arg("epoch"), nb::arg("step"), nb::arg("threads"),
      nb::arg("excluded").noconvert() = std::vector<ExcludedTuple>());

  // On a device, for work that `stream` is given afterwards.
  m.def(
      "sample_on_device",
      [](const std::shared_ptr<Graph>& graph, SampleOptions options,
         const std::vector<SeedsTuple>& seeds, uint64_t epoch, uint64_t step, int device,
         uintptr_t stream) {
        const GilRelease release;
        PyBatch result{.batch = {},
                       .graph = graph,
                       .cuda_graph = CudaGraph::create(graph, device, Location::kDevice),
                       .pool = DevicePool::shared(device)};
        auto* const handle = reinterpret_cast<CudaStreamHandle>(stream);
        CudaSampler sampler(result.cuda_graph, std::move(options), result.pool->on(handle), handle);
        take_sample(sampler.sample(borrow_seeds(seeds), epoch, step), epoch, step, result.batch);
        return result;
      },
      nb::arg("graph"), nb::arg("sample"), nb::arg("seeds").noconvert(), nb::kw_only(),
      nb::arg("epoch"), nb::arg("step"), nb::arg("device"), nb::arg("stream"));

  // Groups are (ids, offsets). Returns (edge_index, position).
  m.def(
      "induced_edges",
      [](const Graph& graph, int edge_type, const std::pair<Ids, Ids>& sources,
         const std::pair<Ids, Ids>& destinations, bool by_source, int threads) {
        const auto groups = [](const std::pair<Ids, Ids>& nodes) {
          return NodeGroups{.ids = borrow(nodes.first), .offsets = borrow(nodes.second)};
        };
        const auto found =
            induced_edges(graph, edge_type, groups(sources), groups(destinations),
                          by_source ? EdgeOrder::kBySource : EdgeOrder::kByDestination, threads);
        return std::tuple(found.edge_index, found.position);
      },
      nb::arg("graph"), nb::arg("edge_type"), nb::arg("sources"), nb::arg("destinations"),
      nb::kw_only(), nb::arg("by_source"), nb::arg("threads"), nb::call_guard<GilRelease>());

  m.def("fingerprint", [](const std::vector<const PyBatch*>& batches) {
    std::vector<SampledFrom> minibatches;
    for (const PyBatch* b : batches)
      minibatches.push_back({b->graph.get(), &b->batch.minibatch});
    const GilRelease release;
    return fingerprint(minibatches);
  });
}

}  // namespace ramet::bind
