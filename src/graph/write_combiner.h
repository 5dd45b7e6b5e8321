// Software write-combining: records go to many streams at once, each through a buffer of its own
// that is written out as whole lines. The buffers stay in cache where the streams would not, the
// streams' memory is not read, and a page is touched once per line instead of once per record
// (Wassenberg, Sanders: "Engineering a Multi-core Radix Sort", Euro-Par 2011; Balkesen et al.:
// "Main-memory hash joins on multi-core CPUs", ICDE 2013, tune it further).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "ramet/buffer_pool.h"
#include "stream_lines.h"

namespace ramet {

template <typename Record>
class WriteCombiner {
 public:
  // Stream s begins at out[positions[s]]. `out` begins on a line and outlives the combiner.
  WriteCombiner(Record* out, std::span<const int64_t> positions)
      : out_(out),
        first_(positions.begin(), positions.end()),
        next_(first_),
        memory_(BufferPool::create()->allocate(
            static_cast<int64_t>(positions.size() * sizeof(Buffer)))),
        buffers_(static_cast<Buffer*>(memory_.get())) {}

  void put(size_t stream, const Record& record) {
    const int64_t position = next_[stream]++;
    const auto slot = static_cast<size_t>(position) % kRecords;
    buffers_[stream].records[slot] = record;
    if (slot == kRecords - 1) write_buffer(stream, position + 1);
  }

  // Writes out what the buffers still hold; then other threads may read the streams.
  void finish() {
    for (size_t stream = 0; stream < next_.size(); ++stream) {
      const int64_t end = next_[stream];
      const int64_t full = end - end % int64_t{kRecords};
      write_part(stream, std::max(full, first_[stream]), end);
    }
    stream_fence();
  }

 private:
  // The fewest records that fill whole lines: a power of two, as records are multiples of 4 bytes.
  static constexpr size_t kRecords = std::lcm(sizeof(Record), kLineBytes) / sizeof(Record);
  static_assert((kRecords & (kRecords - 1)) == 0);

  struct alignas(kLineBytes) Buffer {
    Record records[kRecords];
  };

  // A slot of a buffer is a position modulo kRecords, so full buffers are aligned in `out`, too.
  // The first buffer of a stream may begin in the middle of a line that belongs to another thread.
  void write_buffer(size_t stream, int64_t end) {
    const int64_t begin = end - int64_t{kRecords};
    if (begin < first_[stream]) return write_part(stream, first_[stream], end);
    stream_lines(out_ + begin, &buffers_[stream], sizeof(Buffer) / kLineBytes);
  }

  void write_part(size_t stream, int64_t begin, int64_t end) {
    const auto slot = static_cast<size_t>(begin) % kRecords;
    std::copy_n(buffers_[stream].records + slot, end - begin, out_ + begin);
  }

  Record* out_;
  std::vector<int64_t> first_, next_;
  std::shared_ptr<void> memory_;  // which goes back to the system: malloc keeps what it had
  Buffer* buffers_;
};

}  // namespace ramet
