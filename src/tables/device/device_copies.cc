#include "device_copies.h"

#include <map>
#include <mutex>
#include <tuple>

#include "base/per_process.h"
#include "device/device_memory.h"

namespace ramet {
namespace {

// Keeps its source alive: while there is a copy, no other array can be at that address.
struct Copy {
  Array source;
  std::shared_ptr<const void> data;
};

class Copies {
 public:
  std::shared_ptr<const void> get(const Array& array, int device) {
    const std::lock_guard lock(mutex_);  // who asks while it is being copied, waits for it
    std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<const Copy>& known = copies_[{device, array.data, array.bytes()}];
    std::shared_ptr<const Copy> copy = known.lock();
    if (copy == nullptr) {
      copy = std::make_shared<const Copy>(Copy{array, copy_on(device, array.data, array.bytes())});
      known = copy;
    }
    return {copy, copy->data.get()};
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<int, const void*, int64_t>, std::weak_ptr<const Copy>> copies_;
};

}  // namespace

std::shared_ptr<const void> device_copy(const Array& array, int device) {
  static auto* const copies =
      new PerProcess<Copies>;  // never destroyed: threads may ask at the end
  const bool immutable = !array.writable && array.owner != nullptr;
  return immutable ? copies->get().get(array, device) : copy_on(device, array.data, array.bytes());
}

}  // namespace ramet
