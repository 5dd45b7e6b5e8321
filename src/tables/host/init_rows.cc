#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dependent_lanes.h"
#include "base/lanes_scalar.h"
#include "base/narrow.h"
#include "base/parallel.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "ramet/table_rows.h"
#include "tables/device/staged.h"

namespace ramet {
namespace {

constexpr int64_t kValuesOfChunk = int64_t{1} << 16;
constexpr int64_t kStagedBytes = int64_t{16} << 20;

// In [0, 1).
double uniform_of(uint32_t r) {
  return (r >> 8) * 0x1p-24;
}

// Of the middle of the interval of words that begin with `r`.
double normal_of(uint32_t r) {
  return normal_of_word<Scalar>(uint64_t{r} << 32 | uint64_t{1} << 31);
}

// A word decides about two columns: its low half about the even one.
template <typename Value>
void fill_row(uint64_t row_key, int64_t width, float* out, Value value) {
  uint64_t word = 0;
  for (int64_t column = 0; column < width; ++column) {
    word = column % 2 == 0 ? absorb(row_key, static_cast<uint64_t>(column) / 2) : word >> 32;
    out[column] = static_cast<float>(value(static_cast<uint32_t>(word)));
  }
}

// Of a device: made on the host, a few megabytes at a time, and copied.
template <typename FillRows>
void init_staged(const Array& rows, int64_t grain, int threads, const FillRows& fill_rows) {
  const int64_t row_bytes = rows.row_bytes();
  if (row_bytes == 0) return;
  const int64_t step = std::max(kStagedBytes / row_bytes, grain);
  std::vector<char> staged;
  for (int64_t first = 0; first < rows.rows(); first += step) {
    Array some = rows;
    some.shape[0] = std::min(step, rows.rows() - first);
    some.data = static_cast<char*>(rows.data) + first * row_bytes;
    staged.resize(static_cast<size_t>(some.bytes()));
    parallel_for(some.rows(), grain, threads, [&](int64_t begin, int64_t end) {
      fill_rows(first + begin, first + end, staged.data() + begin * row_bytes);
    });
    copy_staged(some, staged.data());
  }
}

}  // namespace

void init_rows(const Array& rows,
               Distribution distribution,
               uint64_t seed,
               std::span<const int64_t> ids,
               int64_t num_rows,
               int threads) {
  if (rows.dtype != DType::kFloat32 && rows.dtype != DType::kFloat16 &&
      rows.dtype != DType::kBFloat16)
    throw_invalid("random values for ", rows.describe(),
                  "; float32, float16 and bfloat16 have them");
  if (!rows.writable) throw_invalid("the table is read-only");
  if (rows.rows() != std::ssize(ids)) throw_invalid(rows.rows(), " rows for ", ids.size(), " ids");
  const int64_t row_bytes = rows.row_bytes(), width = row_bytes / item_size(rows.dtype);
  const double bound = std::sqrt(6.0 / static_cast<double>(num_rows + width));
  const uint64_t key = absorb(absorb(static_cast<uint64_t>(Domain::kInit), seed),
                              static_cast<uint64_t>(distribution));
  const auto fill = [&](uint64_t row_key, float* out) {
    switch (distribution) {
      case Distribution::kNormal:
        return fill_row(row_key, width, out, normal_of);
      case Distribution::kUniform:
        return fill_row(row_key, width, out, uniform_of);
      case Distribution::kXavier:
        return fill_row(row_key, width, out,
                        [bound](uint32_t r) { return bound * (2 * uniform_of(r) - 1); });
    }
  };
  const auto fill_rows = [&](int64_t begin, int64_t end, char* out) {
    std::vector<float> values(static_cast<size_t>(width));
    for (int64_t i = begin; i < end; ++i) {
      fill(absorb(key, static_cast<uint64_t>(ids[static_cast<size_t>(i)])), values.data());
      narrow_row(values.data(), width, rows.dtype, out + (i - begin) * row_bytes);
    }
  };
  const int64_t grain = kValuesOfChunk / std::max<int64_t>(width, 1) + 1;
  if (rows.device != kHost) return init_staged(rows, grain, threads, fill_rows);
  parallel_for(rows.rows(), grain, threads, [&](int64_t begin, int64_t end) {
    fill_rows(begin, end, static_cast<char*>(rows.data) + begin * row_bytes);
  });
}

}  // namespace ramet
