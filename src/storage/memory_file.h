// Files in memory (memfd): made, reserved, sealed.
#pragma once

#include <cstdint>
#include <string>

#include "base/system/posix.h"

namespace ramet {

[[nodiscard]] Fd create_memory_file(const std::string& location);

// Takes the memory of [offset, offset + size) now, so that no write and no reader can miss it
// later.
void reserve(int fd, int64_t offset, int64_t size, const std::string& location);

// `seals`: of fcntl's F_SEAL_*.
void seal(int fd, int seals, const std::string& location);

// Whether memory that is only read is sealed against writing, too. Not where there is an NVIDIA
// driver, WSL's included: many of them lock no pages that nobody may write
// (system/writable_pages.h). `root` is put before the paths.
[[nodiscard]] bool seals_against_writing(const std::string& root = "");

}  // namespace ramet
