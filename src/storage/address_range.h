// Address space in which memory and files are mapped side by side.
#pragma once

#include <cstddef>
#include <string>

namespace ramet {

// Addresses from a multiple of 2 MiB on, which nothing may read or write until it is mapped. Frees
// all of them, and what is mapped there. kNoSpace or kIo, naming `location`, where there are none.
class AddressRange {
 public:
  AddressRange(size_t size, const std::string& location);
  ~AddressRange();
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;

  [[nodiscard]] std::byte* begin() const;

 private:
  void* start_;
  size_t size_;
};

}  // namespace ramet
