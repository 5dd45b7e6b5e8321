#include <optional>
#include <span>
#include <tuple>

#include "arrays.h"
#include "epoch_stream.h"
#include "gil.h"
#include "group_thread.h"
#include "progress.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/idle_team.h"
#include "ramet/loader.h"

namespace ramet::bind {

namespace {

// Of a node type: its position, ids, and times, one or two of each.
using InputTuple = std::tuple<int, std::optional<Array>, std::optional<Array>>;
// The position of a node type, and who gets ready the rows of its nodes.
using PrefetchPair = std::pair<int, std::shared_ptr<RecordTable>>;

nb::dict as_dict(const LoaderSummary& sum) {
  nb::dict fields;
  fields["batches"] = sum.batches;
  fields["nodes"] = sum.nodes;
  fields["edges"] = sum.edges;
  fields["bytes"] = sum.bytes;
  fields["table_bytes"] = sum.table_bytes;
  fields["largest_batch_bytes"] = sum.largest_batch_bytes;
  fields["cache_hits"] = sum.cache.hits;
  fields["cache_misses"] = sum.cache.misses;
  fields["sample_seconds"] = sum.sample_seconds;
  fields["gather_seconds"] = sum.gather_seconds;
  fields["read_seconds"] = sum.read_seconds;
  fields["rows_read"] = sum.read.rows;
  fields["requests_read"] = sum.read.requests;
  fields["bytes_read"] = sum.read.bytes;
  fields["wait_seconds"] = sum.wait_seconds;
  fields["first_wait_seconds"] = sum.first_wait_seconds;
  fields["streams"] = sum.streams;
  fields["use_seconds"] = sum.use_seconds;
  fields["core_wait_seconds"] = sum.core_wait_seconds;
  fields["use_core_wait_seconds"] = sum.use_core_wait_seconds;
  fields["threads"] = sum.threads;
  fields["cores"] = sum.cores;
  return fields;
}

Location location_of(const std::string& name) {
  return location_named(name, kHostTables | kDeviceTables, "placement");
}

TransposeAhead transpose_named(const std::string& name) {
  if (name == "none") return TransposeAhead::kNone;
  if (name == "inner") return TransposeAhead::kInner;
  if (name == "all") return TransposeAhead::kAll;
  throw_invalid("transpose is '", name, "', expected 'none', 'inner' or 'all'");
}

CacheBy cache_by_named(const std::string& name) {
  if (name == "degree") return CacheBy::kDegree;
  if (name == "presampling") return CacheBy::kPresampling;
  if (name == "recency") return CacheBy::kRecency;
  if (name == "look-ahead") return CacheBy::kLookAhead;
  if (name == "auto") return CacheBy::kAuto;
  throw_invalid("cache_by is '", name,
                "', expected 'auto', 'degree', 'presampling', 'recency' or 'look-ahead'");
}

// Of the epoch's batches, or of listed ones.
PyStream start(const BoundLoader& loader,
               int64_t epoch,
               int64_t first_step,
               const std::optional<Ids>& order,
               const std::optional<Ids>& offsets) {
  if (order.has_value() != offsets.has_value()) throw_invalid("order and offsets go together");
  const auto listed = [](const Ids& ids) {
    return std::vector(ids.data(), ids.data() + ids.size());
  };
  auto stream = order ? loader.start(epoch, first_step, {listed(*order), listed(*offsets)})
                      : loader.start(epoch, first_step);
  return {std::move(stream), loader.graph(), dies_without_gil(loader.cuda_graph()),
          loader.device_pool()};
}

}  // namespace

void bind_loader(nb::module_& m) {
  m.def(
      "add_idle_team",
      [](uintptr_t parallel, int count) {
        add_idle_team(reinterpret_cast<OpenMpParallel>(parallel), count);
      },
      nb::arg("parallel"), nb::arg("count"));
  m.attr("TABLE_LOCATIONS") = nb::tuple(nb::cast(location_names(kHostTables | kDeviceTables)));
  m.attr("TOPOLOGY_LOCATIONS") = nb::tuple(nb::cast(location_names(kTopologies)));
  m.attr("LOCATIONS_READ_AHEAD") = nb::tuple(nb::cast(location_names(kByRequests)));
  nb::class_<DeviceOptions>(m, "DeviceOptions")
      .def(
          "__init__",
          [](DeviceOptions* self, int index, const std::string& topology,
             const std::vector<std::string>& tables, int64_t copy_bytes, int64_t cache_rows,
             const std::string& cache_by, std::optional<int> max_sms, const std::string& order) {
            new (self) DeviceOptions{.index = index,
                                     .topology = location_of(topology),
                                     .copy_bytes = copy_bytes,
                                     .cache_rows = cache_rows,
                                     .cache_by = cache_by_named(cache_by),
                                     .max_sms = max_sms.value_or(kEnoughSms),
                                     .order = row_order_named(order)};
            for (const std::string& location : tables)
              self->tables.push_back(location_of(location));
          },
          nb::kw_only(), nb::arg("index"), nb::arg("topology"), nb::arg("tables"),
          nb::arg("copy_bytes"), nb::arg("cache_rows"), nb::arg("cache_by"),
          nb::arg("max_sms").none(), nb::arg("order"));

  nb::class_<HostOptions>(m, "HostOptions")
      .def(
          "__init__",
          [](HostOptions* self, const std::vector<std::string>& tables, int64_t cache_rows,
             const std::string& cache_by, int look_ahead) {
            new (self) HostOptions{.cache_rows = cache_rows,
                                   .cache_by = cache_by_named(cache_by),
                                   .look_ahead = look_ahead};
            for (const std::string& location : tables)
              self->tables.push_back(location_of(location));
          },
          nb::kw_only(), nb::arg("tables"), nb::arg("cache_rows"), nb::arg("cache_by"),
          nb::arg("look_ahead"));

  nb::class_<CooperativeOptions>(m, "CooperativeOptions")
      .def(
          "__init__",
          [](CooperativeOptions* self, std::vector<Ownership> owners, int64_t rank,
             std::vector<Array> presampled) {
            new (self) CooperativeOptions{.membership = Membership{std::move(owners), rank},
                                          .presampled = std::move(presampled)};
          },
          nb::kw_only(), nb::arg("owners"), nb::arg("rank"), nb::arg("presampled"));

  nb::class_<ProvidedTable>(m, "ProvidedTable")
      .def(
          "__init__",
          [](ProvidedTable* self, Table rows, std::optional<RowPositions> positions,
             const std::optional<Array>& cached, const std::optional<Table>& cached_rows) {
            new (self) ProvidedTable{std::move(rows), std::move(positions)};
            if (!cached || !cached_rows) return;
            self->cached = copy(*cached);
            self->cached_rows = cached_rows->rows();
          },
          nb::arg("rows"), nb::arg("positions").none(), nb::arg("cached") = nb::none(),
          nb::arg("cached_rows") = nb::none())
      .def_ro("rows", &ProvidedTable::rows)
      .def_ro("positions", &ProvidedTable::positions);

  nb::class_<PulledTable>(m, "PulledTable")
      .def(
          "__init__",
          [](PulledTable* self, Table rows, RowPositions positions, std::vector<bool> is_local,
             int rank) {
            new (self)
                PulledTable{std::move(rows), std::move(positions), std::move(is_local), rank};
          },
          nb::arg("rows"), nb::arg("positions"), nb::kw_only(), nb::arg("is_local"),
          nb::arg("rank"));

  nb::class_<GraphTable>(m, "GraphTable").def(nb::init<>());

  nb::class_<TableRequest>(m, "TableRequest")
      .def(
          "__init__",
          [](TableRequest* self, std::string name, int node_type, bool at_seeds, int edge_type,
             decltype(TableRequest::rows) rows, bool fused, bool as_bfloat16,
             const std::vector<std::pair<int64_t, int64_t>>& hidden) {
            new (self) TableRequest{.node_type = node_type,
                                    .name = std::move(name),
                                    .at_seeds = at_seeds,
                                    .edge_type = edge_type,
                                    .fused = fused,
                                    .as_bfloat16 = as_bfloat16,
                                    .rows = std::move(rows)};
            for (const auto& [begin, end] : hidden)
              self->hidden.push_back({begin, end});
          },
          nb::arg("name"), nb::kw_only(), nb::arg("node_type") = 0, nb::arg("at_seeds") = false,
          nb::arg("edge_type") = kNoEdgeType, nb::arg("rows") = GraphTable(),
          nb::arg("fused") = false, nb::arg("as_bfloat16") = false,
          nb::arg("hidden") = std::vector<std::pair<int64_t, int64_t>>());

  nb::class_<PyStream>(m, "EpochStream")
      .def("next", &PyStream::next)
      .def("close", &PyStream::close);

  nb::class_<BoundLoader>(m, "NeighborLoader")
      .def(
          "__init__",
          [](BoundLoader* self, std::shared_ptr<Graph> graph, SampleOptions sample,
             const std::vector<InputTuple>& inputs, const std::vector<InputEdges>& links,
             LinkOrder link_order, int64_t batch_size, bool shuffle, bool drop_last, int rank,
             int world, int threads, int prefetch, const std::vector<TableRequest>& tables,
             const std::vector<PrefetchPair>& prefetch_hints, bool decode, bool edges_ahead,
             const std::string& transpose, const HostOptions& host, const DeviceOptions& device,
             const CooperativeOptions& cooperative, std::shared_ptr<const Subgraphs> subgraphs,
             const nb::object& progress) {
            const Progress report = interruptible(progress);
            const GilRelease release;  // it may read a whole graph
            LoaderOptions options{.sample = std::move(sample),
                                  .inputs = {},
                                  .links = links,
                                  .link_order = link_order,
                                  .subgraphs = std::move(subgraphs),
                                  .batch_size = batch_size,
                                  .shuffle = shuffle,
                                  .drop_last = drop_last,
                                  .rank = rank,
                                  .world = world,
                                  .threads = threads,
                                  .prefetch = prefetch,
                                  .tables = tables,
                                  .decode = decode,
                                  .edges_ahead = edges_ahead,
                                  .transpose = transpose_named(transpose),
                                  .host = host,
                                  .device = device,
                                  .cooperative = cooperative};
            for (const auto& [type, ids, times] : inputs)
              options.inputs.push_back({type, copy_of(ids), copy_of(times)});
            for (const auto& [type, table] : prefetch_hints)
              options.prefetch_hints.push_back({type, table});
            new (self) BoundLoader(std::move(graph), std::move(options), report);
          },
          nb::arg("graph"), nb::arg("sample"), nb::kw_only(), nb::arg("inputs").noconvert(),
          nb::arg("links"), nb::arg("link_order"), nb::arg("batch_size"), nb::arg("shuffle"),
          nb::arg("drop_last"), nb::arg("rank"), nb::arg("world"), nb::arg("threads"),
          nb::arg("prefetch"), nb::arg("tables"), nb::arg("prefetch_hints"), nb::arg("decode"),
          nb::arg("edges_ahead"), nb::arg("transpose"), nb::arg("host") = HostOptions(),
          nb::arg("device") = DeviceOptions(), nb::arg("cooperative") = CooperativeOptions(),
          nb::arg("subgraphs") = nb::none(), nb::arg("progress") = nb::none())
      .def_prop_ro("num_steps", &NeighborLoader::num_steps)
      .def("fingerprint", &NeighborLoader::fingerprint)
      .def("tables_digest", &NeighborLoader::tables_digest)
      .def("seeds",
           [](const BoundLoader& loader, int64_t epoch, int64_t step) {
             const std::vector<int64_t> seeds = loader.seeds(epoch, step);
             return copy(ramet::borrow(seeds));
           })
      .def("start", &start, nb::arg("epoch"), nb::arg("first_step"),
           nb::arg("order").noconvert() = nb::none(), nb::arg("offsets").noconvert() = nb::none())
      // `thread`: a GroupThread of ramet.loading.cooperative.
      .def(
          "start_pulling",
          [](const BoundLoader& loader, int64_t epoch, int64_t first_step, nb::object thread) {
            auto group = std::make_shared<PyGroupThread>(std::move(thread));
            return PyStream(loader.start(epoch, first_step, std::move(group)), loader.graph());
          },
          nb::arg("epoch"), nb::arg("first_step"), nb::arg("thread"))
      .def(
          "make",
          [](const BoundLoader& loader, std::span<const int64_t> positions, int64_t epoch,
             int64_t step) {
            const GilRelease release;
            return PyBatch{loader.make(positions, epoch, step), loader.graph(),
                           dies_without_gil(loader.cuda_graph()), loader.device_pool()};
          },
          nb::arg("positions").noconvert(), nb::arg("epoch"), nb::arg("step"))
      .def_prop_ro("placement",
                   [](const BoundLoader& loader) {
                     std::vector<std::tuple<std::string, int64_t, std::string>> placed;
                     for (const PlacementDecision& decision : loader.placement())
                       placed.emplace_back(name(decision.placement), decision.bytes, decision.why);
                     return placed;
                   })
      .def_prop_ro("device_bytes_in_use",
                   [](const BoundLoader& loader) { return loader.device_pool()->bytes_in_use(); })
      .def_prop_ro("device_bytes_idle",
                   [](const BoundLoader& loader) { return loader.device_pool()->bytes_idle(); })
      .def_prop_ro("max_threads", &NeighborLoader::max_threads)
      .def_prop_ro("max_prefetch", &NeighborLoader::max_prefetch)
      .def_prop_ro("max_sampled", &NeighborLoader::max_sampled)
      .def_prop_ro("cache_bytes", &NeighborLoader::cache_bytes)
      .def_prop_ro("derived_bytes",
                   [](const BoundLoader& loader) { return loader.graph()->derived().bytes(); })
      .def("summary", [](const BoundLoader& loader) { return as_dict(loader.summary()); })
      .def_prop_ro("buffer_bytes_in_use",
                   [](const BoundLoader& loader) { return loader.pool()->bytes_in_use(); })
      .def_prop_ro("buffer_bytes_idle",
                   [](const BoundLoader& loader) { return loader.pool()->bytes_idle(); });
}

}  // namespace ramet::bind
