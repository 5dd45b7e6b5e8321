#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "ramet/error.h"

namespace ramet {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;

Fd open_to_read(int folder, const std::string& name, const std::string& location) {
  // O_NONBLOCK: a FIFO without a writer would block here for ever.
  Fd fd(::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) throw_errno(errno, "open", location);
  return fd;
}

// Address space in which a mapping of `size` bytes fits at a multiple of 2 MiB: only there can the
// kernel use huge pages. Smaller files have none to use.
class Reservation {
 public:
  explicit Reservation(size_t size) {
    if (size < kHugePage) return;
    reserved_ = size + kHugePage;
    void* start =
        ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return;
    start_ = static_cast<std::byte*>(start);
    const auto misaligned = reinterpret_cast<uintptr_t>(start) % kHugePage;
    aligned_ = start_ + (kHugePage - misaligned) % kHugePage;
  }
  ~Reservation() {
    if (start_) ::munmap(start_, reserved_);
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  [[nodiscard]] std::byte* address() const { return aligned_; }

  // Keeps what is mapped at address() now, and frees the address space around it.
  void keep(size_t size) {
    const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    std::byte* end = aligned_ + (size + page - 1) / page * page;
    if (aligned_ != start_) ::munmap(start_, size_t(aligned_ - start_));
    ::munmap(end, size_t(start_ + reserved_ - end));
    start_ = nullptr;
  }

 private:
  std::byte* start_ = nullptr;
  std::byte* aligned_ = nullptr;
  size_t reserved_ = 0;
};

void* map_pages(int fd, size_t size, OpenMode mode) {
  const bool read = mode == OpenMode::kRead;
  const int protection = read ? PROT_READ : PROT_READ | PROT_WRITE;
  const int flags = read ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE;
  Reservation reservation(size);
  void* wanted = reservation.address();
  void* data = ::mmap(wanted, size, protection, wanted ? flags | MAP_FIXED : flags, fd, 0);
  if (data == MAP_FAILED) return nullptr;
  if (wanted) reservation.keep(size);
  // Advice: kernels without huge pages for files refuse it, and all is as well without.
  if (size >= kHugePage) ::madvise(data, size, MADV_HUGEPAGE);
  return data;
}

}  // namespace

InputFile::InputFile(int folder, const std::string& name, std::string location)
    : InputFile(open_to_read(folder, name, location), location) {}

InputFile::InputFile(Fd fd, std::string location)
    : fd_(std::move(fd)), location_(std::move(location)) {
  struct stat status{};
  if (::fstat(fd_.get(), &status) != 0) throw_errno(errno, "inspect", location_);
  if (!S_ISREG(status.st_mode))
    throw_error(ErrorCode::kCorrupt, location_, " is not a regular file");
  size_ = status.st_size;
  identity_ = {status.st_dev, status.st_ino};
}

std::string InputFile::read(int64_t offset, int64_t size) const {
  std::string bytes(static_cast<size_t>(size), '\0');
  read_into(bytes.data(), offset, size);
  return bytes;
}

void InputFile::read_into(void* data, int64_t offset, int64_t size) const {
  int64_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd_.get(), static_cast<std::byte*>(data) + done,
                                static_cast<size_t>(size - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", location_);
    if (got == 0)
      throw_error(ErrorCode::kCorrupt, location_, " ends at byte ", size_now(fd_.get(), location_),
                  ", byte ", offset + size, " is needed");
    done += got;
  }
}

std::shared_ptr<std::byte> InputFile::map(OpenMode mode) const {
  const auto size = static_cast<size_t>(size_);
  void* data = map_pages(fd_.get(), size, mode);
  if (!data) throw_errno(errno, "map", location_);
  return {static_cast<std::byte*>(data), [size](std::byte* mapped) { ::munmap(mapped, size); }};
}

void InputFile::map_at(std::byte* address, int64_t offset, int64_t size, OpenMode mode) const {
  const auto length = static_cast<size_t>(size);
  const bool is_private = mode == OpenMode::kCopyOnWrite;
  const int protection = is_private ? PROT_READ | PROT_WRITE : PROT_READ;
  const int flags = MAP_FIXED | (is_private ? MAP_PRIVATE : MAP_SHARED);
  if (::mmap(address, length, protection, flags, fd_.get(), offset) == MAP_FAILED)
    throw_errno(errno, "map", location_);
  if (length >= kHugePage) ::madvise(address, length, MADV_HUGEPAGE);
}

void map_memory_at(std::byte* address, int64_t size, const std::string& location) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  const auto length = static_cast<size_t>(size);
  if (::mmap(address, length, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED)
    throw_errno(errno, "take memory for", location);
}

std::shared_ptr<std::byte> map_memory(int64_t size, const std::string& location) {
  const auto length = static_cast<size_t>(size);
  void* data = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw_errno(errno, "take memory for", location);
  return {static_cast<std::byte*>(data), [length](std::byte* mapped) { ::munmap(mapped, length); }};
}

}  // namespace ramet
