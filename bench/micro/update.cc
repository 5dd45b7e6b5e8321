// A sparse optimizer's step, one thread and two, beside
//   traffic   its memory traffic alone: the same rows of weights and state are read and written, in
//             ascending order, and the rows of the gradient are read. Which rows these are is known
//             in advance, and next rows are prefetched.
// 200,000 distinct rows of a table of a million rows of 128 float32. Adam touches 7 rows for each,
// AdaGrad 5, SGD 3.
#include <algorithm>
#include <deque>
#include <numeric>
#include <span>

#include "base/parallel.h"
#include "cases.h"
#include "memory.h"
#include "ramet/optimizer.h"
#include "ramet/random.h"

namespace ramet::bench {
namespace {

constexpr int64_t kWidth = 128, kRowBytes = kWidth * int64_t{sizeof(float)}, kLine = 64;
constexpr int64_t kAhead = 4;     // rows
constexpr int64_t kGrain = 1024;  // rows

struct Sizes {
  int64_t rows, updated;
};

struct Position {
  int64_t row, position;
};

// Weights, state and gradients of all cases.
struct Rows {
  Sizes sizes;
  std::deque<HugeBuffer> tables;  // weights, then state
  HugeBuffer gradients;
  std::vector<int64_t> ids;
  std::vector<Position> sorted;  // by row

  explicit Rows(Sizes of)
      : sizes(of), gradients(static_cast<size_t>(of.updated * kRowBytes)), ids(all_rows(of.rows)) {
    for (uint64_t i = 0; i < static_cast<uint64_t>(of.updated); ++i) {
      const uint64_t left = ids.size() - i;
      std::swap(ids[i], ids[i + uniform_below(mix64(i), left)]);
    }
    ids.resize(static_cast<size_t>(of.updated));
    for (size_t i = 0; i < ids.size(); ++i)
      sorted.push_back({ids[i], static_cast<int64_t>(i)});
    std::ranges::sort(sorted, {}, &Position::row);
    std::fill_n(gradients.as<float>(), of.updated * kWidth, 0.01F);
    for (int i = 0; i < 3; ++i)
      tables.emplace_back(static_cast<size_t>(of.rows * kRowBytes));
  }

  static std::vector<int64_t> all_rows(int64_t rows) {
    std::vector<int64_t> all(static_cast<size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  [[nodiscard]] Array table(size_t i) const {
    return {tables[i].as(), DType::kFloat32, {sizes.rows, kWidth}, nullptr, true};
  }
};

void step(const Rows& rows, const Optimizer& optimizer, int threads) {
  const size_t num_state = state_of(optimizer).size();
  const Array state[] = {rows.table(1), rows.table(2)};
  const Array gradients{
      rows.gradients.as(), DType::kFloat32, {rows.sizes.updated, kWidth}, nullptr, false};
  const RowList list{rows.ids, gradients};
  apply_gradients({.optimizer = optimizer}, rows.table(0), std::span(state).first(num_state),
                  std::span(&list, 1), 0, rows.sizes.rows, threads);
}

void touch(const Rows& rows, size_t num_tables, int threads) {
  const auto row_of = [&](size_t table, int64_t row) {
    return rows.tables[table].as<float>() + row * kWidth;
  };
  const auto* gradients = rows.gradients.as<float>();
  parallel_for(rows.sizes.updated, kGrain, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto [ahead, at] = rows.sorted[static_cast<size_t>(std::min(i + kAhead, end - 1))];
      for (int64_t b = 0; b < kWidth; b += kLine / int64_t{sizeof(float)}) {
        __builtin_prefetch(gradients + at * kWidth + b);
        for (size_t t = 0; t < num_tables; ++t)
          __builtin_prefetch(row_of(t, ahead) + b, 1);
      }
      const auto [row, position] = rows.sorted[static_cast<size_t>(i)];
      const float* gradient = gradients + position * kWidth;
      for (size_t t = 0; t < num_tables; ++t) {
        float* values = row_of(t, row);
        for (int64_t c = 0; c < kWidth; ++c)
          values[c] += gradient[c];
      }
    }
  });
}

}  // namespace

void add_update(const Options& options) {
  const Sizes sizes = options.small ? Sizes{10'000, 2'000} : Sizes{1'000'000, 200'000};
  const auto shared = std::make_shared<std::unique_ptr<Rows>>();
  const auto make = [shared, sizes]() -> Rows& {
    if (!*shared) *shared = std::make_unique<Rows>(sizes);
    return **shared;
  };
  const std::pair<const char*, Optimizer> optimizers[] = {
      {"SGD", Sgd{.learning_rate = 1e-3}},
      {"AdaGrad", AdaGrad{.learning_rate = 1e-3}},
      {"Adam", Adam{.learning_rate = 1e-3, .steps = Steps::kAll}},
  };
  for (size_t state = 0; const auto& [name, optimizer] : optimizers) {
    const auto variant = [&](const std::string& called, auto body) {
      add(std::string("update/") + name, called, [=](benchmark::State& run) {
        const Rows& rows = make();
        for (auto _ : run) {
          body(rows);
          benchmark::ClobberMemory();
        }
        run.SetItemsProcessed(run.iterations() * sizes.updated);
      });
    };
    for (const int threads : {1, 2}) {
      const std::string of = threads == 1 ? "" : ", 2 threads";
      variant("ramet" + of, [=, o = optimizer](const Rows& rows) { step(rows, o, threads); });
      variant("traffic" + of, [=](const Rows& rows) { touch(rows, state + 1, threads); });
    }
    ++state;
  }
}

}  // namespace ramet::bench
