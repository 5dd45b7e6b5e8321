// IdMap against a map of the standard library, in memory and in files.
#include "ramet/id_map.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"
#include "support/slow_build.h"

using namespace ramet;

namespace {

// Ids of one kind: what is given to the map, and what it says.
struct Integers {
  using Id = int64_t;
  static constexpr const char* kKind = "int64";
  std::vector<int64_t> ids;
  [[nodiscard]] IdList list() const { return {borrow(ids)}; }
  static std::vector<int64_t> stored(const std::map<std::string, Array>& arrays) {
    const auto values = arrays.at("value").as<int64_t>();
    return {values.begin(), values.end()};
  }
};

struct Texts {
  using Id = std::string;
  static constexpr const char* kKind = "text";
  std::vector<std::string> ids;
  std::string bytes = {};
  std::vector<int64_t> offsets = {};
  [[nodiscard]] IdList list() {
    bytes = "bytes before";
    offsets = {static_cast<int64_t>(bytes.size())};
    for (const std::string& id : ids) {
      bytes += id;
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
    return {{bytes.data(), DType::kUInt8, {static_cast<int64_t>(bytes.size())}, nullptr, false},
            borrow(offsets)};
  }
  static std::vector<std::string> stored(const std::map<std::string, Array>& arrays) {
    const auto offsets = arrays.at("offset").as<int64_t>();
    const auto* text = static_cast<const char*>(arrays.at("text").data);
    std::vector<std::string> ids;
    for (size_t i = 0; i + 1 < offsets.size(); ++i)
      ids.emplace_back(text + offsets[i], text + offsets[i + 1]);
    return ids;
  }
};

void add(IdMap& map, const IdList& ids, std::span<int64_t> positions) {
  map.add({&ids, 1}, {}, positions, 2);
}

template <typename Given>
void check_map(const std::vector<typename Given::Id>& ids, const std::string& folder) {
  using Id = typename Given::Id;
  const auto map = IdMap::create(Given::kKind, folder);
  std::unordered_map<Id, int64_t> expected;
  std::vector<Id> by_position;
  constexpr size_t kChunk = 7001;
  for (size_t begin = 0; begin < ids.size(); begin += kChunk) {
    const auto first = ids.begin() + static_cast<ptrdiff_t>(begin);
    Given chunk{{first, first + static_cast<ptrdiff_t>(std::min(kChunk, ids.size() - begin))}};
    std::vector<int64_t> positions(chunk.ids.size()), right;
    add(*map, chunk.list(), positions);
    for (const Id& id : chunk.ids) {
      const auto [it, is_new] = expected.emplace(id, int64_t(by_position.size()));
      if (is_new) by_position.push_back(id);
      right.push_back(it->second);
    }
    REQUIRE(positions == right);
    REQUIRE(map->size() == int64_t(by_position.size()));
  }
  Given all{by_position};
  std::vector<int64_t> positions(by_position.size()), counted(by_position.size());
  map->find(all.list(), positions, 2);
  std::iota(counted.begin(), counted.end(), 0);
  CHECK(positions == counted);

  const std::map<std::string, Array> arrays = map->arrays(2);
  CHECK((map->memory() == 0) == !folder.empty());
  CHECK_THROWS_AS(add(*map, all.list(), positions), Error);
  CHECK(Given::stored(arrays) == by_position);
  const auto order = arrays.at("order").as<int32_t>();
  std::sort(counted.begin(), counted.end(), [&](int64_t a, int64_t b) {
    return by_position[static_cast<size_t>(a)] < by_position[static_cast<size_t>(b)];
  });
  CHECK(std::equal(order.begin(), order.end(), counted.begin(), counted.end()));
}

std::string text_id(uint64_t i) {
  // Long texts that are equal at first, texts that begin others, and NULs at their ends.
  const uint64_t r = mix64(i % 20011);
  std::string id = r % 3 == 0 ? std::string(r % 41, 'a') : "user-" + std::to_string(r % 9973);
  if (r % 5 == 0) id = "https://example.org/" + id;
  id += std::string(r % 4, '\0');
  return r % 7 == 0 ? id + "\xc3\xa9" : id;
}

}  // namespace

TEST_CASE("an id's position is that of its first occurrence, and ids can be sorted") {
  const std::string folder = std::filesystem::temp_directory_path();
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < 70000; ++i) {
    const auto r = static_cast<int64_t>(mix64(i));
    integers.push_back(i % 3 == 0 ? r : r % 5000);
    texts.push_back(text_id(i));
  }
  for (int length = 3 << 20; length < (3 << 20) + 2; ++length)
    texts.emplace_back(length, 'x');
  for (const auto& where : {std::string(), folder}) {
    check_map<Integers>(integers, where);
    check_map<Texts>(texts, where);
    check_map<Integers>({}, where);
    check_map<Texts>({""}, where);
  }
}

TEST_CASE("ids that are multiples of a large number, and long texts that differ little") {
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
  for (int64_t i = 0; i < (test::kSlowBuild ? 10'000 : 50'000); ++i) {
    integers.push_back(i << 44);
    texts.push_back(std::string(300, 'z') + std::to_string(i) + std::string(20, 'z'));
  }
  check_map<Integers>(integers, "");
  check_map<Texts>(texts, "");
}

TEST_CASE("new ids of two lists are numbered row by row, without those that are absent") {
  const auto map = IdMap::create("text");
  Texts some{{"b", "a", "b", "a", "c"}}, others{{"a", "a", "e", "b", "d"}};
  const IdList lists[] = {some.list(), others.list()};
  const bool absent[10] = {false, false, false, false, false, false, true, false, true, false};
  std::vector<int64_t> positions(10);
  map->add(lists, absent, positions, 2);
  CHECK(positions == std::vector<int64_t>{0, 1, 1, 1, 0, 2, -1, 0, -1, 3});
  CHECK(Texts::stored(map->arrays()) == std::vector<std::string>{"b", "a", "e", "d"});
  CHECK_THROWS_AS(map->add(lists, std::span(absent).first(9), positions), Error);
}

TEST_CASE("ids that do not fit the room for their positions are refused") {
  Texts texts{{"1"}};
  const IdList list = texts.list(), lists[] = {list, list};
  std::vector<int64_t> positions(3);
  bool is_parsed[3];
  const auto map = IdMap::create("text");
  const auto refuses = [&](std::span<const IdList> some) {
    CHECK_THROWS_WITH_AS(map->add(some, {}, positions), doctest::Contains("room for 3"), Error);
  };
  refuses(lists);
  refuses({});
  CHECK(map->size() == 0);
  const std::span one = std::span(positions).first(1);
  CHECK_THROWS_WITH_AS(parse_ids({borrow(positions)}, std::span(positions), {is_parsed, 3}),
                       doctest::Contains("expected uint8"), Error);
  CHECK_THROWS_AS(parse_ids(list, one, {is_parsed, 0}), Error);
  CHECK(parse_ids(list, one, is_parsed));
}

TEST_CASE("texts that are integers as they are normally written") {
  Texts texts{{"0", "-7", "9223372036854775807", "9223372036854775808", "18446744073709551615",
               "18446744073709551616", "-9223372036854775808", "-9223372036854775809", "007", "-0",
               "+7", " 7", "7 ", "7.0", "", "-", "1_000", "0x10", "\xd9\xa7"}};
  std::vector<int64_t> values(texts.ids.size());
  std::vector<uint64_t> large(values.size());
  const auto parsed = std::make_unique<bool[]>(values.size());
  const std::span<bool> is_parsed(parsed.get(), values.size());
  CHECK_FALSE(parse_ids(texts.list(), std::span(values), is_parsed, 2));
  CHECK(values == std::vector<int64_t>{0, -7, INT64_MAX, 0, 0, 0, INT64_MIN, 0, 0, 0, 0, 0, 0, 0, 0,
                                       0, 0, 0, 0});
  CHECK(std::count(is_parsed.begin(), is_parsed.end(), true) == 4);
  CHECK_FALSE(parse_ids(texts.list(), std::span(large), is_parsed, 2));
  CHECK(large[3] == uint64_t{1} << 63);
  CHECK(large[4] == UINT64_MAX);
  CHECK(std::count(is_parsed.begin(), is_parsed.end(), true) == 4);
  texts.ids.resize(3);
  CHECK(parse_ids(texts.list(), std::span(values).first(3), is_parsed.first(3)));
}

TEST_CASE("a map of ids takes few bytes for each") {
  const auto map = IdMap::create("uint64");
  std::vector<int64_t> ids(300000), positions(ids.size());
  std::iota(ids.begin(), ids.end(), -5);
  Array values = borrow(ids);
  values.dtype = DType::kUInt64;
  for (int64_t count = 20000; count <= int64_t(ids.size()); count += 20000) {
    values.shape = {count};
    add(*map, {values}, std::span(positions).first(static_cast<size_t>(count)));
    CHECK(map->memory() >= 16 * count);
    CHECK(map->memory() <= 24 * count + 8192);
  }
}

TEST_CASE(
    "ids of another kind, offsets outside of the text, and other bytes than text are refused") {
  const auto map = IdMap::create("text");
  std::vector<int64_t> positions(1);
  Texts bad{{"\xff"}};
  CHECK_THROWS_WITH_AS(add(*map, bad.list(), positions), "id 0 is not UTF-8", Error);
  bad.offsets = {3, 1};
  CHECK_THROWS_AS(add(*map, {bad.list().values, borrow(bad.offsets)}, positions), Error);
  const std::vector<int64_t> outside{0, 1 << 20};
  CHECK_THROWS_AS(map->find({bad.list().values, borrow(outside)}, positions), Error);
  CHECK_THROWS_AS(add(*map, {borrow(outside)}, positions), Error);
  CHECK_THROWS_AS(add(*IdMap::create("int64"), bad.list(), positions), Error);
  CHECK_THROWS_AS(static_cast<void>(IdMap::create("float")), Error);
  CHECK(map->size() == 0);
}
