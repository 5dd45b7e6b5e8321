// Planted communities: see generate.h for the model.
#include <algorithm>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "base/permutation.h"
#include "generator.h"
#include "ramet/generate.h"
#include "ramet/random.h"

namespace ramet {
namespace {

using namespace generator;

// A rank in [0, n) with density proportional to rank^-(1 - 1/skew): n u^skew.
int64_t draw_rank(uint64_t r, int64_t n, int skew) {
  double x = unit(r);
  const double u = x;
  for (int i = 1; i < skew; ++i)
    x *= u;
  return std::min(static_cast<int64_t>(x * static_cast<double>(n)), n - 1);
}

// A member of community c, which holds the nodes c, c + C, c + 2C, ..., from the random word r. Of
// weights by rank, a keyed order makes ranks and ids unrelated.
class Members {
 public:
  explicit Members(const PlantedOptions& o)
      : num_nodes_(o.num_nodes),
        communities_(o.communities),
        skew_(o.skew),
        key_(purpose_key(o.seed, kRanks)) {}

  [[nodiscard]] int32_t draw_by_weight(int64_t c, uint64_t r) const {
    const int64_t size = size_of(c);
    const Permutation order(size, absorb(key_, static_cast<uint64_t>(c)));
    return member(c, order(draw_rank(r, size, skew_)));
  }

  [[nodiscard]] int32_t draw_evenly(int64_t c, uint64_t r) const {
    return member(c, draw_rank(r, size_of(c), 1));
  }

 private:
  // The first `rest` communities have one node more.
  [[nodiscard]] int64_t size_of(int64_t c) const {
    return num_nodes_ / communities_ + (c < num_nodes_ % communities_ ? 1 : 0);
  }
  [[nodiscard]] int32_t member(int64_t c, int64_t number) const {
    return static_cast<int32_t>(c + communities_ * number);
  }

  int64_t num_nodes_, communities_;
  int skew_;
  uint64_t key_;
};

int64_t draw_community(const PlantedOptions& o, uint64_t r) {
  return static_cast<int64_t>(uniform_below(r, static_cast<uint64_t>(o.communities)));
}

int64_t class_of(const PlantedOptions& o, int64_t v) {
  return v % o.communities % o.classes;
}

// The +-signal of every class and column.
std::vector<float> draw_means(const PlantedOptions& o) {
  const uint64_t key = purpose_key(o.seed, kMeans);
  const auto signal = static_cast<float>(o.signal);
  std::vector<float> means;
  for (int64_t c = 0; c < o.classes; ++c) {
    const uint64_t class_key = absorb(key, static_cast<uint64_t>(c));
    for (int64_t j = 0; j < o.feature_width; ++j)
      means.push_back((absorb(class_key, static_cast<uint64_t>(j)) & 1) != 0 ? signal : -signal);
  }
  return means;
}

void require_rows(const char* what, int64_t first, int64_t count, int64_t end) {
  require(first >= 0 && first <= end - count, what, " ", first, " to ", first + count, " of ", end);
}

}  // namespace

void check(const PlantedOptions& o) {
  require(o.num_nodes >= 1 && o.num_nodes <= INT32_MAX, "num_nodes is ", o.num_nodes,
          ", expected 1 to 2147483647");
  require(o.num_edges >= 0, "num_edges is ", o.num_edges, ", expected >= 0");
  require(o.communities >= 1 && o.communities <= o.num_nodes, "communities is ", o.communities,
          ", expected 1 to num_nodes = ", o.num_nodes);
  require(o.classes >= 1 && o.classes <= o.communities, "classes is ", o.classes,
          ", expected 1 to communities = ", o.communities);
  require(o.feature_width >= 1, "feature_width is ", o.feature_width, ", expected >= 1");
  require(o.skew >= 1 && o.skew <= 4, "skew is ", o.skew, ", expected 1 to 4");
  require(o.homophily >= 0 && o.homophily <= 1, "homophily is ", o.homophily, ", expected 0 to 1");
  require(o.labeled >= 0 && o.labeled <= 1, "labeled is ", o.labeled, ", expected 0 to 1");
  require(o.train_fraction >= 0 && o.val_fraction >= 0 &&
              o.train_fraction + o.val_fraction <= o.labeled,
          "train_fraction ", o.train_fraction, " and val_fraction ", o.val_fraction,
          " must be >= 0 with a sum <= labeled = ", o.labeled);
}

void planted_edges(const PlantedOptions& o,
                   int64_t first,
                   std::span<int32_t> src,
                   std::span<int32_t> dst,
                   int threads) {
  check(o);
  require_rows("edges", first, std::ssize(src), o.num_edges);
  require(src.size() == dst.size(), src.size(), " sources and ", dst.size(), " destinations");
  const uint64_t key = purpose_key(o.seed, kEdges);
  const Members members(o);
  parallel_for(std::ssize(src), kEdgeGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t k = absorb(key, static_cast<uint64_t>(first + i));
      const int64_t c = draw_community(o, absorb(k, 0));
      const bool inside = unit(absorb(k, 1)) < o.homophily;
      const int64_t other = inside ? c : draw_community(o, absorb(k, 2));
      const uint64_t word = absorb(k, 3);
      src[static_cast<size_t>(i)] =
          o.undirected ? members.draw_by_weight(c, word) : members.draw_evenly(c, word);
      dst[static_cast<size_t>(i)] = members.draw_by_weight(other, absorb(k, 4));
    }
  });
}

void planted_features(const PlantedOptions& o, int64_t first, std::span<float> out, int threads) {
  check(o);
  const int64_t width = o.feature_width, count = std::ssize(out) / width;
  require(count * width == std::ssize(out), out.size(), " floats are no rows of ", width);
  require_rows("nodes", first, count, o.num_nodes);
  const std::vector<float> means = draw_means(o);
  const uint64_t key = purpose_key(o.seed, kNoise);
  parallel_for(count, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const mean = means.data() + class_of(o, first + i) * width;
      const uint64_t row_key = absorb(key, static_cast<uint64_t>(first + i));
      for (int64_t j = 0; j < width; ++j)
        out[static_cast<size_t>(i * width + j)] =
            mean[j] + noise(absorb(row_key, static_cast<uint64_t>(j)));
    }
  });
}

void planted_labels(const PlantedOptions& o,
                    int64_t first,
                    std::span<int64_t> labels,
                    std::span<uint8_t> splits) {
  check(o);
  require_rows("nodes", first, std::ssize(labels), o.num_nodes);
  require(labels.size() == splits.size(), labels.size(), " labels and ", splits.size(), " splits");
  const uint64_t key = purpose_key(o.seed, kSplit);
  for (size_t i = 0; i < labels.size(); ++i) {
    const int64_t v = first + static_cast<int64_t>(i);
    const double u = unit(absorb(key, static_cast<uint64_t>(v)));
    splits[i] = u < o.train_fraction                    ? 0
                : u < o.train_fraction + o.val_fraction ? 1
                : u < o.labeled                         ? 2
                                                        : 3;
    labels[i] = splits[i] == 3 ? -1 : class_of(o, v);
  }
}

}  // namespace ramet
