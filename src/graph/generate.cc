// Planted communities: see generate.h for the model. Every number is drawn from a key of its own
// (node or edge number), so chunks may run on any thread. Integer draws and + - x / only: the same
// bits on every machine.
#include "ramet/generate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ramet/buffer_pool.h"
#include "ramet/csc.h"
#include "ramet/error.h"
#include "ramet/graph.h"
#include "ramet/parallel.h"
#include "ramet/permutation.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr int64_t kGrain = 1 << 16;

// What a draw is for, so that no two share a key.
enum Purpose : uint64_t { kEdges, kRanks, kMeans, kNoise, kSplit };

uint64_t purpose_key(uint64_t seed, Purpose purpose) {
  return absorb(absorb(static_cast<uint64_t>(Domain::kGenerate), seed), purpose);
}

// Uniform on [0, 1) from the upper 53 bits.
double unit(uint64_t r) {
  return static_cast<double>(r >> 11) * 0x1p-53;
}

// Mean 0, variance 1: the sum of four uniforms, close enough to a normal for noise.
float noise(uint64_t r) {
  const auto sum =
      static_cast<int64_t>((r & 0xffff) + ((r >> 16) & 0xffff) + ((r >> 32) & 0xffff) + (r >> 48));
  constexpr float kScale = 1.7320508F / 65536.0F;  // four uniforms on [0, 1) have variance 1/3
  return (static_cast<float>(sum) - 131070.0F) * kScale;
}

void require(bool ok, const std::string& what) {
  if (!ok) throw Error(ErrorCode::kInvalidArgument, "generate: " + what);
}

void check(const PlantedOptions& o) {
  require(o.num_nodes >= 1 && o.num_nodes <= INT32_MAX,
          "num_nodes is " + std::to_string(o.num_nodes) + ", expected 1 to 2147483647");
  require(o.num_edges >= 0, "num_edges is " + std::to_string(o.num_edges) + ", expected >= 0");
  require(o.communities >= 1 && o.communities <= o.num_nodes,
          "communities is " + std::to_string(o.communities) +
              ", expected 1 to num_nodes = " + std::to_string(o.num_nodes));
  require(o.classes >= 1 && o.classes <= o.communities,
          "classes is " + std::to_string(o.classes) +
              ", expected 1 to communities = " + std::to_string(o.communities));
  require(o.feature_width >= 1,
          "feature_width is " + std::to_string(o.feature_width) + ", expected >= 1");
  require(o.skew >= 1 && o.skew <= 4, "skew is " + std::to_string(o.skew) + ", expected 1 to 4");
  require(o.homophily >= 0 && o.homophily <= 1,
          "homophily is " + std::to_string(o.homophily) + ", expected 0 to 1");
  require(o.train_fraction >= 0 && o.val_fraction >= 0 && o.train_fraction + o.val_fraction <= 1,
          "train_fraction " + std::to_string(o.train_fraction) + " and val_fraction " +
              std::to_string(o.val_fraction) + " must be >= 0 with a sum <= 1");
}

Array allocate(DType dtype, std::vector<int64_t> shape) {
  return BufferPool::create()->allocate_array(dtype, std::move(shape));
}

// A rank in [0, n) with density proportional to rank^-(1 - 1/skew): n u^skew.
int64_t draw_rank(uint64_t r, int64_t n, int skew) {
  double x = unit(r);
  const double u = x;
  for (int i = 1; i < skew; ++i)
    x *= u;
  return std::min(static_cast<int64_t>(x * static_cast<double>(n)), n - 1);
}

// Community c holds the nodes c, c + C, c + 2C, ...: so many of n nodes.
int64_t community_size(const PlantedOptions& o, int64_t c) {
  return (o.num_nodes - c + o.communities - 1) / o.communities;
}

// The member of community c with the given rank of weight: a keyed shuffle, so that ids and weights
// are unrelated.
int64_t member(const PlantedOptions& o, int64_t c, int64_t rank) {
  const uint64_t key = absorb(purpose_key(o.seed, kRanks), static_cast<uint64_t>(c));
  return c + o.communities * Permutation(community_size(o, c), key)(rank);
}

int64_t draw_member(const PlantedOptions& o, int64_t c, uint64_t r) {
  return member(o, c, draw_rank(r, community_size(o, c), o.skew));
}

int64_t draw_community(const PlantedOptions& o, uint64_t r) {
  return static_cast<int64_t>(uniform_below(r, static_cast<uint64_t>(o.communities)));
}

void draw_edges(const PlantedOptions& o, int threads, int32_t* src, int32_t* dst) {
  const uint64_t key = purpose_key(o.seed, kEdges);
  parallel_for(o.num_edges, kGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const uint64_t k = absorb(key, static_cast<uint64_t>(e));
      const int64_t c = draw_community(o, absorb(k, 0));
      const bool inside = unit(absorb(k, 1)) < o.homophily;
      const int64_t other = inside ? c : draw_community(o, absorb(k, 2));
      src[e] = static_cast<int32_t>(draw_member(o, c, absorb(k, 3)));
      dst[e] = static_cast<int32_t>(draw_member(o, other, absorb(k, 4)));
    }
  });
}

Csc draw_topology(const PlantedOptions& o, int threads) {
  const Array src = allocate(DType::kInt32, {o.num_edges});
  const Array dst = allocate(DType::kInt32, {o.num_edges});
  draw_edges(o, threads, static_cast<int32_t*>(src.data), static_cast<int32_t*>(dst.data));
  return build_csc(src, dst, o.num_nodes, o.num_nodes, {.undirected = true, .edge_ids = false});
}

int64_t label_of(const PlantedOptions& o, int64_t v) {
  return v % o.communities % o.classes;
}

Array draw_features(const PlantedOptions& o, int threads) {
  Array features = allocate(DType::kFloat32, {o.num_nodes, o.feature_width});
  auto* out = static_cast<float*>(features.data);
  const uint64_t mean_key = purpose_key(o.seed, kMeans);
  const uint64_t noise_key = purpose_key(o.seed, kNoise);
  const auto signal = static_cast<float>(o.signal);
  parallel_for(o.num_nodes, 1024, threads, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      const uint64_t class_key = absorb(mean_key, static_cast<uint64_t>(label_of(o, v)));
      const uint64_t row_key = absorb(noise_key, static_cast<uint64_t>(v));
      for (int64_t j = 0; j < o.feature_width; ++j) {
        const auto column = static_cast<uint64_t>(j);
        const float mean = (absorb(class_key, column) & 1) != 0 ? signal : -signal;
        out[v * o.feature_width + j] = mean + noise(absorb(row_key, column));
      }
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

Array ids_array(const std::vector<int32_t>& ids) {
  Array array = allocate(DType::kInt32, {static_cast<int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), static_cast<int32_t*>(array.data));
  return array;
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
  StoreContents contents;
  contents.node_counts[kDefaultNodeType] = options.num_nodes;
  Csc csc = draw_topology(options, threads);
  const std::string folder =
      "edge/" + EdgeTypeName{kDefaultNodeType, kDefaultRelation, kDefaultNodeType}.encoded() + "/";
  contents.arrays.emplace_back(folder + "indptr", std::move(csc.indptr));
  contents.arrays.emplace_back(folder + "indices", std::move(csc.indices));
  contents.arrays.emplace_back("node/node/feat", draw_features(options, threads));
  contents.arrays.emplace_back("node/node/label", make_labels(options));
  add_splits(options, contents);
  return contents;
}

}  // namespace ramet
