#include "growing_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/system/space.h"
#include "memory_file.h"
#include "unnamed_file.h"

namespace ramet {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

int64_t whole_pages(int64_t bytes) {
  const int64_t page = page_size();
  return std::max<int64_t>(1, (bytes + page - 1) / page) * page;
}

}  // namespace

GrowingMemory::GrowingMemory(const std::string& folder, std::string what) : what_(std::move(what)) {
  if (!folder.empty()) file_ = create_unnamed_file(folder);
}

GrowingMemory::~GrowingMemory() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(size_));
}

void GrowingMemory::grow_beyond(int64_t bytes) {
  const int64_t wanted = whole_pages(std::max(bytes, size_ + size_ / 2));
  if (file_)
    reserve(file_.get(), size_, wanted - size_, what_);
  else
    require_memory(wanted - size_, what_);
  remap(wanted);
}

void GrowingMemory::shrink(int64_t bytes) {
  const int64_t wanted = whole_pages(bytes);
  if (wanted >= size_) return;
  remap(wanted);
  if (file_ && ::ftruncate(file_.get(), static_cast<off_t>(wanted)) != 0)
    throw_errno(errno, "cut", what_);
}

void GrowingMemory::remap(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  const int flags = file_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const data = data_ == nullptr
                         ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file_.get(), 0)
                         : ::mremap(data_, static_cast<size_t>(size_), size, MREMAP_MAYMOVE);
  if (data == MAP_FAILED) throw_errno(errno, "take memory for", what_);
  data_ = data;
  size_ = bytes;
  if (bytes >= 4 * kHugePage) ::madvise(data_, size, MADV_HUGEPAGE);  // a hint
}

}  // namespace ramet
