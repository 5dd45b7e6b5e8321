#include "cuda_frontier.h"

#include <utility>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

std::vector<CudaPath> as_paths(std::span<const TimeSpan> spans) {
  std::vector<CudaPath> paths;
  for (const TimeSpan& span : spans)
    paths.push_back(
        {static_cast<uint64_t>(span.first) ^ kSign, ~(static_cast<uint64_t>(span.last) ^ kSign)});
  return paths;
}

}  // namespace

CudaFrontier::CudaFrontier(std::shared_ptr<const CudaGraph> graph,
                           SampleOptions options,
                           DevicePool& pool,
                           std::shared_ptr<BufferPool> host,
                           RowOrder order)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      tree_keys_(options_.disjoint ? tree_keys(*graph_->graph()) : std::vector<TreeKeys>()),
      stream_(graph_->device()),
      work_{graph_->device(), stream_.handle(), pool.on(stream_.handle())},
      host_(std::move(host)),
      hop_(work_, *graph_, options_, tree_keys_, order),
      num_own_(hop_.nodes().size()),
      new_own_(hop_.nodes().size()),
      rows_(hop_.nodes().size()),
      paths_(hop_.nodes().size()),
      found_(hop_.nodes().size()),
      candidates_(hop_.nodes().size()),
      largest_c_(hop_.nodes().size()) {}

// The stream may still read what dies here.
CudaFrontier::~CudaFrontier() {
  try {
    work_.wait();
  } catch (const Error&) {
    // The stream's own failure; its work is over.
  }
}

void CudaFrontier::start_batch(std::span<const ExcludedEdges> excluded) {
  hop_.exclude(excluded);
  num_own_.assign(num_own_.size(), 0);
  for (CudaNodes& nodes : hop_.nodes())
    nodes.start_batch({});
}

void CudaFrontier::start_times(const Array& seed_times) {
  if (options_.time) hop_.start_batch(seed_spans(*options_.time, seed_times));
}

void CudaFrontier::start(std::span<const ListRange> destinations, int hop) {
  for (size_t t = 0; t < num_own_.size(); ++t) {
    hop_.nodes()[t].append(new_own_[t], rows_of_part(t));
    if (is_monotonic()) hop_.nodes()[t].set_paths(as_paths(paths_[t]));
  }
  num_own_ = hop_.sizes();
  hop_.begin(destinations, hop);
}

void CudaFrontier::go_on(std::span<const ListRange> destinations, int hop) {
  if (graph_->graph()->part()) {
    for (size_t t = 0; t < num_own_.size(); ++t) {
      const CudaNodes& nodes = hop_.nodes()[t];
      new_own_[t].resize(static_cast<size_t>(nodes.size() - num_own_[t]));
      work_.copy(new_own_[t].data(), nodes.ids() + num_own_[t],
                 std::ssize(new_own_[t]) * int64_t{sizeof(int64_t)});
    }
    work_.wait();
    for (size_t t = 0; t < num_own_.size(); ++t)
      hop_.nodes()[t].set_rows(rows_of_part(t));
  }
  num_own_ = hop_.sizes();
  hop_.begin(destinations, hop);
}

Array CudaFrontier::download(DType dtype, const void* from, int64_t count) const {
  Array values = host_->allocate_array(dtype, {count});
  work_.copy(values.data, from, values.bytes());
  return values;
}

void CudaFrontier::begin_importance() {
  CudaImportances& importances = *hop_.importances();
  importances.begin();
  for (size_t t = 0; t < candidates_.size(); ++t) {
    const CudaNodes& found = importances.candidates(t);
    candidates_[t] = download(DType::kInt64, found.ids(), found.size());
  }
  work_.wait();
}

void CudaFrontier::max_reduce() {
  hop_.max_reduce();
  for (size_t t = 0; t < largest_c_.size(); ++t)
    largest_c_[t] =
        download(DType::kFloat64, hop_.importances()->largest_c(t), std::ssize(candidates(t)));
  work_.wait();
}

// The ranks have changed largest_c(), whose memory stays until the next max_reduce().
void CudaFrontier::update() {
  for (size_t t = 0; t < largest_c_.size(); ++t)
    work_.copy(hop_.importances()->largest_c(t), largest_c_[t].data, largest_c_[t].bytes());
  hop_.importances()->update();
  work_.wait();
}

std::vector<Relation> CudaFrontier::sample(const DrawKeys& step_keys, int hop) {
  copied_ = nullptr;
  return hop_.finish(step_keys, hop).relations;
}

void CudaFrontier::download_found() {
  for (size_t t = 0; t < num_own_.size(); ++t) {
    CudaNodes& nodes = hop_.nodes()[t];
    found_[t] = download(DType::kInt64, nodes.ids() + num_own_[t], nodes.size() - num_own_[t]);
    if (is_monotonic()) download_paths(t);
    nodes.keep(num_own_[t]);
  }
  work_.wait();
}

void CudaFrontier::download_paths(size_t type) {
  CudaNodes& nodes = hop_.nodes()[type];
  std::vector<CudaPath> paths(static_cast<size_t>(nodes.size()));
  work_.copy(paths.data(), nodes.paths(), std::ssize(paths) * int64_t{sizeof(CudaPath)});
  work_.wait();
  paths_[type].clear();
  for (const CudaPath& path : paths)
    paths_[type].push_back(
        {static_cast<int64_t>(path.first ^ kSign), static_cast<int64_t>(~path.last ^ kSign)});
}

void CudaFrontier::finish_batch() {
  for (CudaNodes& nodes : hop_.nodes())
    nodes.finish_batch();
  work_.wait();
}

std::span<const int64_t> CudaFrontier::rows_of_part(size_t type) {
  const NodeRows& rows = graph_->graph()->node_types()[type].rows;
  if (rows.is_whole()) return {};
  std::vector<int64_t>& found = rows_[type];
  found = new_own_[type];
  if (!tree_keys_.empty())
    for (int64_t& node : found)
      node = tree_keys_[type].id(node);
  rows.require(std::vector(found), found.data());
  return found;
}

void CudaFrontier::renumber(const Relation& relation, const Renumbering& numbers) const {
  work_.kernels.renumber(work_.device, static_cast<int32_t*>(relation.indices.data),
                         relation.indices.rows(), numbers, work_.stream);
}

void CudaFrontier::renumber_by_host(const Relation& relation, const Renumbering& numbers) {
  if (numbers.at != copied_) {  // edge types share the table of their sources
    table_.reserve(work_, numbers.size);
    work_.copy(table_.data(), numbers.at, numbers.size * int64_t{sizeof(int32_t)});
    copied_ = numbers.at;
  }
  Renumbering there = numbers;
  there.at = table_.data();
  renumber(relation, there);
}

}  // namespace ramet
