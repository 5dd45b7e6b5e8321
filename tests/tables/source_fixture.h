// A table of half precision, and what every source of rows promises of a table.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "ramet/random.h"
#include "support/ids.h"
#include "tables/row_source.h"

namespace ramet::test {

inline Table half_table(int64_t num_rows) {
  constexpr int64_t kColumns = 5;
  Array rows = BufferPool::create()->allocate_array(DType::kFloat16, {num_rows, kColumns});
  auto* word = static_cast<uint16_t*>(rows.data);
  for (int64_t i = 0; i < num_rows * kColumns; ++i)
    word[i] = static_cast<uint16_t>(mix64(static_cast<uint64_t>(i)) & 0x3bff);
  return Table(rows, "half");
}

inline void require_equal(const Array& expected, const Array& got) {
  REQUIRE(got.dtype == expected.dtype);
  REQUIRE(got.shape == expected.shape);
  REQUIRE(std::memcmp(got.data, expected.data, static_cast<size_t>(expected.bytes())) == 0);
}

// Of four reads that are outstanding together one is dropped, and the others are completed in
// another order.
inline void check_outstanding(const RowSource& source, const Table& table, uint64_t rounds) {
  const ReadContext context{.pool = BufferPool::create()};
  const bool decode = source.form().dtype == DType::kFloat32;
  for (uint64_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<int64_t>> ids;
    std::vector<std::unique_ptr<RowRead>> reads;
    for (uint64_t i = 0; i < 4; ++i) {
      const uint64_t key = 10 * round + i;
      ids.push_back(drawn_ids(static_cast<int64_t>(1 + mix64(key) % 40), table.rows().rows(), key));
    }
    for (const auto& some : ids)
      reads.push_back(source.submit(borrow(some), context));
    reads[round % 4].reset();
    for (size_t k = 0; k < 4; ++k) {
      const size_t i = (3 * k + round) % 4;
      if (reads[i] == nullptr) continue;
      const GatheredRows got = reads[i]->complete();
      require_equal(decode ? table.gather_float32(ids[i]) : table.gather(ids[i]), got.rows);
    }
  }
}

}  // namespace ramet::test
