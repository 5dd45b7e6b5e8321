// Memory of a device that two processes map: docs/tables.md, "Tables on devices".
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "cuda/rows_fixture.h"
#include "ramet/device_pieces.h"
#include "support/errors.h"

namespace ramet::test {
namespace {

std::vector<int32_t> numbers(int32_t first, size_t count) {
  std::vector<int32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

void write(void* at, const std::vector<int32_t>& values) {
  runtime().copy(0, at, values.data(), long(values.size() * 4), nullptr);
  runtime().synchronize(0, nullptr);
}

std::vector<int32_t> read(const void* at, size_t count) {
  std::vector<int32_t> values(count);
  runtime().copy(0, values.data(), at, long(count * 4), nullptr);
  runtime().synchronize(0, nullptr);
  return values;
}

char* at(const std::shared_ptr<void>& range, int64_t offset) {
  return static_cast<char*>(range.get()) + offset;
}

TEST_CASE("pieces lie side by side in one range, and begin with zeros") {
  const int64_t unit = DevicePiece::unit(0);
  const PlacedPiece pieces[] = {{DevicePiece::create(0, unit), 0},
                                {DevicePiece::create(0, 0), unit},
                                {DevicePiece::create(0, 2 * unit), unit}};
  const auto range = map_on_device(pieces, 3 * unit - 100, 0);
  CHECK(read(at(range, unit - 8), 4) == std::vector<int32_t>(4));
  write(at(range, unit - 8), numbers(1, 4));  // over the end of one piece
  const auto again = map_on_device(std::span(pieces).last(1), 3 * unit, 0);
  CHECK(read(at(again, unit), 2) == numbers(3, 2));
}

TEST_CASE("what does not fit is refused by name") {
  const int64_t unit = DevicePiece::unit(0);
  const PlacedPiece pieces[] = {{DevicePiece::create(0, unit), 0},
                                {DevicePiece::create(0, unit), 0}};
  check_throws(ErrorCode::kInvalidArgument, {"the piece before ends at"},
               [&] { return map_on_device(pieces, 2 * unit, 0); });
  check_throws(ErrorCode::kInvalidArgument, {"in units of"},
               [&] { return DevicePiece::create(0, 100); });
  check_throws(ErrorCode::kDevice, {"opening another process's piece"},
               [&] { return DevicePiece::open(0, 0, unit); });
  check_throws(ErrorCode::kNoSpace, {"bytes are free"},
               [&] { return DevicePiece::create(0, unit << 20); });
}

}  // namespace
}  // namespace ramet::test
