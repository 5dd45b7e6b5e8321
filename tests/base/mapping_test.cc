// What is mapped at an address, of real mappings and of a made-up /proc.
#include "base/system/mapping.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "base/system/posix.h"
#include "support/mapped.h"
#include "support/temp_dir.h"

namespace ramet {
namespace {

constexpr size_t kTwoPages = 8192;

std::shared_ptr<char> map_two_pages(const Fd& fd, int flags) {
  return test::map_pages(kTwoPages, PROT_READ, flags, fd.get());
}

TEST_CASE("memory, and files in memory") {
  const Fd fd(::memfd_create("ramet", 0));
  REQUIRE(::ftruncate(fd.get(), kTwoPages) == 0);
  const auto anonymous = test::map_pages(kTwoPages, PROT_READ),
             memfd = map_two_pages(fd, MAP_SHARED);
  const auto memory = mapping_at(anonymous.get() + kTwoPages - 1), file = mapping_at(memfd.get());
  REQUIRE((memory && file));
  CHECK(memory->file.empty());
  CHECK(memory->is_private);
  CHECK(memory->is_memory());
  CHECK(file->file.starts_with("/memfd:ramet"));
  CHECK(file->file_system == "memfd");
  CHECK(!file->is_private);
  CHECK(file->is_memory());
}

TEST_CASE("a file, shared and private") {
  const test::TempDir folder;
  const std::string path = folder / "a file";
  std::ofstream(path) << std::string(kTwoPages, 'x');
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    const auto file = map_two_pages(Fd(::open(path.c_str(), O_RDONLY)), flags);
    const auto mapping = mapping_at(file.get());
    REQUIRE(mapping);
    CHECK(mapping->file == path);
    CHECK(mapping->is_private == (flags == MAP_PRIVATE));
  }
}

TEST_CASE("the file system is that of the mapping's device") {
  const test::TempDir root;
  std::filesystem::create_directories(root / "proc/self");
  std::ofstream(root / "proc/self/maps")
      << "1000-2000 r--s 00003000 103:0a 12   /data/feat.npy\n"
         "2000-3000 r--p 00000000 00:2d 13                    /dev/shm/a store/feat.npy\n"
         "3000-4000 rw-p 00000000 00:00 0 [heap]\n"
         "4000-5000 r--s 00000000 00:99 14 /elsewhere\n";
  std::ofstream(root / "proc/self/mountinfo")
      << "24 1 0:45 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw\n"
         "25 1 259:10 /x /data rw - xfs /dev/nvme0n1 rw\n";
  const auto at = [&](uintptr_t address) {
    return mapping_at(reinterpret_cast<void*>(address), root.path());
  };
  CHECK(at(0x1fff)->file_system == "xfs");
  CHECK(!at(0x1fff)->is_memory());
  CHECK(at(0x2000)->file == "/dev/shm/a store/feat.npy");
  CHECK(at(0x2000)->file_system == "tmpfs");
  CHECK(at(0x2000)->is_private);
  CHECK(!at(0x2000)->range.is_writable());
  CHECK(at(0x3000)->range.is_writable());
  CHECK(at(0x1fff)->range.begin == 0x1000);
  CHECK(at(0x1fff)->range.offset == 0x3000);
  CHECK(at(0x3000)->file.empty());
  CHECK(at(0x4000)->file_system.empty());
  CHECK(!at(0x5000));
  CHECK(!mapping_at(nullptr, root / "nothing"));
}

}  // namespace
}  // namespace ramet
