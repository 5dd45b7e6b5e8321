// Table::gather, one thread and two, beside
//   memcpy          a plain loop of memcpy, a row at a time;
//   additive bound  what the memory takes one after the other: a load from every line of the same
//                   rows, with prefetch, then the same bytes written (past the caches where they
//                   do not fit there). A copy that overlaps reading and writing may be faster;
//   linear copy     as many bytes in one memcpy, without any randomness.
// Random rows of a table of 1 GiB. Every iteration takes the next ids, so rows are never warm.
#include <algorithm>
#include <cstring>
#include <span>

#include "cases.h"
#include "memory.h"
#include "ramet/random.h"
#include "ramet/table.h"

namespace ramet::bench {
namespace {

constexpr int64_t kRowBytes[] = {16, 64, 200, 256, 400, 512, 1024, 2408, 4096, 8192};
constexpr int64_t kCache = int64_t{16} << 20;  // larger outputs leave the caches
constexpr int64_t kLine = 64;
constexpr int64_t kAhead = 16;  // rows
constexpr int64_t kHead = 512;  // bytes; the hardware's prefetch follows in a row

// One memory for all cases: a table that is cut into rows as each wants it.
struct Memory {
  HugeBuffer table, out;
  std::vector<int64_t> ids;
  int64_t row_bytes = 0;

  Memory(int64_t table_bytes, int64_t out_bytes)
      : table(static_cast<size_t>(table_bytes)), out(static_cast<size_t>(out_bytes)) {}

  // Random ids for the largest output of such rows.
  void prepare(int64_t wanted_row_bytes) {
    if (row_bytes == wanted_row_bytes) return;
    row_bytes = wanted_row_bytes;
    ids.resize(out.bytes() / static_cast<size_t>(row_bytes));
    const uint64_t rows = table.bytes() / static_cast<uint64_t>(row_bytes);
    for (size_t i = 0; i < ids.size(); ++i)
      ids[i] = static_cast<int64_t>(uniform_below(mix64(i), rows));
  }
};

void copy_rows(const Memory& memory, std::span<const int64_t> ids, int64_t row_bytes) {
  char* out = memory.out.as();
  for (const int64_t id : ids) {
    std::memcpy(out, memory.table.as() + id * row_bytes, static_cast<size_t>(row_bytes));
    out += row_bytes;
  }
}

uint64_t read_rows(const Memory& memory, std::span<const int64_t> ids, int64_t row_bytes) {
  const auto load = [](const char* from) {
    uint64_t word;
    std::memcpy(&word, from, sizeof word);
    return word;
  };
  uint64_t sum = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const char* ahead = memory.table.as() + ids[std::min(i + kAhead, ids.size() - 1)] * row_bytes;
    for (int64_t b = 0; b < std::min(row_bytes, kHead); b += kLine)
      __builtin_prefetch(ahead + b);
    const char* row = memory.table.as() + ids[i] * row_bytes;
    for (int64_t b = 0; b < row_bytes; b += kLine)
      sum += load(row + b);
    sum += load(row + row_bytes - 8);  // a row need not begin with a line
  }
  return sum;
}

void read_then_write(const Memory& memory, std::span<const int64_t> ids, int64_t row_bytes) {
  benchmark::DoNotOptimize(read_rows(memory, ids, row_bytes));
  const int64_t bytes = static_cast<int64_t>(ids.size()) * row_bytes;
  if (bytes < kCache) {
    std::memset(memory.out.as(), 1, static_cast<size_t>(bytes));
  } else {
    stream_write(memory.out.as(), static_cast<size_t>(bytes) / 64 * 64);
  }
}

void copy_linearly(const Memory& memory, std::span<const int64_t> ids, int64_t row_bytes) {
  const auto bytes = ids.size() * static_cast<size_t>(row_bytes);
  const size_t positions = memory.table.bytes() / bytes;
  const size_t position = static_cast<size_t>(ids[0]) % positions;
  std::memcpy(memory.out.as(), memory.table.as() + position * bytes, bytes);
}

void gather(const Memory& memory, std::span<const int64_t> ids, int64_t row_bytes, int threads) {
  const auto all = static_cast<int64_t>(memory.table.bytes()) / row_bytes;
  const Table table(Array{memory.table.as(), DType::kUInt8, {all, row_bytes}, nullptr, false});
  table.gather(ids, memory.out.as(), threads);
}

std::string size_text(int64_t bytes) {
  return bytes < (1 << 20) ? std::to_string(bytes >> 10) + " KiB"
                           : std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

void add_gather(const Options& options) {
  const std::vector<int64_t> outputs =
      options.small ? std::vector<int64_t>{1 << 16, 1 << 20}
                    : std::vector<int64_t>{1 << 16, 1 << 22, 1 << 26, 1 << 28};
  // Made when a case runs first: a run of other cases pays nothing.
  const auto shared = std::make_shared<std::unique_ptr<Memory>>();
  const auto make = [shared, small = options.small, largest = outputs.back()]() -> Memory& {
    if (!*shared) *shared = std::make_unique<Memory>(int64_t{1} << (small ? 24 : 30), largest);
    return **shared;
  };
  for (const int64_t row_bytes : kRowBytes) {
    for (const int64_t output : outputs) {
      const std::string name =
          "gather/" + std::to_string(row_bytes) + " B rows, " + size_text(output);
      const auto variant = [&](const std::string& called, auto body) {
        add(name, called, [=](benchmark::State& state) {
          Memory& memory = make();
          memory.prepare(row_bytes);
          const auto count = static_cast<size_t>(output / row_bytes);
          size_t at = 0;
          for (auto _ : state) {
            if (at + count > memory.ids.size()) at = 0;
            body(memory, std::span(memory.ids).subspan(at, count), row_bytes);
            benchmark::ClobberMemory();
            at += count;
          }
          state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(count) * row_bytes);
        });
      };
      variant("ramet", [](auto&&... a) { gather(a..., 1); });
      if (output >= kCache) variant("ramet, 2 threads", [](auto&&... a) { gather(a..., 2); });
      variant("memcpy", copy_rows);
      variant("additive bound", read_then_write);
      variant("linear copy", copy_linearly);
    }
  }
}

}  // namespace ramet::bench
