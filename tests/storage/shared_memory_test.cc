#include "ramet/shared_memory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "support/errors.h"
#include "support/fork.h"

using namespace ramet;
using ramet::test::check_throws;

TEST_CASE("pieces lie side by side, and every mapping has the same bytes") {
  const auto first = SharedMemory::create(4096), second = SharedMemory::create(3 << 20);
  const std::vector<PlacedMemory> pieces = {{first, 0}, {second, 4096}};
  const auto here = map_side_by_side(pieces, 4096 + (3 << 20));
  const auto there = map_side_by_side(pieces, 4096 + (3 << 20));
  here.get()[4095] = std::byte{1};
  here.get()[4096] = std::byte{2};
  CHECK(there.get()[4095] == std::byte{1});
  CHECK(there.get()[4096] == std::byte{2});
  CHECK(map_side_by_side(std::vector<PlacedMemory>{{second, 0}}, 3 << 20).get()[0] == std::byte{2});
}

TEST_CASE("a child of a fork writes into the same memory") {
  const auto memory = SharedMemory::create(1000);
  const auto bytes = map_side_by_side(std::vector<PlacedMemory>{{memory, 0}}, 1000);
  CHECK(test::holds_in_child([&] {
    bytes.get()[999] = std::byte{7};
    return true;
  }));
  CHECK(bytes.get()[999] == std::byte{7});
}

TEST_CASE("the size cannot be changed, and the memory outlives its descriptors") {
  std::shared_ptr<std::byte> bytes;
  {
    const auto memory = SharedMemory::create(8192);
    CHECK(::ftruncate(memory.fd(), 0) != 0);
    CHECK(::ftruncate(memory.fd(), 1 << 20) != 0);
    const auto again = SharedMemory::open(memory.fd());
    CHECK(again.identity() == memory.identity());
    CHECK(again.bytes() == 8192);
    bytes = map_side_by_side(std::vector<PlacedMemory>{{again, 0}}, 8192);
  }
  bytes.get()[8191] = std::byte{1};
}

TEST_CASE("what is no shared memory, and pieces that do not fit") {
  check_throws(ErrorCode::kInvalidArgument, {"-1 bytes"}, [] { return SharedMemory::create(-1); });
  const int zero = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  check_throws(ErrorCode::kInvalidArgument, {"not of shared memory"},
               [&] { return SharedMemory::open(zero); });
  ::close(zero);
  const auto memory = SharedMemory::create(8192);
  const auto map = [&](std::vector<PlacedMemory> pieces, int64_t bytes) {
    check_throws(ErrorCode::kInvalidArgument, {"a piece of 8192 bytes"},
                 [&] { return map_side_by_side(pieces, bytes); });
  };
  map({{memory, 0}, {memory, 4096}}, 1 << 20);
  map({{memory, 100}}, 1 << 20);
  map({{memory, 4096}}, 8192);
}
