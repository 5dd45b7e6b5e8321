#include "ramet/isa.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace ramet;

TEST_CASE("the instruction set is chosen once, and is the one asked for") {
  const Isa first = isa();
  CHECK(isa() == first);
  const char* asked = std::getenv("RAMET_ISA");
  if (asked != nullptr && *asked != '\0') CHECK(std::string(name(first)) == asked);
}
