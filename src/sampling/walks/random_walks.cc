// Random walks, many at a time. A step reads a row's bounds, by weights its sums, and then one of
// its edges, all somewhere in memory. A group of walks takes each part of the step together, and
// asks for what the next part reads, so that a core waits for many reads at once and not for one
// after the other.
#include "ramet/walks.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "walk_rows.h"

namespace ramet {
namespace {

constexpr int64_t kGroup = 256;  // walks: their rows and edges under way fit in the second cache

void check(std::span<const WalkEdges> metapath, const WalkOptions& options) {
  if (metapath.empty()) throw_invalid("a metapath has no edge types");
  if (options.length < 0) throw_invalid("length is ", options.length, ", not 0 or more");
  for (const auto& [name, value] : {std::pair("restart", options.restart), {"stop", options.stop}})
    if (!(value >= 0 && value <= 1)) throw_invalid(name, " is ", value, ", outside [0, 1]");
  if (!options.node2vec) return;
  for (const auto& [name, value] :
       {std::pair("p", options.node2vec->p), {"q", options.node2vec->q}})
    if (!(value > 0 && std::isfinite(value) && std::isfinite(1 / value)))
      throw_invalid(name, " is ", value, ", expected a number above 0");
  if (metapath.size() > 1)
    throw_invalid("node2vec walks along one edge type, not ", metapath.size());
}

void check_ends(std::span<const WalkRows> path, int64_t length) {
  const size_t joints = path.size() - (length > std::ssize(path) ? 0 : 1);
  for (size_t i = 0; i < joints; ++i) {
    const WalkRows& next = path[(i + 1) % path.size()];
    if (path[i].num_ends() != next.num_rows())
      throw_invalid("edge type ", i, " of the metapath leads to ", path[i].num_ends(),
                    " nodes, the one after it begins at ", next.num_rows());
  }
}

// How many of the starts before each are the same node.
std::vector<uint32_t> repeats_of(std::span<const int64_t> starts, int64_t num_nodes) {
  std::vector<uint32_t> repeats;
  repeats.reserve(starts.size());
  constexpr int64_t kSparse = 16;
  if (std::ssize(starts) < num_nodes / kSparse) {
    std::unordered_map<int64_t, uint32_t> seen;
    for (const int64_t start : starts)
      repeats.push_back(seen[start]++);
  } else {
    std::vector<uint32_t> seen(static_cast<size_t>(num_nodes));
    for (const int64_t start : starts)
      repeats.push_back(seen[static_cast<size_t>(start)]++);
  }
  return repeats;
}

// Some walks, side by side. One thread.
class WalkGroup {
 public:
  WalkGroup(std::span<const WalkRows> path, const WalkOptions& options, const Walks& walks)
      : path_(path), options_(options), rules_(rules_of(options)) {
    nodes_ = static_cast<int64_t*>(walks.nodes.data);
    if (options.edge_ids) edge_ids_ = static_cast<int64_t*>(walks.edge_ids.data);
  }

  void run(std::span<const int64_t> starts,
           std::span<const uint32_t> repeats,
           int64_t begin,
           int64_t end) {
    for (int64_t walk = begin; walk < end; ++walk) {
      const auto i = static_cast<size_t>(walk);
      const int64_t start = starts[i];
      states_.push_back({begin_walk(options_.seed, start, repeats[i]), walk});
      *entry(walk, 0) = start;
      if (options_.length > 0) path_[0].prefetch_row(start);
    }
    for (int64_t step = 0; step < options_.length && !states_.empty(); ++step) {
      read_rows();
      choose(step);
      follow(step);
    }
  }

 private:
  struct State : WalkState {
    int64_t walk;
    Row row = {0, 0};       // of the node
    int64_t position = -1;  // of the edge that was chosen, or kWalkToStart
  };

  const WalkRows& rows_of(const State& state) const {
    return path_[static_cast<size_t>(state.place)];
  }
  int64_t* entry(int64_t walk, int64_t step) const {
    return nodes_ + walk * (options_.length + 1) + step;
  }

  void read_rows() {
    for (State& state : states_) {
      state.row = rows_of(state).row(state.node);
      rows_of(state).request_draw(state.row);
    }
  }

  // The edge of each walk's step. A walk that has none ends.
  void choose(int64_t step) {
    size_t kept = 0;
    for (State& state : states_) {
      const WalkRows& rows = rows_of(state);
      state.position = next_edge(rows, rules_, state, state.row, step);
      if (state.position == kWalkEnds) {
        end(state, step);
        continue;
      }
      if (state.position >= 0) rows.prefetch_edge(state.position, options_.edge_ids);
      states_[kept++] = state;
    }
    states_.resize(kept);
  }

  void follow(int64_t step) {
    for (State& state : states_) {
      const WalkRows& rows = rows_of(state);
      if (edge_ids_ != nullptr) {
        edge_ids_[state.walk * options_.length + step] =
            state.position < 0 ? -1 : rows.id_of(state.position);
      }
      follow_edge(rows, state.position, std::ssize(path_), state);
      *entry(state.walk, step + 1) = state.node;
      if (step + 1 < options_.length) rows_of(state).prefetch_row(state.node);
    }
  }

  void end(const State& state, int64_t step) const {
    std::fill(entry(state.walk, step + 1), entry(state.walk + 1, 0), -1);
    if (edge_ids_ == nullptr) return;
    int64_t* ids = edge_ids_ + state.walk * options_.length;
    std::fill(ids + step, ids + options_.length, -1);
  }

  std::span<const WalkRows> path_;
  const WalkOptions& options_;
  const WalkRules rules_;
  int64_t* nodes_;
  int64_t* edge_ids_ = nullptr;
  std::vector<State> states_;  // of walks that go on
};

}  // namespace

std::vector<WalkRows> checked_path(std::span<const WalkEdges> metapath,
                                   const WalkOptions& options) {
  check(metapath, options);
  std::vector<WalkRows> path(metapath.begin(), metapath.end());
  check_ends(path, options.length);
  return path;
}

WalkRules rules_of(const WalkOptions& options) {
  WalkRules rules{.restart = options.restart,
                  .stop = options.stop,
                  .decreasing = options.decreasing,
                  .is_biased = options.node2vec.has_value(),
                  .bias = {}};
  if (!rules.is_biased) return rules;
  const double back = 1 / options.node2vec->p, away = 1 / options.node2vec->q;
  rules.bias = {.back = back,
                .away = away,
                .highest = std::max({back, 1.0, away}),
                .lowest = std::min({back, 1.0, away})};
  return rules;
}

Walks random_walks(std::span<const WalkEdges> metapath,
                   std::span<const int64_t> starts,
                   const WalkOptions& options) {
  const std::vector<WalkRows> path = checked_path(metapath, options);
  for (const int64_t start : starts)
    require_index(start, path.front().num_rows(), "a start");
  const int64_t count = std::ssize(starts);
  const auto pool = BufferPool::shared();
  Walks walks;
  walks.nodes = pool->allocate_array(DType::kInt64, {count, options.length + 1});
  if (options.edge_ids)
    walks.edge_ids = pool->allocate_array(DType::kInt64, {count, options.length});
  const std::vector<uint32_t> repeats = repeats_of(starts, path.front().num_rows());
  parallel_for(count, kGroup, options.threads, [&](int64_t begin, int64_t end) {
    WalkGroup(path, options, walks).run(starts, repeats, begin, end);
  });
  return walks;
}

}  // namespace ramet
