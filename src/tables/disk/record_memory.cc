#include "record_memory.h"

#include <cstring>
#include <functional>
#include <numeric>

namespace ramet {

RecordMemory::RecordMemory(std::vector<RecordColumn> columns, int64_t most_slots)
    : columns_(std::move(columns)), layout_(layout_of(columns_)) {
  for (const int64_t size : layout_.sizes)
    memory_.push_back(
        std::make_unique<ReservedMemory>(most_slots * size, "the cache of an embedding"));
}

void RecordMemory::grow(int64_t slots) {
  if (slots <= slots_) return;
  for (size_t c = 0; c < memory_.size(); ++c)
    memory_[c]->grow(slots * layout_.sizes[c]);
  slots_ = slots;
}

int64_t RecordMemory::bytes() const {
  return std::transform_reduce(memory_.begin(), memory_.end(), int64_t{0}, std::plus<>(),
                               [](const auto& column) { return column->taken_bytes(); });
}

Array RecordMemory::column(size_t c, int64_t slots) const {
  std::vector<int64_t> shape{slots};
  shape.insert(shape.end(), columns_[c].shape.begin(), columns_[c].shape.end());
  return {memory_[c]->data(), columns_[c].dtype, std::move(shape), nullptr, true};
}

void RecordMemory::pack(int32_t slot, std::byte* record) const {
  for (size_t c = 0; c < memory_.size(); ++c)
    std::memcpy(record + layout_.offsets[c], row(c, slot), static_cast<size_t>(layout_.sizes[c]));
}

void RecordMemory::unpack(const std::byte* record, int32_t slot) const {
  for (size_t c = 0; c < memory_.size(); ++c)
    std::memcpy(row(c, slot), record + layout_.offsets[c], static_cast<size_t>(layout_.sizes[c]));
}

void RecordMemory::clear_state(int32_t slot) const {
  for (size_t c = 1; c < memory_.size(); ++c)
    std::memset(row(c, slot), 0, static_cast<size_t>(layout_.sizes[c]));
}

}  // namespace ramet
