// RecordMemory: records in slots of memory, each column in an array of its own, as kernels take it.
//
// Memory is taken as slots are used; the arrays never move. Distinct slots may be used by any
// threads at once.
#pragma once

#include <memory>
#include <vector>

#include "base/system/reserved_memory.h"
#include "record_layout.h"

namespace ramet {

class RecordMemory {
 public:
  // For at most `most_slots`. kNoSpace.
  RecordMemory(std::vector<RecordColumn> columns, int64_t most_slots);

  [[nodiscard]] const std::vector<RecordColumn>& columns() const { return columns_; }
  [[nodiscard]] const RecordLayout& layout() const { return layout_; }
  // One thread at a time. kNoSpace.
  void grow(int64_t slots);
  [[nodiscard]] int64_t bytes() const;

  // A column's array of so many slots, writable.
  [[nodiscard]] Array column(size_t c, int64_t slots) const;
  [[nodiscard]] std::byte* row(size_t c, int32_t slot) const {
    return memory_[c]->data() + slot * layout_.sizes[c];
  }
  void pack(int32_t slot, std::byte* record) const;
  void unpack(const std::byte* record, int32_t slot) const;
  // Zeros, of the columns behind the first.
  void clear_state(int32_t slot) const;

 private:
  std::vector<RecordColumn> columns_;
  RecordLayout layout_;
  std::vector<std::unique_ptr<ReservedMemory>> memory_;
  int64_t slots_ = 0;
};

}  // namespace ramet
