#include "direct_block.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>

#include "ramet/error.h"
#include "read_slots.h"

namespace ramet {
namespace {

// Of struct statx since Linux 6.1, whose headers may be older.
constexpr unsigned kStatxDirectAlignment = 0x2000;
struct DirectAlignment {
  uint32_t memory, offset;
};

constexpr int64_t kUsualBlock = 4096;

// What O_DIRECT asks for, as the kernel says of the file; nullopt where it does not say.
std::optional<DirectAlignment> direct_alignment(int fd) {
  struct statx status{};
  if (::statx(fd, "", AT_EMPTY_PATH, kStatxDirectAlignment, &status) != 0) return std::nullopt;
  if ((status.stx_mask & kStatxDirectAlignment) == 0) return std::nullopt;
  constexpr size_t kOffset =
      0x98;  // of stx_dio_mem_align and stx_dio_offset_align, by the kernel's ABI
  DirectAlignment alignment{};
  std::memcpy(&alignment, reinterpret_cast<const char*>(&status) + kOffset, sizeof alignment);
  return alignment;
}

// The logical block of the disk, or of the disk whose partition this is; 0 if it has none.
int64_t logical_block(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return 0;
  const std::string device =
      concat("/sys/dev/block/", major(status.st_dev), ':', minor(status.st_dev));
  for (const char* location : {"/queue/logical_block_size", "/../queue/logical_block_size"}) {
    std::ifstream file(device + location);
    int64_t bytes = 0;
    if (file >> bytes) return bytes;
  }
  return 0;
}

// Whether a read of one block works: some file systems refuse only that.
bool reads_blocks(int fd, int64_t block) {
  const ReadSlots memory(1, block);
  return ::pread(fd, memory[0], static_cast<size_t>(block), 0) >= 0 || errno != EINVAL;
}

}  // namespace

int64_t direct_block(int fd) {
  int64_t block = 0;
  if (const auto alignment = direct_alignment(fd)) {
    if (alignment->offset == 0 || alignment->memory > kUsualBlock) return 0;
    block = alignment->offset;
  } else {
    block = logical_block(fd);
  }
  for (const int64_t tried : {block, kUsualBlock})
    if (tried > 0 && reads_blocks(fd, tried)) return tried;
  return 0;
}

}  // namespace ramet
