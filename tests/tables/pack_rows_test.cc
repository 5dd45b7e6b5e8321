#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "ramet/row_exchange.h"
#include "support/listed.h"
#include "support/store_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kPositions = 1000, kPackedWidth = 5;
const RowForm kForm = {DType::kFloat32, {kPackedWidth}};

using Words = std::vector<int64_t>;  // aligned, as what is packed has to be

Words packed(const std::vector<RowList>& lists, int threads = 1) {
  Words words(static_cast<size_t>(packed_bytes(lists)) / sizeof(int64_t), -1);
  pack(lists, reinterpret_cast<std::byte*>(words.data()), threads);
  return words;
}

std::vector<RowList> unpacked(const Words& words, const RowForm& form = kForm) {
  return unpack(std::as_bytes(std::span(words)), form, kPositions, "rank 3");
}

void check_refused(const Words& words, const std::string& why) {
  check_throws(ErrorCode::kCorrupt, {"rank 3 sent", why}, [&] { unpacked(words); });
}

}  // namespace

TEST_CASE("lists are the same after a trip, for any threads, and views of the bytes") {
  const Listed large(70'000, kPositions, kPackedWidth, 1), small(3, kPositions, kPackedWidth, 2);
  for (const std::vector<RowList>& lists : {std::vector<RowList>{},
                                            {small.part(0, 0)},
                                            {small.list(), small.part(1, 1), large.list()}}) {
    const Words words = packed(lists);
    CHECK(words == packed(lists, 3));
    CHECK(words.size() * sizeof(int64_t) % kPackUnit == 0);
    const auto read = unpacked(words);
    REQUIRE(read.size() == lists.size());
    for (size_t i = 0; i < read.size(); ++i) {
      CHECK(std::ranges::equal(read[i].ids, lists[i].ids));
      CHECK(read[i].rows.shape == lists[i].rows.shape);
      CHECK(bytes_of(read[i].rows) == bytes_of(lists[i].rows));
      CHECK(read[i].rows.data >= words.data());
      CHECK(read[i].rows.data <= words.data() + words.size());
    }
  }
}

TEST_CASE("rows of a narrow table travel narrow or as float32") {
  const Listed wide(7, kPositions, kPackedWidth, 1);
  std::vector<uint16_t> bits(7 * kPackedWidth, 0x3c00);
  const Array narrow{bits.data(), DType::kFloat16, {7, kPackedWidth}, nullptr, false};
  const Words words = packed({wide.list(), {wide.list().ids, narrow}});
  const auto read = unpacked(words, {DType::kFloat16, {kPackedWidth}});
  CHECK(read[0].rows.dtype == DType::kFloat32);
  CHECK(read[1].rows.dtype == DType::kFloat16);
  CHECK(bytes_of(read[1].rows) == bytes_of(narrow));
  check_refused(packed({{wide.list().ids, narrow}}), "dtype has the code");
}

TEST_CASE("rows without bytes travel") {
  const std::vector<int64_t> ids = {1, 2, 3};
  const Array rows{nullptr, DType::kFloat32, {3, 0}, nullptr, false};
  const Words words = packed({{ids, rows}});
  const auto read = unpacked(words, {DType::kFloat32, {0}});
  REQUIRE(read.size() == 1);
  CHECK(read[0].rows.shape == std::vector<int64_t>{3, 0});
}

TEST_CASE("a list with more ids than rows is not packed") {
  const Listed rows(4, kPositions, kPackedWidth, 1);
  const std::vector<RowList> lists = {{rows.list().ids, rows.part(0, 3).rows}};
  Words words(1000);
  check_throws(ErrorCode::kInvalidArgument, {"float32[3, 5]", "4 ids"},
               [&] { pack(lists, reinterpret_cast<std::byte*>(words.data())); });
}

TEST_CASE("bytes that lie are refused") {
  const Listed some(20, kPositions, kPackedWidth, 1);
  const Words good = packed({some.list(), some.part(0, 4)});
  const auto with = [&](size_t at, int64_t value) {
    Words words = good;
    words[at] = value;
    return words;
  };
  const int64_t most = std::numeric_limits<int64_t>::max(), least = -most - 1;
  for (const int64_t count : {int64_t{-1}, most, least, most / 8, most / 16, int64_t{1} << 60})
    check_refused(with(0, count), "lists");
  check_refused(with(0, 3), "");
  check_refused(with(0, 1), "bytes too many");
  for (const int64_t ids :
       {int64_t{-1}, most, least, most / 8, most / 4, int64_t{1} << 61, int64_t{100}})
    check_refused(with(1, ids), "bytes left for");
  check_refused(with(1, 25), "");
  check_refused(with(2, 99), "dtype has the code 99, expected float32");
  for (const int64_t position : {int64_t{-1}, kPositions, most})
    check_refused(with(8, position),
                  concat("for position ", position, ", outside the 1000 positions"));
}

TEST_CASE("truncated, longer and misaligned bytes are refused") {
  const Listed some(20, kPositions, kPackedWidth, 1);
  const Words good = packed({some.list()});
  for (size_t length = 0; length < good.size(); ++length)
    check_refused({good.begin(), good.begin() + static_cast<int64_t>(length)}, "");
  Words longer = good;
  longer.push_back(0);
  check_refused(longer, "with 8 bytes too many");
  const auto bytes = std::as_bytes(std::span(longer)).subspan(4);
  check_throws(ErrorCode::kCorrupt, {"no multiple of 8"},
               [&] { return unpack(bytes, kForm, kPositions, "rank 3"); });
}

TEST_CASE("a count that fits nothing of a row without bytes is refused") {
  const Array rows{nullptr, DType::kFloat32, {0, 0}, nullptr, false};
  Words words = packed({{{}, rows}});
  words[1] = int64_t{1} << 62;
  check_throws(ErrorCode::kCorrupt, {"bytes left for"},
               [&] { unpacked(words, {DType::kFloat32, {0}}); });
}
