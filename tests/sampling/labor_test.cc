#include "kernels/cpu/labor_scan.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/draw_keys.h"
#include "ramet/random.h"
#include "ramet/sampler.h"
#include "sampling/importance.h"
#include "support/each_isa.h"
#include "support/mapped.h"
#include "support/slow_build.h"

using namespace ramet;

namespace {

constexpr uint64_t kMaxWord = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kUntouched = 0xfeedbeef;
constexpr size_t kMostIds =
    test::kSlowBuild ? 35 : 100;  // of a row: vectors, and a rest of any length

template <typename Index>
std::vector<uint32_t> accepted_obviously(const DrawKeys& keys,
                                         uint64_t threshold,
                                         std::span<const Index> row) {
  std::vector<uint32_t> accepted;
  for (size_t i = 0; i < row.size(); ++i) {
    if (draw_word(keys, static_cast<uint64_t>(row[i])) <= threshold)
      accepted.push_back(static_cast<uint32_t>(i));
  }
  return accepted;
}

// What `kernel` accepts; it may write the padding beyond `row`, and nothing after that.
template <typename Index>
std::vector<uint32_t> accepted_by(const LaborKernel& kernel,
                                  const DrawKeys& keys,
                                  uint64_t threshold,
                                  std::span<const Index> row) {
  std::vector<uint32_t> out(row.size() + static_cast<size_t>(kLaborPadding) + 64, kUntouched);
  std::vector<uint64_t> words(row.size() + kLaborPadding);
  const auto count = static_cast<int64_t>(row.size());
  const int64_t size = kernel(keys, threshold, row.data(), count, out.data(), words.data());
  REQUIRE(size <= count);
  for (size_t e = 0; e < static_cast<size_t>(size); ++e)
    REQUIRE(words[e] == draw_word(keys, static_cast<uint64_t>(row[out[e]])));
  const std::vector<uint32_t> with_words(out.begin(), out.begin() + size);
  std::fill(out.begin(), out.end(), kUntouched);
  REQUIRE(kernel(keys, threshold, row.data(), count, out.data()) == size);
  REQUIRE(std::count(out.end() - 64, out.end(), kUntouched) == 64);
  out.resize(static_cast<size_t>(size));
  REQUIRE(out == with_words);
  return out;
}

// `count` ids from 0 to `most`, both of which come often.
template <typename Index>
std::vector<Index> random_ids(size_t count, uint64_t most, uint64_t key) {
  std::vector<Index> ids;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t word = absorb(key, i);
    ids.push_back(static_cast<Index>(word % 8 == 0   ? most
                                     : word % 8 == 1 ? 0
                                                     : uniform_below(word, most) + 1));
  }
  return ids;
}

// Memory whose last byte is followed by a page that may not be read.
class GuardedPage {
 public:
  GuardedPage() { REQUIRE(mprotect(pages_.get() + size_, size_, PROT_NONE) == 0); }

  // A copy of `row` that ends with the page.
  template <typename T>
  std::span<const T> position(std::span<const T> row) {
    auto* at = reinterpret_cast<T*>(pages_.get() + size_ - row.size_bytes());
    std::copy(row.begin(), row.end(), at);
    return {at, row.size()};
  }

 private:
  size_t size_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::shared_ptr<char> pages_ = test::map_pages(2 * size_, PROT_READ | PROT_WRITE);
};

template <typename Index>
void check_kernels(uint64_t most, const Mixture& mixture) {
  GuardedPage page;
  const std::vector<uint64_t> thresholds{0,        kMaxWord, kMaxWord / 2, kMaxWord / 2 + 1,
                                         mix64(1), mix64(2), mix64(3) >> 5};
  for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
    for (size_t count = 0; count <= kMostIds; ++count) {
      const std::vector<Index> ids = random_ids<Index>(count + 3, most, count);
      for (const uint64_t threshold : thresholds) {
        const DrawKeys keys{absorb(threshold, count), absorb(threshold, ~count), mixture};
        for (size_t skipped = 0; skipped <= 3; ++skipped) {  // starts of all alignments
          const auto row = std::span<const Index>(ids).subspan(skipped, count);
          const auto expected = accepted_obviously(keys, threshold, row);
          REQUIRE(accepted_by(kernel, keys, threshold, row) == expected);
          REQUIRE(accepted_by(kernel, keys, threshold, page.position(row)) == expected);
        }
      }
    }
  }
}

double solve(const std::vector<double>& p, int64_t fanout) {
  std::vector<double> inverse;
  for (const double importance : p)
    inverse.push_back(1 / importance);
  return solve_c(p, inverse, fanout);
}

}  // namespace

// docs/semantics.md, section 8.
TEST_CASE("every kernel accepts what an obvious loop accepts, and stays inside the row") {
  for (const uint64_t j : {0, 1, 3}) {  // plain words, and those of dependent minibatches
    const Mixture mixture = mixture_of(j, 4);
    check_kernels<int32_t>(std::numeric_limits<int32_t>::max(), mixture);
    check_kernels<int32_t>(40, mixture);
    check_kernels<int64_t>(std::numeric_limits<int64_t>::max(), mixture);
    check_kernels<int64_t>(uint64_t{1} << 33, mixture);
    check_kernels<int64_t>(40, mixture);
  }
}

// docs/semantics.md, sections 8 and 9: most sources are left out by a look at their two words.
TEST_CASE("kernels accept the few sources of a hub that a dependent minibatch does") {
  std::vector<int32_t> row(test::kSlowBuild ? 20'000 : 100'000);
  std::iota(row.begin(), row.end(), 12'345);
  for (uint64_t j = 1; j < 8; ++j) {
    const DrawKeys keys{absorb(7, j), absorb(8, j), mixture_of(j, 8)};
    for (const int bits : {0, 13, 46, 50, 54, 57, 60, 62, 63}) {
      const uint64_t threshold = (uint64_t{1} << bits) + absorb(9, j) % (uint64_t{1} << bits);
      const auto expected = accepted_obviously<int32_t>(keys, threshold, row);
      for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor))
        REQUIRE(accepted_by<int32_t>(kernel, keys, threshold, row) == expected);
      if (bits >= 54) CHECK_FALSE(expected.empty());
    }
  }
}

TEST_CASE("the word of the threshold is accepted, the next one is not") {
  const DrawKeys keys{9};
  const std::vector<int64_t> ids = random_ids<int64_t>(77, uint64_t{1} << 40, 5);
  for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
    for (size_t i = 0; i < ids.size(); ++i) {
      const uint64_t word = draw_word(keys, static_cast<uint64_t>(ids[i]));
      const auto accepts = [&](uint64_t threshold) {
        const auto accepted = accepted_by<int64_t>(kernel, keys, threshold, ids);
        return std::binary_search(accepted.begin(), accepted.end(), static_cast<uint32_t>(i));
      };
      REQUIRE(accepts(word));
      REQUIRE_FALSE(accepts(word - 1));
    }
  }
}

template <typename Index>
void check_probable(uint64_t most) {
  constexpr size_t kMost = 77;
  std::vector<Index> ids = random_ids<Index>(kMost, most, 5);
  ids.resize(kMost + kLaborPadding);
  for (const DrawKeys& keys : {DrawKeys{9}, DrawKeys{9, 10, mixture_of(3, 8)}}) {
    for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
      for (const double c : {1e-300, 0.3, 1.0, std::numeric_limits<double>::infinity()}) {
        for (size_t count = 0; count <= kMost; ++count) {
          std::vector<double> p(kMost + kLaborPadding, -1);
          for (size_t i = 0; i < count; ++i) {  // some of them the word itself
            const auto word = static_cast<double>(draw_word(keys, static_cast<uint64_t>(ids[i])));
            p[i] = i % 3 == 0 && !std::isinf(c) ? word * 0x1p-64 / c
                                                : std::ldexp(1.0, -static_cast<int>(i % 8));
          }
          alignas(64) uint64_t words[kMost + kLaborPadding];
          uint32_t found[kMost + kLaborPadding];
          const int64_t size = kernel.probable(ids.data())(
              keys, ids.data(), p.data(), static_cast<int64_t>(count), c, words, found);
          int64_t position = 0;
          for (uint32_t i = 0; i < count; ++i) {
            const double q = std::min(1.0, c * p[i]);
            REQUIRE(words[i] == draw_word(keys, static_cast<uint64_t>(ids[i])));
            const bool is_found = position < size && found[position] == i;
            position += is_found ? 1 : 0;
            if (q == 1 || words[i] <= static_cast<uint64_t>(q * 0x1p64)) REQUIRE(is_found);
            if (is_found)
              REQUIRE(static_cast<double>(words[i]) * 0x1p-64 <= q * (1 + 1e-9) + 0x1p-52);
          }
          REQUIRE(position == size);
        }
      }
    }
  }
}

TEST_CASE("kernels find the sources that their own probabilities accept, and all words") {
  check_probable<int32_t>(std::numeric_limits<int32_t>::max());
  check_probable<int64_t>(uint64_t{1} << 40);
}

TEST_CASE("kernels look up importances, of which they may know ranks") {
  constexpr size_t kEntries = 1000, kMost = 40;
  std::vector<double> table(kEntries), values(9), inverses(9);
  std::vector<uint16_t> ranks(kEntries);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 1 / static_cast<double>(i + 3);
    inverses[i] = 1 / values[i];
  }
  for (size_t i = 0; i < kEntries; ++i) {
    ranks[i] = static_cast<uint16_t>(mix64(i) % values.size());
    table[i] = values[ranks[i]];
  }
  const auto number = random_ids<int32_t>(kMost + kNumbersAhead + kLaborPadding, kEntries - 1, 3);
  for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
    for (size_t count = 0; count <= kMost; ++count) {
      std::vector<double> p(count + kLaborPadding), inverse(p), p_of_rank(p), inverse_of_rank(p);
      kernel.importances(table.data(), number.data(), static_cast<int64_t>(count), p.data(),
                         inverse.data());
      kernel.ranked(ranks.data(), number.data(), static_cast<int64_t>(count), values.data(),
                    inverses.data(), p_of_rank.data(), inverse_of_rank.data());
      for (size_t i = 0; i < count; ++i) {
        const double expected = table[static_cast<size_t>(number[i])];
        REQUIRE(p[i] == expected);
        REQUIRE(inverse[i] == 1 / expected);
        REQUIRE(p_of_rank[i] == expected);
        REQUIRE(inverse_of_rank[i] == 1 / expected);
      }
    }
  }
}

// The weights weight_of(i), whether their sums are exact or not.
template <typename Weight, typename WeightOf>
void check_weights(const WeightOf& weight_of) {
  for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
    for (size_t count = 1; count <= 70; ++count) {
      std::vector<Weight> weights(count);
      double sum = 0, of_shares = 0;
      for (size_t i = 0; i < count; ++i)
        sum += static_cast<double>(weights[i] = weight_of(i));
      const auto& of_labor = kernel.weights(weights.data());
      REQUIRE(of_labor.sum(weights.data(), static_cast<int64_t>(count)) == sum);
      if (sum == 0) continue;
      std::vector<double> out(count + kLaborPadding);
      const ShareBlock block =
          of_labor.shares(weights.data(), static_cast<int64_t>(count), sum, out.data());
      int64_t kept = 0;
      for (size_t i = 0; i < count; ++i) {
        const double share = static_cast<double>(weights[i]) / sum;
        REQUIRE(out[i] == share);
        of_shares += share;
        kept += share >= 1e-290 ? 1 : 0;
      }
      REQUIRE(block.sum == of_shares);
      REQUIRE(block.kept == kept);
      for (const double wrong : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
        weights[count / 2] = static_cast<Weight>(wrong);
        REQUIRE(std::isnan(of_labor.sum(weights.data(), static_cast<int64_t>(count))));
      }
    }
  }
}

// docs/semantics.md, section 8.
TEST_CASE("kernels sum weights and their shares in order") {
  const auto unit = [](size_t i) { return static_cast<double>(mix64(i) >> 40) * 0x1p-24; };
  check_weights<float>([&](size_t i) { return static_cast<float>(unit(i)); });
  check_weights<float>([&](size_t i) { return i % 3 == 0 ? 0.0F : static_cast<float>(unit(i)); });
  check_weights<float>(
      [&](size_t i) { return std::ldexp(static_cast<float>(unit(i)), 1 - static_cast<int>(i)); });
  check_weights<float>(
      [&](size_t i) { return i % 5 == 1 ? 3e-45F : 1e38F * static_cast<float>(unit(i)); });
  check_weights<float>([](size_t /*i*/) { return 0.0F; });
  check_weights<double>(unit);
  check_weights<double>([&](size_t i) { return i % 4 == 0 ? 1e-289 : 1e30 * unit(i); });
}

TEST_CASE("rows far longer than a kernel requests ahead are accepted alike") {
  const std::vector<int32_t> ids = random_ids<int32_t>(5001, 1 << 30, 6);
  const DrawKeys keys{3};
  for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
    for (const size_t count : {511U, 512U, 513U, 528U, 1024U, 5001U}) {
      const auto row = std::span<const int32_t>(ids).first(count);
      CHECK(accepted_by(kernel, keys, kMaxWord / 3, row) ==
            accepted_obviously(keys, kMaxWord / 3, row));
    }
  }
}

TEST_CASE("c solves its equation, also for ties and for extreme importances") {
  std::vector<std::vector<double>> rows{{1, 1, 1, 1, 1}, {0.25, 1, 0.25, 3, 1, 3, 0.25, 0.5}};
  rows.push_back({1e-12, 1, 1, 1});
  rows.push_back({1e12, 1, 1, 1});
  for (int e = -150; e <= 150; e += 10)
    rows.emplace_back(rows.back()).push_back(std::pow(10.0, e));
  std::vector<double> random;
  for (uint64_t i = 0; i < 3000; ++i)
    random.push_back(std::exp(8 * (static_cast<double>(mix64(i) >> 11) * 0x1p-53 - 0.5)));
  rows.push_back(random);
  for (const std::vector<double>& p : rows) {
    const auto degree = static_cast<int64_t>(p.size());
    CHECK(solve(p, degree) == 1);
    CHECK(solve(p, degree + 1) == 1);
    CHECK(solve(p, kAllNeighbors) == 1);
    for (int64_t fanout = 1; fanout < degree; fanout += 1 + fanout / 8) {
      const double c = solve(p, fanout);
      long double sum = 0;
      for (const double importance : p)
        sum += 1 / std::min(1.0L, static_cast<long double>(c) * importance);
      const long double target = static_cast<long double>(degree * degree) / fanout;
      CHECK(static_cast<double>(sum / target) == doctest::Approx(1).epsilon(1e-11));
    }
  }
  CHECK(solve({}, 3) == 1);
  CHECK(solve(std::vector<double>(1000, 1.0), 10) == doctest::Approx(0.01).epsilon(1e-15));
  for (const size_t degree : {1, 2, 3, 10, 1000, 5000})
    for (int64_t fanout = 1; fanout < 40; ++fanout)
      CHECK(solve_c_of_ones(degree, fanout) == solve(std::vector<double>(degree, 1.0), fanout));
}

TEST_CASE("with weights, c gives the fanout in expectation, and then keeps the variance") {
  std::vector<std::vector<double>> rows{{1, 1, 1, 1, 1}, {0.25, 1, 0.25, 3, 1, 3, 0.25, 0.5}};
  rows.push_back({1e-280, 1, 1, 1});
  rows.push_back({1, 1e-200, 1e-200, 1e-170, 1e-280});
  for (int e = -150; e <= 0; e += 10)
    rows.emplace_back(rows.back()).push_back(std::pow(10.0, e));
  for (std::vector<double>& shares : rows) {
    double whole = 0;
    for (const double weight : shares)
      whole += weight;
    for (double& share : shares)
      share /= whole;
    const auto degree = static_cast<int64_t>(shares.size());
    for (int64_t fanout = 1; fanout < degree; ++fanout) {
      const double c = solve_c_of_shares(shares, fanout), variance = variance_of_shares(shares, c);
      std::vector<double> p;
      double expected = 0;
      for (const double share : shares) {
        const double q = std::min(1.0, c * share);
        expected += q;
        p.push_back(p.size() % 2 == 0 ? q : std::sqrt(q));  // as another destination raises it
      }
      CHECK(expected == doctest::Approx(static_cast<double>(fanout)).epsilon(1e-12));
      const double kept = solve_c_of_variance(p, shares, variance);
      double found = 0, squares = 0;
      for (size_t e = 0; e < p.size(); ++e) {
        found += shares[e] * shares[e] * (1 / std::min(1.0, kept * p[e]) - 1);
        squares += shares[e] * shares[e];
      }
      CHECK(std::abs(found - variance) <= 1e-9 * variance + 1e-13 * squares);
      CHECK((kept > 0 && kept <= 1 + 1e-9));
    }
    CHECK(std::isinf(solve_c_of_shares(shares, kAllNeighbors)));
    CHECK(solve_c_of_variance(shares, shares, 0) == 1);
  }
}

// docs/semantics.md, section 8: sums in blocks of 1,024 terms.
TEST_CASE("the c of a long row has the bits of its definition") {
  std::vector<double> p;
  for (uint64_t i = 0; i < 3000; ++i)
    p.push_back(std::exp(8 * (static_cast<double>(mix64(i) >> 11) * 0x1p-53 - 0.5)));
  for (const int64_t fanout : {1, 30, 1000, 2900}) {
    double c = 0;
    for (int64_t certain = -1;;) {
      int64_t count = 0;
      double blocks[3] = {0, 0, 0};
      for (size_t e = 0; e < p.size(); ++e) {
        if (c * p[e] >= 1) ++count;
        blocks[e / 1024] += c * p[e] >= 1 ? 0 : 1 / p[e];
      }
      if (count <= certain || count == 3000) break;
      certain = count;
      const double sum = blocks[0] + blocks[1] + blocks[2];
      c = sum / (9e6 / static_cast<double>(fanout) - static_cast<double>(count));
    }
    CHECK(solve(p, fanout) == c);
  }
}
