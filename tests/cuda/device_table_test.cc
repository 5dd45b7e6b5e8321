// Tables on a device against the same on the host, to the bit: docs/tables.md, "Tables on devices";
// docs/semantics.md, sections 18 and 19.
#include "ramet/device_table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "cuda/on_host.h"
#include "ramet/cuda_memory.h"
#include "ramet/device_pieces.h"
#include "ramet/optimizer.h"
#include "ramet/table_rows.h"
#include "support/errors.h"
#include "support/listed.h"

namespace ramet::test {
namespace {

constexpr int64_t kTableRows = 60;

Array zeros_on_host(DType dtype, std::vector<int64_t> shape) {
  Array array = BufferPool::create()->allocate_array(dtype, std::move(shape));
  array.writable = true;
  std::memset(array.data, 0, static_cast<size_t>(array.bytes()));
  return array;
}

// Zeros in a piece.
Array to_device(DType dtype, const std::vector<int64_t>& shape) {
  Array array{nullptr, dtype, shape, nullptr, true, 0};
  const int64_t unit = DevicePiece::unit(0);
  const PlacedPiece piece{DevicePiece::create(0, (array.bytes() / unit + 1) * unit), 0};
  array.owner = map_on_device(std::span(&piece, 1), array.bytes(), 0);
  array.data = const_cast<void*>(array.owner.get());
  return array;
}

bool same_bits(const Array& host, const Array& device) {
  const Array copied = on_host(device);
  return std::memcmp(host.data, copied.data, static_cast<size_t>(host.bytes())) == 0;
}

std::vector<RowList> lists_of(const Listed& listed) {
  return {listed.part(0, 50), listed.part(50, 50), listed.part(50, 200)};
}

// Calls body(array) for both.
template <typename Body>
void check_both(DType dtype, int64_t width, Body body) {
  CAPTURE(name(dtype));
  CAPTURE(width);
  const Array host = zeros_on_host(dtype, {kTableRows, width}),
              device = to_device(dtype, {kTableRows, width});
  body(host);
  body(device);
  CHECK(same_bits(host, device));
}

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

TEST_CASE("rows set and summed: repeats, several lists, owners") {
  for (const DType dtype : kFloats) {
    for (const int64_t width : {1, 7, 40}) {
      const Listed listed(200, kTableRows, width, 3);
      check_both(dtype, width, [&](const Array& rows) {
        init_rows(rows, Distribution::kNormal, 5, std::vector<int64_t>(kTableRows, 9), kTableRows);
        set_rows(rows, lists_of(listed), {0, 40}, 2);
        sum_rows(rows, lists_of(listed), {10, kTableRows}, 2);
      });
    }
  }
}

// Arrays of the host that are page-locked, with room between them: what is allocated there next
// lies in locked pages, too, so that a stream may copy it later.
class LockedHeap {
 public:
  LockedHeap() {
    std::vector<std::shared_ptr<char[]>> between;
    for (int i = 0; i < 200; ++i)
      for (const size_t bytes : {256, 512, 1024}) {
        auto memory = std::make_shared<char[]>(bytes);
        Array array{memory.get(), DType::kUInt8, {static_cast<int64_t>(bytes)}, memory, true};
        locked_.emplace_back(std::move(array));
        between.push_back(std::make_shared<char[]>(bytes));
      }
  }

 private:
  std::vector<HostRegistration> locked_;
};

TEST_CASE("rows are written as they were listed, also by a stream that comes to them late") {
  const Listed listed(200, kTableRows, 5, 3);
  const LockedHeap heap;
  const Array work = to_device(DType::kUInt8, {(int64_t{256} << 20) - 1});
  check_both(DType::kFloat32, 5, [&](const Array& rows) {
    require_cuda().runtime.fill(0, work.data, 0, work.bytes(), nullptr);
    set_rows(rows, lists_of(listed), {0, kTableRows}, 2);
    require_cuda().runtime.fill(0, work.data, 0, work.bytes(), nullptr);
    sum_rows(rows, lists_of(listed), {0, kTableRows}, 2);
  });
}

TEST_CASE("integers and doubles are summed, too, and bool is not") {
  const Listed listed(200, kTableRows, 3, 3);
  for (const DType dtype :
       {DType::kInt8, DType::kUInt16, DType::kInt32, DType::kInt64, DType::kFloat64}) {
    const Array given = zeros_on_host(dtype, {200, 3});
    for (int64_t i = 0; i < given.bytes(); ++i)
      static_cast<uint8_t*>(given.data)[i] = static_cast<uint8_t>(i % 7 == 3 ? 200 : i % 63);
    const RowList list{listed.list().ids, given};
    check_both(dtype, 3, [&](const Array& rows) {
      set_rows(rows, std::span(&list, 1), {0, kTableRows});
      sum_rows(rows, std::span(&list, 1), {0, kTableRows});
    });
  }
  const RowList flags{listed.list().ids, zeros_on_host(DType::kBool, {200, 3})};
  check_throws(ErrorCode::kInvalidArgument, {"bool"}, [&] {
    sum_rows(to_device(DType::kBool, {kTableRows, 3}), std::span(&flags, 1), {0, kTableRows});
  });
}

TEST_CASE("values that rows begin with") {
  std::vector<int64_t> ids(kTableRows);
  std::iota(ids.begin(), ids.end(), 100);
  for (const auto distribution :
       {Distribution::kNormal, Distribution::kUniform, Distribution::kXavier})
    for (const DType dtype : kFloats)
      check_both(dtype, 5,
                 [&](const Array& rows) { init_rows(rows, distribution, 7, ids, 1000, 2); });
}

std::vector<Array> state_arrays(const Optimizer& optimizer, const Array& weights) {
  std::vector<Array> arrays;
  for (const StateForm& form : state_of(optimizer)) {
    const auto shape = form.per_row ? std::vector{kTableRows} : weights.shape;
    arrays.push_back(weights.device == kHost ? zeros_on_host(form.dtype, shape)
                                             : to_device(form.dtype, shape));
  }
  return arrays;
}

TEST_CASE("optimizers: three steps of every rule, weights and state") {
  const Optimizer optimizers[] = {
      Sgd{.learning_rate = 0.1, .weight_decay = 0.1},
      AdaGrad{.learning_rate = 0.1},
      AdaGrad{.learning_rate = 0.1, .weight_decay = 0.1, .rowwise = true},
      RmsProp{.learning_rate = 0.01},
      Adam{.learning_rate = 0.01, .weight_decay = 0.1},
      Adam{.learning_rate = 0.01, .weight_decay = 0.1, .decoupled = true},
      Adam{.learning_rate = 0.01, .steps = Steps::kAll}};
  std::vector<int64_t> ids(kTableRows);
  std::iota(ids.begin(), ids.end(), 500);
  for (const Optimizer& optimizer : optimizers) {
    CAPTURE(optimizer.index());
    for (const DType dtype : kFloats) {
      for (const int64_t width : {3, 50}) {
        const Listed listed(200, kTableRows, width, 11);
        std::vector<Array> states[2];
        int which = 0;
        check_both(dtype, width, [&](const Array& weights) {
          std::vector<Array>& state = states[which++] = state_arrays(optimizer, weights);
          init_rows(weights, Distribution::kNormal, 1, ids, kTableRows);
          for (int64_t number = 1; number <= 3; ++number) {
            OptimizerStep step{optimizer, number, number == 2 ? 3.0 : 1.0, number == 3, 4, {}};
            if (number == 3) step.row_ids = borrow(std::span<const int64_t>(ids).subspan(5));
            apply_gradients(step, weights, state, lists_of(listed), number == 3 ? 5 : 0, kTableRows,
                            2);
          }
        });
        for (size_t i = 0; i < states[0].size(); ++i)
          CHECK(same_bits(states[0][i], states[1][i]));
      }
    }
  }
}

TEST_CASE("rows gathered by ids of the host and of the device, from dense positions and others") {
  const int64_t width = 9;
  std::vector<uint16_t> owner(kTableRows);
  for (size_t i = 0; i < owner.size(); ++i)
    owner[i] = static_cast<uint16_t>(i * i % 3);
  std::vector<int64_t> bounds = {0, 25, 25, kTableRows};
  const auto map_of = [&](const Ownership& owners, int64_t stride) {
    const Array map = zeros_on_host(map_dtype(owners, stride), {kTableRows});
    write_map(owners, stride, map);
    return map;
  };
  const Ownership ranges = Ownership::ranges(borrow(bounds));
  const Ownership vector = Ownership::by_vector(
      {owner.data(), DType::kUInt16, {kTableRows}, nullptr, false}, 3, "owners");
  const RowPositions all[] = {RowPositions::dense(ranges), RowPositions::strided(ranges, 40),
                              RowPositions::strided(vector, 48, map_of(vector, 48))};
  const Listed listed(300, kTableRows, width, 17);
  const auto ids = listed.list().ids;
  for (const RowPositions& positions : all) {
    for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
      const Array host = zeros_on_host(dtype, {positions.num_positions(), width});
      const Array device = to_device(dtype, host.shape);
      const WholeTable here{Table(host), positions}, there{Table(device), positions};
      for (const WholeTable* table : {&here, &there})
        table->set_rows(ids, listed.list().rows);
      CHECK(same_bits(host, device));
      const Array expected = here.gather(ids), wide = here.gather_float32(ids);
      CHECK(std::memcmp(there.gather(ids).data, expected.data, size_t(expected.bytes())) == 0);
      CHECK(std::memcmp(there.gather_float32(ids).data, wide.data, size_t(wide.bytes())) == 0);

      const auto pool = DevicePool::shared(0)->on(nullptr);
      const Array ids_there = pool->allocate_array(DType::kInt64, {std::ssize(ids)});
      require_cuda().runtime.copy(0, ids_there.data, ids.data(), ids_there.bytes(), nullptr);
      const Array out = pool->allocate_array(dtype, expected.shape);
      const DeviceTable by_id(Table(device), positions);
      by_id.gather(ids_there, out, nullptr);
      CHECK(same_bits(expected, out));
      require_cuda().runtime.fill(0, static_cast<char*>(ids_there.data) + 80, 0x7F, 8, nullptr);
      check_throws(ErrorCode::kOutOfRange, {"ids[10] = 9187201950435737471 is outside the 60 rows"},
                   [&] { by_id.gather(ids_there, out, nullptr); });
    }
  }
}

TEST_CASE("rows on the host, of which some are in front of them on the device") {
  const Listed listed(300, kTableRows, 9, 17);
  const Array host = zeros_on_host(DType::kFloat16, {kTableRows, 9});
  set_rows(host, lists_of(listed), {0, kTableRows});
  const std::vector<int64_t> ids = {3, 17, 59}, slots = {0, 1, 2};
  const Table cached(to_device(DType::kFloat16, {3, 9}));
  const DeviceTable both(Table(host), borrow(ids), cached);
  const RowList written{slots, listed.part(0, 3).rows};  // after it was made
  set_rows(cached.rows(), std::span(&written, 1), {0, 3});

  const auto pool = DevicePool::shared(0)->on(nullptr);
  std::vector<int64_t> every(kTableRows);
  std::iota(every.begin(), every.end(), 0);
  const Array there = pool->allocate_array(DType::kInt64, {kTableRows});
  require_cuda().runtime.copy(0, there.data, every.data(), there.bytes(), nullptr);
  const Array out = pool->allocate_array(DType::kFloat16, host.shape);
  both.gather(there, out, nullptr);
  const Array expected = copy(host);
  const RowList changed{ids, written.rows};
  set_rows({expected.data, expected.dtype, expected.shape, expected.owner, true},
           std::span(&changed, 1), {0, kTableRows});
  CHECK(same_bits(expected, out));

  const std::vector<int64_t> outside = {3, 17, kTableRows}, fewer = {3};
  check_throws(ErrorCode::kOutOfRange, {"cached row is 60"},
               [&] { DeviceTable(Table(host), borrow(outside), cached); });
  check_throws(ErrorCode::kInvalidArgument, {"float16[3, 9]", "expected float16[1, 9]"},
               [&] { DeviceTable(Table(host), borrow(fewer), cached); });
}

}  // namespace
}  // namespace ramet::test
