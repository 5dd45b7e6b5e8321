// Personalized PageRank by forward push (Andersen, Chung, Lang: "Local graph partitioning using
// PageRank vectors", FOCS 2006): mass moves along edges from nodes that hold much of it, until none
// holds more than epsilon per edge. The work is at most 1 / (alpha epsilon) edges a seed, whatever
// the size of the graph. docs/semantics.md, section 22.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/walks.h"
#include "sampling/relabel.h"
#include "walk_rows.h"

namespace ramet {
namespace {

constexpr int64_t kPushedSeeds = 16;

// Pushes from one seed after the other, with the memory of the one before. One thread.
class Push {
 public:
  Push(const WalkRows& rows, const PprOptions& options) : rows_(rows), options_(options) {}

  // Nodes and their scores: of positions 1 and on; position 0 is the seed.
  void run(int64_t seed) {
    table_.start_batch(nodes_.size());
    nodes_.set_size(0);
    scores_.clear();
    queue_.clear();
    table_.reserve(1, nodes_);
    nodes_.reserve(2);
    reach(std::span(&seed, 1));
    scores_[0].left = 1;
    queue_.push_back(0);
    for (size_t next = 0; next < queue_.size(); ++next)
      push(queue_[next]);
  }

  // The best `count`: highest score first, then by id.
  void best(int64_t* nodes, double* scores, int64_t count) {
    order_.clear();
    for (uint32_t i = 1; i < scores_.size(); ++i)
      if (scores_[i].done > 0) order_.push_back(i);
    const int64_t kept = std::min<int64_t>(count, std::ssize(order_));
    std::partial_sort(order_.begin(), order_.begin() + kept, order_.end(),
                      [&](uint32_t one, uint32_t other) {
                        const double a = scores_[one].done, b = scores_[other].done;
                        return a != b ? a > b : nodes_.ids()[one] < nodes_.ids()[other];
                      });
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t at = i < kept ? order_[static_cast<size_t>(i)] : 0;
      nodes[i] = i < kept ? nodes_.ids()[at] : -1;
      scores[i] = i < kept ? scores_[at].done : 0;
    }
  }

 private:
  struct Score {
    double done = 0, left = 0;
    double limit = 0;  // what may be left
    bool queued = false;
  };

  // Positions of nodes, in local_; new ones hold nothing.
  void reach(std::span<const int64_t> ids) {
    nodes_.reserve(nodes_.size() + ids.size() + 1);
    table_.reserve(nodes_.size() + ids.size(), nodes_);
    local_.resize(ids.size());
    table_.relabel(ids, nodes_, local_.data());
    for (size_t i = scores_.size(); i < nodes_.size(); ++i) {
      const int64_t degree = rows_.row(nodes_.ids()[i]).degree;
      scores_.push_back(
          {.limit = options_.epsilon * static_cast<double>(std::max<int64_t>(1, degree))});
    }
  }

  void push(uint32_t from) {
    const double mass = scores_[from].left;
    scores_[from].left = 0;
    scores_[from].queued = false;
    scores_[from].done += options_.alpha * mass;
    const double rest = mass - options_.alpha * mass;
    const Row row = rows_.row(nodes_.ids()[from]);
    const double total = rows_.total(row);
    if (total == 0) return add(0, rest);
    ends_.clear();
    for (int64_t position = row.begin; position < row.begin + row.degree; ++position)
      ends_.push_back(rows_.end_of(position));
    reach(ends_);
    for (size_t i = 0; i < ends_.size(); ++i) {
      const double weight = walk_weight(rows_, row.begin + static_cast<int64_t>(i), row.begin);
      if (weight > 0) add(static_cast<uint32_t>(local_[i]), rest * (weight / total));
    }
  }

  void add(uint32_t to, double mass) {
    Score& score = scores_[to];
    score.left += mass;
    if (score.queued || score.left <= score.limit) return;
    score.queued = true;
    queue_.push_back(to);
  }

  const WalkRows& rows_;
  const PprOptions& options_;
  NodeList<int64_t> nodes_;
  HashTable<int64_t> table_;
  std::vector<Score> scores_;  // by position in nodes_
  std::vector<uint32_t> queue_, order_;
  std::vector<int64_t> ends_;
  std::vector<int32_t> local_;
};

}  // namespace

PprNeighbors ppr_neighbors(const WalkEdges& walked,
                           std::span<const int64_t> seeds,
                           const PprOptions& options) {
  if (!(options.alpha > 0 && options.alpha < 1))
    throw_invalid("alpha is ", options.alpha, ", outside (0, 1)");
  if (!(options.epsilon > 0 && options.epsilon < 1))
    throw_invalid("epsilon is ", options.epsilon, ", outside (0, 1)");
  if (options.count < 1) throw_invalid("count is ", options.count, ", not 1 or more");
  const WalkRows rows(walked);
  if (rows.num_rows() != rows.num_ends())
    throw_invalid("edges lead from ", rows.num_rows(), " nodes to ", rows.num_ends(), " others");
  for (const int64_t seed : seeds)
    require_index(seed, rows.num_rows(), "a seed");
  const int64_t count = std::ssize(seeds);
  const auto pool = BufferPool::shared();
  PprNeighbors found{pool->allocate_array(DType::kInt64, {count, options.count}),
                     pool->allocate_array(DType::kFloat64, {count, options.count})};
  auto* nodes = static_cast<int64_t*>(found.nodes.data);
  auto* scores = static_cast<double*>(found.scores.data);
  parallel_for(count, kPushedSeeds, options.threads, [&](int64_t begin, int64_t end) {
    Push push(rows, options);
    for (int64_t i = begin; i < end; ++i) {
      push.run(seeds[static_cast<size_t>(i)]);
      push.best(nodes + i * options.count, scores + i * options.count, options.count);
    }
  });
  return found;
}

}  // namespace ramet
