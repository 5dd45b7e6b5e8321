#include "replay.h"

#include <algorithm>
#include <span>

namespace ramet::bench {
namespace {

constexpr size_t kAhead = 128;  // loads

// The sum of values[positions[i]] over all i.
template <typename Value, typename Position>
uint64_t sum_at(const Value* values, std::span<const Position> positions) {
  uint64_t sum = 0;
  const size_t steady = positions.size() - std::min(positions.size(), kAhead);
  for (size_t i = 0; i < steady; ++i) {
    __builtin_prefetch(&values[positions[i + kAhead]], 0, 2);
    sum += static_cast<uint64_t>(values[positions[i]]);
  }
  for (size_t i = steady; i < positions.size(); ++i)
    sum += static_cast<uint64_t>(values[positions[i]]);
  return sum;
}

}  // namespace

Replay::Replay(const Graph& graph, Minibatch batch)
    : edges_(graph.edge_types().at(0)), batch_(std::move(batch)) {
  with_ids(batch_.n_id.at(0), [&](auto n_id) {
    for (const Block& block : batch_.blocks) {
      auto& sources = sources_.emplace_back();
      for (const int32_t local : block.relations[0].indices.as<int32_t>())
        sources.push_back(static_cast<int32_t>(n_id[static_cast<size_t>(local)]));
      num_edges_ += static_cast<int64_t>(sources.size());
    }
  });
}

uint64_t Replay::run(const uint32_t* slots) const {
  uint64_t sum = 0;
  for (size_t b = batch_.blocks.size(); b-- > 0;) {  // the seeds' hop is the last block
    const Block& block = batch_.blocks[b];
    with_ids(batch_.n_id[0], [&](auto n_id) {
      const auto destinations = n_id.first(static_cast<size_t>(block.num_dst[0]));
      sum += sum_at(edges_.indptr.as<int64_t>().data(), destinations);
    });
    with_ids(block.relations[0].position, [&](auto position) {
      with_ids(edges_.indices, [&](auto ids) { sum += sum_at(ids.data(), position); });
    });
    sum += sum_at(slots, std::span<const int32_t>(sources_[b]));
  }
  return sum;
}

}  // namespace ramet::bench
