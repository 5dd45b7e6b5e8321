#include "ramet/whole_table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ramet/error.h"
#include "support/errors.h"
#include "support/ids.h"
#include "support/store_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kHuge = int64_t{1} << 21;

Array view(std::vector<int64_t>& values, bool writable = false) {
  Array array = borrow(values);
  array.writable = writable;
  return array;
}

std::vector<int64_t> all_ids(int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// An array of its own, of zeros.
Array zeros(DType dtype, std::vector<int64_t> shape) {
  Array array{.dtype = dtype, .shape = std::move(shape), .owner = nullptr, .writable = true};
  const auto memory = std::make_shared<std::vector<char>>(static_cast<size_t>(array.bytes()));
  array.data = memory->data();
  array.owner = memory;
  return array;
}

RowPositions strided_positions(const Ownership& owners, int64_t stride) {
  if (owners.is_ranges()) return RowPositions::strided(owners, stride);
  const Array map = zeros(map_dtype(owners, stride), {owners.num_nodes()});
  write_map(owners, stride, map);
  return RowPositions::strided(owners, stride, map);
}

Ownership random_ranges(std::mt19937& random, int64_t rows, int64_t parts) {
  std::vector<int64_t> bounds{0, rows};
  for (int64_t part = 1; part < parts; ++part)
    bounds.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1)));
  std::sort(bounds.begin(), bounds.end());
  return Ownership::ranges(view(bounds));
}

Ownership random_vector(std::mt19937& random, int64_t rows, int64_t parts) {
  const Array owners = zeros(DType::kUInt16, {rows});
  for (int64_t id = 0; id < rows; ++id)
    static_cast<uint16_t*>(owners.data)[id] =
        static_cast<uint16_t>(random() % static_cast<uint64_t>(parts) / 2 * 2);
  return Ownership::by_vector(owners, parts);
}

// Row by row: a row's position is where its owner's rows begin, plus how many of these come before.
void check_strided(const Ownership& owners, int64_t stride) {
  const RowPositions positions = strided_positions(owners, stride);
  std::vector<std::vector<int64_t>> owned(static_cast<size_t>(owners.parts()));
  std::vector<int64_t> expected;
  for (int64_t id = 0; id < owners.num_nodes(); ++id) {
    auto& rows = owned[static_cast<size_t>(owners.owner(id))];
    expected.push_back(owners.owner(id) * stride + std::ssize(rows));
    rows.push_back(id);
  }
  CHECK(positions.num_rows() == owners.num_nodes());
  CHECK(positions.num_positions() == stride * owners.parts());
  CHECK_FALSE(positions.is_dense());
  for (const int threads : {1, 3}) {
    std::vector<int64_t> found(expected.size());
    positions.look_up(all_ids(owners.num_nodes()), found.data(), threads);
    CHECK(found == expected);
  }
  for (int64_t part = 0; part < owners.parts(); ++part) {
    const auto& rows = owned[static_cast<size_t>(part)];
    CHECK(positions.positions_of(part).begin == part * stride);
    CHECK(positions.positions_of(part).size() == std::ssize(rows));
    CHECK(numbers(positions.owned(part)) == rows);
  }
}

}  // namespace

TEST_CASE("rows of every kind of owners have their positions in the order of their ids") {
  std::mt19937 random(1);
  for (const int64_t parts : {1, 2, 3, 5, 40}) {
    for (const int64_t rows : {0, 1, 1000, 70'001}) {
      CAPTURE(parts);
      CAPTURE(rows);
      for (const int64_t stride : {std::max<int64_t>(rows, 1), kHuge, int64_t{1} << 36}) {
        check_strided(random_ranges(random, rows, parts), stride);
        check_strided(Ownership::hashed("node", rows, parts), stride);
        check_strided(random_vector(random, rows, parts), stride);
      }
    }
  }
}

TEST_CASE("dense positions are the ids") {
  std::mt19937 random(2);
  const Ownership owners = random_ranges(random, 5000, 4);
  const RowPositions positions = RowPositions::dense(owners);
  CHECK(positions.is_dense());
  CHECK(positions.num_positions() == 5000);
  std::vector<int64_t> found(5000);
  positions.look_up(all_ids(5000), found.data(), 2);
  CHECK(found == all_ids(5000));
  int64_t end = 0;
  for (int64_t part = 0; part < 4; ++part) {
    CHECK(positions.positions_of(part).begin == end);
    end = positions.positions_of(part).end;
    CHECK(positions.owned(part).rows() == positions.positions_of(part).size());
  }
  CHECK(end == 5000);
  CHECK_THROWS_AS(RowPositions::dense(Ownership::hashed("node", 10, 2)), Error);
}

TEST_CASE("pieces begin at huge pages, or at pages where huge ones would take all addresses") {
  std::vector<int64_t> bounds{0, kHuge + 1, kHuge + 2};
  const Ownership owners = Ownership::ranges(view(bounds));
  CHECK(stride_of(owners, 0) == 2 * kHuge);
  CHECK(stride_of(owners, 512) == 2 * kHuge);
  CHECK(stride_of(owners, int64_t{1} << 22) == kHuge + 4096);
  CHECK(map_dtype(owners, kHuge) == DType::kInt32);
  CHECK(map_dtype(owners, int64_t{1} << 30) == DType::kInt64);
}

TEST_CASE("ids, parts, strides and maps that do not fit are Errors") {
  const Ownership owners = Ownership::hashed("node", 10'000, 2);
  const RowPositions positions = strided_positions(owners, 8000);
  std::vector<int64_t> ids = all_ids(10'000), found(ids.size());
  for (const int64_t bad : {-1, 10'000}) {
    ids[7003] = bad;
    check_throws(ErrorCode::kOutOfRange, {"ids[7003] = " + std::to_string(bad), "the 10000 rows"},
                 [&] { positions.look_up(ids, found.data(), 2); });
  }
  check_throws(ErrorCode::kOutOfRange, {"part is 2"}, [&] { return positions.positions_of(2); });
  check_throws(ErrorCode::kInvalidArgument, {"stride of 10"},
               [&] { strided_positions(owners, 10); });
  check_throws(ErrorCode::kInvalidArgument, {"int32[10000]"},
               [&] { return RowPositions::strided(owners, 8000, zeros(DType::kInt64, {10'000})); });
  check_throws(ErrorCode::kInvalidArgument, {"3 rows for 16000 positions"},
               [&] { WholeTable(Table(zeros(DType::kInt8, {3, 1})), positions); });
}

TEST_CASE("a whole table gathers, sets and sums rows by id") {
  const Ownership owners = Ownership::hashed("node", 500, 3);
  const WholeTable table(Table(zeros(DType::kFloat32, {3 * 300, 2})),
                         strided_positions(owners, 300));
  const std::vector<int64_t> ids = all_ids(500);
  const Array rows = zeros(DType::kFloat32, {500, 2});
  for (int64_t i = 0; i < 1000; ++i)
    static_cast<float*>(rows.data)[i] = static_cast<float>(i);
  table.set_rows(ids, rows, 2);
  table.sum_rows(ids, rows, 2);
  const auto values = [](const Array& array) {
    return std::vector<float>(array.as<float>().begin(), array.as<float>().end());
  };
  std::vector<float> expected = values(rows);
  for (float& value : expected)
    value *= 2;
  CHECK(values(table.gather(ids, 2)) == expected);
  CHECK(values(table.gather_float32(ids)) == expected);
  for (int64_t part = 0; part < 3; ++part) {
    const Array own = table.positions().owned(part), piece = table.piece(part);
    CHECK(values(table.gather(own.as<int64_t>())) == values(piece));
  }
}

TEST_CASE("a gather of a whole table names the id as it was given, and decodes as a table") {
  const Ownership owners = Ownership::hashed("node", 9000, 3);
  const RowPositions positions = strided_positions(owners, 4000);
  const Array rows = zeros(DType::kBFloat16, {12'000, 1});
  for (int64_t position = 0; position < 12'000; ++position)
    static_cast<uint16_t*>(rows.data)[position] = static_cast<uint16_t>(position);
  const WholeTable table(Table(rows), positions);
  std::vector<int64_t> ids = all_ids(9000), found(ids.size());
  positions.look_up(ids, found.data());
  const Array decoded = table.gather_float32(ids, 2), expected = Table(rows).gather_float32(found);
  CHECK(std::memcmp(decoded.data, expected.data, 9000 * sizeof(float)) == 0);
  ids[8003] = 9000;
  const std::vector<std::string> words{"ids[8003] = 9000", "the 9000 rows"};
  check_throws(ErrorCode::kOutOfRange, words, [&] { return table.gather(ids, 2); });
  check_throws(ErrorCode::kOutOfRange, words, [&] { return table.gather_float32(ids); });
}
