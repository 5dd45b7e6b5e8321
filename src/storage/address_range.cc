#include "address_range.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include "base/system/posix.h"
#include "ramet/error.h"
#include "segment.h"

namespace ramet {

AddressRange::AddressRange(size_t size, const std::string& location)
    : size_(size + size_t{kHugeAlignment}) {
  start_ = ::mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start_ == MAP_FAILED)
    throw_errno(errno, concat("reserve ", size, " addresses for"), location);
}

AddressRange::~AddressRange() {
  ::munmap(start_, size_);
}

std::byte* AddressRange::begin() const {
  const auto address = round_up(reinterpret_cast<int64_t>(start_), kHugeAlignment);
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace ramet
