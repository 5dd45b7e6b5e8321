// R-MAT: see generate.h for the model.
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "generator.h"
#include "ramet/csc.h"
#include "ramet/generate.h"
#include "ramet/parallel.h"
#include "ramet/permutation.h"
#include "ramet/random.h"

namespace ramet {
namespace {

using namespace generator;

constexpr int kMaxScale = 30;
constexpr int64_t kMaxEdgeFactor = 1024;

void check(const RmatOptions& o) {
  require(o.scale >= 1 && o.scale <= kMaxScale,
          "scale is " + std::to_string(o.scale) + ", expected 1 to " + std::to_string(kMaxScale));
  require(o.edge_factor >= 0 && o.edge_factor <= kMaxEdgeFactor,
          "edge_factor is " + std::to_string(o.edge_factor) + ", expected 0 to " +
              std::to_string(kMaxEdgeFactor));
  require(o.a >= 0 && o.b >= 0 && o.c >= 0 && o.a + o.b + o.c <= 1,
          "a, b and c are " + std::to_string(o.a) + ", " + std::to_string(o.b) + " and " +
              std::to_string(o.c) + ", expected >= 0 with a sum <= 1");
  require(o.feature_width >= 0,
          "feature_width is " + std::to_string(o.feature_width) + ", expected >= 0");
  require(o.train_fraction >= 0 && o.train_fraction <= 1,
          "train_fraction is " + std::to_string(o.train_fraction) + ", expected 0 to 1");
}

struct Edge {
  uint32_t src, dst;
};

// Chooses quadrants by 32 bits per level, without branches: no predictor could guess them.
class Quadrants {
 public:
  explicit Quadrants(const RmatOptions& o)
      : scale_(o.scale), from_{scaled(o.a), scaled(o.a + o.b), scaled(o.a + o.b + o.c)} {}

  [[nodiscard]] Edge draw(uint64_t edge_key) const {
    Edge edge{0, 0};
    for (int level = 0; level < scale_; level += 2) {
      const uint64_t r = absorb(edge_key, static_cast<uint64_t>(level / 2));
      descend(edge, r >> 32);
      if (level + 1 < scale_) descend(edge, r & 0xffffffff);
    }
    return edge;
  }

 private:
  static uint64_t scaled(double p) { return static_cast<uint64_t>(p * 0x1p32); }

  // Quadrants 01 and 11 are the destination's upper half, 10 and 11 the source's.
  void descend(Edge& edge, uint64_t u) const {
    const uint32_t b = u >= from_[0], c = u >= from_[1], d = u >= from_[2];
    edge.src = 2 * edge.src + c;
    edge.dst = 2 * edge.dst + (b ^ c ^ d);
  }

  int scale_;
  std::array<uint64_t, 3> from_;  // 2^32 times the probability of all quadrants before b, c, d
};

std::vector<int32_t> draw_names(const RmatOptions& o, int threads) {
  const int64_t num_nodes = int64_t{1} << o.scale;
  const Permutation scramble(num_nodes, purpose_key(o.seed, kScramble));
  std::vector<int32_t> names(static_cast<size_t>(num_nodes));
  parallel_for(num_nodes, kEdgeGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v)
      names[static_cast<size_t>(v)] = static_cast<int32_t>(scramble(v));
  });
  return names;
}

void draw_edges(const RmatOptions& o, int threads, int64_t num_edges, int32_t* src, int32_t* dst) {
  const Quadrants quadrants(o);
  const std::vector<int32_t> names = draw_names(o, threads);
  const uint64_t key = purpose_key(o.seed, kQuadrants);
  parallel_for(num_edges, kEdgeGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const Edge edge = quadrants.draw(absorb(key, static_cast<uint64_t>(e)));
      src[e] = names[edge.src];
      dst[e] = names[edge.dst];
    }
  });
}

Csc draw_topology(const RmatOptions& o, int threads) {
  const int64_t num_nodes = int64_t{1} << o.scale, num_edges = num_nodes * o.edge_factor;
  const Array src = allocate(DType::kInt32, {num_edges});
  const Array dst = allocate(DType::kInt32, {num_edges});
  draw_edges(o, threads, num_edges, static_cast<int32_t*>(src.data),
             static_cast<int32_t*>(dst.data));
  return build_csc(src, dst, num_nodes, num_nodes,
                   {.undirected = true, .edge_ids = false, .threads = threads});
}

Array draw_features(const RmatOptions& o, int threads) {
  const int64_t num_nodes = int64_t{1} << o.scale;
  Array features = allocate(DType::kFloat32, {num_nodes, o.feature_width});
  auto* out = static_cast<float*>(features.data);
  const uint64_t key = purpose_key(o.seed, kNoise);
  parallel_for(num_nodes, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      const uint64_t row_key = absorb(key, static_cast<uint64_t>(v));
      for (int64_t j = 0; j < o.feature_width; ++j)
        out[v * o.feature_width + j] = noise(absorb(row_key, static_cast<uint64_t>(j)));
    }
  });
  return features;
}

Array draw_train(const RmatOptions& o, std::span<const int64_t> indptr) {
  std::vector<int32_t> train;
  const uint64_t key = purpose_key(o.seed, kSplit);
  for (size_t v = 0; v + 1 < indptr.size(); ++v) {
    if (indptr[v] < indptr[v + 1] && unit(absorb(key, v)) < o.train_fraction)
      train.push_back(static_cast<int32_t>(v));
  }
  return ids_array(train);
}

}  // namespace

StoreContents generate_rmat(const RmatOptions& options, int threads) {
  check(options);
  Csc csc = draw_topology(options, threads);
  Array train = draw_train(options, csc.indptr.as<int64_t>());
  StoreContents contents = contents_of(int64_t{1} << options.scale, std::move(csc));
  if (options.feature_width > 0)
    contents.arrays.emplace_back("node/node/feat", draw_features(options, threads));
  contents.arrays.emplace_back("split/train/node", std::move(train));
  return contents;
}

}  // namespace ramet
