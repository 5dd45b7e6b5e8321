// build_csc beside a plain stable counting sort of the same edges. R-MAT edges
// (Chakrabarti, Zhan, Faloutsos 2004) with the parameters of Graph500, edges per second.
#include <memory>

#include "cases.h"
#include "ramet/csc.h"
#include "ramet/random.h"

namespace ramet::bench {
namespace {

struct Edges {
  std::vector<int32_t> src, dst;
  int64_t num_nodes;
};

// One byte of a random word says which quarter of the matrix an edge goes to at a level.
Edges make_edges(int scale, int64_t count) {
  Edges edges{std::vector<int32_t>(static_cast<size_t>(count)),
              std::vector<int32_t>(static_cast<size_t>(count)), int64_t{1} << scale};
  for (size_t e = 0; e < static_cast<size_t>(count); ++e) {
    int32_t src = 0, dst = 0;
    uint64_t word = 0;
    for (int level = 0; level < scale; ++level) {
      word = level % 8 == 0 ? absorb(e, static_cast<uint64_t>(level)) : word >> 8;
      const auto byte = static_cast<int>(word & 255);  // 0.57, 0.19, 0.19, 0.05 of 256
      src = 2 * src + (byte >= 195);
      dst = 2 * dst + ((byte >= 146 && byte < 195) || byte >= 243);
    }
    edges.src[e] = src;
    edges.dst[e] = dst;
  }
  return edges;
}

void count_and_scatter(const Edges& edges) {
  std::vector<int64_t> next(static_cast<size_t>(edges.num_nodes) + 1);
  const std::unique_ptr<int32_t[]> indices(new int32_t[edges.src.size()]);
  for (const int32_t dst : edges.dst)
    ++next[static_cast<size_t>(dst) + 1];
  for (size_t v = 1; v < next.size(); ++v)
    next[v] += next[v - 1];
  for (size_t e = 0; e < edges.src.size(); ++e)
    indices[static_cast<size_t>(next[static_cast<size_t>(edges.dst[e])]++)] = edges.src[e];
  benchmark::DoNotOptimize(indices.get());
  benchmark::ClobberMemory();
}

void build(const Edges& edges, int threads) {
  const auto src = borrow(std::span<const int32_t>(edges.src));
  const auto dst = borrow(std::span<const int32_t>(edges.dst));
  const CscOptions options{.edge_ids = false, .threads = threads};
  benchmark::DoNotOptimize(build_csc(src, dst, edges.num_nodes, edges.num_nodes, options));
}

}  // namespace

void add_csc(const Options& options) {
  const int scale = options.small ? 12 : 22;
  const int64_t count = int64_t{8} << scale;
  const auto shared = std::make_shared<std::unique_ptr<Edges>>();
  const auto variant = [&](const std::string& called, auto body) {
    add("csc/R-MAT " + std::to_string(scale), called, [=](benchmark::State& state) {
      if (!*shared) *shared = std::make_unique<Edges>(make_edges(scale, count));
      for (auto _ : state)
        body(**shared);
      state.SetItemsProcessed(state.iterations() * count);
    });
  };
  variant("ramet", [](const Edges& edges) { build(edges, 1); });
  variant("ramet, 2 threads", [](const Edges& edges) { build(edges, 2); });
  variant("counting sort", count_and_scatter);
}

}  // namespace ramet::bench
