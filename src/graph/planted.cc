// Planted communities: see generate.h for the model.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/permutation.h"
#include "generator.h"
#include "ramet/csc.h"
#include "ramet/generate.h"
#include "ramet/random.h"

namespace ramet {
namespace {

using namespace generator;

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
  require(o.train_fraction >= 0 && o.val_fraction >= 0 && o.train_fraction + o.val_fraction <= 1,
          "train_fraction ", o.train_fraction, " and val_fraction ", o.val_fraction,
          " must be >= 0 with a sum <= 1");
}

// A rank in [0, n) with density proportional to rank^-(1 - 1/skew): n u^skew.
int64_t draw_rank(uint64_t r, int64_t n, int skew) {
  double x = unit(r);
  const double u = x;
  for (int i = 1; i < skew; ++i)
    x *= u;
  return std::min(static_cast<int64_t>(x * static_cast<double>(n)), n - 1);
}

// The members of all communities, each in a keyed order of weight, so that ids and weights are
// unrelated. Community c holds the nodes c, c + C, c + 2C, ...
class Members {
 public:
  Members(const PlantedOptions& o, int threads)
      : num_nodes_(o.num_nodes),
        communities_(o.communities),
        members_(static_cast<size_t>(o.num_nodes)) {
    const uint64_t key = purpose_key(o.seed, kRanks);
    parallel_for(communities_, kRowGrain, threads, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c)
        shuffle(c, absorb(key, static_cast<uint64_t>(c)));
    });
  }

  // A member of community c from the random word r.
  [[nodiscard]] int32_t draw(int64_t c, uint64_t r, int skew) const {
    return members_[static_cast<size_t>(begin_of(c) + draw_rank(r, size_of(c), skew))];
  }

 private:
  // The first `rest` communities have one node more.
  [[nodiscard]] int64_t begin_of(int64_t c) const {
    return c * (num_nodes_ / communities_) + std::min(c, num_nodes_ % communities_);
  }
  [[nodiscard]] int64_t size_of(int64_t c) const { return begin_of(c + 1) - begin_of(c); }

  void shuffle(int64_t c, uint64_t key) {
    const int64_t size = size_of(c);
    const Permutation order(size, key);
    int32_t* const out = members_.data() + begin_of(c);
    for (int64_t rank = 0; rank < size; ++rank)
      out[rank] = static_cast<int32_t>(c + communities_ * order(rank));
  }

  int64_t num_nodes_, communities_;
  std::vector<int32_t> members_;
};

int64_t draw_community(const PlantedOptions& o, uint64_t r) {
  return static_cast<int64_t>(uniform_below(r, static_cast<uint64_t>(o.communities)));
}

void draw_edges(const PlantedOptions& o, int threads, int32_t* src, int32_t* dst) {
  const uint64_t key = purpose_key(o.seed, kEdges);
  const Members members(o, threads);
  parallel_for(o.num_edges, kEdgeGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const uint64_t k = absorb(key, static_cast<uint64_t>(e));
      const int64_t c = draw_community(o, absorb(k, 0));
      const bool inside = unit(absorb(k, 1)) < o.homophily;
      const int64_t other = inside ? c : draw_community(o, absorb(k, 2));
      src[e] = members.draw(c, absorb(k, 3), o.skew);
      dst[e] = members.draw(other, absorb(k, 4), o.skew);
    }
  });
}

Csc draw_topology(const PlantedOptions& o, int threads) {
  Array src = allocate(DType::kInt32, {o.num_edges});
  Array dst = allocate(DType::kInt32, {o.num_edges});
  draw_edges(o, threads, static_cast<int32_t*>(src.data), static_cast<int32_t*>(dst.data));
  return build_csc(std::move(src), std::move(dst), o.num_nodes, o.num_nodes,
                   {.undirected = true, .edge_ids = false, .threads = threads});
}

int64_t label_of(const PlantedOptions& o, int64_t v) {
  return v % o.communities % o.classes;
}

// The +-signal of every class and column.
std::vector<float> draw_means(const PlantedOptions& o) {
  const uint64_t key = purpose_key(o.seed, kMeans);
  const auto signal = static_cast<float>(o.signal);
  std::vector<float> means;
  for (int64_t label = 0; label < o.classes; ++label) {
    const uint64_t class_key = absorb(key, static_cast<uint64_t>(label));
    for (int64_t j = 0; j < o.feature_width; ++j)
      means.push_back((absorb(class_key, static_cast<uint64_t>(j)) & 1) != 0 ? signal : -signal);
  }
  return means;
}

Array draw_features(const PlantedOptions& o, int threads) {
  Array features = allocate(DType::kFloat32, {o.num_nodes, o.feature_width});
  auto* out = static_cast<float*>(features.data);
  const std::vector<float> means = draw_means(o);
  const uint64_t key = purpose_key(o.seed, kNoise);
  parallel_for(o.num_nodes, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      const float* const mean = means.data() + label_of(o, v) * o.feature_width;
      const uint64_t row_key = absorb(key, static_cast<uint64_t>(v));
      for (int64_t j = 0; j < o.feature_width; ++j)
        out[v * o.feature_width + j] = mean[j] + noise(absorb(row_key, static_cast<uint64_t>(j)));
    }
  });
  return features;
}

Array make_labels(const PlantedOptions& o) {
  Array labels = allocate(DType::kInt64, {o.num_nodes});
  auto* out = static_cast<int64_t*>(labels.data);
  for (int64_t v = 0; v < o.num_nodes; ++v)
    out[v] = label_of(o, v);
  return labels;
}

void add_splits(const PlantedOptions& o, StoreContents& contents) {
  std::vector<int32_t> train, val, test;
  const uint64_t key = purpose_key(o.seed, kSplit);
  for (int64_t v = 0; v < o.num_nodes; ++v) {
    const double u = unit(absorb(key, static_cast<uint64_t>(v)));
    auto& split = u < o.train_fraction ? train : u < o.train_fraction + o.val_fraction ? val : test;
    split.push_back(static_cast<int32_t>(v));
  }
  contents.arrays.emplace_back("split/train/node", ids_array(train));
  contents.arrays.emplace_back("split/val/node", ids_array(val));
  contents.arrays.emplace_back("split/test/node", ids_array(test));
}

}  // namespace

StoreContents generate_planted(const PlantedOptions& options, int threads) {
  check(options);
  StoreContents contents = contents_of(options.num_nodes, draw_topology(options, threads));
  contents.arrays.emplace_back("node/node/feat", draw_features(options, threads));
  contents.arrays.emplace_back("node/node/label", make_labels(options));
  add_splits(options, contents);
  return contents;
}

}  // namespace ramet
