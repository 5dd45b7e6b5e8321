#include "ramet/optimizer.h"

#include <doctest/doctest.h>

#include <vector>

#include "support/listed.h"
#include "support/store_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kTrainedRows = 200, kWidth = 6;

Array bfloat16(std::vector<uint16_t>& bits) {
  return {bits.data(), DType::kBFloat16, {std::ssize(bits) / kWidth, kWidth}, nullptr, true};
}

}  // namespace

TEST_CASE("gradients split over lists, owners and threads give the same bits") {
  const Listed whole(900, kTrainedRows, kWidth, 1);
  const OptimizerStep step{.optimizer = AdaGrad{.learning_rate = 0.1}};
  const auto after = [&](const std::vector<RowList>& lists, int64_t owners, int threads = 2) {
    std::vector<float> weights(kTrainedRows * kWidth, 1), squares(weights.size());
    const std::vector<Array> state = {writable(squares, kWidth)};
    for (int64_t k = 0; k < owners; ++k)
      apply_gradients(step, writable(weights, kWidth), state, lists, k * kTrainedRows / owners,
                      (k + 1) * kTrainedRows / owners, threads);
    weights.insert(weights.end(), squares.begin(), squares.end());
    return weights;
  };
  const auto expected = after({whole.list()}, 1);
  CHECK(expected != std::vector<float>(expected.size(), 1));
  for (const int threads : {1, 8})
    CHECK(after({whole.list()}, 1, threads) == expected);
  for (const int64_t owners : {1, 3}) {
    CHECK(after({whole.part(0, 450), whole.part(450, 900)}, owners) == expected);
    CHECK(after({whole.part(0, 1), whole.part(1, 1), whole.part(1, 900)}, owners) == expected);
  }
}

TEST_CASE("stochastic rounding is of the row's id, wherever the row lies") {
  const Listed given(kTrainedRows, kTrainedRows, kWidth, 5);
  std::vector<int64_t> reversed, ids(kTrainedRows);
  for (int64_t row = 0; row < kTrainedRows; ++row)
    ids[static_cast<size_t>(row)] = kTrainedRows - 1 - row;
  for (const int64_t id : given.list().ids)
    reversed.push_back(kTrainedRows - 1 - id);
  OptimizerStep step{.optimizer = Sgd{0.01}, .stochastic = true, .seed = 3};
  std::vector<uint16_t> weights(kTrainedRows * kWidth, 0x3f80), turned = weights;
  apply_gradients(step, bfloat16(weights), {}, std::vector<RowList>{given.list()}, 0, kTrainedRows);
  step.row_ids = {ids.data() + 20, DType::kInt64, {kTrainedRows - 20}, nullptr};
  const std::vector<RowList> turned_list = {{reversed, given.list().rows}};
  apply_gradients(step, bfloat16(turned), {}, turned_list, 20, kTrainedRows);
  step.row_ids = {ids.data(), DType::kInt64, {20}, nullptr};
  apply_gradients(step, bfloat16(turned), {}, turned_list, 0, 20);
  for (int64_t row = 0; row < kTrainedRows; ++row)
    CHECK(std::equal(weights.begin() + row * kWidth, weights.begin() + (row + 1) * kWidth,
                     turned.begin() + (kTrainedRows - 1 - row) * kWidth));
  CHECK(weights != std::vector<uint16_t>(weights.size(), 0x3f80));
}

TEST_CASE("ids of rows have to be of the step's rows") {
  std::vector<int64_t> ids(5);
  std::vector<float> weights(kTrainedRows * kWidth);
  OptimizerStep step{.optimizer = Sgd{0.01}};
  step.row_ids = {ids.data(), DType::kInt64, {5}, nullptr};
  check_throws(ErrorCode::kInvalidArgument, {"row_ids are int64[5], expected int64[4]"},
               [&] { apply_gradients(step, writable(weights, kWidth), {}, {}, 0, 4); });
}
