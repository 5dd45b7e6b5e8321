#include "ramet/dropout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"
#include "support/ids.h"

using namespace ramet;

namespace {

// std::vector<bool> has no bools.
struct Mask {
  explicit Mask(size_t size) : count(size), bits(std::make_unique<bool[]>(size)) {}
  [[nodiscard]] std::span<bool> span() const { return {bits.get(), count}; }
  [[nodiscard]] bool operator==(const Mask& other) const {
    return std::ranges::equal(span(), other.span());
  }
  size_t count;
  std::unique_ptr<bool[]> bits;
};

Mask mask_of(const DropoutKey& key,
             const std::vector<int64_t>& nodes,
             int64_t width,
             double p,
             int threads = 1) {
  Mask mask(nodes.size() * static_cast<size_t>(width));
  dropout_mask(key, nodes, width, p, mask.span(), threads);
  return mask;
}

std::vector<int64_t> some_nodes(int64_t count) {
  return test::drawn_ids(count, int64_t{1} << 44);
}

const DropoutKey kKey{.seed = 3, .epoch = 1, .step = 9, .hop = 2, .salt = 5, .type_hash = 77};

}  // namespace

// docs/semantics.md, section 11, element by element.
TEST_CASE("a mask is the function of node and column that the documentation has") {
  const std::vector<int64_t> nodes = some_nodes(50);
  for (const int64_t width : {0, 1, 2, 7, 64}) {
    const Mask mask = mask_of(kKey, nodes, width, 0.3);
    const auto below = static_cast<uint64_t>(0.3 * 4294967296.0);
    for (size_t i = 0; i < nodes.size(); ++i) {
      for (int64_t c = 0; c < width; ++c) {
        uint64_t key = 7;
        for (const uint64_t part : {3, 1, 9, 2, 5, 77})
          key = absorb(key, part);
        const uint64_t word =
            absorb(absorb(key, static_cast<uint64_t>(nodes[i])), static_cast<uint64_t>(c / 2));
        const uint64_t half = c % 2 == 0 ? word % (1ULL << 32) : word >> 32;
        REQUIRE(mask.span()[i * static_cast<size_t>(width) + static_cast<size_t>(c)] ==
                (half < below));
      }
    }
  }
}

TEST_CASE("a mask does not depend on threads, nor a row of it on the other rows") {
  const std::vector<int64_t> nodes = some_nodes(5000);
  const Mask mask = mask_of(kKey, nodes, 33, 0.5);
  for (const int threads : {2, 8, 0})
    CHECK(mask_of(kKey, nodes, 33, 0.5, threads) == mask);
  const Mask alone = mask_of(kKey, {nodes[1234]}, 33, 0.5);
  CHECK(std::ranges::equal(alone.span(), mask.span().subspan(1234 * 33, 33)));
}

TEST_CASE("every part of the key changes the mask") {
  const std::vector<int64_t> nodes = some_nodes(20);
  const Mask mask = mask_of(kKey, nodes, 16, 0.5);
  for (uint64_t DropoutKey::* part :
       {&DropoutKey::seed, &DropoutKey::epoch, &DropoutKey::step, &DropoutKey::hop,
        &DropoutKey::salt, &DropoutKey::type_hash}) {
    DropoutKey other = kKey;
    ++(other.*part);
    CHECK_FALSE(mask_of(other, nodes, 16, 0.5) == mask);
  }
}

TEST_CASE("an element is dropped with the probability p, in either half of a word") {
  constexpr int64_t kNodes = 4000, kWidth = 50;
  const std::vector<int64_t> nodes = some_nodes(kNodes);
  for (const double p : {0.001, 0.1, 0.5, 0.9}) {
    const Mask mask = mask_of(kKey, nodes, kWidth, p);
    double dropped[2] = {0, 0};
    for (size_t i = 0; i < mask.count; ++i)
      dropped[i % 2] += mask.span()[i];
    constexpr double kEach = kNodes * kWidth / 2.0;
    for (const double count : dropped)
      CHECK(std::abs(count - kEach * p) < 5 * std::sqrt(kEach * p * (1 - p)));
  }
}

TEST_CASE("p = 0 drops nothing and p = 1 everything") {
  const std::vector<int64_t> nodes = some_nodes(300);
  CHECK(std::ranges::count(mask_of(kKey, nodes, 9, 0).span(), true) == 0);
  CHECK(std::ranges::count(mask_of(kKey, nodes, 9, 1).span(), false) == 0);
}

TEST_CASE("a mask that cannot be is refused") {
  const std::vector<int64_t> nodes = some_nodes(3);
  Mask mask(6);
  for (const double p : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_AS(dropout_mask(kKey, nodes, 2, p, mask.span()), Error);
  for (const int64_t width : {-1, 1, 3})
    CHECK_THROWS_AS(dropout_mask(kKey, nodes, width, 0.5, mask.span()), Error);
  CHECK_THROWS_WITH(dropout_mask(kKey, nodes, 3, 0.5, mask.span()),
                    "dropout: a mask of 6 elements for 3 rows of 3");
}
