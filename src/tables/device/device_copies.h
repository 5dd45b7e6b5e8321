// Copies of tables in device memory, which everyone in the process shares.
#pragma once

#include <memory>

#include "ramet/array.h"

namespace ramet {

// `array` in memory of the device. Of an Array that is read-only and has an owner the copy is
// shared by all who hold it; of others, whose bytes may change or be replaced, it is the caller's.
[[nodiscard]] std::shared_ptr<const void> device_copy(const Array& array, int device);

}  // namespace ramet
