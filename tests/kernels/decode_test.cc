// The decoding gathers of every instruction set against arithmetic, an element at a time.
// tests/CMakeLists.txt runs this file once for each set.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/scale.h"
#include "kernels/kernels.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "ramet/table.h"
#include "support/errors.h"
#include "support/ids.h"
#include "support/slow_build.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kDecodedRows = 23;
constexpr float kFloatGuard = -12345.5F;
constexpr int64_t kGuards = 48;  // before and behind the output: whole lines, and more
// Outputs that say they are a part of so many bytes get ordinary stores or streaming stores.
constexpr int64_t kSmallOutput = 0, kHugeOutput = int64_t{1} << 40;
constexpr Encoding kEncodings[] = {Encoding::kFloat16, Encoding::kBFloat16,
                                   Encoding::kInt8ScaledByRow, Encoding::kInt8ScaledByColumn};

int64_t item_bytes(Encoding encoding) {
  return encoding == Encoding::kFloat16 || encoding == Encoding::kBFloat16 ? 2 : 1;
}

// By the definition of IEEE 754: (-1)^sign 2^(exponent - 15) (1 + fraction / 1024), and so on.
float half_by_definition(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  if (exponent == 31 && fraction != 0)  // a NaN: its bits, quiet
    return std::bit_cast<float>(uint32_t{bits} >> 15 << 31 | 0x7FC00000u |
                                uint32_t(fraction) << 13);
  const double magnitude = exponent == 31  ? std::numeric_limits<double>::infinity()
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return static_cast<float>(bits >> 15 ? -magnitude : magnitude);
}

struct Rows {
  Encoding encoding;
  int64_t width;
  std::vector<char> bytes;
  std::vector<float> scale;

  // Any bits at all: NaNs, infinities and numbers without an implicit one among them.
  Rows(Encoding its_encoding, int64_t its_width) : encoding(its_encoding), width(its_width) {
    bytes.resize(static_cast<size_t>(kDecodedRows * width * item_bytes(encoding)));
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<char>(mix64(i));
    scale.resize(
        static_cast<size_t>(encoding == Encoding::kInt8ScaledByRow ? kDecodedRows : width));
    for (size_t i = 0; i < scale.size(); ++i)
      scale[i] = static_cast<float>(mix64(i) % 10'000) * 1.7e-4F;
  }

  [[nodiscard]] float element(int64_t row, int64_t column) const {
    const int64_t at = (row * width + column) * item_bytes(encoding);
    if (item_bytes(encoding) == 1) {
      const int64_t s = encoding == Encoding::kInt8ScaledByRow ? row : column;
      return static_cast<float>(static_cast<int8_t>(bytes[static_cast<size_t>(at)])) *
             scale[static_cast<size_t>(s)];
    }
    uint16_t bits = 0;
    std::memcpy(&bits, &bytes[static_cast<size_t>(at)], 2);
    if (encoding == Encoding::kFloat16) return half_by_definition(bits);
    return std::bit_cast<float>(uint32_t{bits} << 16);
  }
};

// What a decode returns, and whether it wrote the rows before the first bad id and nothing else.
struct Decoded {
  int64_t result;
  bool exact;
};

// The output begins `misaligned` floats behind the beginning of a line, between guards.
Decoded decode(const Rows& rows,
               const std::vector<int64_t>& ids,
               int64_t misaligned,
               int64_t output_bytes) {
  const int64_t count = static_cast<int64_t>(ids.size()) * rows.width;
  std::vector<float> memory(static_cast<size_t>(count + 2 * kGuards + 32), kFloatGuard);
  std::vector<float> twin = memory;
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  const int64_t begin = kGuards + static_cast<int64_t>((64 - address % 64) % 64 / 4) + misaligned;
  for (size_t i = 0; i < ids.size() && ids[i] >= 0 && ids[i] < kDecodedRows; ++i)
    for (int64_t c = 0; c < rows.width; ++c)
      twin[static_cast<size_t>(begin + static_cast<int64_t>(i) * rows.width + c)] =
          rows.element(ids[i], c);
  Decoded gathered{};
  gathered.result =
      cpu_kernels()->gather_decoded({.rows = {.table = rows.bytes.data(),
                                              .num_rows = kDecodedRows,
                                              .row_bytes = rows.width * item_bytes(rows.encoding),
                                              .row_stride = rows.width * item_bytes(rows.encoding),
                                              .ids = ids.data(),
                                              .num_ids = static_cast<int64_t>(ids.size()),
                                              .out = memory.data() + begin,
                                              .output_bytes = output_bytes},
                                     .encoding = rows.encoding,
                                     .scale = rows.scale.data()});
  gathered.exact = std::memcmp(memory.data(), twin.data(), 4 * memory.size()) == 0;
  return gathered;
}

}  // namespace

TEST_CASE("every width at every position in a line, with both kinds of stores, to the bit") {
  const std::vector<int64_t> ids = drawn_ids(41, kDecodedRows);
  std::vector<int64_t> widths(kSlowBuild ? 66 : 257);
  std::iota(widths.begin(), widths.end(), 1);
  widths.push_back(602);
  for (const Encoding encoding : kEncodings) {
    for (const int64_t width : widths) {
      const Rows rows(encoding, width);
      for (const int64_t misaligned : {0, 1, 7, 8, 15}) {
        for (const int64_t output_bytes : {kSmallOutput, kHugeOutput}) {
          CAPTURE(static_cast<int>(encoding));
          CAPTURE(width);
          CAPTURE(misaligned);
          CAPTURE(output_bytes);
          const Decoded all = decode(rows, ids, misaligned, output_bytes);
          REQUIRE(all.result == -1);
          REQUIRE(all.exact);
        }
      }
    }
  }
}

TEST_CASE("all halves and all bfloat16s become the float32 that they stand for") {
  for (const Encoding encoding : {Encoding::kFloat16, Encoding::kBFloat16}) {
    Rows rows(encoding, 65536 / 16);
    std::vector<int64_t> ids;
    for (int64_t bits = 0; bits < 65536; ++bits) {
      const auto value = static_cast<uint16_t>(bits);
      std::memcpy(&rows.bytes[static_cast<size_t>(2 * bits)], &value, 2);
    }
    for (int64_t id = 0; id < 16; ++id)
      ids.push_back(id);
    CHECK(decode(rows, ids, 0, kSmallOutput).exact);
    CHECK(decode(rows, ids, 0, kHugeOutput).exact);
  }
  CHECK(half_by_definition(0x3C01) == 1 + 0x1p-10F);
  CHECK(half_by_definition(0x8001) == -0x1p-24F);
  CHECK(half_by_definition(0x7BFF) == 65504.0F);
}

TEST_CASE("few rows, down to none, and rows of no elements") {
  for (const Encoding encoding : kEncodings) {
    for (const int64_t width : {0, 1, 15, 16, 17, 128}) {
      const Rows rows(encoding, width);
      for (int64_t count = 0; count < 5; ++count) {
        const Decoded all = decode(rows, drawn_ids(count, kDecodedRows), 3, kHugeOutput);
        CHECK(all.result == -1);
        CHECK(all.exact);
      }
    }
  }
}

TEST_CASE("a bad id stops the decode where it stands, and the rows before it are written") {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  for (const Encoding encoding : kEncodings) {
    for (const int64_t width : {1, 8, 16, 100, 128}) {
      const Rows rows(encoding, width);
      for (const int64_t bad : {int64_t{-1}, kDecodedRows, kLowest, kHighest}) {
        for (const size_t position : {0, 1, 20, 40}) {
          for (const int64_t output_bytes : {kSmallOutput, kHugeOutput}) {
            std::vector<int64_t> ids = drawn_ids(41, kDecodedRows);
            ids[position] = bad;
            const Decoded some = decode(rows, ids, 3, output_bytes);
            CHECK(some.result == static_cast<int64_t>(position));
            CHECK(some.exact);
          }
        }
      }
    }
  }
}

TEST_CASE("a table decodes on 1, 2 and 3 threads, also beyond the caches") {
  constexpr int64_t kWidth = 301;
  Rows rows(Encoding::kInt8ScaledByRow, kWidth);
  const Table table({rows.bytes.data(), DType::kInt8, {kDecodedRows, 7, 43}, nullptr, false},
                    {rows.scale.data(), DType::kFloat32, {kDecodedRows, 1, 1}, nullptr, false},
                    "feat");
  CHECK(table.is_encoded());
  const std::vector<int64_t> ids = drawn_ids(30'000, kDecodedRows);  // 36 MB
  for (const int threads : {1, 2, 3}) {
    const Array out = table.gather_float32(ids, threads);
    REQUIRE(out.describe() == "float32[30000, 7, 43]");
    const auto values = out.as<float>();
    for (size_t i = 0; i < ids.size(); i += 97)
      for (size_t c = 0; c < kWidth; ++c)
        REQUIRE(values[i * kWidth + c] == rows.element(ids[i], static_cast<int64_t>(c)));
  }
  CHECK(table.gather(ids).dtype == DType::kInt8);
}

TEST_CASE("what is float32 is copied; what has no float32 form says what has") {
  const std::vector<float> values{1, 2, 3};
  const std::vector<int64_t> ids{2, 0};
  const Table plain(borrow(values));
  CHECK(!plain.is_encoded());
  CHECK(plain.gather_float32(ids).as<float>()[0] == 3);
  std::vector<int8_t> labels{1, 2};
  const Table label({labels.data(), DType::kInt8, {2}, nullptr, false}, "label");
  check_throws(ErrorCode::kInvalidArgument, {"label", "int8", "no scale", "bfloat16"},
               [&] { return label.gather_float32(ids); });
  const Table table(borrow(ids), "ids");
  check_throws(ErrorCode::kInvalidArgument, {"ids holds int64;", "float16"},
               [&] { return table.gather_float32(ids); });
}

TEST_CASE("the shape of a scale says what it is of; another fits nothing") {
  std::vector<int8_t> bytes(60);
  std::vector<float> scale(60);
  const auto array = [&](std::vector<int64_t> shape, DType dtype = DType::kFloat32) {
    return Array{scale.data(), dtype, std::move(shape), nullptr, false};
  };
  const Array rows{bytes.data(), DType::kInt8, {5, 4, 3}, nullptr, false};
  CHECK(scale_problem(rows, array({5, 1, 1})) == "");
  CHECK(scale_problem(rows, array({1, 4, 3})) == "");
  CHECK(scaled_by(rows, array({5, 1, 1})) == ScaledBy::kRow);
  CHECK(scaled_by(rows, array({1, 4, 3})) == ScaledBy::kColumn);
  const std::vector<std::vector<int64_t>> wrong{
      {5}, {1}, {5, 1}, {1, 1, 1}, {5, 4, 3}, {5, 1, 3}, {4, 1, 1}, {1, 3, 4}, {0, 1, 1}};
  for (const auto& shape : wrong)
    CHECK(scale_problem(rows, array(shape)).find("float32[5, 1, 1] (one per row)") !=
          std::string::npos);
  CHECK(scale_problem(rows, array({5, 1, 1}, DType::kFloat64)) ==
        "is float64[5, 1, 1], not float32");
  check_throws(ErrorCode::kInvalidArgument, {"the scale of feat", "float32[1, 4, 3]"},
               [&] { Table(rows, array({5}), "feat"); });
  check_throws(ErrorCode::kInvalidArgument, {"the scale of feat", "not of int8"},
               [&] { Table(array({5, 1}), array({5, 1}), "feat"); });
}
