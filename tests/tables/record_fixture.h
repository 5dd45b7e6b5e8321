// A table of records on a disk beside a map of them, and what is done to both.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "ramet/record_table.h"
#include "support/row_reader_fixture.h"

namespace ramet::test {

using Ids = std::vector<int64_t>;

constexpr int64_t kRecords = 300,
                  kRecordWidth = 70;  // 280 bytes: a record of two blocks with its state

inline RecordTableOptions options_in(const std::string& folder, int64_t cache_rows) {
  return {.folder = folder,
          .cache_rows = cache_rows,
          .init = {.distribution = Distribution::kNormal, .seed = 7}};
}

inline std::vector<RecordColumn> state_columns() {
  return {{DType::kFloat32, {kRecordWidth}}, {DType::kInt32, {}}};
}

inline std::vector<float> initial_row(int64_t id) {
  std::vector<float> row(kRecordWidth);
  Array rows{row.data(), DType::kFloat32, {1, kRecordWidth}, nullptr, true};
  init_rows(rows, Distribution::kNormal, 7, std::span(&id, 1), kRecords);
  return row;
}

// What a slow table has, and what an update does to a row.
struct TwinRow {
  std::vector<float> weights, moments;
  int32_t steps = 0;

  explicit TwinRow(int64_t id) : weights(initial_row(id)), moments(kRecordWidth) {}
  void update(float by) {
    ++steps;
    for (size_t i = 0; i < weights.size(); ++i) {
      moments[i] = moments[i] / 2 + by + static_cast<float>(i);
      weights[i] += moments[i] * static_cast<float>(steps);
    }
  }
};

class RecordTwin {
 public:
  TwinRow& operator[](int64_t id) { return rows_.try_emplace(id, id).first->second; }

 private:
  std::map<int64_t, TwinRow> rows_;
};

inline void check_gather(RecordTable& table, RecordTwin& twin, const Ids& ids, int threads = 2) {
  const Array rows = table.gather(ids, threads);
  REQUIRE(rows.shape == std::vector<int64_t>{std::ssize(ids), kRecordWidth});
  for (size_t i = 0; i < ids.size(); ++i)
    REQUIRE(std::memcmp(rows.as<float>().data() + i * kRecordWidth, twin[ids[i]].weights.data(),
                        kRecordWidth * sizeof(float)) == 0);
}

inline Ids from_to(int64_t begin, int64_t end) {
  Ids ids(static_cast<size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

inline void check_all(RecordTable& table, RecordTwin& twin, const Ids& ids) {
  const std::vector<Array> columns = table.read(ids);
  REQUIRE(columns.size() == 3);
  for (size_t at = 0; at < ids.size(); ++at) {
    const TwinRow& expected = twin[ids[at]];
    const auto same = [&](const Array& array, const std::vector<float>& values) {
      return std::memcmp(array.as<float>().data() + at * kRecordWidth, values.data(),
                         kRecordWidth * sizeof(float)) == 0;
    };
    REQUIRE(same(columns[0], expected.weights));
    REQUIRE(same(columns[1], expected.moments));
    REQUIRE(columns[2].as<int32_t>()[at] == expected.steps);
  }
}

// Each row once, in the table and in the twin.
inline void update_both(RecordTable& table, RecordTwin& twin, const Ids& ids, float by) {
  const std::span<const int64_t> list(ids);
  table.update(std::span(&list, 1), [&](const HeldRecords& held) {
    std::map<int64_t, int64_t> slots;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t slot = held.slots[0][i];
      REQUIRE(held.row_ids.as<int64_t>()[static_cast<size_t>(slot)] == ids[i]);
      slots[ids[i]] = slot;
    }
    for (const auto& [id, slot] : slots) {
      auto* weights = static_cast<float*>(held.columns[0].data) + slot * kRecordWidth;
      auto* moments = static_cast<float*>(held.columns[1].data) + slot * kRecordWidth;
      const int32_t steps = ++static_cast<int32_t*>(held.columns[2].data)[slot];
      for (size_t i = 0; i < kRecordWidth; ++i) {
        moments[i] = moments[i] / 2 + by + static_cast<float>(i);
        weights[i] += moments[i] * static_cast<float>(steps);
      }
      twin[id].update(by);
    }
  });
}

// Sets rows to those of a table of other values.
inline void write_both(RecordTable& table, RecordTwin& twin, const Ids& ids, float by) {
  for (const int64_t id : ids)
    twin[id].update(by);
  std::vector<Array> columns = table.read(ids);
  for (int64_t at = 0; at < std::ssize(ids); ++at) {
    const TwinRow& of = twin[ids[static_cast<size_t>(at)]];
    std::copy(of.weights.begin(), of.weights.end(),
              static_cast<float*>(columns[0].data) + at * kRecordWidth);
    std::copy(of.moments.begin(), of.moments.end(),
              static_cast<float*>(columns[1].data) + at * kRecordWidth);
    static_cast<int32_t*>(columns[2].data)[at] = of.steps;
  }
  table.write(ids, columns);
}

inline Ids batch(uint64_t key, size_t count = 25) {
  Ids ids = drawn_ids(static_cast<int64_t>(count), kRecords, key);
  for (size_t i = 0; i < ids.size(); i += 3)
    ids[i] = ids[i] % 20;  // some are used often
  return ids;
}

inline Array borrowed(const Ids& ids) {
  return borrow(ids);
}

}  // namespace ramet::test
