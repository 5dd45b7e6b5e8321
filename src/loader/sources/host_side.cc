#include "host_side.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "loader/rows/table_placement.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::string why_cached(const HostOptions& host, CacheBy by) {
  switch (by) {
    case CacheBy::kDegree:
      return "of the nodes with most out-edges";
    case CacheBy::kPresampling:
      return "of the nodes in most of the first batches";
    case CacheBy::kRecency:
      return "that were used last";
    case CacheBy::kLookAhead:
      return concat("whose next use is nearest, looking ahead ", host.look_ahead, " batches");
    case CacheBy::kAuto:
      break;
  }
  return "";
}

// Makes the sides of one loader's tables.
class Maker {
 public:
  Maker(const std::shared_ptr<const Graph>& graph,
        const LoaderOptions& options,
        const SeedsOfStep& seeds,
        int64_t num_steps)
      : graph_(graph), options_(options), seeds_(seeds), num_steps_(num_steps) {}

  void add(const TableRequest& request, Location wanted) {
    const Table table = table_of(*graph_, request);
    TablePlacement placement = placement_of(*graph_, request, wanted);
    auto source = source_of(request, table, placement);
    makers_.emplace_back();
    const bool is_provided = std::holds_alternative<ProvidedTable>(request.rows);
    const bool is_fixed = !is_provided || reads_ahead(placement.location);
    if (options_.host.cache_rows > 0 && request.is_of_nodes() && is_fixed)
      source = cached(std::move(source), request, table.rows().rows(), placement);
    side_.sources.push_back(std::move(source));
    side_.placement.push_back(
        {request.name, placement.location, bytes_of(table), std::move(placement.why)});
  }

  void leave_out() {
    side_.sources.emplace_back();
    side_.placement.emplace_back();
    makers_.emplace_back();
  }

  HostSide take() {
    side_.caches = std::make_shared<const TableCaches>(std::move(makers_));
    side_.reads_ahead =
        !options_.prefetch_hints.empty() ||
        std::any_of(side_.sources.begin(), side_.sources.end(),
                    [](const auto& source) { return source && source->reads_ahead(); });
    return std::move(side_);
  }

 private:
  [[nodiscard]] std::shared_ptr<const RowSource> source_of(const TableRequest& request,
                                                           const Table& rows,
                                                           const TablePlacement& placement) const {
    if (const PulledTable* pulled = request.pulled())
      return make_pulled_source(rows, pulled->positions, pulled->is_local, pulled->rank,
                                options_.decode);
    return make_row_source(rows, {.decode = options_.decode,
                                  .as_bfloat16 = request.as_bfloat16,
                                  .placement = placement.location,
                                  .reader = placement.reader});
  }

  // The source that reads without the caches of streams.
  std::shared_ptr<const RowSource> cached(std::shared_ptr<const RowSource> source,
                                          const TableRequest& request,
                                          int64_t rows,
                                          TablePlacement& placement) {
    const HostOptions& host = options_.host;
    CacheBy by = host.cache_by;
    const bool is_remote = reads_ahead(placement.location) || request.pulled() != nullptr;
    if (by == CacheBy::kAuto) by = is_remote ? CacheBy::kLookAhead : CacheBy::kRecency;
    if (by == CacheBy::kDegree || by == CacheBy::kPresampling)
      return keeping(std::move(source), request, rows, by, placement);
    const int64_t kept = std::min(host.cache_rows, rows);
    placement.why += concat("; a cache has ", kept, " rows ", why_cached(host, by));
    makers_.back() = by == CacheBy::kRecency ? last_rows(source, rows, kept)
                                             : next_rows(source, rows, kept, host.look_ahead,
                                                         uses_by_row(*graph_, request, rows));
    return source;
  }

  // With rows that are chosen now. They are read now, unless other ranks must send them.
  std::shared_ptr<const RowSource> keeping(std::shared_ptr<const RowSource> source,
                                           const TableRequest& request,
                                           int64_t rows,
                                           CacheBy by,
                                           TablePlacement& placement) {
    std::vector<int64_t> kept = rows_to_keep(request, by);
    placement.why += concat("; a cache has ", kept.size(), " rows ", why_cached(options_.host, by));
    if (request.pulled() == nullptr) return with_preloaded_rows(std::move(source), rows, kept);
    makers_.back() = static_rows(source, rows, std::move(kept));
    return source;
  }

  std::vector<int64_t> rows_to_keep(const TableRequest& request, CacheBy by) {
    const int type = request.node_type;
    if (uses_.count(type) == 0)
      uses_[type] = count_uses(graph_, options_, seeds_, num_steps_, type, by);
    const Array found =
        hottest_rows_of(*graph_, options_, request, uses_[type], options_.host.cache_rows);
    const auto rows = found.as<int64_t>();
    return {rows.begin(), rows.end()};
  }

  const std::shared_ptr<const Graph>& graph_;
  const LoaderOptions& options_;
  const SeedsOfStep& seeds_;
  const int64_t num_steps_;
  HostSide side_;
  std::vector<MakeStreamCache> makers_;
  std::map<int, NodeUses> uses_;  // by type
};

}  // namespace

const std::vector<Location>& wanted_locations(const LoaderOptions& options) {
  return options.device.index == kHost ? options.host.tables : options.device.tables;
}

bool is_on_host_side(const LoaderOptions& options, size_t table) {
  const std::vector<Location>& wanted = wanted_locations(options);
  return options.device.index == kHost || (!wanted.empty() && reads_ahead(wanted[table]));
}

HostSide make_host_side(const std::shared_ptr<const Graph>& graph,
                        const LoaderOptions& options,
                        const SeedsOfStep& seeds,
                        int64_t num_steps) {
  const std::vector<Location>& wanted = wanted_locations(options);
  Maker maker(graph, options, seeds, num_steps);
  for (size_t i = 0; i < options.tables.size(); ++i) {
    if (is_on_host_side(options, i))
      maker.add(options.tables[i], wanted.empty() ? Location::kAuto : wanted[i]);
    else
      maker.leave_out();
  }
  return maker.take();
}

}  // namespace ramet
