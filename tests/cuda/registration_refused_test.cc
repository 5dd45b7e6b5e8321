// Memory that cannot be page-locked: what the refusal says, and what is tried first.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/system/mapping.h"
#include "cuda/registration_fixture.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "support/errors.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

TEST_CASE("a refusal names the array and its size, and leaves nothing locked") {
  if (!is_emulated()) return;
  const Pages pages;
  const HostRegistration held(pages.bytes(3 * kPage, 3 * kPage + 1));
  const int64_t before = HostRegistration::registered_bytes();
  const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "1");
  const std::string message =
      message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(3 * kPage, 5 * kPage)}; });
  CHECK(contains(message, "cannot page-lock 4096 bytes of uint8[8192]"));
  CHECK(contains(message, "cudaErrorNotSupported"));
  CHECK(!contains(message, "RLIMIT"));
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("memory that cannot be locked is a refusal, not a device that is full") {
  if (!is_emulated()) return;
  const Pages pages;
  const HostRegistration held(pages.bytes(7 * kPage, 8 * kPage));
  const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "2");
  const std::string message =
      message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(0, kPage)}; });
  CHECK(contains(message, "cudaErrorMemoryAllocation"));
  CHECK(contains(message, "usual reason for memory without a file on a disk is its size"));
  CHECK(contains(message, std::to_string(HostRegistration::registered_bytes()) + " bytes of this"));
  CHECK(!contains(message, "of the device"));
}

// An Array over a file that is mapped with these flags.
Array map_file(int fd, int protection, int flags) {
  REQUIRE(ftruncate(fd, 4 * kPage) == 0);
  const auto data = map_pages(4 * kPage, protection, flags, fd);
  close(fd);
  return {data.get(), DType::kUInt8, {4 * kPage}, data, (protection & PROT_WRITE) != 0};
}

std::string refusal_of(const Array& array) {
  const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "1");
  return message_of(ErrorCode::kDevice, [&] { HostRegistration{array}; });
}

TEST_CASE("a refusal names its usual reason: the mapping, the file system, the size") {
  if (!is_emulated()) return;
  const TempDir folder;
  const std::string path = folder / "feat.npy";
  const auto open_file = [&] { return open(path.c_str(), O_RDWR | O_CREAT, 0600); };
  const auto memory_file = [] { return memfd_create("feat", 0); };
  const std::string in_private = refusal_of(map_file(open_file(), PROT_READ, MAP_PRIVATE));
  CHECK(contains(in_private, path + " is mapped privately"));
  CHECK(contains(in_private, "open the store read-only"));
  const Array shared = map_file(open_file(), PROT_READ, MAP_SHARED);
  const auto mapping = mapping_at(shared.data);
  REQUIRE(mapping);
  const std::string of_file = refusal_of(shared);
  if (mapping->is_memory()) {
    CHECK(contains(of_file, "is its size"));
  } else {
    CHECK(contains(of_file, path + " is on " + mapping->file_system));
    CHECK(contains(of_file, "for reading alone"));
    CHECK(contains(refusal_of(map_file(open_file(), PROT_READ | PROT_WRITE, MAP_SHARED)),
                   "for writing"));
  }
  CHECK(contains(refusal_of(map_file(memory_file(), PROT_READ, MAP_SHARED)), "is its size"));
}

// Of many machines: docs/cuda.md, "Refusals".
TEST_CASE("a driver that locks nothing for reading alone locks pages that could be written") {
  if (!is_emulated()) return;
  const Setting no_reading("RAMET_EMULATOR_REGISTER_READ_ONLY", "0");
  const int64_t before = HostRegistration::registered_bytes();
  const int fd = memfd_create("feat", MFD_CLOEXEC);
  const Array memory = map_file(dup(fd), PROT_READ, MAP_SHARED);
  for (int time = 0; time < 2; ++time) {
    const HostRegistration registration(memory, {.piece_bytes = kPage});
    CHECK(HostRegistration::registered_bytes() == before + 4 * kPage);
    CHECK(registration.address(0) == memory.data);
    CHECK(!mapping_at(memory.data)->range.is_writable());
  }
  close(fd);
  const Pages own;  // writable anyhow
  const HostRegistration of_own(own.bytes(0, kPage));
  const TempDir folder;
  const std::string path = folder / "feat.npy";
  const Array file = map_file(open(path.c_str(), O_RDWR | O_CREAT, 0600), PROT_READ, MAP_SHARED);
  if (mapping_at(file.data)->is_memory()) return;
  const std::string message = message_of(ErrorCode::kDevice, [&] { HostRegistration{file}; });
  CHECK(contains(message, "cudaErrorInvalidValue"));
  CHECK(contains(message, "for reading alone; a store in /dev/shm may be locked"));
}

}  // namespace
}  // namespace ramet::test
