// The mean over a block's edges, and its gradient, one thread and two. Forward beside
//   read     a load from every line of the same rows, edge by edge, with prefetch: nothing is added
//            up, and nothing written;
//   naive    a loop over edges and columns, which adds rows to the output's.
// Backward, from edges that are not transposed yet, beside
//   scatter  a loop over edges and columns, which adds gradients to the rows of sources;
//   forward  the mean itself.
// A block as that of the farthest hop of 1024 seeds of a products-like graph, fanout 10: 130,000
// destinations, 540,000 sources, numbered in the order of first occurrence; in proportion where
// rows of sources would be above 640 MB.
#include <algorithm>
#include <cstring>
#include <span>

#include "base/parallel.h"
#include "cases.h"
#include "memory.h"
#include "ramet/aggregate.h"
#include "ramet/random.h"

namespace ramet::bench {
namespace {

constexpr int64_t kFanout = 10, kLine = 64;
constexpr int64_t kMostBytes = 640'000'000;
constexpr double kNew = 0.315;  // of edges: whose source is a new one

// Edges, and memory for rows of any width.
struct Case {
  int64_t width = 0, num_dst = 0, num_src = 0;
  std::vector<int64_t> indptr;
  std::vector<int32_t> indices;
  HugeBuffer x, out, grad, back;

  explicit Case(size_t most_bytes)
      : x(most_bytes), out(most_bytes / 3), grad(most_bytes / 3), back(most_bytes) {
    std::fill_n(x.as<float>(), x.bytes() / sizeof(float), 0.5F);
    std::fill_n(grad.as<float>(), grad.bytes() / sizeof(float), 0.5F);
  }

  void prepare(int64_t columns, int64_t destinations) {
    width = columns;
    if (num_dst == destinations) return;
    num_dst = destinations;
    indptr = {0};
    indices.clear();
    num_src = pick_sources();
  }

  int64_t pick_sources() {
    auto found = static_cast<uint64_t>(num_dst);
    for (int64_t d = 0; d < num_dst; ++d) {
      for (int64_t i = 0; i < kFanout; ++i) {
        const uint64_t word = mix64(indices.size());
        const bool is_new = static_cast<double>(word >> 11) * 0x1p-53 < kNew;
        const uint64_t source = is_new ? found++ : uniform_below(mix64(word), found);
        indices.push_back(static_cast<int32_t>(source));
      }
      indptr.push_back(std::ssize(indices));
    }
    return static_cast<int64_t>(found);
  }

  [[nodiscard]] Array rows(const HugeBuffer& buffer, int64_t count) const {
    return {buffer.as(), DType::kFloat32, {count, width}, nullptr, true};
  }
  [[nodiscard]] std::shared_ptr<const BlockEdges> edges() const {
    return BlockEdges::trusted(borrow(std::span(indptr)), borrow(std::span(indices)), num_src);
  }
};

void forward(const Case& c, int threads) {
  aggregate(*c.edges(), c.rows(c.x, c.num_src), c.rows(c.out, c.num_dst),
            {.reduce = Reduce::kMean, .threads = threads});
}

void backward(const Case& c, int threads) {
  aggregate_back(*c.edges(), c.rows(c.grad, c.num_dst), c.rows(c.back, c.num_src),
                 {.reduce = Reduce::kMean, .threads = threads});
}

void read(const Case& c, int threads) {
  const int64_t row_bytes = c.width * int64_t{sizeof(float)}, edges = std::ssize(c.indices);
  const int64_t ahead = std::clamp<int64_t>((8 << 10) / row_bytes, 4, 32);
  parallel_for(edges, 8192, threads, [&](int64_t begin, int64_t end) {
    uint64_t sum = 0;
    for (int64_t e = begin; e < end; ++e) {
      const int64_t next = c.indices[static_cast<size_t>(std::min(e + ahead, edges - 1))];
      const char* coming = c.x.as() + next * row_bytes;
      const char* row = c.x.as() + c.indices[static_cast<size_t>(e)] * row_bytes;
      for (int64_t b = 0; b < row_bytes; b += kLine) {
        __builtin_prefetch(coming + b);
        uint64_t word;
        std::memcpy(&word, row + b, sizeof word);
        sum += word;
      }
    }
    benchmark::DoNotOptimize(sum);
  });
}

void add_naively(const Case& c) {
  const auto* x = c.x.as<float>();
  auto* out = c.out.as<float>();
  const int64_t width = c.width;
  for (size_t d = 0; d < static_cast<size_t>(c.num_dst); ++d) {
    float* sum = out + static_cast<int64_t>(d) * width;
    std::fill_n(sum, width, 0.0F);
    for (int64_t e = c.indptr[d]; e < c.indptr[d + 1]; ++e) {
      const float* row = x + c.indices[static_cast<size_t>(e)] * width;
      for (int64_t i = 0; i < width; ++i)
        sum[i] += row[i];
    }
    const auto count = static_cast<float>(c.indptr[d + 1] - c.indptr[d]);
    for (int64_t i = 0; i < width; ++i)
      sum[i] /= count;
  }
}

void scatter(const Case& c) {
  const auto* grad = c.grad.as<float>();
  auto* back = c.back.as<float>();
  const int64_t width = c.width;
  std::fill_n(back, c.num_src * width, 0.0F);
  for (size_t d = 0; d < static_cast<size_t>(c.num_dst); ++d) {
    const float* row = grad + static_cast<int64_t>(d) * width;
    const float part = 1 / static_cast<float>(c.indptr[d + 1] - c.indptr[d]);
    for (int64_t e = c.indptr[d]; e < c.indptr[d + 1]; ++e) {
      float* sum = back + c.indices[static_cast<size_t>(e)] * width;
      for (int64_t i = 0; i < width; ++i)
        sum[i] += part * row[i];
    }
  }
}

}  // namespace

void add_aggregate(const Options& options) {
  const auto kept = std::make_shared<std::unique_ptr<Case>>();
  for (const int64_t width : {32, 64, 128, 256, 512, 1024}) {
    const int64_t most = kMostBytes / (width * int64_t{sizeof(float)}) * 13 / 54;
    const int64_t num_dst = options.small ? 300 : std::min<int64_t>(130'000, most);
    const auto make = [kept, width, num_dst, small = options.small]() -> const Case& {
      if (!*kept)
        *kept = std::make_unique<Case>(static_cast<size_t>(small ? kMostBytes / 40 : kMostBytes));
      (*kept)->prepare(width, num_dst);
      return **kept;
    };
    const auto variant = [&](const std::string& of, const std::string& called, auto body) {
      const std::string name = "aggregate/" + of + ", D = " + std::to_string(width);
      add(name, called, [=](benchmark::State& run) {
        const Case& c = make();
        for (auto _ : run) {
          body(c);
          benchmark::ClobberMemory();
        }
        run.SetItemsProcessed(run.iterations() * std::ssize(c.indices));
      });
    };
    for (const int threads : {1, 2}) {
      const std::string of = threads == 1 ? "" : ", 2 threads";
      variant("mean", "ramet" + of, [=](const Case& c) { forward(c, threads); });
      variant("mean", "read" + of, [=](const Case& c) { read(c, threads); });
      variant("gradient", "ramet" + of, [=](const Case& c) { backward(c, threads); });
    }
    variant("mean", "naive", add_naively);
    variant("gradient", "scatter", scatter);
    variant("gradient", "forward", [](const Case& c) { forward(c, 1); });
  }
}

}  // namespace ramet::bench
