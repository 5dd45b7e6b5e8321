// The updates of every instruction set against arithmetic, an element at a time: the same bits.
// docs/semantics.md, section 19.
#include "kernels/cpu/update.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "support/each_isa.h"
#include "support/values.h"

using namespace ramet;
using ramet::test::drawn_values;

namespace {

struct State {
  explicit State(int64_t width)
      : weight(drawn_values(width, 1)),
        moment1(drawn_values(width, 2)),
        moment2(drawn_values(width, 3)),
        gradient(drawn_values(width, 4)) {
    for (float& moment : moment2)
      moment = std::abs(moment);
  }

  RowUpdate row() {
    return {.width = std::ssize(weight),
            .weight = weight.data(),
            .moment1 = moment1.data(),
            .moment2 = moment2.data(),
            .gradient = gradient.data(),
            .rate = 0.3F,
            .weight_decay = decay,
            .keep = keep,
            .blend1 = 0.1F,
            .blend2 = 0.001F,
            .root_scale = 1.7F,
            .eps = 1e-3F};
  }

  bool operator==(const State&) const = default;

  std::vector<float> weight, moment1, moment2, gradient;
  float decay = 0, keep = 1;
};

float mean_square(const State& s) {
  float parts[16] = {};
  for (size_t i = 0; i < s.weight.size(); ++i) {
    const float g = s.gradient[i] + s.decay * s.weight[i];
    parts[i % 16] += g * g;
  }
  for (size_t half = 8; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      parts[i] += parts[i + half];
  return parts[0] / static_cast<float>(s.weight.size());
}

void update_by_definition(UpdateRule rule, State& s) {
  const RowUpdate row = s.row();
  if (rule == UpdateRule::kRowwiseAdaGrad) s.moment2[0] += mean_square(s);
  for (size_t i = 0; i < s.weight.size(); ++i) {
    float &w = s.weight[i], g = s.gradient[i] + s.decay * w, &m = s.moment1[i], &v = s.moment2[i];
    const auto step_by_root = [&](float squares) {
      w -= row.rate * (g / (std::sqrt(squares) + row.eps));
    };
    switch (rule) {
      case UpdateRule::kSgd:
        w -= row.rate * g;
        break;
      case UpdateRule::kAdaGrad:
        v += g * g;
        step_by_root(v);
        break;
      case UpdateRule::kRowwiseAdaGrad:
        step_by_root(s.moment2[0]);
        break;
      case UpdateRule::kRmsProp:
        v += row.blend2 * (g * g - v);
        step_by_root(v);
        break;
      case UpdateRule::kAdam:
        m += row.blend1 * (g - m);
        v += row.blend2 * (g * g - v);
        w = w * row.keep - row.rate * (m / (std::sqrt(v) * row.root_scale + row.eps));
        break;
    }
  }
}

}  // namespace

TEST_CASE("updates of a row are those of the definition, for every width and instruction set") {
  const auto rules = {UpdateRule::kSgd, UpdateRule::kAdaGrad, UpdateRule::kRowwiseAdaGrad,
                      UpdateRule::kRmsProp, UpdateRule::kAdam};
  for (const UpdateKernels& kernels : of_each_isa(&IsaKernels::update)) {
    for (const UpdateRule rule : rules) {
      for (int64_t width = 1; width <= 67; ++width) {
        State expected(width);
        expected.decay = width % 2 == 0 ? 0 : 0.01F;
        expected.keep = width % 3 == 0 ? 1 : 0.99F;
        State actual = expected;
        update_by_definition(rule, expected);
        kernels.update(rule, actual.row());
        CAPTURE(static_cast<int>(rule));
        CAPTURE(width);
        REQUIRE(actual == expected);
      }
    }
  }
}

TEST_CASE("sums of rows") {
  for (const UpdateKernels& kernels : of_each_isa(&IsaKernels::update)) {
    std::vector<float> sum = drawn_values(37, 1), expected = sum;
    const std::vector<float> values = drawn_values(37, 2);
    for (size_t i = 0; i < sum.size(); ++i)
      expected[i] += values[i];
    kernels.add(sum.data(), values.data(), 37);
    CHECK(sum == expected);
  }
}
