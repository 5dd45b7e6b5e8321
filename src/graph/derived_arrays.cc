#include "ramet/derived_arrays.h"

namespace ramet {

DerivedArrays::~DerivedArrays() {
  for (Slot* slot = first_.load(); slot != nullptr;)
    delete std::exchange(slot, slot->next_);
}

DerivedArrays::Slot& DerivedArrays::slot(const std::string& name) {
  std::unique_ptr<Slot> fresh;
  for (Slot* first = first_.load();;) {
    for (Slot* slot = first; slot != nullptr; slot = slot->next_)
      if (slot->name_ == name) return *slot;
    if (fresh == nullptr) fresh = std::make_unique<Slot>(name);
    fresh->next_ = first;
    if (first_.compare_exchange_weak(first, fresh.get())) return *fresh.release();
  }
}

int64_t DerivedArrays::bytes() const {
  int64_t sum = 0;
  for (const Slot* slot = first_.load(); slot != nullptr; slot = slot->next_)
    sum += slot->bytes_;
  return sum;
}

}  // namespace ramet
