// docs/cuda.md, "Beside training": how many multiprocessors a gather in place takes.
#include "kernels/cuda/bus_limit.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace ramet {
namespace {

RowAccess access_of(int64_t row_bytes, int max_unit = 16) {
  return gather_access(0, 0, row_bytes, max_unit, true);
}

int sms_of(int64_t row_bytes, int max_unit = 16) {
  return sms_for_bus(access_of(row_bytes, max_unit), row_bytes);
}

TEST_CASE("the bytes of rows that a block has on their way") {
  CHECK(bytes_in_flight(access_of(512), 512) == 32 * 4 * 512);  // four rows a warp, of one step
  CHECK(bytes_in_flight(access_of(100), 100) == 32 * 4 * 128);
  CHECK(bytes_in_flight(access_of(256), 256) == 64 * 4 * 256);         // half a warp has a row
  CHECK(bytes_in_flight(access_of(132), 132) == 32 * 2 * 160);         // two rows of two steps
  CHECK(bytes_in_flight(access_of(4096), 4096) == 32 * 4096 / 2);      // one row, in two passes
  CHECK(bytes_in_flight(access_of(4), 4) == 1024 * 4 * kSectorBytes);  // the bus carries sectors
}

TEST_CASE("few multiprocessors keep the bus busy, and more for narrow rows") {
  CHECK(sms_of(4 * 25) == 10);
  CHECK(sms_of(4 * 100) == 4);
  CHECK(sms_of(4 * 128) == 3);
  CHECK(sms_of(4 * 602) == 7);
  CHECK(sms_of(602, 4) == 17);
  for (int64_t row_bytes = 1; row_bytes < 5000; ++row_bytes)
    for (const int max_unit : {4, 8, 16}) {
      const RowAccess access = access_of(row_bytes, max_unit);
      const int sms = sms_for_bus(access, row_bytes);
      CAPTURE(row_bytes);
      CHECK(sms >= 1);
      CHECK(sms <= 40);  // of the 108 to 160 that data centers' GPUs have
      CHECK(sms * bytes_in_flight(access, row_bytes) >= kBusBytesInFlight);
    }
}

}  // namespace
}  // namespace ramet
