#include "ramet/content_hash.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "ramet/random.h"

using namespace ramet;

namespace {

std::vector<std::byte> random_bytes(size_t count) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<std::byte>(mix64(i + 1));
  return bytes;
}

}  // namespace

TEST_CASE("the hash of bytes does not depend on threads, or on where they lie") {
  constexpr size_t kCount = (3 << 20) + 77;
  const std::vector<std::byte> bytes = random_bytes(kCount + 8);
  std::vector<std::byte> moved(bytes.begin(), bytes.end() - 3);
  moved.insert(moved.begin(), 3, std::byte{});
  const ContentHash one = content_hash(std::span(bytes).first(kCount), 1);
  for (const int threads : {1, 2, 5, 0})
    CHECK(content_hash(std::span(moved).subspan(3, kCount), threads) == one);
}

TEST_CASE("every change of a bit, and of a length, changes the hash") {
  std::set<ContentHash> seen;
  for (size_t length = 0; length < 300; ++length)
    CHECK(seen.insert(content_hash(std::vector<std::byte>(length), 1)).second);
  for (const size_t length : {size_t{1}, size_t{64}, size_t{1100}}) {
    std::vector<std::byte> bytes = random_bytes(length);
    CHECK(seen.insert(content_hash(bytes, 1)).second);
    for (size_t bit = 0; bit < 8 * length; ++bit) {
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
      CHECK(seen.insert(content_hash(bytes, 1)).second);
      bytes[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    }
  }
}

TEST_CASE("ids in another order have another hash") {
  std::vector<int64_t> ids(3 << 17);  // three blocks
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int64_t>(i / 100);
  std::set<ContentHash> seen{content_hash(std::as_bytes(std::span(ids)), 2)};
  for (const size_t step : {size_t{100}, size_t{1000}, size_t{1 << 17}, size_t{1 << 18}}) {
    std::swap(ids[0], ids[step]);
    CHECK(seen.insert(content_hash(std::as_bytes(std::span(ids)), 2)).second);
    std::swap(ids[0], ids[step]);
  }
}
