// R-MAT: see generate.h for the model.
#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "alias_table.h"
#include "base/parallel.h"
#include "base/permutation.h"
#include "generator.h"
#include "ramet/csc.h"
#include "ramet/generate.h"
#include "ramet/random.h"

namespace ramet {
namespace {

using namespace generator;

constexpr int kMaxScale = 30;
constexpr int64_t kMaxEdgeFactor = 1024;

void check(const RmatOptions& o) {
  require(o.scale >= 1 && o.scale <= kMaxScale, "scale is ", o.scale, ", expected 1 to ",
          kMaxScale);
  require(o.edge_factor >= 0 && o.edge_factor <= kMaxEdgeFactor, "edge_factor is ", o.edge_factor,
          ", expected 0 to ", kMaxEdgeFactor);
  require(o.a >= 0 && o.b >= 0 && o.c >= 0 && o.a + o.b + o.c <= 1, "a, b and c are ", o.a, ", ",
          o.b, " and ", o.c, ", expected >= 0 with a sum <= 1");
  require(o.feature_width >= 0, "feature_width is ", o.feature_width, ", expected >= 0");
  require(o.train_fraction >= 0 && o.train_fraction <= 1, "train_fraction is ", o.train_fraction,
          ", expected 0 to 1");
}

struct Edge {
  uint32_t src, dst;
};

// Falls through four levels per random word: the 256 quadrants of four levels are one distribution.
class Quadrants {
 public:
  explicit Quadrants(const RmatOptions& o) : scale_(o.scale), four_levels_(weights(o)) {}

  [[nodiscard]] Edge draw(uint64_t edge_key) const {
    Edge edge{0, 0};
    for (int level = 0; level < scale_; level += 4) {
      const uint32_t quadrant =
          four_levels_.draw(absorb(edge_key, static_cast<uint64_t>(level / 4)));
      const int levels = std::min(4, scale_ - level), unused = 4 - levels;
      edge.src = edge.src << levels | quadrant >> 4 >> unused;
      edge.dst = edge.dst << levels | (quadrant & 15) >> unused;
    }
    return edge;
  }

 private:
  // By the source's four bits, then the destination's.
  static std::array<double, 256> weights(const RmatOptions& o) {
    const std::array<double, 4> one_level{o.a, o.b, o.c, std::max(0.0, 1 - o.a - o.b - o.c)};
    std::array<double, 256> result;
    for (size_t q = 0; q < 256; ++q) {
      result[q] = 1;
      for (size_t bit = 0; bit < 4; ++bit)
        result[q] *= one_level[(q >> (4 + bit) & 1) * 2 + (q >> bit & 1)];
    }
    return result;
  }

  int scale_;
  AliasTable four_levels_;
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
      src[e] = static_cast<int32_t>(edge.src);
      dst[e] = static_cast<int32_t>(edge.dst);
    }
    for (int64_t e = begin; e < end; ++e) {  // a loop of its own: many cache misses at once
      src[e] = names[static_cast<size_t>(src[e])];
      dst[e] = names[static_cast<size_t>(dst[e])];
    }
  });
}

Csc draw_topology(const RmatOptions& o, int threads) {
  const int64_t num_nodes = int64_t{1} << o.scale, num_edges = num_nodes * o.edge_factor;
  Array src = allocate(DType::kInt32, {num_edges});
  Array dst = allocate(DType::kInt32, {num_edges});
  draw_edges(o, threads, num_edges, static_cast<int32_t*>(src.data),
             static_cast<int32_t*>(dst.data));
  return build_csc(std::move(src), std::move(dst), num_nodes, num_nodes,
                   {.undirected = true, .edge_ids = false, .threads = threads});
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
  if (options.feature_width > 0) {
    Array features =
        allocate(DType::kFloat32, {int64_t{1} << options.scale, options.feature_width});
    const auto floats = static_cast<size_t>(features.bytes()) / sizeof(float);
    rmat_features(options, 0, {static_cast<float*>(features.data), floats}, threads);
    contents.arrays.emplace_back("node/node/feat", std::move(features));
  }
  contents.arrays.emplace_back("split/train/node", std::move(train));
  return contents;
}

void rmat_features(const RmatOptions& options,
                   int64_t first_row,
                   std::span<float> out,
                   int threads) {
  check(options);
  const int64_t width = options.feature_width;
  const int64_t num_rows = width == 0 ? 0 : std::ssize(out) / width;
  require(num_rows * width == std::ssize(out), out.size(), " floats are no rows of ", width);
  const int64_t num_nodes = int64_t{1} << options.scale;
  require(first_row >= 0 && first_row <= num_nodes - num_rows, "rows ", first_row, " to ",
          first_row + num_rows, " of ", num_nodes);
  const uint64_t key = purpose_key(options.seed, kNoise);
  parallel_for(num_rows, kRowGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const uint64_t row_key = absorb(key, static_cast<uint64_t>(first_row + r));
      for (int64_t j = 0; j < width; ++j)
        out[static_cast<size_t>(r * width + j)] = noise(absorb(row_key, static_cast<uint64_t>(j)));
    }
  });
}

}  // namespace ramet
