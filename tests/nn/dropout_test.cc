// Which elements a mask has is compared with a twin by tests/python/nn/test_dropout.py.
#include "ramet/dropout.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <vector>

#include "ramet/error.h"
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

TEST_CASE("a mask does not depend on threads, nor a row of it on the other rows") {
  const std::vector<int64_t> nodes = some_nodes(5000);
  const Mask mask = mask_of(kKey, nodes, 33, 0.5);
  for (const int threads : {2, 8, 0})
    CHECK(mask_of(kKey, nodes, 33, 0.5, threads) == mask);
  const Mask alone = mask_of(kKey, {nodes[1234]}, 33, 0.5);
  CHECK(std::ranges::equal(alone.span(), mask.span().subspan(1234 * 33, 33)));
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
