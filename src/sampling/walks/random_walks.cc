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
#include "ramet/random.h"
#include "sampling/weights.h"
#include "walk_rows.h"

namespace ramet {
namespace {

constexpr int64_t kGroup = 256;  // walks: their rows and edges under way fit in the second cache
constexpr uint64_t kStopWord = 0, kRestartWord = 1, kFirstWord = 2;

bool happens(double probability, uint64_t word) {
  return fraction_of(word) < probability;
}

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
      : path_(path), options_(options), key_(absorb(kWalkDomain, options.seed)) {
    nodes_ = static_cast<int64_t*>(walks.nodes.data);
    if (options.edge_ids) edge_ids_ = static_cast<int64_t*>(walks.edge_ids.data);
  }

  void run(std::span<const int64_t> starts,
           std::span<const uint32_t> repeats,
           int64_t begin,
           int64_t end) {
    for (int64_t walk = begin; walk < end; ++walk) {
      const int64_t start = starts[static_cast<size_t>(walk)];
      const uint64_t key =
          absorb(absorb(key_, static_cast<uint64_t>(start)), repeats[static_cast<size_t>(walk)]);
      states_.push_back({.key = key, .walk = walk, .start = start, .node = start});
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
  struct State {
    uint64_t key;
    int64_t walk, start, node;
    int64_t previous = -1;  // node; -1: none since the start
    int64_t time = 0;       // of the edge before; counts where there is a previous node
    int64_t steps = 0;      // since the start: where on the metapath
    Row row = {0, 0};       // of the node
    int64_t position = -1;  // of the edge that was chosen; -1: it goes back to the start
  };

  const WalkRows& rows_of(const State& state) const {
    return path_[static_cast<size_t>(state.steps) % path_.size()];
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
      if (!choose_for(state, step)) {
        end(state, step);
        continue;
      }
      states_[kept++] = state;
    }
    states_.resize(kept);
  }

  bool choose_for(State& state, int64_t step) const {
    const uint64_t key = absorb(state.key, static_cast<uint64_t>(step));
    if (options_.stop > 0 && happens(options_.stop, absorb(key, kStopWord))) return false;
    const bool may_restart = static_cast<size_t>(state.steps) % path_.size() == 0;
    if (options_.restart > 0 && may_restart &&
        happens(options_.restart, absorb(key, kRestartWord))) {
      state.position = -1;
      return true;
    }
    const WalkRows& rows = rows_of(state);
    const Row whole = state.row;
    Row row = whole;
    if (rows.has_times() && state.previous >= 0)
      row = rows.in_time(row, state.time, options_.decreasing);
    if (row.degree == 0) return false;
    state.position = options_.node2vec ? rows.draw_biased(row, whole.begin, *options_.node2vec,
                                                          state.previous, key, kFirstWord)
                                       : rows.draw(row, whole.begin, key, kFirstWord);
    if (state.position < 0) return false;
    rows.prefetch_edge(state.position, options_.edge_ids);
    return true;
  }

  void follow(int64_t step) {
    for (State& state : states_) {
      if (state.position < 0) {
        state = {.key = state.key, .walk = state.walk, .start = state.start, .node = state.start};
      } else {
        const WalkRows& rows = rows_of(state);
        if (rows.has_times()) state.time = rows.time(state.position);
        state.previous = state.node;
        state.node = rows.end_of(state.position);
        ++state.steps;
      }
      *entry(state.walk, step + 1) = state.node;
      if (edge_ids_ != nullptr) {
        edge_ids_[state.walk * options_.length + step] =
            state.position < 0 ? -1 : edge_before(state).id_of(state.position);
      }
      if (step + 1 < options_.length) rows_of(state).prefetch_row(state.node);
    }
  }

  // Of the step that was just made.
  const WalkRows& edge_before(const State& state) const {
    return path_[static_cast<size_t>(state.steps - 1) % path_.size()];
  }

  void end(const State& state, int64_t step) const {
    std::fill(entry(state.walk, step + 1), entry(state.walk + 1, 0), -1);
    if (edge_ids_ == nullptr) return;
    int64_t* ids = edge_ids_ + state.walk * options_.length;
    std::fill(ids + step, ids + options_.length, -1);
  }

  static constexpr auto kWalkDomain = static_cast<uint64_t>(Domain::kWalk);

  std::span<const WalkRows> path_;
  const WalkOptions& options_;
  uint64_t key_;
  int64_t* nodes_;
  int64_t* edge_ids_ = nullptr;
  std::vector<State> states_;  // of walks that go on
};

}  // namespace

Walks random_walks(std::span<const WalkEdges> metapath,
                   std::span<const int64_t> starts,
                   const WalkOptions& options) {
  check(metapath, options);
  const std::vector<WalkRows> path(metapath.begin(), metapath.end());
  check_ends(path, options.length);
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
