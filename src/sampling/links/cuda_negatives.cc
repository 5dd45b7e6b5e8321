#include "cuda_negatives.h"

#include <algorithm>
#include <span>
#include <utility>

#include "check_negatives.h"
#include "device/device_memory.h"
#include "ramet/random.h"
#include "sampling/cuda/cuda_edge_rows.h"
#include "sampling/cuda/cuda_work.h"

namespace ramet {
namespace {

// Numbers of the host, which go to the device together.
class Numbers {
 public:
  size_t add(std::span<const int64_t> numbers) {
    all_.insert(all_.end(), numbers.begin(), numbers.end());
    return all_.size() - numbers.size();
  }
  size_t add(const Array& numbers) {
    return numbers.data == nullptr ? all_.size() : add(numbers.as<int64_t>());
  }
  // Until the stream has copied them, the first result must live.
  [[nodiscard]] std::pair<Array, Array> send(const CudaWork& work, BufferPool& pinned) const {
    const Array host = copy(borrow(std::span(all_)), pinned);
    const Array there = work.allocate(DType::kInt64, host.rows());
    work.copy(there.data, host.data, host.bytes());
    return {host, there};
  }

 private:
  std::vector<int64_t> all_;
};

// Of the pairs with an undecided negative.
void draw_undecided(const Pairs& pairs, const NegativeOptions& options, int64_t* out) {
  std::vector<int64_t> undecided;
  for (int64_t pair = 0; pair < std::ssize(pairs.sources); ++pair) {
    const int64_t* row = out + pair * options.amount;
    if (std::find(row, row + options.amount, kUndecided) != row + options.amount)
      undecided.push_back(pair);
  }
  if (undecided.empty()) return;
  const auto some = [&](std::span<const int64_t> all) {
    std::vector<int64_t> of_undecided;
    for (const int64_t pair : undecided)
      if (!all.empty()) of_undecided.push_back(all[static_cast<size_t>(pair)]);
    return of_undecided;
  };
  const std::vector<int64_t> sources = some(pairs.sources), destinations = some(pairs.destinations),
                             ids = some(pairs.ids), times = some(pairs.times);
  const Array drawn = draw_negatives({sources, destinations, ids, times}, options);
  const auto* from = static_cast<const int64_t*>(drawn.data);
  for (size_t i = 0; i < undecided.size(); ++i)
    std::copy_n(from + static_cast<int64_t>(i) * options.amount, options.amount,
                out + undecided[i] * options.amount);
}

int64_t bytes_of(const PairRows& rows, const Graph& there) {
  int64_t bytes = 0;
  const auto& types = rows.graph->edge_types();
  if (rows.graph.get() != &there)
    for (const EdgeType& edges : types)
      bytes += edges.indptr.bytes() + edges.indices.bytes();
  if (!rows.times.empty())
    bytes += types[static_cast<size_t>(rows.edge_type)].num_edges() * int64_t{sizeof(int64_t)};
  return bytes;
}

}  // namespace

CudaNegatives::CudaNegatives(NegativeOptions options, int device) : device_(device) {
  options.amount = draws_each(options.corrupt);
  (void)draw_negatives({}, options);  // checks them
  std::vector<CudaPairRows> edges;
  for (const PairRows& rows : options.edges)
    edges.push_back(place(rows));
  edges_ = copied(edges.data(), std::ssize(edges));
  of_destinations_ = place(options.destinations);
  of_sources_ = place(options.sources);
}

int64_t CudaNegatives::bytes_on_device(const NegativeOptions& options, const Graph& there) {
  int64_t bytes = 0;
  for (const PairRows& rows : options.edges)
    bytes += bytes_of(rows, there);
  for (const Candidates* of : {&options.destinations, &options.sources}) {
    bytes += of->weight_sums.bytes() + of->created.bytes();
    if (of->past) bytes += bytes_of(*of->past, there);
  }
  return bytes;
}

template <typename T>
const T* CudaNegatives::copied(const T* data, int64_t count) {
  if (count == 0) return nullptr;
  auto copy = copy_on(device_, data, count * int64_t{sizeof(T)});
  kept_.push_back(copy);
  return static_cast<const T*>(copy.get());
}

CudaPairRows CudaNegatives::place(const PairRows& rows) {
  const auto graph = CudaGraph::create(rows.graph, device_, Location::kDevice);
  kept_.push_back(graph);
  return {edge_rows(*graph, rows.edge_type, "", rows.times), rows.by_source};
}

CudaCandidates CudaNegatives::place(const Candidates& candidates) {
  const Array& sums = candidates.weight_sums;
  const Array& created = candidates.created;
  CudaCandidates placed{
      .num_nodes = candidates.num_nodes,
      .weight_sums = copied(static_cast<const double*>(sums.data), sums.rows()),
      .created = copied(static_cast<const int64_t*>(created.data), created.rows()),
      .among = nullptr,
      .num_among = 0,
      .past = nullptr};
  if (candidates.past) {
    const CudaPairRows past = place(*candidates.past);
    placed.past = copied(&past, 1);
  }
  return placed;
}

Array CudaNegatives::draw(const Pairs& pairs,
                          const NegativeOptions& options,
                          const std::shared_ptr<BufferPool>& pool,
                          BufferPool& pinned,
                          CudaStreamHandle stream) const {
  if (pairs.sources.empty()) return draw_negatives(pairs, options);
  Array negatives = draw_decided(pairs, options, pool, pinned, stream);
  draw_undecided(pairs, options, static_cast<int64_t*>(negatives.data));
  return negatives;
}

Array CudaNegatives::draw_decided(const Pairs& pairs,
                                  const NegativeOptions& options,
                                  const std::shared_ptr<BufferPool>& pool,
                                  BufferPool& pinned,
                                  CudaStreamHandle stream) const {
  check_negatives(pairs, options);
  const int64_t count = std::ssize(pairs.sources);
  const CudaWork work{device_, stream, pool};
  Numbers numbers;
  const size_t sources = numbers.add(pairs.sources), destinations = numbers.add(pairs.destinations),
               ids = numbers.add(pairs.ids), times = numbers.add(pairs.times),
               to = numbers.add(options.destinations.among),
               from = numbers.add(options.sources.among);
  const auto [host, there] = numbers.send(work, pinned);
  const auto* const first = static_cast<const int64_t*>(there.data);
  const auto among = [&](CudaCandidates of, const Array& nodes, size_t at) {
    of.among = nodes.data == nullptr ? nullptr : first + at;
    of.num_among = nodes.rows();
    return of;
  };
  const Array drawn = work.allocate(DType::kInt64, count * options.amount);
  const auto domain = static_cast<uint64_t>(Domain::kNegative);
  require_cuda().draw_negatives(
      device_,
      {.sources = first + sources,
       .destinations = first + destinations,
       .ids = first + ids,
       .times = pairs.times.empty() ? nullptr : first + times,
       .num_pairs = count,
       .amount = options.amount,
       .draws_each = draws_each(options.corrupt),
       .at_source = {replaces_source(options.corrupt, 0), replaces_source(options.corrupt, 1)},
       .loops = options.loops,
       .key = absorb(absorb(domain, options.seed), options.epoch),
       .edges = edges_,
       .num_edges = std::ssize(options.edges),
       .of_destinations = among(of_destinations_, options.destinations.among, to),
       .of_sources = among(of_sources_, options.sources.among, from),
       .out = static_cast<int64_t*>(drawn.data)},
      stream);
  Array negatives = pinned.allocate_array(DType::kInt64, {count, options.amount});
  work.copy(negatives.data, drawn.data, drawn.bytes());
  work.wait();
  return negatives;
}

}  // namespace ramet
